/**
 * rebuild_plan.h: a rebuild whose list does not fit when every call runs once, planned as a small
 * program of its own (evict/planner): which of what it made goes again, and which calls run once
 * more for that. What is there and can be made again is kept while the list reads it, all else may
 * go; so the plan has all the memory that nothing else locks.
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
 * Runs the list's calls, and those again that the plan says. What they made for it and nobody wants
 * is gone at the end. CEBUS_OUT_OF_MEMORY: there is no such plan, or no host memory to make it, or
 * something else took the room; what was made so far may be there. CEBUS_DEVICE_ERROR.
 */
cebus_status cebus_rebuild_by_plan(cebus_runtime *rt, const cebus_replay *list);

#endif
