#include "eager/ops/matmul.h"

#include <string.h>

#include <cebus/ops/matmul.h>

#include "eager/view.h"

/* ---- inference --------------------------------------------------------------------------- */

static cebus_status check_dtypes(const cebus_infer *io)
{
    for (uint32_t i = 0; i < io->n_in; i++) {
        if (io->in[i] == NULL)
            continue;
        cebus_dtype dtype = io->in[i]->dtype;
        if (!cebus_dtype_is_float(dtype))
            return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                              "takes f32, f64, f16 or bf16, got %s %s: cebus_cast() it",
                              cebus_dtype_name(dtype), CEBUS_SHAPE(io->in[i]));
        if (dtype != io->in[0]->dtype)
            return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                              "got %s %s and %s %s: cebus_cast() one of them",
                              cebus_dtype_name(io->in[0]->dtype), CEBUS_SHAPE(io->in[0]),
                              cebus_dtype_name(dtype), CEBUS_SHAPE(io->in[i]));
    }
    return CEBUS_OK;
}

/* The batch dimensions of `view` alone. */
static cebus_view batch_of(const cebus_view *view)
{
    cebus_view batch = *view;
    batch.ndim = view->ndim > 2 ? view->ndim - 2 : 0;
    return batch;
}

static cebus_status matmul_infer(cebus_infer *io)
{
    const cebus_view *a = io->in[0], *b = io->in[1];
    cebus_status status = check_dtypes(io);
    if (status != CEBUS_OK)
        return status;
    if (a->ndim == 0 || b->ndim == 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "shapes %s and %s: both need a dimension to sum over; cebus_mul() "
                          "multiplies by a scalar",
                          CEBUS_SHAPE(a), CEBUS_SHAPE(b));
    int64_t a_inner = a->shape[a->ndim - 1], b_inner = b->shape[b->ndim > 1 ? b->ndim - 2 : 0];
    if (a_inner != b_inner)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "shapes %s and %s do not go together: %lld != %lld", CEBUS_SHAPE(a),
                          CEBUS_SHAPE(b), (long long)a_inner, (long long)b_inner);
    cebus_view a_batch = batch_of(a), b_batch = batch_of(b);
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim;
    if (!cebus_view_broadcast(&a_batch, &b_batch, &ndim, shape))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "shapes %s and %s do not go together: batches %s and %s do not "
                          "broadcast",
                          CEBUS_SHAPE(a), CEBUS_SHAPE(b), CEBUS_SHAPE(&a_batch),
                          CEBUS_SHAPE(&b_batch));
    if (a->ndim > 1)
        shape[ndim++] = a->shape[a->ndim - 2];
    if (b->ndim > 1)
        shape[ndim++] = b->shape[b->ndim - 1];
    cebus_view_contiguous(&io->out[0], a->dtype, ndim, shape);
    return CEBUS_OK;
}

static cebus_status linear_infer(cebus_infer *io)
{
    const cebus_view *x = io->in[0], *weight = io->in[1], *bias = io->in[2];
    cebus_status status = check_dtypes(io);
    if (status != CEBUS_OK)
        return status;
    if (x->ndim == 0 || weight->ndim != 2)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x %s and weight %s: x is [.., features in], weight [features out, "
                          "features in]",
                          CEBUS_SHAPE(x), CEBUS_SHAPE(weight));
    if (x->shape[x->ndim - 1] != weight->shape[1])
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x %s and weight %s do not go together: %lld != %lld", CEBUS_SHAPE(x),
                          CEBUS_SHAPE(weight), (long long)x->shape[x->ndim - 1],
                          (long long)weight->shape[1]);
    if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0]))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "bias %s does not go with weight %s: it must be [%lld]",
                          CEBUS_SHAPE(bias), CEBUS_SHAPE(weight), (long long)weight->shape[0]);
    int64_t shape[CEBUS_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = weight->shape[0];
    cebus_view_contiguous(&io->out[0], x->dtype, x->ndim, shape);
    return CEBUS_OK;
}

/* ---- ops --------------------------------------------------------------------------------- */

static const cebus_op op_matmul = {
    .name = "matmul",
    .infer = matmul_infer,
    .saves = cebus_matmul_saves,
    .gradient = cebus_matmul_gradient,
};
static const cebus_op op_linear = {
    .name = "linear",
    .infer = linear_infer,
    .saves = cebus_linear_saves,
    .gradient = cebus_linear_gradient,
};

/* ---- public entries ---------------------------------------------------------------------- */

cebus_status cebus_matmul(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b, cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "matmul",
                          "out is NULL: give a place for the result");
    *out = NULL;
    if (a == NULL || b == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "matmul", "%s is NULL: give a tensor",
                          a == NULL ? "a" : "b");
    cebus_tensor *in[] = {a, b};
    cebus_call_spec spec = {.op = &op_matmul, .in = in, .n_in = 2, .n_out = 1};
    return cebus_call_run(rt, &spec, out);
}

cebus_status cebus_linear(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *weight,
                          cebus_tensor *bias, cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "linear",
                          "out is NULL: give a place for the result");
    *out = NULL;
    if (x == NULL || weight == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "linear", "%s is NULL: give a tensor",
                          x == NULL ? "x" : "weight");
    cebus_tensor *in[] = {x, weight, bias};
    cebus_call_spec spec = {.op = &op_linear, .in = in, .n_in = 3, .n_out = 1};
    return cebus_call_run(rt, &spec, out);
}
