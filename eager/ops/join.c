#include "eager/ops/join.h"

#include <cebus/ops/join.h>

#include "eager/view.h"

static cebus_status check_bytes(const cebus_infer *io, cebus_dtype dtype, int ndim,
                                const int64_t *shape)
{
    if (cebus_shape_valid(dtype, ndim, shape))
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name,
                      "the result of %s would have too many bytes", CEBUS_SHAPE(io->in[0]));
}

/* Types agree with the first input's, and shapes in all dimensions but `except` (-1: in all). */
static cebus_status check_alike(const cebus_infer *io, int64_t except)
{
    const cebus_view *first = io->in[0];
    for (uint32_t i = 1; i < io->n_in; i++) {
        const cebus_view *other = io->in[i];
        bool alike = other->ndim == first->ndim;
        for (int d = 0; alike && d < first->ndim; d++)
            alike = d == except || other->shape[d] == first->shape[d];
        if (!alike)
            return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                              "tensor %u is %s, which does not go with %s of tensor 0%s", i,
                              CEBUS_SHAPE(other), CEBUS_SHAPE(first),
                              except < 0 ? "" : ": only the joined dimension may differ");
        if (other->dtype != first->dtype)
            return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                              "tensor %u is %s but tensor 0 is %s: cebus_cast() one of them", i,
                              cebus_dtype_name(other->dtype), cebus_dtype_name(first->dtype));
    }
    return CEBUS_OK;
}

static bool all_channels_last(const cebus_infer *io)
{
    for (uint32_t i = 0; i < io->n_in; i++)
        if (!cebus_view_is_channels_last(io->in[i]) || cebus_view_is_contiguous(io->in[i]))
            return false;
    return true;
}

static cebus_status infer_cat(cebus_infer *io)
{
    int64_t dim = ((const cebus_join_attrs *)io->attrs)->dim;
    const cebus_view *first = io->in[0];
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_status status = check_alike(io, dim);
    if (status != CEBUS_OK)
        return status;
    for (int d = 0; d < first->ndim; d++)
        shape[d] = first->shape[d];
    for (uint32_t i = 1; i < io->n_in; i++)
        if (__builtin_add_overflow(shape[dim], io->in[i]->shape[dim], &shape[dim]))
            shape[dim] = -1; /* no valid shape */
    status = check_bytes(io, first->dtype, first->ndim, shape);
    if (status != CEBUS_OK)
        return status;
    if (all_channels_last(io))
        cebus_view_channels_last(io->out, first->dtype, shape);
    else
        cebus_view_contiguous(io->out, first->dtype, first->ndim, shape);
    return CEBUS_OK;
}

static cebus_status infer_stack(cebus_infer *io)
{
    int64_t dim = ((const cebus_join_attrs *)io->attrs)->dim;
    const cebus_view *first = io->in[0];
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_status status = check_alike(io, -1);
    if (status != CEBUS_OK)
        return status;
    for (int d = 0; d <= first->ndim; d++)
        shape[d] = d == dim ? (int64_t)io->n_in : first->shape[d < dim ? d : d - 1];
    status = check_bytes(io, first->dtype, first->ndim + 1, shape);
    if (status == CEBUS_OK)
        cebus_view_contiguous(io->out, first->dtype, first->ndim + 1, shape);
    return status;
}

/* Integers must be able to hold the border's value; floats hold anything. */
static cebus_status check_value(const cebus_infer *io, cebus_dtype dtype, double value)
{
    int bits = 8 * (int)cebus_dtype_size(dtype);
    double limit = dtype == CEBUS_U8 ? 256 : (double)(UINT64_C(1) << (bits - 1));
    double least = dtype == CEBUS_U8 ? 0 : -limit;
    if (cebus_dtype_is_float(dtype) || dtype == CEBUS_BOOL || (value >= least && value < limit))
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name, "%g does not fit in %s", value,
                      cebus_dtype_name(dtype));
}

/* `*length` cut and widened; false when more would be cut than there is, or on overflow. */
static bool pad_length(cebus_pad_widths widths, int64_t *length)
{
    int64_t kept = *length;
    if (widths.cut_before > kept || widths.cut_after > kept - widths.cut_before)
        return false;
    kept -= widths.cut_before + widths.cut_after;
    return !__builtin_add_overflow(kept, widths.before, length) &&
           !__builtin_add_overflow(*length, widths.after, length);
}

