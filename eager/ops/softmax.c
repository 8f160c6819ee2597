#include "eager/ops/softmax.h"

#include <cebus/ops/softmax.h>

#include "eager/ops/check.h"

static cebus_status softmax_infer(cebus_infer *io)
{
    const cebus_view *x = io->in[0];
    cebus_status status = cebus_check_real(io->op->name, x);
    if (status != CEBUS_OK)
        return status;
    cebus_view_like(&io->out[0], x, x->dtype);
    return CEBUS_OK;
}

/** Inputs (grad, out), of one shape and type. */
static cebus_status backward_infer(cebus_infer *io)
{
    cebus_view_like(&io->out[0], io->in[1], io->in[1]->dtype);
    return CEBUS_OK;
}

static const cebus_op op_softmax = {
    .name = "softmax",
    .infer = softmax_infer,
    .saves = cebus_softmax_saves,
    .gradient = cebus_softmax_gradient,
};
static const cebus_op op_log_softmax = {
    .name = "log_softmax",
    .infer = softmax_infer,
    .saves = cebus_softmax_saves,
    .gradient = cebus_log_softmax_gradient,
};
const cebus_op cebus_op_softmax_backward = {.name = "softmax_backward", .infer = backward_infer};
const cebus_op cebus_op_log_softmax_backward = {
    .name = "log_softmax_backward",
    .infer = backward_infer,
};

static cebus_status run(cebus_runtime *rt, const cebus_op *op, cebus_tensor *x, int dim,
                        cebus_tensor **out)
{
    cebus_status status = cebus_check_pointers(op->name, rt, x, out);
    if (status != CEBUS_OK)
        return status;
    const cebus_view *view = cebus_tensor_view(x);
    int ndim = view->ndim > 0 ? view->ndim : 1; /* a 0-d tensor reads as one element */
    cebus_softmax_attrs attrs = {.dim = cebus_dim_wrap(dim, ndim)};
    if (attrs.dim < 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "dimension %d is out of range for shape %s: use %d to %d", dim,
                          CEBUS_SHAPE(view), -ndim, ndim - 1);
    cebus_call_spec spec = {
        .op = op,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = &x,
        .n_in = 1,
        .n_out = 1,
    };
    return cebus_call_run(rt, &spec, out);
}

cebus_status cebus_softmax(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor **out)
{
    return run(rt, &op_softmax, x, dim, out);
}

cebus_status cebus_log_softmax(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor **out)
{
    return run(rt, &op_log_softmax, x, dim, out);
}
