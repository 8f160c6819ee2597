#include "eager/views.h"

#include <inttypes.h>

#include <cebus/ops.h>

#include "eager/autograd/rebase.h"
#include "eager/autograd/view.h"
#include "eager/view.h"

cebus_status cebus_views_alias(cebus_runtime *rt, cebus_tensor *x, const cebus_view *view,
                               cebus_tensor **out)
{
    *out = NULL;
    cebus_status status = cebus_runtime_lock(rt, "view");
    if (status != CEBUS_OK)
        return status;
    *out = cebus_tensor_create(rt, x->storage, view);
    if (*out == NULL)
        status = cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "view", "no host memory for a tensor");
    cebus_runtime_unlock(rt);
    return status;
}

cebus_status cebus_views_zeros(cebus_runtime *rt, const cebus_view *like, cebus_tensor **out)
{
    *out = NULL;
    int64_t numel = cebus_view_numel(like);
    cebus_tensor *flat;
    cebus_view view = *like;
    view.offset = 0;
    cebus_status status = cebus_zeros(rt, like->dtype, 1, &numel, &flat);
    if (status != CEBUS_OK)
        return status;
    status = cebus_views_alias(rt, flat, &view, out);
    cebus_tensor_release(flat);
    return status;
}

/** A view in the graph: remembers its base, and its source when the base has one. */
static cebus_status create_view(cebus_runtime *rt, cebus_tensor *x, const cebus_view *view,
                                const cebus_op *op, const cebus_view_attrs *attrs,
                                cebus_tensor **out)
{
    cebus_tensor *tensor = cebus_tensor_create(rt, x->storage, view);
    if (tensor == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op->name, "no host memory for a tensor");
    cebus_tensor_set_base(tensor, x);
    tensor->node_rebased = x->storage->rebased;
    if (cebus_node_needs(rt, op, &x, 1) != 0) {
        cebus_node *node = cebus_view_node_create(rt, op, &x->view, 1, view, attrs, sizeof *attrs);
        if (node != NULL)
            node->edges[0] = cebus_graph_edge_of(rt, x);
        tensor->node = node;
        if (node == NULL || (node->edges[0].node == NULL && node->edges[0].leaf == NULL)) {
            cebus_tensor_release(tensor);
            return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op->name, "no host memory for the graph");
        }
    }
    *out = tensor;
    return CEBUS_OK;
}

static cebus_status make_view(cebus_runtime *rt, cebus_tensor *x, const cebus_view *view,
                              const cebus_op *op, const cebus_view_attrs *attrs, cebus_tensor **out)
{
    static const cebus_view_attrs none;
    cebus_status status = cebus_runtime_lock(rt, op->name);
    if (status != CEBUS_OK)
        return status;
    status = create_view(rt, x, view, op, attrs != NULL ? attrs : &none, out);
    cebus_runtime_unlock(rt);
    return status;
}

static cebus_status begin(cebus_runtime *rt, cebus_tensor *x, const char *op, cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = NULL;
    return cebus_tensor_check(rt, x, op, "the input");
}

static cebus_status check_dim(const cebus_tensor *x, int dim, int extra, const char *op,
                              int *out_dim)
{
    *out_dim = cebus_dim_wrap(dim, x->view.ndim + extra);
    if (*out_dim < 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "no dimension %d in shape %s", dim,
                          CEBUS_SHAPE(&x->view));
    return CEBUS_OK;
}

/** Of an op along one dimension; `extra` more than x has may be named. */
static cebus_status begin_along(cebus_runtime *rt, cebus_tensor *x, int dim, int extra,
                                const char *op, int *out_dim, cebus_tensor **out)
{
    cebus_status status = begin(rt, x, op, out);
    return status == CEBUS_OK ? check_dim(x, dim, extra, op, out_dim) : status;
}

/** More elements could not even be counted. */
static cebus_status check_lengths(const cebus_view *view, const char *op)
{
    if (cebus_shape_valid(view->dtype, view->ndim, view->shape))
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                      "shape %s: lengths must not be negative, but for one -1, nor the size reach "
                      "2^62 bytes",
                      CEBUS_SHAPE(view));
}

