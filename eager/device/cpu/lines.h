/**
 * lines.h: a dense array cut into the lines along one dimension, as softmax and the losses read
 * it: elements (o, r, i) of [outer, n, inner], line (o, i) running over r. Lines that lie side by
 * side (inner > 1) are taken together, up to CEBUS_FOLD_WIDTH at a time: a tile.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_LINES_H
#define CEBUS_EAGER_DEVICE_CPU_LINES_H

#include "eager/device/cpu/fold.h"
#include "eager/device/cpu/parallel.h"

typedef struct cebus_lines {
    int64_t outer, n, inner;
    int64_t tiles; /**< in all */
} cebus_lines;

typedef struct cebus_tile {
    int64_t offset; /**< of its first element */
    int64_t line;   /**< number of its first line, o * inner + i */
    int64_t width;  /**< lines */
} cebus_tile;

/** Lines of a dense view along `dim`; of a 0-d view its one element. */
cebus_lines cebus_lines_of(const cebus_view *dense, int dim);
cebus_tile cebus_lines_tile(const cebus_lines *lines, int64_t index);

/** Folds each line of a tile of `x` into out[0..width), divided by 1. */
void cebus_lines_fold(const cebus_lines *lines, const cebus_tile *tile, const cebus_fold *fold,
                      const void *x, void *out);

/** Runs `body` over ranges of tiles. */
void cebus_lines_run(const cebus_lines *lines, int threads, cebus_range_fn body, void *context);

#endif
