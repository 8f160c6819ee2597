/**
 * Gradients of batch normalization: one fused op for x, weight and bias, in both modes.
 */
#include "eager/ops/batch_norm.h"

#include "eager/view.h"

enum {
    X,
    WEIGHT,
    BIAS,
    MEAN,
    VAR
};

/** The element type of an optional input's gradient, wanted or not. */
static cebus_dtype type_of(const cebus_gradient *io, int input)
{
    const cebus_view *view = &io->in_view[input];
    return view->ndim > 0 ? view->dtype : cebus_dtype_wide(io->in_view[X].dtype);
}

/** `statistics` are the mean and variance that were used. */
static cebus_status backward(const cebus_gradient *io, cebus_tensor *const *statistics)
{
    cebus_batch_norm_attrs attrs = *(const cebus_batch_norm_attrs *)io->attrs;
    attrs.dweight = type_of(io, WEIGHT);
    attrs.dbias = type_of(io, BIAS);
    cebus_tensor *in[] = {io->grad_out[0], io->in[X], statistics[0], statistics[1], io->in[WEIGHT]};
    cebus_call_spec spec = {
        .op = &cebus_op_batch_norm_backward,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = 5,
        .n_out = 3,
    };
    cebus_tensor *out[3];
    cebus_status status = cebus_call_run(io->rt, &spec, out);
    for (int i = 0; i < 3 && status == CEBUS_OK; i++) {
        if (io->needs >> i & 1)
            io->grad_in[i] = out[i];
        else
            cebus_tensor_release(out[i]);
    }
    return status;
}

cebus_saves cebus_batch_norm_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1U << X | 1U << WEIGHT, .out = 1U << 1 | 1U << 2};
}

cebus_status cebus_batch_norm_gradient(const cebus_gradient *io)
{
    return io->grad_out[0] ? backward(io, io->out + 1) : CEBUS_OK;
}

cebus_saves cebus_batch_norm_eval_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1U << X | 1U << WEIGHT | 1U << MEAN | 1U << VAR};
}

cebus_status cebus_batch_norm_eval_gradient(const cebus_gradient *io)
{
    return backward(io, io->in + MEAN);
}
