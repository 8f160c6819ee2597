#include "eager/ops/batch_norm.h"

#include "eager/view.h"

static const char name[] = "batch_norm";

/** x is a float tensor of 2 to 5 dimensions; every other input but those of its shape is [C]. */
static cebus_status operands_check(const cebus_infer *io, uint32_t n_images)
{
    const cebus_view *x = io->in[0];
    if (!cebus_dtype_is_float(x->dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "x is %s: only floats are normalized; cebus_cast() it",
                          cebus_dtype_name(x->dtype));
    if (x->ndim < 2 || x->ndim > 5)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x has shape %s: expected [N, C] or [N, C, ...] of up to 5 dimensions",
                          CEBUS_SHAPE(x));
    for (uint32_t i = 1; i < io->n_in; i++) {
        const cebus_view *v = io->in[i];
        if (!v)
            continue;
        if (v->dtype != x->dtype && (i < n_images || v->dtype != cebus_dtype_wide(x->dtype)))
            return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                              "x is %s and input %u is %s: cebus_cast() one of them",
                              cebus_dtype_name(x->dtype), i, cebus_dtype_name(v->dtype));
        if (i < n_images ? !cebus_view_same_shape(v, x)
                         : v->ndim != 1 || v->shape[0] != x->shape[1])
            return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                              "x has shape %s and input %u %s: expected %s", CEBUS_SHAPE(x), i,
                              CEBUS_SHAPE(v), i < n_images ? "the same" : "one value a channel");
    }
    return CEBUS_OK;
}

static void fill_image(cebus_view *out, const cebus_view *like)
{
    if (cebus_view_is_channels_last(like))
        cebus_view_channels_last(out, like->dtype, like->shape);
    else
        cebus_view_contiguous(out, like->dtype, like->ndim, like->shape);
}

static void fill_channels(cebus_view *out, const cebus_view *x)
{
    cebus_view_contiguous(out, cebus_dtype_wide(x->dtype), 1, &x->shape[1]);
}

static cebus_status infer_train(cebus_infer *io)
{
    const cebus_view *x = io->in[0];
    cebus_status status = operands_check(io, 1);
    if (status != CEBUS_OK)
        return status;
    if (x->shape[1] > 0 && cebus_view_numel(x) / x->shape[1] < 2)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x has shape %s: training needs at least two values a channel",
                          CEBUS_SHAPE(x));
    fill_image(&io->out[0], x);
    fill_channels(&io->out[1], x);
    fill_channels(&io->out[2], x);
    return CEBUS_OK;
}

static cebus_status infer_eval(cebus_infer *io)
{
    cebus_status status = operands_check(io, 1);
    if (status == CEBUS_OK)
        fill_image(&io->out[0], io->in[0]);
    return status;
}

static cebus_status infer_backward(cebus_infer *io)
{
    cebus_status status = operands_check(io, 2);
    if (status != CEBUS_OK)
        return status;
    const cebus_batch_norm_attrs *attrs = io->attrs;
    fill_image(&io->out[0], io->in[1]);
    fill_channels(&io->out[1], io->in[1]);
    fill_channels(&io->out[2], io->in[1]);
    io->out[1].dtype = (cebus_dtype)attrs->dweight;
    io->out[2].dtype = (cebus_dtype)attrs->dbias;
    return CEBUS_OK;
}

static cebus_status infer_running(cebus_infer *io)
{
    for (uint32_t i = 1; i < io->n_in; i++)
        if (io->in[i]->dtype != io->in[0]->dtype || !cebus_view_same_shape(io->in[i], io->in[0]))
            return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                              "the running statistics are %s %s, this batch's %s %s",
                              cebus_dtype_name(io->in[0]->dtype), CEBUS_SHAPE(io->in[0]),
                              cebus_dtype_name(io->in[i]->dtype), CEBUS_SHAPE(io->in[i]));
    return CEBUS_OK;
}

static const cebus_op op_train = {
    .name = "batch_norm",
    .infer = infer_train,
    .saves = cebus_batch_norm_saves,
    .gradient = cebus_batch_norm_gradient,
};

static const cebus_op op_eval = {
    .name = "batch_norm_eval",
    .infer = infer_eval,
    .saves = cebus_batch_norm_eval_saves,
    .gradient = cebus_batch_norm_eval_gradient,
};

const cebus_op cebus_op_batch_norm_backward = {
    .name = "batch_norm_backward",
    .infer = infer_backward,
};

static const cebus_op op_running = {
    .name = "batch_norm_running",
    .flags = CEBUS_OP_NUMBERS,
    .mutates = 1U << 0 | 1U << 1,
    .infer = infer_running,
};

