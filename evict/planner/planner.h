/**
 * planner.h: planner `cebus`: an iteration, and further runs of its calls, in a budget (sequence.h,
 * greedy.h, prune.h). The first plan is there at once; with effort granted it is improved. Equal
 * input has equal plans.
 */
#ifndef CEBUS_EVICT_PLANNER_PLANNER_H
#define CEBUS_EVICT_PLANNER_PLANNER_H

#include "evict/plan.h"

/**
 * Fills `out` as cebus_policy.plan says. Where nothing fits the budget, the plan is the one that
 * came closest.
 */
bool cebus_planner_plan(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out);

/** Steps that an effort is enough for. They are counted as in a program of thousands of calls;
 * where there are few, levels lie in few blocks: more steps are done in the same time. */
uint64_t cebus_planner_effort(const cebus_iteration *iteration, uint64_t effort);

#endif
