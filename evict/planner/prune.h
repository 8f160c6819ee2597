/**
 * prune.h: takes out replays without which the plan fits, too: the dearest first, each together
 * with those that only made something for it.
 */
#ifndef CEBUS_EVICT_PLANNER_PRUNE_H
#define CEBUS_EVICT_PLANNER_PRUNE_H

#include "evict/planner/sequence.h"

/** For a sequence that fits. *out_visits: the effort, in visits (closure.h). False without host
 * memory: then only deinit of the sequence is left. O(replays x items / 64). */
bool cebus_prune_all(cebus_sequence *sequence, double limit, cebus_pool *pool,
                     uint64_t *out_visits);

#endif
