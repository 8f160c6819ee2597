/**
 * emit.h: a sequence as the actions of a plan: replays where they stand, a drop behind the last use
 * of each life of a value, unless it goes by itself then.
 */
#ifndef CEBUS_EVICT_PLANNER_EMIT_H
#define CEBUS_EVICT_PLANNER_EMIT_H

#include "evict/plan.h"
#include "evict/planner/sequence.h"

/** Adds the actions, in the order they are due. False without host memory. O(events). */
bool cebus_emit_plan(const cebus_sequence *sequence, cebus_plan *out);

#endif
