/**
 * appraisal.h: what a planned iteration came to, held against what its plan said.
 *
 *     a plan           predicted: a timeline (evict/timeline/timeline.h) at the costs of the record
 *     an iteration     measured: its calls, replays, and waiting for copies
 *     they part        by more than 5%: the record takes over what calls cost now, and is planned
 *                      again; where costs are as they were, copies are reckoned with as slower
 *     it costs more    than without a plan: the plan is given up; where the host runs ahead of its
 *                      device a trial tells (trial.h)
 *     persistent       values shuttle between places of their own, or go wherever there is room:
 *     values           both are tried, and the better one stands; places that would be waited for
 *                      are set aside until it loses more without
 *
 * Where times are measured one iteration may have been unlucky: only several in a row count, and
 * each new plan must wait for more of them.
 */
#ifndef CEBUS_EAGER_GUIDANCE_APPRAISAL_H
#define CEBUS_EAGER_GUIDANCE_APPRAISAL_H

#include "eager/guidance/state.h"

/** What to do about the plan of an iteration that ended. */
typedef enum cebus_verdict {
    CEBUS_PLAN_STANDS,
    CEBUS_PLAN_IS_DEAR,       /**< none is better */
    CEBUS_PLAN_IS_STALE,      /**< make another */
    CEBUS_PLAN_TRY_PLACELESS, /**< one without places may be better */
    CEBUS_PLAN_NEEDS_PLACES,  /**< it was not */
    CEBUS_PLAN_TRY_NONE,      /**< none may be better */
    CEBUS_PLAN_COMES_BACK,    /**< it was not */
} cebus_verdict;

/** Whether plans must be the same in every run: then they are waited for. */
static inline bool cebus_appraisal_repeats(const cebus_runtime *rt)
{
    return rt->info.simulated || rt->cost_model == CEBUS_COST_ESTIMATED;
}

/** An iteration begins, with guidance->scheme. */
void cebus_appraisal_begin(cebus_runtime *rt);

/** One of this scheme ended. `followed`: from its first call to its last, and it was known. The
 * verdict is about a plan that was in force all the time. O(calls) when plans part. */
cebus_verdict cebus_appraisal_end(cebus_runtime *rt, cebus_scheme *scheme,
                                  cebus_iteration *iteration, bool followed);

/** A better plan is on its way: for good no more is said about the one at hand. */
bool cebus_appraisal_awaits_better(const cebus_runtime *rt, const cebus_scheme *scheme);
/** Whether a plan that settled, and loses so much, is to be held against none, once: where
 * persistent values come and go the first iteration does not tell what it takes without. */
bool cebus_appraisal_doubts(const cebus_runtime *rt, const cebus_scheme *scheme, uint64_t lost);
/** The plan at hand is to lose plainly more than the program does without one. */
bool cebus_appraisal_foretells_worse(const cebus_scheme *scheme);

/** There is another plan, or none: what it should take. Without host memory nothing is predicted.
 */
void cebus_appraisal_predict(cebus_runtime *rt, cebus_scheme *scheme,
                             const cebus_iteration *iteration);

#endif
