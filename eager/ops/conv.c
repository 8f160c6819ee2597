#include "eager/ops/conv.h"

#include "eager/view.h"

/** Longest length, stride or padding: products of three of them still fit in 64 bits. */
#define LIMIT (INT64_C(1) << 20)

static const cebus_op op_conv2d, op_conv_transpose2d, op_conv2d_weight;

/** Fills in the defaults and refuses what is out of range. */
static cebus_status options_read(const char *op, const cebus_conv_options *options,
                                 cebus_conv_attrs *out)
{
    static const cebus_conv_options plain;
    const cebus_conv_options *o = options ? options : &plain;
    *out = (cebus_conv_attrs){.groups = o->groups ? o->groups : 1};
    for (int i = 0; i < 2; i++) {
        out->stride[i] = o->stride[i] ? o->stride[i] : 1;
        out->padding[i] = o->padding[i];
        out->dilation[i] = o->dilation[i] ? o->dilation[i] : 1;
        if (out->stride[i] < 1 || out->stride[i] > LIMIT || out->dilation[i] < 1 ||
            out->dilation[i] > LIMIT || out->padding[i] < 0 || out->padding[i] > LIMIT)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "stride %lld, dilation %lld and padding %lld: the first two must be "
                              "at least 1, the last at least 0, none above 2^20",
                              (long long)out->stride[i], (long long)out->dilation[i],
                              (long long)out->padding[i]);
    }
    if (out->groups < 1 || out->groups > LIMIT)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "groups is %lld: must be in [1, 2^20]",
                          (long long)out->groups);
    return CEBUS_OK;
}

/** Types, ranks and lengths of the two operands and the optional bias. */
static cebus_status operands_check(const cebus_infer *io)
{
    const char *op = io->op->name;
    for (uint32_t i = 0; i < io->n_in; i++) {
        const cebus_view *v = io->in[i];
        if (!v)
            continue;
        if (v->dtype != io->in[0]->dtype || !cebus_dtype_is_float(v->dtype))
            return cebus_fail(CEBUS_DTYPE_MISMATCH, op,
                              "inputs are %s and %s: all must be of one float type; cebus_cast() "
                              "them",
                              cebus_dtype_name(io->in[0]->dtype), cebus_dtype_name(v->dtype));
        if (v->ndim != (i < 2 ? 4 : 1))
            return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                              "input %u has shape %s: expected %d dimensions; cebus_reshape() it",
                              i, CEBUS_SHAPE(v), i < 2 ? 4 : 1);
        for (int d = 1; d < v->ndim; d++)
            if (v->shape[d] < 1 || (d > 1 && v->shape[d] > LIMIT))
                return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                                  "input %u has shape %s: only the batch may be empty, and no "
                                  "length above 2^20",
                                  i, CEBUS_SHAPE(v));
    }
    return CEBUS_OK;
}

static cebus_status bias_check(const cebus_infer *io, int64_t channels)
{
    const cebus_view *bias = io->n_in > 2 ? io->in[2] : NULL;
    if (bias && bias->shape[0] != channels)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "bias has shape %s: expected [%lld], one for each output channel",
                          CEBUS_SHAPE(bias), (long long)channels);
    return CEBUS_OK;
}

static cebus_status result_fill(cebus_infer *io, int64_t channels)
{
    const cebus_conv_attrs *attrs = io->attrs;
    int64_t shape[4] = {io->in[0]->shape[0], channels, attrs->size[0], attrs->size[1]};
    if (shape[2] < 1 || shape[3] < 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "the result of image %s and weight %s would be %lld x %lld: use %s",
                          CEBUS_SHAPE(io->in[0]), CEBUS_SHAPE(io->in[1]), (long long)shape[2],
                          (long long)shape[3],
                          io->op == &op_conv2d ? "more padding, less dilation or a smaller kernel"
                                               : "less padding");
    if (!cebus_shape_valid(io->in[0]->dtype, 4, shape))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name, "the result of %s is too large",
                          CEBUS_SHAPE(io->in[0]));
    cebus_view_channels_last(&io->out[0], io->in[0]->dtype, shape);
    return CEBUS_OK;
}

static cebus_status infer_conv2d(cebus_infer *io)
{
    const cebus_conv_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0], *w = io->in[1];
    cebus_status status = operands_check(io);
    if (status != CEBUS_OK)
        return status;
    if (x->shape[1] != w->shape[1] * attrs->groups || w->shape[0] % attrs->groups != 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "image %s and weight %s do not go together in %lld groups: the image's "
                          "channels must be groups x weight.shape[1], and weight.shape[0] a "
                          "multiple of groups",
                          CEBUS_SHAPE(x), CEBUS_SHAPE(w), (long long)attrs->groups);
    status = bias_check(io, w->shape[0]);
    return status == CEBUS_OK ? result_fill(io, w->shape[0]) : status;
}

static cebus_status infer_conv_transpose2d(cebus_infer *io)
{
    const cebus_conv_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0], *w = io->in[1];
    cebus_status status = operands_check(io);
    if (status != CEBUS_OK)
        return status;
    if (x->shape[1] != w->shape[0] || w->shape[0] % attrs->groups != 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "image %s and weight %s do not go together in %lld groups: the image's "
                          "channels must be weight.shape[0], a multiple of groups",
                          CEBUS_SHAPE(x), CEBUS_SHAPE(w), (long long)attrs->groups);
    if (w->shape[1] > LIMIT)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name, "weight %s has over 2^20 channels",
                          CEBUS_SHAPE(w));
    status = bias_check(io, w->shape[1] * attrs->groups);
    return status == CEBUS_OK ? result_fill(io, w->shape[1] * attrs->groups) : status;
}

