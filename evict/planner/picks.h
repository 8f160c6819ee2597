/**
 * picks.h: what could be done for the bytes of values, the best on top: a binary heap.
 */
#ifndef CEBUS_EVICT_PLANNER_PICKS_H
#define CEBUS_EVICT_PLANNER_PICKS_H

#include "layout/pool.h"

/** A stretch a value could do without its bytes for. */
typedef struct cebus_pick {
    double score; /**< the lower, the better */
    uint32_t value;
    uint32_t from, to; /**< the uses around it, as the owner names them */
    uint32_t order;    /**< of equal scores the lowest */
} cebus_pick;

typedef struct cebus_picks {
    cebus_pick *items; /**< items[0]: the best */
    size_t count, capacity;
} cebus_picks;

void cebus_picks_deinit(cebus_picks *picks, cebus_pool *pool);

/** False without host memory. O(log picks). */
bool cebus_picks_push(cebus_picks *picks, cebus_pool *pool, cebus_pick pick);
/** The best, of at least one. O(log picks). */
cebus_pick cebus_picks_pop(cebus_picks *picks);

#endif
