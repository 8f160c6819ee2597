/**
 * hours.h: from when until when each stay has its bytes, as packers want to know: on the clock of
 * runs, or, where it is known when copies go on, on that of an occupancy (timeline/occupancy.h).
 * There a stay goes on until its copy out is done, and begins as its copy in does. What was to
 * leave and never did has one stay, whose others take no bytes.
 *
 *     runs     w [from ... SWAP_OUT)              x [SWAP_IN ...
 *     ns       w [from ... SWAP_OUT ..copy)         ..link.. [copy ...
 */
#ifndef CEBUS_EVICT_PLACES_HOURS_H
#define CEBUS_EVICT_PLACES_HOURS_H

#include "evict/timeline/occupancy.h"
#include "evict/timeline/sojourn.h"

typedef struct cebus_hours {
    cebus_pool *pool;    /**< borrowed */
    uint64_t *from, *to; /**< of stays: to is exclusive, and may be behind the end */
    uint32_t *roots;     /**< of stays: the first of those that are one, mostly itself */
    size_t count;
    uint64_t end; /**< of the iteration */
} cebus_hours;

/** `occupancy` NULL: runs; else a stay that leaves has this share, 0 to 1, of its copy to the end.
 * False without host memory: then there is nothing to free. O(stays log runs + values). */
bool cebus_hours_init(cebus_hours *hours, const cebus_sojourns *sojourns,
                      const cebus_iteration *iteration, const cebus_plan *plan,
                      const cebus_occupancy *occupancy, double share);
void cebus_hours_deinit(cebus_hours *hours);

#endif
