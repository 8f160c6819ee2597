#include "eager/ops/loss.h"

static cebus_status run_backward(const cebus_gradient *io, const cebus_op *op,
                                 cebus_tensor *const *in, uint32_t n_in, cebus_tensor **out)
{
    cebus_call_spec spec = {
        .op = op,
        .attrs = io->attrs,
        .attr_bytes = op == &cebus_op_mse_loss_backward ? sizeof(cebus_mse_attrs)
                                                        : sizeof(cebus_class_loss_attrs),
        .in = in,
        .n_in = n_in,
        .n_out = 1,
    };
    return cebus_call_run(io->rt, &spec, out);
}

/* x, the target and the logsumexp. */
cebus_saves cebus_cross_entropy_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 3, .out = 2};
}

cebus_status cebus_cross_entropy_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *in[] = {io->grad_out[0], io->in[0], io->in[1], io->out[1]};
    return run_backward(io, &cebus_op_cross_entropy_backward, in, 4, &io->grad_in[0]);
}

cebus_saves cebus_nll_loss_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 2};
}

cebus_status cebus_nll_loss_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *in[] = {io->grad_out[0], io->in[1]};
    return run_backward(io, &cebus_op_nll_loss_backward, in, 2, &io->grad_in[0]);
}

cebus_saves cebus_mse_loss_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 3};
}

/* The loss is symmetric: the target's gradient is x's with the two exchanged. */
cebus_status cebus_mse_loss_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    for (int i = 0; i < 2; i++) {
        if (!(io->needs >> i & 1))
            continue;
        cebus_tensor *in[] = {io->grad_out[0], io->in[i], io->in[1 - i]};
        cebus_status status = run_backward(io, &cebus_op_mse_loss_backward, in, 3, &io->grad_in[i]);
        if (status != CEBUS_OK)
            return status;
    }
    return CEBUS_OK;
}