/** Moves the running statistics towards out[1] and out[2] of the training call. */
static cebus_status running_update(cebus_runtime *rt, const cebus_batch_norm_options *options,
                                   int64_t n, cebus_tensor *const *statistics)
{
    cebus_batch_norm_running_attrs attrs = {
        .momentum = options->momentum != 0 ? options->momentum : 0.1,
        .correction = (double)n / (double)(n - 1),
    };
    cebus_tensor *in[] = {options->running_mean, options->running_var, statistics[0],
                          statistics[1]};
    cebus_call_spec spec = {
        .op = &op_running,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = 4,
        .n_out = 2,
    };
    cebus_tensor *out[2];
    cebus_status status = cebus_call_run(rt, &spec, out);
    if (status == CEBUS_OK) {
        cebus_tensor_release(out[0]);
        cebus_tensor_release(out[1]);
    }
    return status;
}

static cebus_status running_check(const cebus_tensor *x, const cebus_batch_norm_options *options)
{
    const cebus_view *view = cebus_tensor_view(x);
    const cebus_view *running[] = {cebus_tensor_view(options->running_mean),
                                   cebus_tensor_view(options->running_var)};
    for (int i = 0; i < 2; i++) {
        if (view->ndim < 2)
            return CEBUS_OK; /* inference has a better message */
        if (running[i]->ndim != 1 || running[i]->shape[0] != view->shape[1])
            return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                              "x has shape %s and a running statistic %s: expected one value a "
                              "channel",
                              CEBUS_SHAPE(view), CEBUS_SHAPE(running[i]));
        if (running[i]->dtype != cebus_dtype_wide(view->dtype))
            return cebus_fail(CEBUS_DTYPE_MISMATCH, name,
                              "x is %s and a running statistic %s, which must be %s: cebus_cast() "
                              "one of them",
                              cebus_dtype_name(view->dtype), cebus_dtype_name(running[i]->dtype),
                              cebus_dtype_name(cebus_dtype_wide(view->dtype)));
    }
    return CEBUS_OK;
}

static cebus_status options_check(const cebus_batch_norm_options *options)
{
    if (!options->running_mean != !options->running_var)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "running_mean and running_var go together: give both or none");
    if (!options->training && !options->running_mean)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "evaluation needs running_mean and running_var (or set training)");
    if (!(options->eps >= 0 && options->eps <= 1e30) ||
        !(options->momentum >= 0 && options->momentum <= 1))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "eps is %g and momentum %g: expected eps >= 0 and momentum in [0, 1]",
                          options->eps, options->momentum);
    return CEBUS_OK;
}

static cebus_status train(cebus_runtime *rt, cebus_tensor *const *in,
                          const cebus_batch_norm_options *options,
                          const cebus_batch_norm_attrs *attrs, cebus_tensor **out)
{
    cebus_call_spec spec = {
        .op = &op_train,
        .attrs = attrs,
        .attr_bytes = sizeof *attrs,
        .in = in,
        .n_in = 3,
        .n_out = 3,
    };
    cebus_tensor *results[3];
    cebus_status status = cebus_call_run(rt, &spec, results);
    if (status != CEBUS_OK)
        return status;
    int64_t channels = cebus_tensor_size(in[0], 1);
    if (options->running_mean && channels > 0)
        status = running_update(rt, options, cebus_tensor_numel(in[0]) / channels, results + 1);
    cebus_tensor_release(results[1]);
    cebus_tensor_release(results[2]);
    if (status == CEBUS_OK)
        *out = results[0];
    else
        cebus_tensor_release(results[0]);
    return status;
}

cebus_status cebus_batch_norm(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                              cebus_tensor *bias, const cebus_batch_norm_options *options,
                              cebus_tensor **out)
{
    if (out)
        *out = NULL;
    if (!rt || !x || !options || !out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "rt, x, options and out must be given");
    cebus_status status = options_check(options);
    if (status == CEBUS_OK && options->running_mean)
        status = running_check(x, options);
    if (status != CEBUS_OK)
        return status;
    cebus_batch_norm_attrs attrs = {
        .eps = options->eps != 0 ? options->eps : 1e-5,
        .training = options->training,
    };
    cebus_tensor *in[] = {x, weight, bias, options->running_mean, options->running_var};
    if (options->training)
        return train(rt, in, options, &attrs, out);
    cebus_call_spec spec = {
        .op = &op_eval,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = 5,
        .n_out = 1,
    };
    return cebus_call_run(rt, &spec, out);
}
