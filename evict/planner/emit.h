/**
 * emit.h: a sequence as the actions of a plan: replays where they stand, a drop behind the last use
 * of each life of a value, unless it goes by itself then. Where a value comes back from the host,
 * its bytes may go where the life ends; copies out start as soon as the values are made, in the
 * order in which the link takes them.
 */
#ifndef CEBUS_EVICT_PLANNER_EMIT_H
#define CEBUS_EVICT_PLANNER_EMIT_H

#include "evict/plan.h"
#include "evict/planner/links.h"

/** Adds the actions, in the order they are due. links: a run of the sequence; NULL: nothing is
 * swapped. False without host memory. O(events). */
bool cebus_emit_plan(const cebus_sequence *sequence, const cebus_links *links, cebus_plan *out);

#endif