static cebus_status infer_conv2d_weight(cebus_infer *io)
{
    const cebus_conv_attrs *attrs = io->attrs;
    const cebus_view *image = io->in[0], *output = io->in[1];
    cebus_status status = operands_check(io);
    if (status != CEBUS_OK)
        return status;
    if (image->shape[0] != output->shape[0] || image->shape[1] % attrs->groups != 0 ||
        output->shape[1] % attrs->groups != 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "image %s and output gradient %s do not go together in %lld groups",
                          CEBUS_SHAPE(image), CEBUS_SHAPE(output), (long long)attrs->groups);
    int64_t shape[4] = {output->shape[1], image->shape[1] / attrs->groups, attrs->size[0],
                        attrs->size[1]};
    cebus_view_contiguous(&io->out[0], image->dtype, 4, shape);
    return CEBUS_OK;
}

static const cebus_op op_conv2d = {
    .name = "conv2d",
    .infer = infer_conv2d,
    .saves = cebus_conv_saves,
    .gradient = cebus_conv_forward_gradient,
};

static const cebus_op op_conv_transpose2d = {
    .name = "conv_transpose2d",
    .infer = infer_conv_transpose2d,
    .saves = cebus_conv_saves,
    .gradient = cebus_conv_transpose_gradient,
};

static const cebus_op op_conv2d_weight = {
    .name = "conv2d_weight",
    .infer = infer_conv2d_weight,
};

static cebus_status call(cebus_runtime *rt, const cebus_call_spec *inputs,
                         const cebus_conv_attrs *attrs, cebus_tensor **out)
{
    cebus_call_spec spec = *inputs;
    spec.attrs = attrs;
    spec.attr_bytes = sizeof *attrs;
    spec.n_out = 1;
    return cebus_call_run(rt, &spec, out);
}

cebus_status cebus_conv_forward(cebus_runtime *rt, cebus_tensor *const *in,
                                const cebus_conv_attrs *attrs, cebus_tensor **out)
{
    return call(rt, &(cebus_call_spec){.op = &op_conv2d, .in = in, .n_in = 3}, attrs, out);
}

cebus_status cebus_conv_transpose(cebus_runtime *rt, cebus_tensor *const *in,
                                  const cebus_conv_attrs *attrs, cebus_tensor **out)
{
    return call(rt, &(cebus_call_spec){.op = &op_conv_transpose2d, .in = in, .n_in = 3}, attrs,
                out);
}

cebus_status cebus_conv_weight(cebus_runtime *rt, cebus_tensor *image, cebus_tensor *output,
                               const cebus_conv_attrs *attrs, cebus_tensor **out)
{
    cebus_tensor *in[2] = {image, output};
    return call(rt, &(cebus_call_spec){.op = &op_conv2d_weight, .in = in, .n_in = 2}, attrs, out);
}

/** Span of a dilated kernel; lengths over the limit (infer refuses them) are cut to it. */
static int64_t kernel_span(const cebus_view *weight, const cebus_conv_attrs *attrs, int i)
{
    int64_t kernel = weight->shape[2 + i] < LIMIT ? weight->shape[2 + i] : LIMIT;
    return attrs->dilation[i] * (kernel - 1) + 1;
}

cebus_status cebus_conv2d(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                          cebus_tensor *bias, const cebus_conv_options *options, cebus_tensor **out)
{
    if (out)
        *out = NULL;
    if (!rt || !x || !weight || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "conv2d", "rt, x, weight and out must be given");
    cebus_conv_attrs attrs;
    cebus_status status = options_read("conv2d", options, &attrs);
    if (status != CEBUS_OK)
        return status;
    if (options && (options->output_padding[0] || options->output_padding[1]))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "conv2d",
                          "output_padding belongs to cebus_conv_transpose2d(): leave it 0");
    const cebus_view *image = cebus_tensor_view(x), *w = cebus_tensor_view(weight);
    for (int i = 0; i < 2 && image->ndim == 4 && w->ndim == 4; i++) {
        int64_t room = image->shape[2 + i] + 2 * attrs.padding[i] - kernel_span(w, &attrs, i);
        attrs.size[i] = room < 0 ? 0 : room / attrs.stride[i] + 1;
    }
    return cebus_conv_forward(rt, (cebus_tensor *[]){x, weight, bias}, &attrs, out);
}

cebus_status cebus_conv_transpose2d(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                                    cebus_tensor *bias, const cebus_conv_options *options,
                                    cebus_tensor **out)
{
    static const char name[] = "conv_transpose2d";
    if (out)
        *out = NULL;
    if (!rt || !x || !weight || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "rt, x, weight and out must be given");
    cebus_conv_attrs attrs;
    cebus_status status = options_read(name, options, &attrs);
    if (status != CEBUS_OK)
        return status;
    const cebus_view *image = cebus_tensor_view(x), *w = cebus_tensor_view(weight);
    for (int i = 0; i < 2; i++) {
        int64_t more = options ? options->output_padding[i] : 0;
        if (more < 0 || (more >= attrs.stride[i] && more >= attrs.dilation[i]))
            return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                              "output_padding is %lld: must be at least 0 and less than the stride "
                              "(%lld) or the dilation (%lld)",
                              (long long)more, (long long)attrs.stride[i],
                              (long long)attrs.dilation[i]);
        if (image->ndim == 4 && w->ndim == 4 && image->shape[2 + i] <= LIMIT)
            attrs.size[i] = (image->shape[2 + i] - 1) * attrs.stride[i] - 2 * attrs.padding[i] +
                            kernel_span(w, &attrs, i) + more;
    }
    return cebus_conv_transpose(rt, (cebus_tensor *[]){x, weight, bias}, &attrs, out);
}