static cebus_status infer_pad(cebus_infer *io)
{
    const cebus_pad_attrs *attrs = io->attrs;
    cebus_view padded = *io->in[0];
    for (int d = 0; d < padded.ndim; d++)
        if (!pad_length(cebus_pad_widths_of(attrs, d), &padded.shape[d]))
            return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                              "widths %lld and %lld do not suit dimension %d of %s",
                              (long long)attrs->before[d], (long long)attrs->after[d], d,
                              CEBUS_SHAPE(io->in[0]));
    cebus_status status = check_bytes(io, padded.dtype, padded.ndim, padded.shape);
    if (status == CEBUS_OK)
        status = check_value(io, padded.dtype, attrs->value);
    if (status != CEBUS_OK)
        return status;
    if (cebus_view_is_channels_last(io->in[0]) && !cebus_view_is_contiguous(io->in[0]))
        cebus_view_channels_last(io->out, padded.dtype, padded.shape);
    else
        cebus_view_contiguous(io->out, padded.dtype, padded.ndim, padded.shape);
    return CEBUS_OK;
}

static cebus_status infer_roll(cebus_infer *io)
{
    cebus_view_like(io->out, io->in[0], io->in[0]->dtype);
    return CEBUS_OK;
}

static const cebus_op op_cat = {
    .name = "cat",
    .infer = infer_cat,
    .gradient = cebus_cat_gradient,
};

static const cebus_op op_stack = {
    .name = "stack",
    .infer = infer_stack,
    .gradient = cebus_stack_gradient,
};

static const cebus_op op_pad = {
    .name = "pad",
    .infer = infer_pad,
    .gradient = cebus_pad_gradient,
};

static const cebus_op op_roll = {
    .name = "roll",
    .infer = infer_roll,
    .gradient = cebus_roll_gradient,
};

static cebus_status no_dim(const cebus_op *op, int dim, const cebus_tensor *x)
{
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "there is no dimension %d for %s", dim,
                      CEBUS_SHAPE(cebus_tensor_view(x)));
}

static cebus_status check_list(const cebus_op *op, cebus_tensor *const *tensors, size_t n,
                               cebus_tensor **out)
{
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "out is NULL");
    *out = NULL;
    if (!tensors || n == 0 || n > CEBUS_MAX_JOIN)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "takes 1 to %d tensors, got %zu%s: join in groups", CEBUS_MAX_JOIN, n,
                          tensors ? "" : " (NULL)");
    for (size_t i = 0; i < n; i++)
        if (!tensors[i])
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "tensor %zu is NULL", i);
    return CEBUS_OK;
}

static cebus_status join_once(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *tensors,
                              size_t n, int64_t dim, cebus_tensor **out)
{
    const cebus_join_attrs attrs = {dim};
    const cebus_call_spec spec = {op, &attrs, sizeof attrs, tensors, (uint32_t)n, 1};
    return cebus_call_run(rt, &spec, out);
}

/* More tensors than a call takes: groups of them, then the groups. */
static cebus_status join(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *tensors,
                         size_t n, int64_t dim, cebus_tensor **out)
{
    cebus_tensor *groups[CEBUS_MAX_JOIN / CEBUS_MAX_TRACKED];
    cebus_status status = CEBUS_OK;
    size_t made = 0;
    if (n <= CEBUS_MAX_TRACKED)
        return join_once(rt, op, tensors, n, dim, out);
    for (size_t i = 0; i < n && status == CEBUS_OK; i += CEBUS_MAX_TRACKED) {
        size_t left = n - i < CEBUS_MAX_TRACKED ? n - i : CEBUS_MAX_TRACKED;
        status = join_once(rt, op, tensors + i, left, dim, &groups[made]);
        made += status == CEBUS_OK;
    }
    if (status == CEBUS_OK)
        status = join_once(rt, &op_cat, groups, made, dim, out);
    while (made > 0)
        cebus_tensor_release(groups[--made]);
    return status;
}

cebus_status cebus_cat(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n, int dim,
                       cebus_tensor **out)
{
    cebus_status status = check_list(&op_cat, tensors, n, out);
    if (status != CEBUS_OK)
        return status;
    int wrapped = cebus_dim_wrap(dim, cebus_tensor_ndim(tensors[0]));
    if (wrapped < 0)
        return no_dim(&op_cat, dim, tensors[0]);
    return join(rt, &op_cat, tensors, n, wrapped, out);
}

