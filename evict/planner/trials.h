/**
 * trials.h: runs of the greedy that were made before, by what they set out from. The ways to share
 * out the link often come to the same swaps, and each search for one plan begins without any: the
 * same run would end the same.
 */
#ifndef CEBUS_EVICT_PLANNER_TRIALS_H
#define CEBUS_EVICT_PLANNER_TRIALS_H

#include "evict/planner/snapshot.h"

/** Runs that are remembered. */
#define CEBUS_TRIALS 8

typedef struct cebus_trial {
    cebus_snapshot base;   /**< what it set out from */
    uint64_t most_ns;      /**< what the best took then; UINT64_MAX: nothing fitted */
    uint64_t allowed;      /**< steps that it might take */
    uint64_t spent;        /**< that it took */
    cebus_snapshot better; /**< what came of it, where that is better */
    double theta;          /**< the price at which that ended */
    bool succeeded;
} cebus_trial;

typedef struct cebus_trials {
    cebus_trial items[CEBUS_TRIALS];
    size_t count; /**< of all there were: the last are remembered */
} cebus_trials;

void cebus_trials_init(cebus_trials *trials, cebus_pool *pool);
void cebus_trials_deinit(cebus_trials *trials);

/** One that was the same; NULL: none was. O(replays). */
const cebus_trial *cebus_trials_find(const cebus_trials *trials, const cebus_snapshot *base,
                                     uint64_t most_ns, uint64_t allowed);
/** Another, to be filled in beyond what it set out from, in the place of the oldest. NULL without
 * host memory. */
cebus_trial *cebus_trials_add(cebus_trials *trials, const cebus_snapshot *base, uint64_t most_ns,
                              uint64_t allowed);

#endif
