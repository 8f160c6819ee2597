#include "eager/ops/pool.h"

#include "eager/view.h"

/** Longest window, stride or dilation: their products fit in 64 bits, window places in 32. */
#define LIMIT (INT64_C(1) << 15)

static cebus_status image_check(const char *op, const cebus_view *x)
{
    if (!cebus_dtype_is_float(x->dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, op,
                          "the image is %s: only floats are pooled; cebus_cast() it",
                          cebus_dtype_name(x->dtype));
    if (x->ndim != 4)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                          "the image has shape %s: expected [N, C, H, W]; cebus_reshape() it",
                          CEBUS_SHAPE(x));
    for (int d = 1; d < 4; d++)
        if (x->shape[d] < 1 || x->shape[d] > INT32_MAX)
            return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                              "the image has shape %s: only the batch may be empty",
                              CEBUS_SHAPE(x));
    return CEBUS_OK;
}

/** Windows along dimension i of an image of that length. */
static int64_t window_count(const cebus_pool_attrs *attrs, int64_t length, int i, bool ceil_mode)
{
    int64_t span = attrs->dilation[i] * (attrs->kernel[i] - 1) + 1;
    int64_t room = length + 2 * attrs->padding[i] - span + (ceil_mode ? attrs->stride[i] - 1 : 0);
    if (room < 0)
        return 0;
    int64_t count = room / attrs->stride[i] + 1;
    /* The last window must begin in the image or in the padding before it. */
    return (count - 1) * attrs->stride[i] >= length + attrs->padding[i] ? count - 1 : count;
}

static cebus_status result_shape(const cebus_infer *io, int64_t *shape)
{
    const cebus_pool_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    cebus_status status = image_check(io->op->name, x);
    if (status != CEBUS_OK)
        return status;
    for (int i = 0; i < 2; i++) {
        shape[i] = x->shape[i];
        shape[2 + i] = attrs->size[i];
    }
    if (shape[2] < 1 || shape[3] < 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "image %s is smaller than the %lld x %lld window: use more padding or a "
                          "smaller window",
                          CEBUS_SHAPE(x), (long long)attrs->kernel[0], (long long)attrs->kernel[1]);
    if (!cebus_shape_valid(x->dtype, 4, shape))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name, "the result of %s is too large",
                          CEBUS_SHAPE(x));
    return CEBUS_OK;
}

static cebus_status infer_one(cebus_infer *io)
{
    int64_t shape[4];
    cebus_status status = result_shape(io, shape);
    if (status == CEBUS_OK)
        cebus_view_channels_last(&io->out[0], io->in[0]->dtype, shape);
    return status;
}

static cebus_status infer_max(cebus_infer *io)
{
    const cebus_pool_attrs *attrs = io->attrs;
    int64_t shape[4];
    cebus_status status = result_shape(io, shape);
    if (status != CEBUS_OK)
        return status;
    cebus_view_channels_last(&io->out[0], io->in[0]->dtype, shape);
    bool small = attrs->kernel[0] * attrs->kernel[1] <= 256;
    cebus_view_channels_last(&io->out[1], small ? CEBUS_U8 : CEBUS_I32, shape);
    return CEBUS_OK;
}

static const cebus_op op_max = {
    .name = "max_pool2d",
    .infer = infer_max,
    .saves = cebus_max_pool2d_saves,
    .gradient = cebus_max_pool2d_gradient,
};

static const cebus_op op_avg = {
    .name = "avg_pool2d",
    .infer = infer_one,
    .gradient = cebus_avg_pool2d_gradient,
};

static const cebus_op op_adaptive_avg = {
    .name = "adaptive_avg_pool2d",
    .infer = infer_one,
    .gradient = cebus_avg_pool2d_gradient,
};

const cebus_op cebus_op_max_pool2d_backward = {
    .name = "max_pool2d_backward",
    .infer = infer_one,
};

const cebus_op cebus_op_avg_pool2d_backward = {
    .name = "avg_pool2d_backward",
    .infer = infer_one,
};

