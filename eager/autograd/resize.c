/**
 * Gradient of interpolation: linear, so it needs the image's size alone.
 */
#include "eager/ops/resize.h"

cebus_status cebus_interpolate_gradient(const cebus_gradient *io)
{
    cebus_resize_attrs attrs = *(const cebus_resize_attrs *)io->attrs;
    attrs.size[0] = io->in_view[0].shape[2];
    attrs.size[1] = io->in_view[0].shape[3];
    cebus_call_spec spec = {
        .op = &cebus_op_interpolate_backward,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = &io->grad_out[0],
        .n_in = 1,
        .n_out = 1,
    };
    return cebus_call_run(io->rt, &spec, &io->grad_in[0]);
}
