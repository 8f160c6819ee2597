/**
 * Gradients of pooling. Of the image only the size is needed, and for the largest pixel its place.
 */
#include "eager/ops/pool.h"

static cebus_status backward(const cebus_gradient *io, const cebus_op *op, cebus_tensor **in,
                             uint32_t n_in)
{
    cebus_pool_attrs attrs = *(const cebus_pool_attrs *)io->attrs;
    attrs.size[0] = io->in_view[0].shape[2];
    attrs.size[1] = io->in_view[0].shape[3];
    cebus_call_spec spec = {
        .op = op,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = n_in,
        .n_out = 1,
    };
    return cebus_call_run(io->rt, &spec, &io->grad_in[0]);
}

cebus_saves cebus_max_pool2d_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.out = 1U << 1};
}

cebus_status cebus_max_pool2d_gradient(const cebus_gradient *io)
{
    cebus_tensor *in[] = {io->grad_out[0], io->out[1]};
    return backward(io, &cebus_op_max_pool2d_backward, in, 2);
}

cebus_status cebus_avg_pool2d_gradient(const cebus_gradient *io)
{
    cebus_tensor *in[] = {io->grad_out[0]};
    return backward(io, &cebus_op_avg_pool2d_backward, in, 1);
}
