/**
 * rows.h: several arrays of one shape walked together, one innermost run after another.
 *
 * The dimensions are ordered as they lie in the memory of the first array and merged wherever
 * every array allows it, so that dense arrays of one layout become a single run. The order is a
 * pure function of the views. Positions [0, numel) count elements in that order; a part of them
 * can be walked on its own, which is how loops are cut for threads.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_ROWS_H
#define CEBUS_EAGER_DEVICE_CPU_ROWS_H

#include <cebus/tensor.h>

#define CEBUS_ROWS_ARRAYS 4

typedef struct cebus_rows {
    int arrays;
    int ndim;      /**< dimensions outside the run, outermost first */
    int64_t numel; /**< of each array */
    int64_t run;   /**< elements of one run */
    int64_t shape[CEBUS_MAX_DIMS];
    int64_t strides[CEBUS_ROWS_ARRAYS][CEBUS_MAX_DIMS];
    int64_t step[CEBUS_ROWS_ARRAYS]; /**< stride within the run */
} cebus_rows;

/** `n` views of one shape, at most CEBUS_ROWS_ARRAYS. */
void cebus_rows_init(cebus_rows *rows, int n, const cebus_view *const *views);

/** One run, or a part of one: `offsets[i]` is where it starts in array i, in elements. */
typedef void (*cebus_run_fn)(void *context, const int64_t *offsets, int64_t n);

/** Calls `body` for the positions [begin, end), in order. */
void cebus_rows_walk(const cebus_rows *rows, int64_t begin, int64_t end, cebus_run_fn body,
                     void *context);

#endif
