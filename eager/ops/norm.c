#include "eager/ops/norm.h"

#include <math.h>

#include <cebus/ops/norm.h>

#include "eager/ops/check.h"

/* ---- inference --------------------------------------------------------------------------- */

/** weight or bias, when there is one, against the shape x asks for. */
static cebus_status check_affine(const cebus_infer *io, uint32_t i, const cebus_view *wanted)
{
    const cebus_view *affine = i < io->n_in ? io->in[i] : NULL;
    const char *name = i == 1 ? "weight" : "bias";
    if (affine == NULL)
        return CEBUS_OK;
    if (affine->dtype != wanted->dtype && affine->dtype != cebus_dtype_wide(wanted->dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "x is %s and the %s %s: cebus_cast() one of them",
                          cebus_dtype_name(wanted->dtype), name, cebus_dtype_name(affine->dtype));
    if (!cebus_view_same_shape(affine, wanted))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "for x of shape %s the %s must have shape %s, got %s",
                          CEBUS_SHAPE(io->in[0]), name, CEBUS_SHAPE(wanted), CEBUS_SHAPE(affine));
    return CEBUS_OK;
}

/** The shape of weight and bias: the last dimensions of x. */
static void trailing_view(const cebus_view *x, int64_t n_dims, cebus_view *out)
{
    int first = x->ndim - (int)n_dims;
    cebus_view_contiguous(out, x->dtype, (int)n_dims, x->shape + first);
}

/** Of layer_norm, with two statistics, and of rms_norm, with one. */
static cebus_status trailing_infer(cebus_infer *io)
{
    const cebus_norm_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    cebus_status status = cebus_check_real(io->op->name, x);
    if (status != CEBUS_OK)
        return status;
    if (attrs->n_dims > x->ndim)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x of shape %s has fewer than %d dimensions to normalize over",
                          CEBUS_SHAPE(x), (int)attrs->n_dims);
    cebus_view affine;
    trailing_view(x, attrs->n_dims, &affine);
    for (uint32_t i = 1; i < 3 && status == CEBUS_OK; i++)
        status = check_affine(io, i, &affine);
    if (status != CEBUS_OK)
        return status;
    cebus_view_contiguous(&io->out[0], x->dtype, x->ndim, x->shape);
    for (uint32_t i = 1; i < io->n_out; i++)
        cebus_view_contiguous(&io->out[i], cebus_dtype_wide(x->dtype), x->ndim - (int)attrs->n_dims,
                              x->shape);
    return CEBUS_OK;
}

static cebus_status group_infer(cebus_infer *io)
{
    const cebus_norm_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    cebus_status status = cebus_check_real(io->op->name, x);
    if (status != CEBUS_OK)
        return status;
    if (x->ndim < 2 || x->shape[1] % attrs->groups != 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x of shape %s cannot be split into %lld groups of channels: give "
                          "[N, C, ...] and groups that divide C",
                          CEBUS_SHAPE(x), (long long)attrs->groups);
    cebus_view affine;
    cebus_view_contiguous(&affine, x->dtype, 1, &x->shape[1]);
    for (uint32_t i = 1; i < 3 && status == CEBUS_OK; i++)
        status = check_affine(io, i, &affine);
    if (status != CEBUS_OK)
        return status;
    cebus_group_norm_layout(x, &io->out[0]);
    for (uint32_t i = 1; i < 3; i++)
        cebus_view_contiguous(&io->out[i], cebus_dtype_wide(x->dtype), 2,
                              (const int64_t[]){x->shape[0], attrs->groups});
    return CEBUS_OK;
}

/** dx, dweight and dbias, as far as they are wanted, in this order. */
static void backward_views(cebus_infer *io, const cebus_view *dx, const cebus_view *affine)
{
    const cebus_norm_attrs *attrs = io->attrs;
    const int64_t types[] = {dx->dtype, attrs->dweight, attrs->dbias};
    for (int i = 0, n = 0; i < 3; i++) {
        if (!(attrs->wanted >> i & 1))
            continue;
        io->out[n] = i == 0 ? *dx : *affine;
        io->out[n++].dtype = (cebus_dtype)types[i];
    }
}

static cebus_status trailing_backward_infer(cebus_infer *io)
{
    const cebus_norm_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[1];
    cebus_view dx, affine;
    cebus_view_contiguous(&dx, x->dtype, x->ndim, x->shape);
    trailing_view(x, attrs->n_dims, &affine);
    backward_views(io, &dx, &affine);
    return CEBUS_OK;
}

