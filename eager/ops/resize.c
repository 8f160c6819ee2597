#include "eager/ops/resize.h"

#include <math.h>

#include "eager/view.h"

static const char name[] = "interpolate";

static cebus_status infer(cebus_infer *io)
{
    const cebus_resize_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    if (!cebus_dtype_is_float(x->dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, name,
                          "the image is %s: only floats are resized; cebus_cast() it",
                          cebus_dtype_name(x->dtype));
    if (x->ndim != 4)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                          "the image has shape %s: expected [N, C, H, W]; cebus_reshape() it",
                          CEBUS_SHAPE(x));
    int64_t shape[4] = {x->shape[0], x->shape[1], attrs->size[0], attrs->size[1]};
    if (x->shape[2] < 1 || x->shape[3] < 1 || shape[2] < 1 || shape[3] < 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                          "an image %s cannot become %lld x %lld: neither may be empty",
                          CEBUS_SHAPE(x), (long long)shape[2], (long long)shape[3]);
    if (x->shape[2] > INT32_MAX || x->shape[3] > INT32_MAX ||
        !cebus_shape_valid(x->dtype, 4, shape))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, name, "the result of %s is too large",
                          CEBUS_SHAPE(x));
    cebus_view_channels_last(&io->out[0], x->dtype, shape);
    return CEBUS_OK;
}

static const cebus_op op_interpolate = {
    .name = "interpolate",
    .infer = infer,
    .gradient = cebus_interpolate_gradient,
};

const cebus_op cebus_op_interpolate_backward = {
    .name = "interpolate_backward",
    .infer = infer,
};

/** One dimension of the size of the result. */
static cebus_status size_read(const cebus_interpolate_options *o, const cebus_view *x, int i,
                              cebus_resize_attrs *attrs)
{
    if (o->size[i] != 0) {
        attrs->size[i] = o->size[i];
    } else {
        double size = x->ndim == 4 ? floor((double)x->shape[2 + i] * o->scale[i]) : 1;
        attrs->size[i] = size <= INT32_MAX ? (int64_t)size : INT64_MAX;
        attrs->step[i] = 1 / o->scale[i];
    }
    if (attrs->size[i] < 0 || attrs->size[i] > INT32_MAX)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "the result would have length %lld: must be in [1, 2^31)",
                          (long long)attrs->size[i]);
    return CEBUS_OK;
}

static cebus_status options_check(const cebus_interpolate_options *o)
{
    if (o->mode != CEBUS_INTERPOLATE_NEAREST && o->mode != CEBUS_INTERPOLATE_BILINEAR)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "unknown mode %d", (int)o->mode);
    if (o->align_corners && o->mode == CEBUS_INTERPOLATE_NEAREST)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "align_corners belongs to the bilinear mode: leave it false");
    bool sized = o->size[0] != 0 && o->size[1] != 0;
    bool scaled =
        o->scale[0] > 0 && o->scale[1] > 0 && isfinite(o->scale[0]) && isfinite(o->scale[1]);
    bool no_size = o->size[0] == 0 && o->size[1] == 0;
    bool no_scale = o->scale[0] == 0 && o->scale[1] == 0;
    if (!(sized && no_scale) && !(scaled && no_size))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "give either size (%lld x %lld) or a positive scale (%g x %g)",
                          (long long)o->size[0], (long long)o->size[1], o->scale[0], o->scale[1]);
    return CEBUS_OK;
}

cebus_status cebus_interpolate(cebus_runtime *rt, cebus_tensor *x,
                               const cebus_interpolate_options *options, cebus_tensor **out)
{
    if (out)
        *out = NULL;
    if (!rt || !x || !options || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "rt, x, options and out must be given");
    cebus_status status = options_check(options);
    cebus_resize_attrs attrs = {.mode = options->mode, .align_corners = options->align_corners};
    for (int i = 0; i < 2 && status == CEBUS_OK; i++)
        status = size_read(options, cebus_tensor_view(x), i, &attrs);
    if (status != CEBUS_OK)
        return status;
    cebus_call_spec spec = {
        .op = &op_interpolate,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = &x,
        .n_in = 1,
        .n_out = 1,
    };
    return cebus_call_run(rt, &spec, out);
}