/** The length that is not said, from the others. */
static cebus_status resolve_length(const cebus_tensor *x, int unknown, cebus_view *out)
{
    int64_t numel = cebus_view_numel(&x->view);
    out->shape[unknown] = 1;
    int64_t known = cebus_view_numel(out);
    if (known == 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "reshape",
                          "any length would do for the -1 beside a length of 0: say which");
    if (numel % known != 0) {
        out->shape[unknown] = -1;
        return cebus_fail(CEBUS_SHAPE_MISMATCH, "reshape",
                          "shape %s has %" PRId64 " elements, not a multiple of the %" PRId64
                          " that %s has beside its -1",
                          CEBUS_SHAPE(&x->view), numel, known, CEBUS_SHAPE(out));
    }
    out->shape[unknown] = numel / known;
    return CEBUS_OK;
}

/** The target shape with its one -1 worked out. */
static cebus_status resolve_shape(const cebus_tensor *x, int ndim, const int64_t *shape,
                                  cebus_view *out)
{
    static const char op[] = "reshape";
    int unknown = -1;
    if (ndim < 0 || ndim > CEBUS_MAX_DIMS || (shape == NULL && ndim > 0))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%d dimensions; 0 to %d are possible", ndim,
                          CEBUS_MAX_DIMS);
    *out = (cebus_view){.dtype = x->view.dtype, .ndim = ndim};
    for (int d = 0; d < ndim; d++) {
        bool open = shape[d] == -1 && unknown < 0;
        unknown = open ? d : unknown;
        out->shape[d] = open ? 1 : shape[d];
    }
    cebus_status status = check_lengths(out, op);
    if (status == CEBUS_OK && unknown >= 0)
        status = resolve_length(x, unknown, out);
    if (status != CEBUS_OK)
        return status;
    int64_t numel = cebus_view_numel(&x->view), total = cebus_view_numel(out);
    cebus_view_contiguous(out, x->view.dtype, ndim, out->shape);
    if (total != numel)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                          "shape %s has %" PRId64 " elements, the new one %s has %" PRId64,
                          CEBUS_SHAPE(&x->view), numel, CEBUS_SHAPE(out), total);
    return CEBUS_OK;
}

/** Whether the dimensions from `at` up to `end` are one stretch of memory, in steps of *out_stride.
 * Those of length 1 may have any stride. */
static bool is_stretch(const cebus_view *view, int at, int end, int64_t *out_stride)
{
    int64_t length = -1;
    *out_stride = 1;
    for (int d = end - 1; d >= at; d--) {
        if (view->shape[d] == 1)
            continue;
        if (length == -1)
            *out_stride = view->strides[d];
        else if (view->strides[d] != length)
            return false;
        length = view->strides[d] * view->shape[d];
    }
    return true;
}

/** Strides of `to`, its shape given, where it can be a view of what `from` is one of. */
static bool fit_strides(const cebus_view *from, cebus_view *to)
{
    int old = 0, fresh = 0;
    while (fresh < to->ndim) {
        while (old < from->ndim && from->shape[old] == 1)
            old++;
        int64_t left = to->shape[fresh], right = old < from->ndim ? from->shape[old] : 1;
        int fresh_end = fresh + 1, old_end = old < from->ndim ? old + 1 : old;
        while (left != right) {
            if (left < right && fresh_end < to->ndim)
                left *= to->shape[fresh_end++];
            else if (left > right && old_end < from->ndim)
                right *= from->shape[old_end++];
            else
                return false;
        }
        int64_t stride;
        if (!is_stretch(from, old, old_end, &stride))
            return false;
        for (int d = fresh_end - 1; d >= fresh; d--) {
            to->strides[d] = stride;
            stride *= to->shape[d];
        }
        fresh = fresh_end;
        old = old_end;
    }
    return true;
}

cebus_status cebus_reshape(cebus_runtime *rt, cebus_tensor *x, int ndim, const int64_t *shape,
                           cebus_tensor **out)
{
    cebus_view view;
    cebus_status status = begin(rt, x, "reshape", out);
    if (status == CEBUS_OK)
        status = resolve_shape(x, ndim, shape, &view);
    if (status != CEBUS_OK)
        return status;
    if (cebus_view_is_contiguous(&x->view) || cebus_view_numel(&view) == 0 ||
        fit_strides(&x->view, &view)) {
        view.offset = x->view.offset;
        return make_view(rt, x, &view, &cebus_op_reshape, NULL, out);
    }
    cebus_tensor *dense;
    status = cebus_contiguous(rt, x, &dense);
    if (status != CEBUS_OK)
        return status;
    cebus_view_contiguous(&view, view.dtype, view.ndim, view.shape);
    view.offset = dense->view.offset;
    status = make_view(rt, dense, &view, &cebus_op_reshape, NULL, out);
    cebus_tensor_release(dense);
    return status;
}

