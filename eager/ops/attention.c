#include "eager/ops/attention.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <cebus/ops/attention.h>
#include <cebus/ops/random.h>

#include "eager/composite.h"
#include "eager/view.h"

/* ---- inference --------------------------------------------------------------------------- */

static cebus_status check_dtypes(const cebus_infer *io)
{
    cebus_dtype dtype = io->in[CEBUS_ATTENTION_Q]->dtype;
    const cebus_view *mask = io->in[CEBUS_ATTENTION_MASK];
    if (!cebus_dtype_is_float(dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "takes f32, f64, f16 or bf16, got q %s %s: cebus_cast() it",
                          cebus_dtype_name(dtype), CEBUS_SHAPE(io->in[CEBUS_ATTENTION_Q]));
    for (int i = CEBUS_ATTENTION_K; i <= CEBUS_ATTENTION_V; i++) {
        if (io->in[i]->dtype != dtype)
            return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                              "q is %s and %s is %s: cebus_cast() one of them",
                              cebus_dtype_name(dtype), i == CEBUS_ATTENTION_K ? "k" : "v",
                              cebus_dtype_name(io->in[i]->dtype));
    }
    if (mask && mask->dtype != CEBUS_BOOL && mask->dtype != dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "the mask is %s, q is %s: a mask is bool or of the type of q, "
                          "cebus_cast() it",
                          cebus_dtype_name(mask->dtype), cebus_dtype_name(dtype));
    return CEBUS_OK;
}

static cebus_view batch_of(const cebus_view *view)
{
    cebus_view batch = *view;
    batch.ndim -= 2;
    return batch;
}

/* q, k and v against each other; the batch dimensions of the result. */
static cebus_status check_operands(const cebus_infer *io, int *out_ndim, int64_t *out_shape)
{
    const cebus_view *q = io->in[CEBUS_ATTENTION_Q], *k = io->in[CEBUS_ATTENTION_K];
    const cebus_view *v = io->in[CEBUS_ATTENTION_V];
    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "q %s, k %s, v %s: each needs two dimensions, [.., length, features]",
                          CEBUS_SHAPE(q), CEBUS_SHAPE(k), CEBUS_SHAPE(v));
    if (q->shape[q->ndim - 1] != k->shape[k->ndim - 1])
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "q %s and k %s do not go together: %lld != %lld features", CEBUS_SHAPE(q),
                          CEBUS_SHAPE(k), (long long)q->shape[q->ndim - 1],
                          (long long)k->shape[k->ndim - 1]);
    if (k->shape[k->ndim - 2] != v->shape[v->ndim - 2])
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "k %s and v %s do not go together: lengths %lld != %lld", CEBUS_SHAPE(k),
                          CEBUS_SHAPE(v), (long long)k->shape[k->ndim - 2],
                          (long long)v->shape[v->ndim - 2]);
    cebus_view q_batch = batch_of(q), k_batch = batch_of(k), v_batch = batch_of(v), both;
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim;
    bool fits = cebus_view_broadcast(&q_batch, &k_batch, &ndim, shape);
    if (fits) {
        cebus_view_contiguous(&both, q->dtype, ndim, shape);
        fits = cebus_view_broadcast(&both, &v_batch, out_ndim, out_shape);
    }
    if (!fits)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "the batches of q %s, k %s, v %s do not broadcast", CEBUS_SHAPE(q),
                          CEBUS_SHAPE(k), CEBUS_SHAPE(v));
    return CEBUS_OK;
}

/* `view` must broadcast to the scores [.., L, S] without enlarging them. */
static cebus_status check_scores(const cebus_infer *io, const cebus_view *view,
                                 const cebus_view *scores)
{
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim;
    if (cebus_view_broadcast(view, scores, &ndim, shape) && ndim == scores->ndim &&
        memcmp(shape, scores->shape, (size_t)ndim * sizeof *shape) == 0)
        return CEBUS_OK;
    return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                      "the mask %s does not broadcast to the scores %s", CEBUS_SHAPE(view),
                      CEBUS_SHAPE(scores));
}

