/**
 * guide.h: cursors over a plan, for an iteration that repeats the planned one: so many calls were
 * made, these actions are due; these were due, and wait.
 *
 * Values whose bytes may leave (SWAP_OUT) and values that are to come back (SWAP_IN) wait for the
 * moment: the first until their room is needed, the second until there is room. Both in the plan's
 * order, so that a cursor for each, behind the one for what is due, is all there is to remember.
 *
 *     actions   drop  out  in  out  in  in  out | out  in ...
 *                         ^came    ^left        ^next
 */
#ifndef CEBUS_EVICT_GUIDE_H
#define CEBUS_EVICT_GUIDE_H

#include "evict/plan.h"

typedef struct cebus_guide {
    const cebus_plan *plan;             /**< borrowed; sorted */
    size_t next;                        /**< actions before it were due */
    size_t waiting[CEBUS_ACTION_KINDS]; /**< actions of the kind before it wait no more */
} cebus_guide;

/** At the start of an iteration. */
void cebus_guide_start(cebus_guide *guide, const cebus_plan *plan);

/** The next action due after `calls` calls, NULL when none is left. O(1). */
const cebus_action *cebus_guide_next(cebus_guide *guide, uint32_t calls);

/** The first action of a kind that was due and waits; NULL: none does. Amortized O(1). */
const cebus_action *cebus_guide_waiting(cebus_guide *guide, cebus_action_kind kind);
/** It waits no more. */
void cebus_guide_done(cebus_guide *guide, cebus_action_kind kind);

#endif