cebus_status cebus_permute(cebus_runtime *rt, cebus_tensor *x, const int *dims, cebus_tensor **out)
{
    static const char op[] = "permute";
    cebus_status status = begin(rt, x, op, out);
    if (status != CEBUS_OK)
        return status;
    cebus_view view = x->view;
    cebus_view_attrs attrs = {0};
    unsigned seen = 0;
    for (int d = 0; d < x->view.ndim; d++) {
        int from = dims != NULL ? cebus_dim_wrap(dims[d], x->view.ndim) : -1;
        if (from < 0 || (seen >> from) & 1)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "dims must name each of the %d dimensions of shape %s once",
                              x->view.ndim, CEBUS_SHAPE(&x->view));
        seen |= 1U << from;
        attrs.dims[d] = from;
        view.shape[d] = x->view.shape[from];
        view.strides[d] = x->view.strides[from];
    }
    return make_view(rt, x, &view, &cebus_op_permute, &attrs, out);
}

cebus_status cebus_transpose(cebus_runtime *rt, cebus_tensor *x, int dim0, int dim1,
                             cebus_tensor **out)
{
    int dims[CEBUS_MAX_DIMS], a, b;
    cebus_status status = begin(rt, x, "transpose", out);
    if (status == CEBUS_OK)
        status = check_dim(x, dim0, 0, "transpose", &a);
    if (status == CEBUS_OK)
        status = check_dim(x, dim1, 0, "transpose", &b);
    if (status != CEBUS_OK)
        return status;
    for (int d = 0; d < x->view.ndim; d++)
        dims[d] = d == a ? b : d == b ? a : d;
    return cebus_permute(rt, x, dims, out);
}

static int64_t clamp_index(int64_t index, int64_t length)
{
    if (index < 0)
        index += length;
    return index < 0 ? 0 : index > length ? length : index;
}

cebus_status cebus_slice(cebus_runtime *rt, cebus_tensor *x, int dim, int64_t start, int64_t stop,
                         int64_t step, cebus_tensor **out)
{
    static const char op[] = "slice";
    int d;
    cebus_status status = begin_along(rt, x, dim, 0, op, &d, out);
    if (status != CEBUS_OK)
        return status;
    if (step < 1)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "step is %" PRId64 "; it must be at least 1",
                          step);
    cebus_view view = x->view;
    start = clamp_index(start, view.shape[d]);
    stop = clamp_index(stop, view.shape[d]);
    cebus_view_attrs attrs = {.dims = {d}, .start = start, .stop = stop, .step = step};
    view.shape[d] = stop > start ? (stop - start - 1) / step + 1 : 0;
    view.offset += view.shape[d] > 0 ? start * view.strides[d] : 0;
    if (view.shape[d] > 1)
        view.strides[d] *= step;
    return make_view(rt, x, &view, &cebus_op_slice, &attrs, out);
}

static void remove_dim(cebus_view *view, int dim)
{
    view->ndim--;
    for (int d = dim; d < view->ndim; d++) {
        view->shape[d] = view->shape[d + 1];
        view->strides[d] = view->strides[d + 1];
    }
}

cebus_status cebus_select(cebus_runtime *rt, cebus_tensor *x, int dim, int64_t index,
                          cebus_tensor **out)
{
    static const char op[] = "select";
    int d;
    cebus_status status = begin_along(rt, x, dim, 0, op, &d, out);
    if (status != CEBUS_OK)
        return status;
    int64_t length = x->view.shape[d];
    if (index < -length || index >= length)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "index %" PRId64 " is out of range for dimension %d of shape %s", index,
                          d, CEBUS_SHAPE(&x->view));
    index += index < 0 ? length : 0;
    cebus_view view = x->view;
    cebus_view_attrs attrs = {.dims = {d}, .start = index};
    view.offset += index * view.strides[d];
    remove_dim(&view, d);
    return make_view(rt, x, &view, &cebus_op_select, &attrs, out);
}

