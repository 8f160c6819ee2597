/**
 * occupancy.h: when a plan has bytes taken, in ns, as a timeline finds out. On a clock of runs
 * (sojourn.h) a value is gone as soon as its copy out is asked for, and there as soon as its
 * copy in is. In truth the first still leaves for a while, and the second waits for those before it
 * on the link: whoever is to have the place of the one waits, and that of the other is nobody's.
 *
 *     runs       | conv |wait| relu |     conv2     | conv3 |
 *     x leaves   = SWAP_OUT =copy====|                        its place is free from here on
 *     w comes           SWAP_IN  ...    |=====copy======      and taken from here on
 */
#ifndef CEBUS_EVICT_TIMELINE_OCCUPANCY_H
#define CEBUS_EVICT_TIMELINE_OCCUPANCY_H

#include "evict/plan.h"

/** Of an action: no copy begins, or ends. */
#define CEBUS_OCCUPANCY_NEVER UINT64_MAX

/** Times are ns since the iteration began. */
typedef struct cebus_occupancy {
    cebus_pool *pool; /**< borrowed */
    uint64_t *turns;  /**< of runs: when the one before it is done */
    uint64_t *starts; /**< of runs: when it has all that it waits for */
    uint64_t *copies; /**< of actions: when what comes begins to, and what leaves has */
    uint64_t *ends;   /**< of actions: when their copies have ended */
    bool *stays;      /**< of actions: what was to come had never left */
    size_t count, capacity, n_actions; /**< runs; as many at most; actions */
    uint64_t began_ns, total_ns;       /**< on the timeline's clock; until the last call is done */
} cebus_occupancy;

/** Empty, for a plan. False without host memory: then there is nothing to free. */
bool cebus_occupancy_init(cebus_occupancy *occupancy, const cebus_iteration *iteration,
                          const cebus_plan *plan, cebus_pool *pool);
void cebus_occupancy_deinit(cebus_occupancy *occupancy);

/** @name What a timeline notes, by its clock. Without an occupancy (NULL) nothing. */
/** @{ */
/** An iteration begins; what was noted of the one before is forgotten. */
void cebus_occupancy_begin(cebus_occupancy *occupancy, uint64_t ns);
/** It is the next run's turn; that begins. */
void cebus_occupancy_await(cebus_occupancy *occupancy, uint64_t ns);
void cebus_occupancy_run(cebus_occupancy *occupancy, uint64_t ns);
/** What an action sends leaves until then, or what it brings comes from then on; or never left. */
void cebus_occupancy_copy(cebus_occupancy *occupancy, size_t action, uint64_t ns);
/** What an action brings is there then. */
void cebus_occupancy_arrive(cebus_occupancy *occupancy, size_t action, uint64_t ns);
void cebus_occupancy_stay(cebus_occupancy *occupancy, size_t action);
void cebus_occupancy_end(cebus_occupancy *occupancy, uint64_t ns);
/** @} */

/** @name On one clock for runs and ns, by which each run takes more than no time. */
/** @{ */
/** When it is a run's turn, or the end. */
uint64_t cebus_occupancy_turn(const cebus_occupancy *occupancy, uint32_t run);
uint64_t cebus_occupancy_start(const cebus_occupancy *occupancy, uint32_t run);
/** A time, which may be behind the end. O(log runs). */
uint64_t cebus_occupancy_time(const cebus_occupancy *occupancy, uint64_t ns);
/** @} */

/** Whether an action's copy still goes on as the iteration ends. */
static inline bool cebus_occupancy_goes_on(const cebus_occupancy *occupancy, size_t action)
{
    return occupancy->ends[action] != CEBUS_OCCUPANCY_NEVER &&
           occupancy->ends[action] > occupancy->total_ns;
}

/** Has the plan ask for each copy in no sooner than it can begin. The plan is linked, and is
 * again. False without host memory. O(actions log runs). */
bool cebus_occupancy_postpone(const cebus_occupancy *occupancy, const cebus_iteration *iteration,
                              cebus_plan *plan);

#endif
