/**
 * curve.h: how many bytes an iteration needs while each of its calls runs, and how that changes
 * when values go for a while.
 *
 *     bytes   ____/\__                   the peak is what a budget must be for nothing to go
 *        ____/        \___
 *       /    |------|     \              a value of m bytes is away here: m less
 *       calls
 */
#ifndef CEBUS_EVICT_CURVE_H
#define CEBUS_EVICT_CURVE_H

#include "lineage/iteration.h"

typedef struct cebus_curve {
    cebus_pool *pool; /**< borrowed */
    int64_t *steps;   /**< bytes of call k less those of call k - 1; n_calls + 1 of them */
    size_t n_calls;
} cebus_curve;

/** Values while they live, and workspaces. False without host memory: then there is nothing to
 * free. */
bool cebus_curve_init(cebus_curve *curve, const cebus_iteration *iteration, cebus_pool *pool);
/** Nothing at all. */
bool cebus_curve_init_flat(cebus_curve *curve, size_t n_calls, cebus_pool *pool);
void cebus_curve_deinit(cebus_curve *curve);

/** Takes `bytes` (negative: adds them) while calls [from, to) run. O(1). */
void cebus_curve_cut(cebus_curve *curve, uint32_t from, uint32_t to, int64_t bytes);
/** The most bytes; *out_at (may be NULL): the first call that needs them. O(calls). */
uint64_t cebus_curve_peak(const cebus_curve *curve, uint32_t *out_at);
/** bytes[k]: while call k runs. */
void cebus_curve_read(const cebus_curve *curve, uint64_t *bytes);
/** Copies one curve to another of the same iteration. */
void cebus_curve_copy(const cebus_curve *from, cebus_curve *to);

#endif