cebus_status cebus_diagonal(cebus_runtime *rt, cebus_tensor *x, int64_t offset, int dim1, int dim2,
                            cebus_tensor **out)
{
    static const char op[] = "diagonal";
    int a, b;
    cebus_status status = begin(rt, x, op, out);
    if (status == CEBUS_OK)
        status = check_dim(x, dim1, 0, op, &a);
    if (status == CEBUS_OK)
        status = check_dim(x, dim2, 0, op, &b);
    if (status != CEBUS_OK)
        return status;
    if (a == b)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "dimensions %d and %d are one: a diagonal is of two", dim1, dim2);
    int64_t rows = x->view.shape[a], columns = x->view.shape[b], length;
    int64_t stride = x->view.strides[a] + x->view.strides[b];
    bool empty = offset >= columns || offset <= -rows;
    int64_t down = !empty && offset < 0 ? -offset : 0, right = !empty && offset > 0 ? offset : 0;
    length = rows - down < columns - right ? rows - down : columns - right;
    cebus_view view = x->view;
    cebus_view_attrs attrs = {.dims = {a, b}, .start = offset};
    view.offset += down * x->view.strides[a] + right * x->view.strides[b];
    remove_dim(&view, a > b ? a : b);
    remove_dim(&view, a > b ? b : a);
    view.shape[view.ndim] = empty ? 0 : length;
    view.strides[view.ndim++] = stride;
    return make_view(rt, x, &view, &cebus_op_diagonal, &attrs, out);
}

cebus_status cebus_expand(cebus_runtime *rt, cebus_tensor *x, int ndim, const int64_t *shape,
                          cebus_tensor **out)
{
    static const char op[] = "expand";
    cebus_status status = begin(rt, x, op, out);
    if (status != CEBUS_OK)
        return status;
    if (ndim < x->view.ndim || ndim > CEBUS_MAX_DIMS || (shape == NULL && ndim > 0))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "shape %s cannot be expanded to %d dimensions", CEBUS_SHAPE(&x->view),
                          ndim);
    int lead = ndim - x->view.ndim;
    cebus_view view = {.dtype = x->view.dtype, .ndim = ndim, .offset = x->view.offset};
    for (int d = 0; d < ndim; d++) {
        int64_t have = d >= lead ? x->view.shape[d - lead] : 1;
        int64_t want = shape[d] == -1 && d >= lead ? have : shape[d];
        if (want < 0 || (have != 1 && want != have))
            return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                              "shape %s cannot be expanded: dimension %d of the new shape is "
                              "%" PRId64 ", only lengths of 1 repeat",
                              CEBUS_SHAPE(&x->view), d, shape[d]);
        view.shape[d] = want;
        view.strides[d] = d >= lead && have == want ? x->view.strides[d - lead] : 0;
    }
    status = check_lengths(&view, op);
    if (status != CEBUS_OK)
        return status;
    return make_view(rt, x, &view, &cebus_op_expand, NULL, out);
}

cebus_status cebus_windows(cebus_runtime *rt, cebus_tensor *x, int dim, int64_t size, int64_t step,
                           cebus_tensor **out)
{
    static const char op[] = "windows";
    int d;
    cebus_status status = begin_along(rt, x, dim, 0, op, &d, out);
    if (status != CEBUS_OK)
        return status;
    int64_t length = x->view.shape[d];
    if (size < 0 || size > length || step < 1)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "windows of %" PRId64 ", %" PRId64 " apart, along a dimension of %" PRId64
                          ": size must be in [0, %" PRId64 "], step greater than 0",
                          size, step, length, length);
    if (x->view.ndim == CEBUS_MAX_DIMS)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "a tensor has at most %d dimensions",
                          CEBUS_MAX_DIMS);
    cebus_view view = x->view;
    cebus_view_attrs attrs = {.dims = {d}, .stop = size, .step = step};
    view.shape[d] = (length - size) / step + 1;
    if (view.shape[d] > 1)
        view.strides[d] *= step;
    view.shape[view.ndim] = size;
    view.strides[view.ndim++] = x->view.strides[d];
    status = check_lengths(&view, op);
    return status == CEBUS_OK ? make_view(rt, x, &view, &cebus_op_windows, &attrs, out) : status;
}

/** Whether all of a view lies in what another, which has no gaps, shows. */
static bool lies_in(const cebus_view *view, const cebus_view *whole)
{
    return cebus_view_numel(view) == 0 ||
           (cebus_view_is_dense(whole) && view->offset >= whole->offset &&
            cebus_view_extent(view) <= cebus_view_extent(whole));
}

