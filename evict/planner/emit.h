/**
 * emit.h: a sequence as the actions of a plan: replays where they stand, a drop behind the last use
 * of each life of a value, unless it goes by itself then. Where a value comes back from the host,
 * its copy out starts in its slot, and its bytes may go where the life ends.
 */
#ifndef CEBUS_EVICT_PLANNER_EMIT_H
#define CEBUS_EVICT_PLANNER_EMIT_H

#include "evict/plan.h"
#include "evict/planner/sequence.h"

/** Adds the actions, in the order they are due. copy_at: of values with swaps, calls done when the
 * copy out starts; NULL: there are none. False without host memory. O(events). */
bool cebus_emit_plan(const cebus_sequence *sequence, const uint32_t *copy_at, cebus_plan *out);

#endif
