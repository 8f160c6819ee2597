#include "eager/ops/recurrent.h"

/* lstm_gates: c, c' and the gates; gru_gates: h and the gates. */
cebus_saves cebus_lstm_gates_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1 << 2, .out = 1 << 1 | 1 << 2};
}

cebus_saves cebus_gru_gates_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1 << 2, .out = 1 << 1};
}

/* Hands over the gradients that are wanted. */
static void answer(const cebus_gradient *io, uint32_t input, cebus_tensor *grad)
{
    if (io->needs >> input & 1)
        io->grad_in[input] = cebus_tensor_retain(grad);
}

cebus_status cebus_lstm_gates_gradient(const cebus_gradient *io)
{
    cebus_tensor *dh = io->grad_out[0], *dc = io->grad_out[1], *grads[2];
    if (dh == NULL && dc == NULL)
        return CEBUS_OK;
    cebus_lstm_backward_attrs attrs = {.has_dh = dh != NULL, .has_dc = dc != NULL};
    cebus_tensor *in[] = {io->out[2], io->in[2], io->out[1], dh, dc};
    cebus_call_spec spec = {.op = &cebus_op_lstm_gates_backward,
                            .attrs = &attrs,
                            .attr_bytes = sizeof attrs,
                            .in = in,
                            .n_in = 5,
                            .n_out = 2};
    cebus_status status = cebus_call_run(io->rt, &spec, grads);
    if (status != CEBUS_OK)
        return status;
    answer(io, 0, grads[0]); /* the two parts are added: one gradient for both */
    answer(io, 1, grads[0]);
    answer(io, 2, grads[1]);
    cebus_tensor_release(grads[0]);
    cebus_tensor_release(grads[1]);
    return CEBUS_OK;
}

cebus_status cebus_gru_gates_gradient(const cebus_gradient *io)
{
    cebus_tensor *grads[3];
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *in[] = {io->out[1], io->in[2], io->grad_out[0]};
    cebus_call_spec spec = {.op = &cebus_op_gru_gates_backward, .in = in, .n_in = 3, .n_out = 3};
    cebus_status status = cebus_call_run(io->rt, &spec, grads);
    if (status != CEBUS_OK)
        return status;
    for (uint32_t i = 0; i < 3; i++) {
        answer(io, i, grads[i]);
        cebus_tensor_release(grads[i]);
    }
    return CEBUS_OK;
}
