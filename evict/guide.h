/**
 * guide.h: cursors over a plan, for an iteration that repeats the planned one: so many calls were
 * made, these actions are due; these were due, and wait.
 *
 * Values whose bytes may leave (SWAP_OUT) and values that are to come back (SWAP_IN) wait for the
 * moment: the first until their room is needed, the second until there is room. Both in the plan's
 * order, so that a cursor for each, behind the one for what is due, is all there is to remember.
 * For each value the guide knows what the plan has in mind for it next: what it will drop stays
 * until then, held or not.
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
    uint8_t *coming; /**< by ordinal: the kind of the value's next action; KINDS: there is none */
    size_t n_values;
    cebus_pool *pool; /**< borrowed */
} cebus_guide;

void cebus_guide_init(cebus_guide *guide, cebus_pool *pool);
void cebus_guide_deinit(cebus_guide *guide);

/** At the start of an iteration. Of a plan that is not linked, and without host memory, it does not
 * know what comes next. O(values). */
void cebus_guide_start(cebus_guide *guide, const cebus_plan *plan);

/** The same in the middle of one, `calls` calls of which were made under another plan: what would
 * have gone may go, what would have come may come, whenever there is an occasion. O(actions). */
void cebus_guide_join(cebus_guide *guide, const cebus_plan *plan, uint32_t calls);

/** The next action due after `calls` calls, NULL when none is left. O(1). */
const cebus_action *cebus_guide_next(cebus_guide *guide, uint32_t calls);
/** The same without taking it. */
const cebus_action *cebus_guide_peek(const cebus_guide *guide, uint32_t calls);

/** Whether the next thing that the plan does with a value is to drop it. O(1). */
static inline bool cebus_guide_keeps(const cebus_guide *guide, uint32_t ordinal)
{
    return ordinal < guide->n_values && guide->coming[ordinal] == CEBUS_ACTION_DROP;
}

/** Whether an action that waits was followed by the copy back that was to undo it: then the value
 * never left, and shall not. O(1). */
static inline bool cebus_guide_is_past(const cebus_guide *guide, const cebus_action *action)
{
    return action->then == CEBUS_ACTION_SWAP_IN && action->value < guide->n_values &&
           guide->coming[action->value] != CEBUS_ACTION_SWAP_IN;
}

/** The first action of a kind that was due and waits; NULL: none does. Amortized O(1). */
const cebus_action *cebus_guide_waiting(cebus_guide *guide, cebus_action_kind kind);
/** The next one behind that. O(actions between them). */
const cebus_action *cebus_guide_waiting_behind(const cebus_guide *guide, cebus_action_kind kind,
                                               const cebus_action *action);
/** It waits no more. */
void cebus_guide_done(cebus_guide *guide, cebus_action_kind kind);

#endif
