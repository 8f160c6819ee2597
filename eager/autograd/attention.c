#include "eager/ops/attention.h"

#include "eager/ops/reduce.h"

#define BIT(i) (UINT64_C(1) << (i))

cebus_saves cebus_attention_saves(const void *attrs, uint64_t needs)
{
    const cebus_attention_attrs *a = attrs;
    uint64_t in = BIT(CEBUS_ATTENTION_Q) | BIT(CEBUS_ATTENTION_K) | BIT(CEBUS_ATTENTION_V);
    if (a->has_mask)
        in |= BIT(CEBUS_ATTENTION_MASK);
    if (a->has_keep)
        in |= BIT(CEBUS_ATTENTION_KEEP);
    (void)needs;
    return (cebus_saves){.in = in, .out = 3};
}

cebus_status cebus_attention_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *in[CEBUS_ATTENTION_INPUTS], *grads[CEBUS_ATTENTION_MASK + 1] = {NULL};
    for (int i = 0; i <= CEBUS_ATTENTION_KEEP; i++)
        in[i] = io->in[i];
    in[CEBUS_ATTENTION_OUT] = io->out[0];
    in[CEBUS_ATTENTION_LSE] = io->out[1];
    in[CEBUS_ATTENTION_GRAD] = io->grad_out[0];
    const bool mask = io->needs & BIT(CEBUS_ATTENTION_MASK);
    cebus_call_spec spec = {.op = &cebus_op_attention_backward,
                            .attrs = io->attrs,
                            .attr_bytes = sizeof(cebus_attention_attrs),
                            .in = in,
                            .n_in = CEBUS_ATTENTION_INPUTS,
                            .n_out = mask ? CEBUS_ATTENTION_MASK + 1 : CEBUS_ATTENTION_MASK};
    cebus_status status = cebus_call_run(io->rt, &spec, grads);
    for (int i = 0; i <= CEBUS_ATTENTION_MASK; i++) {
        if (status == CEBUS_OK && io->needs & BIT(i))
            status = cebus_sum_to(io->rt, grads[i], &io->in_view[i], &io->grad_in[i]);
        cebus_tensor_release(grads[i]);
    }
    return status;
}
