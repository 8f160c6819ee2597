#include "eager/ops/loss.h"

#include "eager/ops/check.h"

/* ---- inference --------------------------------------------------------------------------- */

/** x's shape without the classes. */
static int target_shape(const cebus_view *x, int64_t *shape)
{
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d != cebus_class_dim(x))
            shape[ndim++] = x->shape[d];
    }
    return ndim;
}

static cebus_status check_classes(const char *op, const cebus_view *x, const cebus_view *target)
{
    cebus_status status = cebus_check_real(op, x);
    if (status != CEBUS_OK)
        return status;
    if (target->dtype != CEBUS_I64 && target->dtype != CEBUS_I32)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, op,
                          "the target holds class indices, so i64 or i32, got %s: cebus_cast() it",
                          cebus_dtype_name(target->dtype));
    if (x->ndim == 0 || x->shape[cebus_class_dim(x)] == 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                          "x of shape %s has no classes: give [N, C], [N, C, ...] or [C]",
                          CEBUS_SHAPE(x));
    cebus_view wanted;
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = target_shape(x, shape);
    cebus_view_contiguous(&wanted, target->dtype, ndim, shape);
    if (!cebus_view_same_shape(&wanted, target))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                          "for x of shape %s the target must have shape %s, got %s: it is x's "
                          "without the classes (dimension %d)",
                          CEBUS_SHAPE(x), CEBUS_SHAPE(&wanted), CEBUS_SHAPE(target),
                          cebus_class_dim(x));
    return CEBUS_OK;
}

/** The view of the loss itself. */
static void loss_view(cebus_loss_reduction reduction, const cebus_view *each, cebus_view *out)
{
    if (reduction == CEBUS_LOSS_NONE)
        *out = *each;
    else
        cebus_view_contiguous(out, each->dtype, 0, NULL);
}

/** Of cross_entropy, whose second output is the logsumexp of each line, and of nll_loss. */
static cebus_status class_infer(cebus_infer *io)
{
    const cebus_class_loss_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    cebus_status status = check_classes(io->op->name, x, io->in[1]);
    if (status != CEBUS_OK)
        return status;
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = target_shape(x, shape);
    cebus_view each;
    cebus_view_contiguous(&each, x->dtype, ndim, shape);
    loss_view((cebus_loss_reduction)attrs->reduction, &each, &io->out[0]);
    if (io->n_out > 1)
        cebus_view_contiguous(&io->out[1], cebus_dtype_wide(x->dtype), ndim, shape);
    return CEBUS_OK;
}

static cebus_status cross_entropy_backward_infer(cebus_infer *io)
{
    cebus_class_layout(io->in[1], &io->out[0]);
    return CEBUS_OK;
}

static cebus_status nll_loss_backward_infer(cebus_infer *io)
{
    const cebus_class_loss_attrs *attrs = io->attrs;
    const cebus_view *target = io->in[1];
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = 0;
    if (target->ndim > 0)
        shape[ndim++] = target->shape[0];
    shape[ndim++] = attrs->classes;
    for (int d = 1; d < target->ndim; d++)
        shape[ndim++] = target->shape[d];
    cebus_view_contiguous(&io->out[0], io->in[0]->dtype, ndim, shape);
    return CEBUS_OK;
}

static cebus_status mse_infer(cebus_infer *io)
{
    const cebus_mse_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0], *target = io->in[1];
    cebus_status status = cebus_check_real(io->op->name, x);
    if (status != CEBUS_OK)
        return status;
    if (x->dtype != target->dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "x is %s and the target %s: cebus_cast() one of them",
                          cebus_dtype_name(x->dtype), cebus_dtype_name(target->dtype));
    if (!cebus_view_same_shape(x, target))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x has shape %s and the target %s: cebus_expand() or cebus_reshape() one",
                          CEBUS_SHAPE(x), CEBUS_SHAPE(target));
    cebus_view each;
    cebus_view_like(&each, x, x->dtype);
    loss_view((cebus_loss_reduction)attrs->reduction, &each, &io->out[0]);
    return CEBUS_OK;
}

static cebus_status mse_backward_infer(cebus_infer *io)
{
    cebus_view_like(&io->out[0], io->in[1], io->in[1]->dtype);
    return CEBUS_OK;
}

/* ---- ops --------------------------------------------------------------------------------- */