/** The view that is asked for; what is wrong with it alone. */
static cebus_status describe_strided(const cebus_tensor *x, int ndim, const int64_t *shape,
                                     const int64_t *strides, int64_t offset, cebus_view *out)
{
    static const char op[] = "as_strided";
    uint64_t bytes;
    if (ndim < 0 || ndim > CEBUS_MAX_DIMS || (ndim > 0 && (shape == NULL || strides == NULL)))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%d dimensions; 0 to %d are possible", ndim,
                          CEBUS_MAX_DIMS);
    *out = (cebus_view){.dtype = x->view.dtype, .ndim = ndim, .offset = offset};
    bool valid = offset >= 0;
    for (int d = 0; d < ndim; d++) {
        out->shape[d] = shape[d];
        out->strides[d] = strides[d];
        valid = valid && strides[d] >= 0;
    }
    if (!valid)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "strides and offset must not be negative");
    cebus_status status = check_lengths(out, op);
    if (status == CEBUS_OK && (!cebus_view_bytes(out, &bytes) || bytes > UINT64_C(1) << 62))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op, "it would end beyond 2^62 bytes");
    if (status == CEBUS_OK && bytes == 0)
        cebus_view_contiguous(out, out->dtype, ndim, shape);
    return status;
}

cebus_status cebus_as_strided(cebus_runtime *rt, cebus_tensor *x, int ndim, const int64_t *shape,
                              const int64_t *strides, int64_t offset, cebus_tensor **out)
{
    static const char op[] = "as_strided";
    cebus_view view;
    cebus_status status = begin(rt, x, op, out);
    if (status == CEBUS_OK)
        status = describe_strided(x, ndim, shape, strides, offset, &view);
    if (status != CEBUS_OK)
        return status;
    const cebus_tensor *base = cebus_tensor_base(x);
    bool recorded = cebus_grad_is_enabled() && cebus_tensor_requires_grad(x);
    if (!lies_in(&view, &x->view) && (recorded || base == NULL || !lies_in(&view, &base->view)))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "elements %" PRId64 " to %" PRId64 " of the storage do not all lie in "
                          "the tensor of shape %s%s",
                          view.offset, cebus_view_extent(&view) - 1, CEBUS_SHAPE(&x->view),
                          recorded ? ", which records gradients and must have no gaps"
                                   : " or what it is a view of");
    return make_view(rt, x, &view, &cebus_op_as_strided, NULL, out);
}

cebus_status cebus_squeeze(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor **out)
{
    int d;
    cebus_status status = begin_along(rt, x, dim, 0, "squeeze", &d, out);
    if (status != CEBUS_OK)
        return status;
    if (x->view.shape[d] != 1)
        return make_view(rt, x, &x->view, &cebus_op_reshape, NULL, out);
    return cebus_select(rt, x, d, 0, out);
}

cebus_status cebus_unsqueeze(cebus_runtime *rt, cebus_tensor *x, int dim, cebus_tensor **out)
{
    static const char op[] = "unsqueeze";
    int at;
    cebus_status status = begin_along(rt, x, dim, 1, op, &at, out);
    if (status != CEBUS_OK)
        return status;
    if (x->view.ndim == CEBUS_MAX_DIMS)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "a tensor has at most %d dimensions",
                          CEBUS_MAX_DIMS);
    cebus_view view = x->view;
    cebus_view_insert_dim(&view, at);
    view.strides[at] = at + 1 < view.ndim ? view.shape[at + 1] * view.strides[at + 1] : 1;
    return make_view(rt, x, &view, &cebus_op_reshape, NULL, out);
}

cebus_status cebus_split(cebus_runtime *rt, cebus_tensor *x, int64_t size, int dim,
                         cebus_tensor **out, size_t *count)
{
    static const char op[] = "split";
    int d;
    if (count == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "count is NULL");
    const size_t room = *count;
    for (size_t i = 0; out != NULL && i < room; i++)
        out[i] = NULL;
    cebus_status status = cebus_tensor_check(rt, x, op, "the input");
    if (status == CEBUS_OK)
        status = check_dim(x, dim, 0, op, &d);
    if (status != CEBUS_OK)
        return status;
    if (size < 1)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "pieces of %" PRId64 " elements", size);
    int64_t length = x->view.shape[d];
    size_t pieces = length > 0 ? (size_t)((length - 1) / size + 1) : 1;
    *count = pieces;
    if (out == NULL)
        return CEBUS_OK;
    if (room < pieces)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%zu pieces, but room for %zu", pieces, room);
    for (size_t i = 0; i < pieces && status == CEBUS_OK; i++) {
        int64_t start = (int64_t)i * size;
        int64_t stop = length - start < size ? length : start + size;
        status = cebus_slice(rt, x, d, start, stop, 1, &out[i]);
    }
    for (size_t i = 0; i < pieces && status != CEBUS_OK; i++) {
        cebus_tensor_release(out[i]);
        out[i] = NULL;
    }
    return status;
}

cebus_status cebus_detach(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    cebus_status status = begin(rt, x, "detach", out);
    return status == CEBUS_OK ? cebus_views_alias(rt, x, &x->view, out) : status;
}
