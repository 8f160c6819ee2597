/**
 * foresee.h: a plan for what may follow on what ran: an iteration with a past. What is absent is
 * made again before it is first read, then a march (march.h) brings all that to the limit, and what
 * was too much is taken out (prune.h). Calls of the past run again, and cost nothing else.
 *
 *     past         |  what may follow
 *     f  g  h ...  | now   h~   g~   f~        h~ reads what h made and read
 *                  | f' g'      f'             g went: made again for now, f once more for g~
 */
#ifndef CEBUS_EVICT_PLANNER_FORESEE_H
#define CEBUS_EVICT_PLANNER_FORESEE_H

#include "evict/plan.h"

/**
 * Fills an empty plan for a sealed iteration with a past, within `limit` bytes and *steps steps of
 * the search; *steps: those taken. False: there is none so cheap or so soon, or no host memory.
 */
bool cebus_foresee_plan(const cebus_iteration *iteration, double limit, uint64_t *steps,
                        cebus_plan *out);

#endif
