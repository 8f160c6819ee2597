#include "eager/view.h"

#include <stdio.h>

#include "layout/checked.h"

cebus_shape_text cebus_shape_format(const cebus_view *view)
{
    cebus_shape_text out;
    size_t used = (size_t)snprintf(out.text, sizeof out.text, "[");
    for (int i = 0; i < view->ndim && used < sizeof out.text; i++)
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%lld", i ? ", " : "",
                                 (long long)view->shape[i]);
    if (used < sizeof out.text)
        snprintf(out.text + used, sizeof out.text - used, "]");
    return out;
}

void cebus_view_contiguous(cebus_view *out, cebus_dtype dtype, int ndim, const int64_t *shape)
{
    out->dtype = dtype;
    out->ndim = ndim;
    out->offset = 0;
    uint64_t stride = 1; /* may wrap around: such a shape is still to be refused */
    for (int i = ndim - 1; i >= 0; i--) {
        out->shape[i] = shape[i];
        out->strides[i] = (int64_t)stride;
        stride *= shape[i] > 1 ? (uint64_t)shape[i] : 1;
    }
}

void cebus_view_like(cebus_view *out, const cebus_view *like, cebus_dtype dtype)
{
    if (cebus_view_is_contiguous(like) || !cebus_view_is_dense(like)) {
        cebus_view_contiguous(out, dtype, like->ndim, like->shape);
        return;
    }
    out->dtype = dtype;
    out->ndim = like->ndim;
    out->offset = 0;
    for (int i = 0; i < like->ndim; i++) {
        out->shape[i] = like->shape[i];
        out->strides[i] = like->strides[i];
    }
}

int64_t cebus_view_numel(const cebus_view *view)
{
    int64_t n = 1;
    for (int i = 0; i < view->ndim; i++)
        n *= view->shape[i];
    return n;
}

bool cebus_view_is_contiguous(const cebus_view *view)
{
    int64_t stride = 1;
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (view->shape[i] == 1)
            continue;
        if (view->shape[i] == 0)
            return true;
        if (view->strides[i] != stride)
            return cebus_view_numel(view) == 0;
        stride *= view->shape[i];
    }
    return true;
}

/* The dimension whose stride is `stride`, among those longer than 1; -1 if there is none. */
static int dim_of_stride(const cebus_view *view, int64_t stride)
{
    for (int i = view->ndim - 1; i >= 0; i--)
        if (view->shape[i] > 1 && view->strides[i] == stride)
            return i;
    return -1;
}

bool cebus_view_is_dense(const cebus_view *view)
{
    int64_t n = cebus_view_numel(view);
    /* From the innermost outwards every dimension must begin where the former one ends. */
    for (int64_t filled = 1; filled < n;) {
        int dim = dim_of_stride(view, filled);
        if (dim < 0)
            return false;
        filled *= view->shape[dim];
    }
    return true;
}

