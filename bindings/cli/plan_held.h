/**
 * plan_held.h: a plan from a file against what happened when a run was guided by it.
 */
#ifndef PLAN_HELD_H
#define PLAN_HELD_H

#include "result.h"

/** Actions of a plan, by kind. */
struct plan_counts {
    uint64_t drop, copy_out, swap_out, swap_in, replay;
};

/** Counts those for the iteration that a run did last. What is wrong is printed, and false
 * returned. */
bool plan_held_count(const char *path, const struct run_result *result, struct plan_counts *out);

void plan_held_print(const struct plan_counts *planned, const struct run_result *result);
/** Adds the members "planned" and "happened". */
void plan_held_put(json_t *json, const struct plan_counts *planned,
                   const struct run_result *result);

#endif