/* The shape of the scores, after all checks. */
static cebus_status infer_scores(const cebus_infer *io, cebus_view *out)
{
    const cebus_view *q = io->in[CEBUS_ATTENTION_Q], *k = io->in[CEBUS_ATTENTION_K];
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = 0;
    cebus_status status = check_dtypes(io);
    if (status == CEBUS_OK)
        status = check_operands(io, &ndim, shape);
    if (status != CEBUS_OK)
        return status;
    shape[ndim++] = q->shape[q->ndim - 2];
    shape[ndim++] = k->shape[k->ndim - 2];
    cebus_view_contiguous(out, q->dtype, ndim, shape);
    for (int i = CEBUS_ATTENTION_MASK; i <= CEBUS_ATTENTION_KEEP && status == CEBUS_OK; i++) {
        if (io->in[i])
            status = check_scores(io, io->in[i], out);
    }
    return status;
}

/* Dense, the last dimension innermost, the others in the memory order of `like` where it has as
 * many: [B, H, L, D] that is a view of [B, L, H, D] gives its like. */
static void matrices_like(const cebus_view *like, int ndim, const int64_t *shape, cebus_view *out)
{
    int order[CEBUS_MAX_DIMS];
    cebus_view_contiguous(out, like->dtype, ndim, shape);
    if (like->ndim != ndim)
        return;
    for (int d = 0; d < ndim - 1; d++) {
        int at = d;
        for (; at > 0 && like->strides[order[at - 1]] < like->strides[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    int64_t stride = shape[ndim - 1] > 0 ? shape[ndim - 1] : 1;
    for (int i = ndim - 2; i >= 0; i--) {
        out->strides[order[i]] = stride;
        stride *= shape[order[i]] > 0 ? shape[order[i]] : 1;
    }
    if (out->strides[ndim - 2] > INT_MAX) /* more than products take */
        cebus_view_contiguous(out, like->dtype, ndim, shape);
}

/* A matrix for each of the batch of `scores`, as large as those of `x` and lying as they do. */
static void matrices_of(const cebus_view *scores, int64_t rows, const cebus_view *x, int64_t cols,
                        cebus_view *out)
{
    int64_t shape[CEBUS_MAX_DIMS];
    memcpy(shape, scores->shape, sizeof shape);
    shape[scores->ndim - 2] = rows;
    shape[scores->ndim - 1] = cols;
    matrices_like(x, scores->ndim, shape, out);
}

static cebus_status attention_infer(cebus_infer *io)
{
    const cebus_view *v = io->in[CEBUS_ATTENTION_V];
    cebus_view scores;
    cebus_status status = infer_scores(io, &scores);
    if (status != CEBUS_OK)
        return status;
    matrices_of(&scores, scores.shape[scores.ndim - 2], io->in[CEBUS_ATTENTION_Q],
                v->shape[v->ndim - 1], &io->out[0]);
    cebus_view_contiguous(&io->out[1], cebus_dtype_wide(scores.dtype), scores.ndim - 1,
                          scores.shape);
    return CEBUS_OK;
}

/* Called with the very inputs of an attention that went well. */
static cebus_status backward_infer(cebus_infer *io)
{
    cebus_view scores;
    cebus_status status = infer_scores(io, &scores);
    if (status != CEBUS_OK)
        return status;
    for (int i = CEBUS_ATTENTION_Q; i <= CEBUS_ATTENTION_V; i++) {
        const cebus_view *x = io->in[i];
        matrices_of(&scores, x->shape[x->ndim - 2], x, x->shape[x->ndim - 1], &io->out[i]);
    }
    if (io->n_out > CEBUS_ATTENTION_MASK)
        io->out[CEBUS_ATTENTION_MASK] = scores;
    return CEBUS_OK;
}

/* ---- ops --------------------------------------------------------------------------------- */

static const cebus_op op_attention = {
    .name = "scaled_dot_product_attention",
    .infer = attention_infer,
    .saves = cebus_attention_saves,
    .gradient = cebus_attention_gradient,
};

const cebus_op cebus_op_attention_backward = {
    .name = "scaled_dot_product_attention_backward",
    .infer = backward_infer,
};

/* ---- public entry ------------------------------------------------------------------------ */

static cebus_status check_arguments(const cebus_tensor *q, const cebus_tensor *k,
                                    const cebus_tensor *v, const cebus_attention_options *options)
{
    const char *missing = q == NULL ? "q" : k == NULL ? "k" : v == NULL ? "v" : NULL;
    if (missing)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_attention.name, "%s is NULL: give a tensor",
                          missing);
    if (!(options->dropout_p >= 0 && options->dropout_p <= 1))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_attention.name,
                          "dropout_p is %g: give a probability in [0, 1]", options->dropout_p);
    if (!isfinite(options->scale))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_attention.name,
                          "scale is %g: give a finite factor, or 0 for 1 / sqrt(features)",
                          options->scale);
    return CEBUS_OK;
}