bool cebus_view_same_shape(const cebus_view *a, const cebus_view *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

bool cebus_view_same_layout(const cebus_view *a, const cebus_view *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] != 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

bool cebus_view_is_channels_last(const cebus_view *view)
{
    if (view->ndim != 4)
        return false;
    static const int inner_to_outer[4] = {1, 3, 2, 0};
    int64_t stride = 1;
    for (int i = 0; i < 4; i++) {
        int dim = inner_to_outer[i];
        if (view->shape[dim] == 1)
            continue;
        if (view->strides[dim] != stride)
            return false;
        stride *= view->shape[dim] > 0 ? view->shape[dim] : 1;
    }
    return true;
}

void cebus_view_channels_last(cebus_view *out, cebus_dtype dtype, const int64_t *nchw)
{
    cebus_view_contiguous(out, dtype, 4, nchw);
    int64_t c = nchw[1] > 1 ? nchw[1] : 1, w = nchw[3] > 1 ? nchw[3] : 1;
    out->strides[1] = 1;
    out->strides[3] = c;
    out->strides[2] = c * w;
}

int64_t cebus_view_extent(const cebus_view *view)
{
    int64_t last = view->offset;
    for (int i = 0; i < view->ndim; i++) {
        if (view->shape[i] == 0)
            return 0;
        last += (view->shape[i] - 1) * view->strides[i];
    }
    return last + 1;
}

bool cebus_view_bytes(const cebus_view *view, uint64_t *out_bytes)
{
    uint64_t last = (uint64_t)view->offset;
    for (int i = 0; i < view->ndim; i++) {
        if (view->shape[i] == 0) {
            *out_bytes = 0;
            return true;
        }
        uint64_t step;
        if (!cebus_checked_mul((uint64_t)view->shape[i] - 1, (uint64_t)view->strides[i], &step) ||
            !cebus_checked_add(last, step, &last))
            return false;
    }
    uint64_t elements;
    return cebus_checked_add(last, 1, &elements) &&
           cebus_checked_mul(elements, cebus_dtype_size(view->dtype), out_bytes);
}

bool cebus_view_broadcast(const cebus_view *a, const cebus_view *b, int *out_ndim,
                          int64_t *out_shape)
{
    const cebus_view *longer = a->ndim >= b->ndim ? a : b;
    const cebus_view *shorter = longer == a ? b : a;
    int lead = longer->ndim - shorter->ndim;
    for (int i = 0; i < lead; i++)
        out_shape[i] = longer->shape[i];
    for (int i = lead; i < longer->ndim; i++) {
        int64_t m = longer->shape[i], n = shorter->shape[i - lead];
        if (m != n && m != 1 && n != 1)
            return false;
        out_shape[i] = m == 1 ? n : m;
    }
    *out_ndim = longer->ndim;
    return true;
}

void cebus_view_insert_dim(cebus_view *view, int dim)
{
    for (int d = view->ndim; d > dim; d--) {
        view->shape[d] = view->shape[d - 1];
        view->strides[d] = view->strides[d - 1];
    }
    view->shape[dim] = 1;
    view->strides[dim] = 0;
    view->ndim++;
}

void cebus_view_expand(const cebus_view *view, int ndim, const int64_t *shape, cebus_view *out)
{
    int lead = ndim - view->ndim;
    out->dtype = view->dtype;
    out->ndim = ndim;
    out->offset = view->offset;
    /* Backwards, so that `out` may be `view` itself. */
    for (int i = ndim - 1; i >= 0; i--) {
        bool repeated = i < lead || (view->shape[i - lead] == 1 && shape[i] != 1);
        out->strides[i] = repeated ? 0 : view->strides[i - lead];
        out->shape[i] = shape[i];
    }
}

bool cebus_shape_valid(cebus_dtype dtype, int ndim, const int64_t *shape)
{
    if (ndim < 0 || ndim > CEBUS_MAX_DIMS)
        return false;
    /* Lengths of 0 count as 1: the strides of an empty tensor must not overflow either. */
    uint64_t bytes = cebus_dtype_size(dtype);
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return false;
        if (shape[i] > 1 && !cebus_checked_mul(bytes, (uint64_t)shape[i], &bytes))
            return false;
    }
    return bytes > 0 && bytes <= UINT64_C(1) << 62;
}

bool cebus_view_may_repeat(const cebus_view *view)
{
    /* Each dimension, by rising strides, has to step over all that the ones before reach. */
    int64_t reach = 0;
    uint32_t seen = 0;
    if (cebus_view_numel(view) == 0)
        return false;
    for (int n = 0; n < view->ndim; n++) {
        int least = -1;
        for (int d = 0; d < view->ndim; d++) {
            if (!(seen >> d & 1) && (least < 0 || view->strides[d] < view->strides[least]))
                least = d;
        }
        seen |= UINT32_C(1) << least;
        if (view->shape[least] > 1 && view->strides[least] <= reach)
            return true;
        reach += (view->shape[least] - 1) * view->strides[least];
    }
    return false;
}

/** The elements of a view modulo `unit`: [begin, begin + length), or all when it wraps. */
typedef struct residues {
    int64_t begin, length;
} residues;

static residues residues_of(const cebus_view *view, int64_t unit)
{
    residues r = {view->offset % unit, 1};
    for (int d = 0; d < view->ndim; d++) {
        if (view->strides[d] % unit != 0)
            r.length += (view->shape[d] - 1) * view->strides[d];
    }
    return r.begin + r.length <= unit ? r : (residues){0, unit};
}

/** True if no element of a and b has the same place modulo `unit`. */
static bool interleave(const cebus_view *a, const cebus_view *b, int64_t unit)
{
    residues r = residues_of(a, unit), s = residues_of(b, unit);
    return r.begin + r.length <= s.begin || s.begin + s.length <= r.begin;
}

bool cebus_view_may_overlap(const cebus_view *a, const cebus_view *b)
{
    if (a->offset >= cebus_view_extent(b) || b->offset >= cebus_view_extent(a))
        return false;
    for (int d = 0; d < a->ndim; d++) {
        if (a->strides[d] > 1 && interleave(a, b, a->strides[d]))
            return false;
    }
    for (int d = 0; d < b->ndim; d++) {
        if (b->strides[d] > 1 && interleave(a, b, b->strides[d]))
            return false;
    }
    return true;
}

bool cebus_view_overlaps_partially(const cebus_view *a, const cebus_view *b)
{
    bool same = a->offset == b->offset && a->dtype == b->dtype && cebus_view_same_layout(a, b);
    return !same && cebus_view_may_overlap(a, b);
}
