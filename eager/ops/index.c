#include "eager/ops/index.h"

#include <cebus/ops/index.h>

#include "eager/view.h"

static bool is_index(cebus_dtype dtype)
{
    return dtype == CEBUS_I64 || dtype == CEBUS_I32;
}

/* Types that indexed addition knows. */
static bool is_addable(cebus_dtype dtype)
{
    return cebus_dtype_is_float(dtype) || is_index(dtype);
}

static cebus_status check_index(const cebus_infer *io, const cebus_view *index)
{
    if (is_index(index->dtype))
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                      "indices are i64 or i32, got %s: cebus_cast() them",
                      cebus_dtype_name(index->dtype));
}

static cebus_status check_addable(const cebus_infer *io, const cebus_view *values)
{
    if (is_addable(values->dtype))
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                      "adds floats, i64 and i32, got %s: cebus_cast() it",
                      cebus_dtype_name(values->dtype));
}

static cebus_status check_same_ndim(const cebus_infer *io, const cebus_view *a, const cebus_view *b)
{
    if (a->ndim == b->ndim)
        return CEBUS_OK;
    return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                      "all tensors need as many dimensions: got %s and %s", CEBUS_SHAPE(a),
                      CEBUS_SHAPE(b));
}

/* `index` must be no longer than `other` but in dimension `except` (-1: everywhere). */
static cebus_status check_within(const cebus_infer *io, const cebus_view *index,
                                 const cebus_view *other, int64_t except)
{
    for (int d = 0; d < index->ndim; d++)
        if (d != except && index->shape[d] > other->shape[d])
            return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                              "index %s is longer than %s in dimension %d", CEBUS_SHAPE(index),
                              CEBUS_SHAPE(other), d);
    return CEBUS_OK;
}

static cebus_status infer_embedding(cebus_infer *io)
{
    const cebus_view *weight = io->in[0], *indices = io->in[1];
    int64_t shape[CEBUS_MAX_DIMS];
    if (weight->ndim != 2 || indices->ndim + 1 > CEBUS_MAX_DIMS)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "weight must be [rows, columns] and indices of at most %d dimensions: "
                          "got %s and %s",
                          CEBUS_MAX_DIMS - 1, CEBUS_SHAPE(weight), CEBUS_SHAPE(indices));
    for (int d = 0; d < indices->ndim; d++)
        shape[d] = indices->shape[d];
    shape[indices->ndim] = weight->shape[1];
    if (!cebus_shape_valid(weight->dtype, indices->ndim + 1, shape))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name,
                          "rows of %s for indices %s are too many bytes", CEBUS_SHAPE(weight),
                          CEBUS_SHAPE(indices));
    cebus_view_contiguous(io->out, weight->dtype, indices->ndim + 1, shape);
    return check_index(io, indices);
}

static cebus_status infer_embedding_backward(cebus_infer *io)
{
    const cebus_embedding_attrs *attrs = io->attrs;
    const cebus_view *grad = io->in[0];
    cebus_view_contiguous(io->out, grad->dtype, 2,
                          (const int64_t[]){attrs->rows, grad->shape[grad->ndim - 1]});
    return check_addable(io, grad);
}

static cebus_status infer_gather(cebus_infer *io)
{
    const cebus_index_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0], *index = io->in[1];
    cebus_status status = check_same_ndim(io, x, index);
    if (status == CEBUS_OK)
        status = check_within(io, index, x, attrs->dim);
    if (status != CEBUS_OK)
        return status;
    if (!cebus_shape_valid(x->dtype, index->ndim, index->shape))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name, "index %s is too many bytes of %s",
                          CEBUS_SHAPE(index), cebus_dtype_name(x->dtype));
    cebus_view_contiguous(io->out, x->dtype, index->ndim, index->shape);
    return check_index(io, index);
}

static cebus_status infer_index_select(cebus_infer *io)
{
    const cebus_index_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0], *index = io->in[1];
    int64_t shape[CEBUS_MAX_DIMS];
    if (x->ndim == 0 || index->ndim > 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "x needs a dimension and index at most one: got %s and %s",
                          CEBUS_SHAPE(x), CEBUS_SHAPE(index));
    for (int d = 0; d < x->ndim; d++)
        shape[d] = x->shape[d];
    shape[attrs->dim] = cebus_view_numel(index);
    if (!cebus_shape_valid(x->dtype, x->ndim, shape))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name,
                          "%s taken at index %s is too many bytes", CEBUS_SHAPE(x),
                          CEBUS_SHAPE(index));
    cebus_view_contiguous(io->out, x->dtype, x->ndim, shape);
    return check_index(io, index);
}

static cebus_status infer_scatter_add(cebus_infer *io)
{
    const cebus_index_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0], *index = io->in[1], *src = io->in[2];
    cebus_status status = check_same_ndim(io, x, index);
    if (status == CEBUS_OK)
        status = check_same_ndim(io, index, src);
    if (status == CEBUS_OK)
        status = check_within(io, index, x, attrs->dim);
    if (status == CEBUS_OK)
        status = check_within(io, index, src, -1);
    if (status == CEBUS_OK)
        status = check_addable(io, x);
    if (status != CEBUS_OK)
        return status;
    if (x->dtype != src->dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "x is %s and src is %s: cebus_cast() one of them",
                          cebus_dtype_name(x->dtype), cebus_dtype_name(src->dtype));
    cebus_view_contiguous(io->out, x->dtype, x->ndim, x->shape);
    return check_index(io, index);
}