static cebus_status group_backward_infer(cebus_infer *io)
{
    const cebus_view *x = io->in[1];
    cebus_view dx, affine;
    cebus_group_norm_layout(x, &dx);
    cebus_view_contiguous(&affine, x->dtype, 1, &x->shape[1]);
    backward_views(io, &dx, &affine);
    return CEBUS_OK;
}

/* ---- ops --------------------------------------------------------------------------------- */

static const cebus_op op_layer_norm = {
    .name = "layer_norm",
    .infer = trailing_infer,
    .saves = cebus_norm_saves,
    .gradient = cebus_layer_norm_gradient,
};
static const cebus_op op_rms_norm = {
    .name = "rms_norm",
    .infer = trailing_infer,
    .saves = cebus_rms_norm_saves,
    .gradient = cebus_rms_norm_gradient,
};
static const cebus_op op_group_norm = {
    .name = "group_norm",
    .infer = group_infer,
    .saves = cebus_norm_saves,
    .gradient = cebus_group_norm_gradient,
};
const cebus_op cebus_op_layer_norm_backward = {
    .name = "layer_norm_backward",
    .infer = trailing_backward_infer,
};
const cebus_op cebus_op_rms_norm_backward = {
    .name = "rms_norm_backward",
    .infer = trailing_backward_infer,
};
const cebus_op cebus_op_group_norm_backward = {
    .name = "group_norm_backward",
    .infer = group_backward_infer,
};

/* ---- public entries ---------------------------------------------------------------------- */

/** Runs a forward op and keeps of its outputs only the first; the graph keeps the statistics. */
static cebus_status run(cebus_runtime *rt, const cebus_op *op, const cebus_norm_attrs *attrs,
                        cebus_tensor *const *in, cebus_tensor **out)
{
    cebus_status status = cebus_check_pointers(op->name, rt, in[0], out);
    if (status != CEBUS_OK)
        return status;
    if (!(attrs->eps >= 0) || !isfinite(attrs->eps))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "eps is %g: it must be finite and not negative", attrs->eps);
    bool rms = op == &op_rms_norm;
    cebus_tensor *results[3] = {NULL, NULL, NULL};
    cebus_call_spec spec = {
        .op = op,
        .attrs = attrs,
        .attr_bytes = sizeof *attrs,
        .in = in,
        .n_in = rms ? 2 : 3,
        .n_out = rms ? 2 : 3,
    };
    status = cebus_call_run(rt, &spec, results);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(results[1]);
    cebus_tensor_release(results[2]);
    *out = results[0];
    return CEBUS_OK;
}

static double eps_or_default(double eps)
{
    return eps == 0 ? 1e-5 : eps;
}

static cebus_status run_trailing(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *in,
                                 const cebus_layer_norm_options *options, cebus_tensor **out)
{
    cebus_norm_attrs attrs = {.n_dims = 1, .eps = eps_or_default(options ? options->eps : 0)};
    if (options != NULL && options->n_dims != 0)
        attrs.n_dims = options->n_dims;
    if (attrs.n_dims < 0) {
        if (out != NULL)
            *out = NULL;
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "n_dims is %d: give the number of trailing dimensions",
                          (int)attrs.n_dims);
    }
    return run(rt, op, &attrs, in, out);
}

cebus_status cebus_layer_norm(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                              cebus_tensor *bias, const cebus_layer_norm_options *options,
                              cebus_tensor **out)
{
    cebus_tensor *in[] = {x, weight, bias};
    return run_trailing(rt, &op_layer_norm, in, options, out);
}

cebus_status cebus_rms_norm(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                            const cebus_layer_norm_options *options, cebus_tensor **out)
{
    cebus_tensor *in[] = {x, weight};
    return run_trailing(rt, &op_rms_norm, in, options, out);
}

cebus_status cebus_group_norm(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                              cebus_tensor *bias, const cebus_group_norm_options *options,
                              cebus_tensor **out)
{
    if (options == NULL || options->groups < 1) {
        if (out != NULL)
            *out = NULL;
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "group_norm",
                          "options->groups is %lld: give at least 1",
                          options != NULL ? (long long)options->groups : 0LL);
    }
    cebus_norm_attrs attrs = {.groups = options->groups, .eps = eps_or_default(options->eps)};
    cebus_tensor *in[] = {x, weight, bias};
    return run(rt, &op_group_norm, &attrs, in, out);
}
