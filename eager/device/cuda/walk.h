/**
 * walk.h: several arrays of one shape visited together. As on the CPU (eager/device/cpu/rows.h) the
 * dimensions are ordered as they lie in the memory of the first array and merged where every array
 * allows it, down to a run and what is outside it; positions [0, numel) count elements in that
 * order. Here any thread finds any position on its own.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_WALK_H
#define CEBUS_EAGER_DEVICE_CUDA_WALK_H

#include "eager/device/cuda/lane.h"

#define CEBUS_WALK_ARRAYS 4

typedef struct cebus_walk {
    int arrays, ndim; /**< ndim: dimensions outside the run, outermost first */
    bool wide;        /**< too long for the fine divisions */
    int64_t numel, run;
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_divisor run_divisor, divisor[CEBUS_MAX_DIMS];
    int64_t strides[CEBUS_WALK_ARRAYS][CEBUS_MAX_DIMS];
    int64_t step[CEBUS_WALK_ARRAYS]; /**< stride within the run */
} cebus_walk;

/** Dimensions whose bit is set in `dims`, all of them for CEBUS_WALK_ALL. */
#define CEBUS_WALK_ALL 0xFFFFFFFFU

typedef struct cebus_walk_axes {
    int n;
    int dim[CEBUS_MAX_DIMS];
} cebus_walk_axes;

/** The dimensions longer than 1, slowest-moving in `view` first; stable. */
static inline cebus_walk_axes cebus_walk_order(const cebus_view *view, uint32_t dims, bool ordered)
{
    cebus_walk_axes axes = {0, {0}};
    for (int d = 0; d < view->ndim; d++) {
        if (view->shape[d] == 1 || !(dims >> d & 1))
            continue;
        int at = axes.n++;
        for (; !ordered && at > 0 && view->strides[axes.dim[at - 1]] < view->strides[d]; at--)
            axes.dim[at] = axes.dim[at - 1];
        axes.dim[at] = d;
    }
    return axes;
}

static inline bool cebus_walk_extends(const cebus_walk *w, const cebus_view *const *views, int d)
{
    for (int i = 0; i < w->arrays; i++)
        if (views[i]->strides[d] != w->step[i] * w->run)
            return false;
    return true;
}

/** Over the dimensions `dims` of `n` views of one shape; `ordered` keeps them in their order. */
static inline cebus_walk cebus_walk_over(int n, const cebus_view *const *views, uint32_t dims,
                                         bool ordered)
{
    cebus_walk w = {};
    cebus_walk_axes axes = cebus_walk_order(views[0], dims, ordered);
    int left = axes.n;
    w.arrays = n;
    w.numel = w.run = 1;
    for (int d = 0; d < views[0]->ndim; d++)
        w.numel *= dims >> d & 1 ? views[0]->shape[d] : 1;
    if (left > 0) {
        int last = axes.dim[--left];
        w.run = views[0]->shape[last];
        for (int i = 0; i < n; i++)
            w.step[i] = views[i]->strides[last];
    }
    while (left > 0 && cebus_walk_extends(&w, views, axes.dim[left - 1]))
        w.run *= views[0]->shape[axes.dim[--left]];
    w.ndim = left;
    w.wide = w.numel >= INT32_MAX;
    if (w.numel == 0)
        return w;
    for (int d = 0; d < left; d++) {
        w.shape[d] = views[0]->shape[axes.dim[d]];
        w.divisor[d] = cebus_divisor_of(w.wide ? 1 : (uint32_t)w.shape[d]);
        for (int i = 0; i < n; i++)
            w.strides[i][d] = views[i]->strides[axes.dim[d]];
    }
    w.run_divisor = cebus_divisor_of(w.wide ? 1 : (uint32_t)w.run);
    return w;
}

static inline cebus_walk cebus_walk_of(int n, const cebus_view *const *views)
{
    return cebus_walk_over(n, views, CEBUS_WALK_ALL, false);
}

/** Quotient and rest of a position by one of the walk's lengths. */
CEBUS_DEVICE int64_t cebus_walk_divide(const cebus_walk *w, int64_t at, int64_t length,
                                       cebus_divisor divisor, int64_t *out_rest)
{
    if (w->wide) {
        *out_rest = at % length;
        return at / length;
    }
    uint32_t quotient = cebus_divide((uint32_t)at, divisor);
    *out_rest = (uint32_t)at - quotient * divisor.value;
    return quotient;
}

/** Offsets in the first ARRAYS arrays of position `at`; answers how many elements from there on, it
 * included, go on by the steps. */
template <int ARRAYS>
CEBUS_DEVICE int64_t cebus_walk_locate(const cebus_walk *w, int64_t at, int64_t *offsets)
{
    int64_t skip = at, row = 0;
    if (w->ndim > 0)
        row = cebus_walk_divide(w, at, w->run, w->run_divisor, &skip);
    CEBUS_UNROLL
    for (int i = 0; i < ARRAYS; i++)
        offsets[i] = skip * w->step[i];
    for (int d = w->ndim - 1; d >= 0; d--) {
        int64_t index = row;
        if (d > 0)
            row = cebus_walk_divide(w, row, w->shape[d], w->divisor[d], &index);
        CEBUS_UNROLL
        for (int i = 0; i < ARRAYS; i++)
            offsets[i] += index * w->strides[i][d];
    }
    return w->run - skip;
}

/** Elements a thread takes at a time: as many as move together, or where there are too few of them
 * to keep all threads busy one. */
static inline int cebus_walk_pack(int64_t numel)
{
    return numel >= 262144 ? CEBUS_PACK : 1;
}

/** `view` read in the shape of `like`. */
static inline cebus_view cebus_view_as(const cebus_view *view, const cebus_view *like)
{
    cebus_view out;
    cebus_view_expand(view, like->ndim, like->shape, &out);
    return out;
}

#endif
