/**
 * prune.h: replays that are not needed after all, taken out again: the dearest first, each with
 * those that made something for it alone, as long as the rest stays under the limit.
 */
#ifndef CEBUS_EVICT_PLANNER_PRUNE_H
#define CEBUS_EVICT_PLANNER_PRUNE_H

#include "evict/planner/sequence.h"

/** Of a sequence that fits. *out_visits: how long it took, in visits (closure.h). False without
 * host memory: then only deinit of the sequence is left. O(replays x items / 64). */
bool cebus_prune_all(cebus_sequence *sequence, double limit, cebus_pool *pool,
                     uint64_t *out_visits);

#endif
