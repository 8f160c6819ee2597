#include "eager/ops/reduce.h"

/** `x`, a reduction's output or its gradient, read with the reduced dimensions back in place. */
static cebus_status with_kept_dims(const cebus_gradient *io, cebus_tensor *x, cebus_tensor **out)
{
    const cebus_reduce_attrs *attrs = io->attrs;
    const cebus_view *in = &io->in_view[0];
    int64_t shape[CEBUS_MAX_DIMS];
    for (int d = 0; d < in->ndim; d++)
        shape[d] = attrs->dims >> d & 1 ? 1 : in->shape[d];
    return cebus_reshape(io->rt, x, in->ndim, shape, out);
}

/** grad_in = op(grad, x, statistic), the latter one of the call's outputs. */
static cebus_status run_backward(const cebus_gradient *io, const cebus_op *op,
                                 cebus_tensor *statistic)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *in[3] = {NULL, io->in[0], NULL};
    cebus_status status = with_kept_dims(io, io->grad_out[0], &in[0]);
    if (status == CEBUS_OK)
        status = with_kept_dims(io, statistic, &in[2]);
    if (status == CEBUS_OK) {
        cebus_call_spec spec = {
            .op = op,
            .attrs = io->attrs,
            .attr_bytes = sizeof(cebus_reduce_attrs),
            .in = in,
            .n_in = 3,
            .n_out = 1,
        };
        status = cebus_call_run(io->rt, &spec, io->grad_in);
    }
    cebus_tensor_release(in[0]);
    cebus_tensor_release(in[2]);
    return status;
}

cebus_status cebus_sum_gradient(const cebus_gradient *io)
{
    const cebus_reduce_attrs *attrs = io->attrs;
    const cebus_view *in = &io->in_view[0];
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_tensor *scaled = NULL, *kept = NULL;
    cebus_status status = cebus_reduce_divide(io->rt, io->grad_out[0], attrs->divisor, &scaled);
    if (status == CEBUS_OK)
        status = with_kept_dims(io, scaled, &kept);
    if (status == CEBUS_OK)
        status = cebus_expand(io->rt, kept, in->ndim, in->shape, &io->grad_in[0]);
    cebus_tensor_release(scaled);
    cebus_tensor_release(kept);
    return status;
}

cebus_saves cebus_extremum_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1, .out = 1};
}

cebus_status cebus_extremum_gradient(const cebus_gradient *io)
{
    return run_backward(io, &cebus_op_extremum_backward, io->out[0]);
}

cebus_saves cebus_var_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1, .out = 2};
}

cebus_status cebus_var_gradient(const cebus_gradient *io)
{
    return run_backward(io, &cebus_op_var_backward, io->out[1]);
}

cebus_saves cebus_logsumexp_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1, .out = 1};
}

cebus_status cebus_logsumexp_gradient(const cebus_gradient *io)
{
    return run_backward(io, &cebus_op_logsumexp_backward, io->out[0]);
}