static const cebus_op op_cross_entropy = {
    .name = "cross_entropy",
    .infer = class_infer,
    .saves = cebus_cross_entropy_saves,
    .gradient = cebus_cross_entropy_gradient,
};
static const cebus_op op_nll_loss = {
    .name = "nll_loss",
    .infer = class_infer,
    .saves = cebus_nll_loss_saves,
    .gradient = cebus_nll_loss_gradient,
};
static const cebus_op op_mse_loss = {
    .name = "mse_loss",
    .infer = mse_infer,
    .saves = cebus_mse_loss_saves,
    .gradient = cebus_mse_loss_gradient,
};
const cebus_op cebus_op_cross_entropy_backward = {
    .name = "cross_entropy_backward",
    .infer = cross_entropy_backward_infer,
};
const cebus_op cebus_op_nll_loss_backward = {
    .name = "nll_loss_backward",
    .infer = nll_loss_backward_infer,
};
const cebus_op cebus_op_mse_loss_backward = {
    .name = "mse_loss_backward",
    .infer = mse_backward_infer,
};

/* ---- public entries ---------------------------------------------------------------------- */

static cebus_status check_pointers(const char *op, const cebus_runtime *rt, cebus_tensor *const *in,
                                   cebus_tensor **out)
{
    cebus_status status = cebus_check_pointers(op, rt, in[0], out);
    if (status == CEBUS_OK && in[1] == NULL)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op, "target is NULL: give a tensor");
    return status;
}

static cebus_status check_reduction(const char *op, cebus_loss_reduction reduction)
{
    int value = (int)reduction;
    if (value >= CEBUS_LOSS_MEAN && value <= CEBUS_LOSS_NONE)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                      "reduction is %d: give CEBUS_LOSS_MEAN, _SUM or _NONE", value);
}

static cebus_status run_class_loss(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *in,
                                   const cebus_class_loss_options *options, cebus_tensor **out)
{
    static const cebus_class_loss_options defaults;
    const cebus_class_loss_options *o = options != NULL ? options : &defaults;
    cebus_status status = check_pointers(op->name, rt, in, out);
    if (status == CEBUS_OK)
        status = check_reduction(op->name, o->reduction);
    if (status != CEBUS_OK)
        return status;
    double most = op == &op_cross_entropy ? 1 : 0;
    if (!(o->label_smoothing >= 0 && o->label_smoothing <= most))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "label_smoothing is %g: it must lie in [0, %g]", o->label_smoothing,
                          most);
    const cebus_view *view = cebus_tensor_view(in[0]);
    cebus_class_loss_attrs attrs = {
        .reduction = o->reduction,
        .ignore_index = o->has_ignore_index ? o->ignore_index : -100,
        .classes = view->ndim > 0 ? view->shape[cebus_class_dim(view)] : 0,
        .smoothing = o->label_smoothing,
    };
    cebus_tensor *results[2] = {NULL, NULL};
    cebus_call_spec spec = {
        .op = op,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = 2,
        .n_out = op == &op_cross_entropy ? 2 : 1,
    };
    status = cebus_call_run(rt, &spec, results);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(results[1]);
    *out = results[0];
    return CEBUS_OK;
}

cebus_status cebus_cross_entropy(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *target,
                                 const cebus_class_loss_options *options, cebus_tensor **out)
{
    return run_class_loss(rt, &op_cross_entropy, (cebus_tensor *[]){x, target}, options, out);
}

cebus_status cebus_nll_loss(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *target,
                            const cebus_class_loss_options *options, cebus_tensor **out)
{
    return run_class_loss(rt, &op_nll_loss, (cebus_tensor *[]){x, target}, options, out);
}

cebus_status cebus_mse_loss(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *target,
                            cebus_loss_reduction reduction, cebus_tensor **out)
{
    cebus_tensor *in[] = {x, target};
    cebus_status status = check_pointers("mse_loss", rt, in, out);
    if (status == CEBUS_OK)
        status = check_reduction("mse_loss", reduction);
    if (status != CEBUS_OK)
        return status;
    cebus_mse_attrs attrs = {.reduction = reduction};
    cebus_call_spec spec = {
        .op = &op_mse_loss,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = 2,
        .n_out = 1,
    };
    return cebus_call_run(rt, &spec, out);
}
