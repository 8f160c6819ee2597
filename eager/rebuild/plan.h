/**
 * plan.h: plans a rebuild whose list does not fit when every call runs once, as a small program of
 * its own (evict/planner): the plan says which of the values that it makes are dropped again, and
 * which calls run once more for that. Its budget is all memory that is free or
 * may be evicted. Resident inputs that might go otherwise take a part of it until the list has read
 * them.
 *
 *     list        a   b   c ........ x   y       b and c do not fit beside x
 *     planned     a   b   c, drop b .... x, a again, b again, y
 *
 * This is what takes a long chain through short memory at about twice its cost, where waiting
 * calls (rebuild.c) would run parts of it a thousand times.
 */
#ifndef CEBUS_EAGER_REBUILD_PLAN_H
#define CEBUS_EAGER_REBUILD_PLAN_H

#include "eager/storage.h"
#include "lineage/replay.h"

/**
 * Plans the list and runs it. What was made on the way and nobody wants is gone at the end.
 * CEBUS_OUT_OF_MEMORY: no plan was found, no host memory was left to make one, or something else
 * took the room; what was made so far may be there. CEBUS_DEVICE_ERROR.
 */
cebus_status cebus_rebuild_by_plan(cebus_runtime *rt, const cebus_replay *list);

/** Gives one up to be made again by a replay, as plans say; not what is in use. */
void cebus_rebuild_drop(cebus_runtime *rt, cebus_candidate *candidate);

#endif
