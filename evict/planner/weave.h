/**
 * weave.h: a plan for the activations, and when persistent values are there beside it, in one plan.
 */
#ifndef CEBUS_EVICT_PLANNER_WEAVE_H
#define CEBUS_EVICT_PLANNER_WEAVE_H

#include "evict/plan.h"
#include "evict/timeline/presence.h"

/** Linked. `streams`: of values, whether they are among those that come and go; the others that
 * persist are there as the iteration begins, and stay. False without host memory. */
bool cebus_weave(const cebus_runs *runs, const cebus_presences *presences, const bool *streams,
                 const cebus_plan *others, cebus_plan *out);

#endif