cebus_status cebus_stack(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n, int dim,
                         cebus_tensor **out)
{
    cebus_status status = check_list(&op_stack, tensors, n, out);
    if (status != CEBUS_OK)
        return status;
    int ndim = cebus_tensor_ndim(tensors[0]);
    int wrapped = cebus_dim_wrap(dim, ndim + 1);
    if (wrapped < 0 || ndim == CEBUS_MAX_DIMS)
        return no_dim(&op_stack, dim, tensors[0]);
    return join(rt, &op_stack, tensors, n, wrapped, out);
}

cebus_status cebus_pad(cebus_runtime *rt, cebus_tensor *x, int n_pads, const int64_t *pads,
                       double value, cebus_tensor **out)
{
    cebus_pad_attrs attrs = {.value = value};
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_pad.name, "out is NULL");
    *out = NULL;
    if (!x || (n_pads > 0 && !pads))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_pad.name, "x or pads is NULL");
    int ndim = cebus_tensor_ndim(x);
    if (n_pads < 0 || n_pads % 2 != 0 || n_pads > 2 * ndim)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_pad.name,
                          "takes two widths for each of the last dimensions of %s, got %d",
                          CEBUS_SHAPE(cebus_tensor_view(x)), n_pads);
    for (int i = 0; i < n_pads / 2; i++) {
        if (pads[2 * i] == INT64_MIN || pads[2 * i + 1] == INT64_MIN)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op_pad.name, "width %d is out of range", i);
        attrs.before[ndim - 1 - i] = pads[2 * i];
        attrs.after[ndim - 1 - i] = pads[2 * i + 1];
    }
    const cebus_call_spec spec = {&op_pad, &attrs, sizeof attrs, &x, 1, 1};
    return cebus_call_run(rt, &spec, out);
}

/* `shift` brought into [0, length). */
static int64_t wrap_shift(int64_t shift, int64_t length)
{
    if (length == 0)
        return 0;
    shift %= length;
    return shift < 0 ? shift + length : shift;
}

/* Rolls the row-major sequence of all elements, as a 1-D view. */
static cebus_status roll_flat(cebus_runtime *rt, cebus_tensor *x, int64_t shift, cebus_tensor **out)
{
    const cebus_view *view = cebus_tensor_view(x);
    cebus_roll_attrs attrs = {.shift = {wrap_shift(shift, cebus_view_numel(view))}};
    cebus_tensor *flat, *rolled;
    cebus_status status = cebus_reshape(rt, x, 1, (const int64_t[]){-1}, &flat);
    if (status != CEBUS_OK)
        return status;
    const cebus_call_spec spec = {&op_roll, &attrs, sizeof attrs, &flat, 1, 1};
    status = cebus_call_run(rt, &spec, &rolled);
    cebus_tensor_release(flat);
    if (status != CEBUS_OK)
        return status;
    status = cebus_reshape(rt, rolled, view->ndim, view->shape, out);
    cebus_tensor_release(rolled);
    return status;
}

cebus_status cebus_roll(cebus_runtime *rt, cebus_tensor *x, int n, const int64_t *shifts,
                        const int *dims, cebus_tensor **out)
{
    cebus_roll_attrs attrs = {{0}};
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_roll.name, "out is NULL");
    *out = NULL;
    if (!x || !shifts)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_roll.name, "x or shifts is NULL");
    if (n < 1 || (!dims && n > 1))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_roll.name,
                          "takes one shift for each dimension, or one and no dimensions; got %d",
                          n);
    if (!dims)
        return roll_flat(rt, x, shifts[0], out);
    const cebus_view *view = cebus_tensor_view(x);
    for (int i = 0; i < n; i++) {
        int d = cebus_dim_wrap(dims[i], view->ndim);
        if (d < 0)
            return no_dim(&op_roll, dims[i], x);
        int64_t moved = attrs.shift[d] + wrap_shift(shifts[i], view->shape[d]);
        attrs.shift[d] = wrap_shift(moved, view->shape[d]);
    }
    const cebus_call_spec spec = {&op_roll, &attrs, sizeof attrs, &x, 1, 1};
    return cebus_call_run(rt, &spec, out);
}