static cebus_status options_read(const char *op, const cebus_pool_options *o, cebus_pool_attrs *out)
{
    *out = (cebus_pool_attrs){.exclude_padding = o->exclude_padding};
    for (int i = 0; i < 2; i++) {
        out->kernel[i] = o->kernel[i];
        out->stride[i] = o->stride[i] ? o->stride[i] : o->kernel[i];
        out->padding[i] = o->padding[i];
        out->dilation[i] = o->dilation[i] ? o->dilation[i] : 1;
        if (out->kernel[i] < 1 || out->kernel[i] > LIMIT || out->stride[i] < 1 ||
            out->stride[i] > LIMIT || out->dilation[i] < 1 || out->dilation[i] > LIMIT)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "kernel %lld, stride %lld and dilation %lld must be in [1, 2^15]",
                              (long long)out->kernel[i], (long long)out->stride[i],
                              (long long)out->dilation[i]);
        int64_t span = out->dilation[i] * (out->kernel[i] - 1) + 1;
        if (out->padding[i] < 0 || out->padding[i] > span / 2)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "padding %lld must be at least 0 and at most half of the window's "
                              "span, %lld",
                              (long long)out->padding[i], (long long)span);
    }
    return CEBUS_OK;
}

static cebus_call_spec describe(const cebus_op *op, const cebus_pool_attrs *attrs, cebus_tensor **x)
{
    return (cebus_call_spec){
        .op = op,
        .attrs = attrs,
        .attr_bytes = sizeof *attrs,
        .in = x,
        .n_in = 1,
        .n_out = 1,
    };
}

static void count_windows(cebus_pool_attrs *attrs, const cebus_tensor *x, bool ceil_mode)
{
    const cebus_view *view = cebus_tensor_view(x);
    for (int i = 0; i < 2 && view->ndim == 4 && view->shape[2 + i] <= INT32_MAX; i++)
        attrs->size[i] = window_count(attrs, view->shape[2 + i], i, ceil_mode);
}

cebus_status cebus_max_pool2d(cebus_runtime *rt, cebus_tensor *x, const cebus_pool_options *options,
                              cebus_tensor **out)
{
    if (out)
        *out = NULL;
    if (!rt || !x || !options || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_max.name,
                          "rt, x, options and out must be given");
    cebus_pool_attrs attrs;
    cebus_status status = options_read(op_max.name, options, &attrs);
    if (status != CEBUS_OK)
        return status;
    if (options->exclude_padding)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_max.name,
                          "exclude_padding belongs to cebus_avg_pool2d(): leave it false");
    count_windows(&attrs, x, options->ceil_mode);
    cebus_call_spec spec = describe(&op_max, &attrs, &x);
    spec.n_out = 2;
    cebus_tensor *results[2];
    status = cebus_call_run(rt, &spec, results);
    cebus_tensor_release(results[1]);
    *out = results[0];
    return status;
}

cebus_status cebus_avg_pool2d(cebus_runtime *rt, cebus_tensor *x, const cebus_pool_options *options,
                              cebus_tensor **out)
{
    if (out)
        *out = NULL;
    if (!rt || !x || !options || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_avg.name,
                          "rt, x, options and out must be given");
    cebus_pool_attrs attrs;
    cebus_status status = options_read(op_avg.name, options, &attrs);
    if (status != CEBUS_OK)
        return status;
    if (attrs.dilation[0] != 1 || attrs.dilation[1] != 1)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_avg.name,
                          "dilation belongs to cebus_max_pool2d(): leave it 0");
    count_windows(&attrs, x, options->ceil_mode);
    cebus_call_spec spec = describe(&op_avg, &attrs, &x);
    return cebus_call_run(rt, &spec, out);
}

cebus_status cebus_adaptive_avg_pool2d(cebus_runtime *rt, cebus_tensor *x, int64_t height,
                                       int64_t width, cebus_tensor **out)
{
    if (out)
        *out = NULL;
    if (!rt || !x || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_adaptive_avg.name,
                          "rt, x and out must be given");
    if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_adaptive_avg.name,
                          "the result would be %lld x %lld: both must be in [1, 2^31)",
                          (long long)height, (long long)width);
    cebus_pool_attrs attrs = {.size = {height, width}, .adaptive = 1};
    cebus_call_spec spec = describe(&op_adaptive_avg, &attrs, &x);
    return cebus_call_run(rt, &spec, out);
}
