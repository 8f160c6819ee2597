#include "eager/device/cpu/rows.h"

#include "eager/view.h"

/* Dimensions of length other than 1, slowest-moving in `view` first. Stable: ties stay in order. */
static int memory_order(const cebus_view *view, int *out_dims)
{
    int n = 0;
    for (int d = 0; d < view->ndim; d++) {
        if (view->shape[d] == 1)
            continue;
        int at = n++;
        for (; at > 0 && view->strides[out_dims[at - 1]] < view->strides[d]; at--)
            out_dims[at] = out_dims[at - 1];
        out_dims[at] = d;
    }
    return n;
}

/* True when dimension `d` continues the run so far in every array. */
static bool extends_run(const cebus_rows *rows, const cebus_view *const *views, int d)
{
    for (int i = 0; i < rows->arrays; i++)
        if (views[i]->strides[d] != rows->step[i] * rows->run)
            return false;
    return true;
}

void cebus_rows_init(cebus_rows *rows, int n, const cebus_view *const *views)
{
    int order[CEBUS_MAX_DIMS];
    int left = memory_order(views[0], order);
    *rows = (cebus_rows){.arrays = n, .numel = cebus_view_numel(views[0]), .run = 1};
    if (left > 0) {
        int last = order[--left];
        rows->run = views[0]->shape[last];
        for (int i = 0; i < n; i++)
            rows->step[i] = views[i]->strides[last];
    }
    while (left > 0 && extends_run(rows, views, order[left - 1]))
        rows->run *= views[0]->shape[order[--left]];
    for (int d = 0; d < left; d++) {
        rows->shape[d] = views[0]->shape[order[d]];
        for (int i = 0; i < n; i++)
            rows->strides[i][d] = views[i]->strides[order[d]];
    }
    rows->ndim = left;
}

/* Splits a row number into coordinates and the offsets they mean. */
static void seek(const cebus_rows *rows, int64_t row, int64_t *coordinates, int64_t *offsets)
{
    for (int i = 0; i < rows->arrays; i++)
        offsets[i] = 0;
    for (int d = rows->ndim - 1; d >= 0; d--) {
        coordinates[d] = row % rows->shape[d];
        row /= rows->shape[d];
        for (int i = 0; i < rows->arrays; i++)
            offsets[i] += coordinates[d] * rows->strides[i][d];
    }
}

/* The next row, as an odometer counts. */
static void advance(const cebus_rows *rows, int64_t *coordinates, int64_t *offsets)
{
    for (int d = rows->ndim - 1; d >= 0; d--) {
        bool wraps = ++coordinates[d] == rows->shape[d];
        int64_t moved = wraps ? 1 - rows->shape[d] : 1;
        for (int i = 0; i < rows->arrays; i++)
            offsets[i] += moved * rows->strides[i][d];
        if (!wraps)
            return;
        coordinates[d] = 0;
    }
}

void cebus_rows_walk(const cebus_rows *rows, int64_t begin, int64_t end, cebus_run_fn body,
                     void *context)
{
    int64_t coordinates[CEBUS_MAX_DIMS], offsets[CEBUS_ROWS_ARRAYS];
    if (begin >= end)
        return;
    int64_t skip = begin % rows->run;
    seek(rows, begin / rows->run, coordinates, offsets);
    for (int64_t position = begin; position < end;) {
        int64_t starts[CEBUS_ROWS_ARRAYS];
        int64_t n = rows->run - skip < end - position ? rows->run - skip : end - position;
        for (int i = 0; i < rows->arrays; i++)
            starts[i] = offsets[i] + skip * rows->step[i];
        body(context, starts, n);
        position += n;
        skip = 0;
        advance(rows, coordinates, offsets);
    }
}