/* What the options come to for these inputs. */
static cebus_attention_attrs resolve(const cebus_attention_options *options, const cebus_view *q)
{
    cebus_attention_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    int64_t features = q->ndim > 0 ? q->shape[q->ndim - 1] : 0;
    attrs.scale = options->scale;
    if (attrs.scale == 0)
        attrs.scale = features > 0 ? 1 / sqrt((double)features) : 1;
    attrs.keep_scale = options->dropout_p < 1 ? 1 / (1 - options->dropout_p) : 0;
    attrs.is_causal = options->is_causal;
    attrs.has_mask = options->mask != NULL;
    attrs.has_keep = options->dropout_p > 0;
    return attrs;
}

/* The dropout mask: which weights stay. Needs the shape of the scores, so inference comes first. */
static cebus_status draw_keep(cebus_runtime *rt, cebus_tensor *const *in, double dropout_p,
                              cebus_tensor **out)
{
    const cebus_view *views[CEBUS_ATTENTION_KEEP + 1];
    for (int i = 0; i <= CEBUS_ATTENTION_KEEP; i++)
        views[i] = in[i] ? cebus_tensor_view(in[i]) : NULL;
    cebus_infer io = {.op = &op_attention, .in = views, .n_in = CEBUS_ATTENTION_KEEP + 1};
    cebus_view scores;
    cebus_status status = infer_scores(&io, &scores);
    if (status != CEBUS_OK)
        return status;
    return cebus_bernoulli(rt, 1 - dropout_p, CEBUS_U8, scores.ndim, scores.shape, out);
}

cebus_status cebus_scaled_dot_product_attention(cebus_runtime *rt, cebus_tensor *q, cebus_tensor *k,
                                                cebus_tensor *v,
                                                const cebus_attention_options *options,
                                                cebus_tensor **out)
{
    static const cebus_attention_options defaults = {0};
    if (options == NULL)
        options = &defaults;
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_attention.name,
                          "out is NULL: give a place for the result");
    *out = NULL;
    cebus_status status = check_arguments(q, k, v, options);
    if (status != CEBUS_OK)
        return status;
    cebus_attention_attrs attrs = resolve(options, cebus_tensor_view(q));
    cebus_tensor *in[CEBUS_ATTENTION_KEEP + 1] = {q, k, v, options->mask, NULL}, *both[2];
    cebus_composite composite;
    status = cebus_composite_begin(&composite, rt, op_attention.name);
    if (status != CEBUS_OK)
        return status;
    if (attrs.has_keep)
        status = draw_keep(rt, in, options->dropout_p, &in[CEBUS_ATTENTION_KEEP]);
    if (status == CEBUS_OK) {
        cebus_call_spec spec = {.op = &op_attention,
                                .attrs = &attrs,
                                .attr_bytes = sizeof attrs,
                                .in = in,
                                .n_in = CEBUS_ATTENTION_KEEP + 1,
                                .n_out = 2};
        status = cebus_call_run(rt, &spec, both);
    }
    cebus_tensor_release(in[CEBUS_ATTENTION_KEEP]);
    if (status == CEBUS_OK) {
        cebus_tensor_release(both[1]); /* the graph keeps it when it needs it */
        *out = both[0];
    }
    return cebus_composite_end(&composite, status);
}
