/**
 * sort.h: numbers sorted with the places they came from, stable: equal numbers keep their order, so
 * that whoever adds what belongs to them adds in one order.
 *
 * A radix sort by digits of 4 bits (D. E. Knuth, The Art of Computer Programming 3, 5.2.5): each
 * thread counts and moves a stretch of its own. Costs three launches for each 4 bits of the largest
 * key, each over all keys.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_SORT_H
#define CEBUS_EAGER_DEVICE_CUDA_SORT_H

#include "eager/device/cuda/cuda.h"

CEBUS_BEGIN_DECLS

typedef struct cebus_sort {
    uint32_t *keys, *places; /**< to be filled: places[i] is i */
    uint32_t *other_keys, *other_places;
    uint32_t *counts;
    int64_t n, stretch, workers;
} cebus_sort;

/** A sort of `n` keys, n < 2^31, in a workspace (NULL: only measured); *out_bytes is what it takes
 * of it. */
cebus_sort cebus_sort_plan(int64_t n, char *workspace, uint64_t *out_bytes);

/** Sorts keys in [0, limit]; afterwards keys and places are in order. */
void cebus_sort_run(const cebus_launch *launch, cebus_sort *sort, uint32_t limit);

CEBUS_END_DECLS

#endif