/* gather_backward and index_select_backward. */
static cebus_status infer_backward(cebus_infer *io)
{
    const cebus_index_attrs *attrs = io->attrs;
    cebus_view_contiguous(io->out, io->in[0]->dtype, (int)attrs->ndim, attrs->shape);
    return check_addable(io, io->in[0]);
}

static const cebus_op op_embedding = {
    .name = "embedding",
    .infer = infer_embedding,
    .saves = cebus_index_saves,
    .gradient = cebus_embedding_gradient,
};

static const cebus_op op_gather = {
    .name = "gather",
    .infer = infer_gather,
    .saves = cebus_index_saves,
    .gradient = cebus_gather_gradient,
};

static const cebus_op op_index_select = {
    .name = "index_select",
    .infer = infer_index_select,
    .saves = cebus_index_saves,
    .gradient = cebus_index_select_gradient,
};

static const cebus_op op_scatter_add = {
    .name = "scatter_add",
    .infer = infer_scatter_add,
    .saves = cebus_scatter_add_saves,
    .gradient = cebus_scatter_add_gradient,
};

const cebus_op cebus_op_embedding_backward = {
    .name = "embedding_backward",
    .infer = infer_embedding_backward,
};

const cebus_op cebus_op_gather_backward = {
    .name = "gather_backward",
    .infer = infer_backward,
};

const cebus_op cebus_op_index_select_backward = {
    .name = "index_select_backward",
    .infer = infer_backward,
};

/* A 0-D tensor is indexed as if it were of one element. */
static cebus_status wrap_dim(const cebus_op *op, const cebus_tensor *x, int dim,
                             cebus_index_attrs *out)
{
    int ndim = cebus_tensor_ndim(x);
    int wrapped = cebus_dim_wrap(dim, ndim > 0 ? ndim : 1);
    *out = (cebus_index_attrs){.dim = wrapped};
    if (wrapped >= 0)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "there is no dimension %d in %s", dim,
                      CEBUS_SHAPE(cebus_tensor_view(x)));
}

/* The public entries of all ops that index along a dimension. */
static cebus_status run_along(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *in,
                              uint32_t n_in, int dim, cebus_tensor **out)
{
    cebus_index_attrs attrs;
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "out is NULL");
    *out = NULL;
    for (uint32_t i = 0; i < n_in; i++)
        if (!in[i])
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "input %u is NULL", i);
    cebus_status status = wrap_dim(op, in[0], dim, &attrs);
    if (status != CEBUS_OK)
        return status;
    const cebus_call_spec spec = {op, &attrs, sizeof attrs, in, n_in, 1};
    return cebus_call_run(rt, &spec, out);
}

/* padding_idx as PyTorch takes it to a row number, or -1. */
static cebus_status wrap_padding(const cebus_tensor *weight, int64_t padding_idx, int64_t *out_row)
{
    const cebus_view *view = cebus_tensor_view(weight);
    int64_t rows = view->ndim > 0 ? view->shape[0] : 0;
    *out_row = -1;
    if (padding_idx == CEBUS_NO_PADDING)
        return CEBUS_OK;
    if (padding_idx < -rows || padding_idx >= rows)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_embedding.name,
                          "padding_idx %lld is not a row of weight %s", (long long)padding_idx,
                          CEBUS_SHAPE(view));
    *out_row = padding_idx < 0 ? padding_idx + rows : padding_idx;
    return CEBUS_OK;
}

cebus_status cebus_embedding(cebus_runtime *rt, cebus_tensor *weight, cebus_tensor *indices,
                             int64_t padding_idx, cebus_tensor **out)
{
    cebus_embedding_attrs attrs = {0};
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_embedding.name, "out is NULL");
    *out = NULL;
    if (!weight || !indices)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_embedding.name, "weight or indices is NULL");
    cebus_status status = wrap_padding(weight, padding_idx, &attrs.padding);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *const in[] = {weight, indices};
    const cebus_call_spec spec = {&op_embedding, &attrs, sizeof attrs, in, 2, 1};
    return cebus_call_run(rt, &spec, out);
}

cebus_status cebus_gather(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor *index,
                          cebus_tensor **out)
{
    return run_along(rt, &op_gather, (cebus_tensor *const[]){x, index}, 2, dim, out);
}

cebus_status cebus_index_select(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor *index,
                                cebus_tensor **out)
{
    return run_along(rt, &op_index_select, (cebus_tensor *const[]){x, index}, 2, dim, out);
}

cebus_status cebus_scatter_add(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor *index,
                               cebus_tensor *src, cebus_tensor **out)
{
    return run_along(rt, &op_scatter_add, (cebus_tensor *const[]){x, index, src}, 3, dim, out);
}
