/**
 * crossing.h: persistent values that a plan sends away as the iteration ends (shuttle.h). Their
 * copies go on while the next iteration runs, and until one is done nobody else can have its place.
 * Packers look at one iteration at a time and do not see that. What the planner counts as free from
 * the beginning may have to be waited for, however much is free elsewhere:
 *
 *     place     ... end of the iteration | beginning of the next ...
 *     high      m3 ======================|== copy ===|
 *               m2 ======================|copy|  x5 =========
 *     low       m1 ===================|copy|.waits..|x1 =====      x1 was to begin at once
 */
#ifndef CEBUS_EVICT_TIMELINE_CROSSING_H
#define CEBUS_EVICT_TIMELINE_CROSSING_H

#include "evict/timeline/sojourn.h"

typedef struct cebus_crossing {
    uint64_t over_ns; /**< when its copy is done, from the beginning of the next iteration */
    uint32_t stay;    /**< the value's last, by index of the sojourns */
} cebus_crossing;

typedef struct cebus_crossings {
    const cebus_sojourns *sojourns; /**< borrowed */
    cebus_crossing *items;
    size_t count, capacity;
    uint64_t over_ns; /**< when all of them are */
    uint64_t *times;  /**< of runs: ns from the beginning, if nothing waits */
} cebus_crossings;

typedef struct cebus_crossing_link {
    uint64_t out_rate;   /**< bytes/s; 0: nothing is copied */
    uint64_t latency_ns; /**< of each copy */
} cebus_crossing_link;

/** Of a plan that is linked. False without host memory: then there is nothing to free.
 * O(refs + actions + runs). */
bool cebus_crossings_init(cebus_crossings *crossings, const cebus_sojourns *sojourns,
                          const cebus_iteration *iteration, const cebus_plan *plan,
                          const cebus_crossing_link *link);
void cebus_crossings_deinit(cebus_crossings *crossings);

/** How long the next iteration waits for places, if the sojourns are at these offsets: the longest
 * wait for one of them. O(crossings x sojourns). */
uint64_t cebus_crossings_wait_ns(const cebus_crossings *crossings, const uint64_t *offsets);

#endif
