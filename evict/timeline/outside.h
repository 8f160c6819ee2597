/**
 * outside.h: finds the values of an iteration that have no planned place, since they live beyond
 * it: what comes from outside while it runs (inputs from the host), what the iteration before left
 * to it, and what it leaves to the next one (running statistics: the old ones are read while the
 * new ones are made, so the two can never have one place).
 */
#ifndef CEBUS_EVICT_TIMELINE_OUTSIDE_H
#define CEBUS_EVICT_TIMELINE_OUTSIDE_H

#include "lineage/iteration.h"

typedef struct cebus_outside {
    cebus_pool *pool; /**< borrowed */
    bool *has;        /**< by ordinal */
    size_t n_values;
    uint64_t bytes; /**< of all of them together */
} cebus_outside;

/** False without host memory: then there is nothing to free. O(values + those that pass from one
 * iteration to the next x those that came). */
bool cebus_outside_init(cebus_outside *outside, const cebus_iteration *iteration, cebus_pool *pool);
void cebus_outside_deinit(cebus_outside *outside);

#endif
