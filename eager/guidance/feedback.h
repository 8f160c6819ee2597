/**
 * feedback.h: copies back that come late start earlier the next time (evict/trigger.h), under
 * policies that were published so.
 *
 *     prefetch        its end is noted
 *     the value is    the end still lies ahead of compute: late, 5% earlier from now on
 *     read
 *     the iteration   triggers move; where iterations took longer for it, they go back to where
 *     ended           the policy had put them, and stay there
 *
 * Where values have places they come when those are free: triggers stay.
 */
#ifndef CEBUS_EAGER_GUIDANCE_FEEDBACK_H
#define CEBUS_EAGER_GUIDANCE_FEEDBACK_H

#include "eager/guidance/state.h"

/** A copy back has been started ahead of need. */
void cebus_feedback_started(cebus_runtime *rt, const cebus_candidate *candidate);
/** Compute is about to wait for it; also where rt->guidance is NULL. */
void cebus_feedback_needed(cebus_runtime *rt, const cebus_candidate *candidate);

/** An iteration that followed the scheme's plan ended; it lost so much. False: the plan is to be
 * made again, as the policy makes it. */
bool cebus_feedback_end(cebus_runtime *rt, cebus_scheme *scheme, const cebus_iteration *iteration,
                        uint64_t lost);
/** The plan is another. */
void cebus_feedback_reset(cebus_runtime *rt, cebus_scheme *scheme);

#endif
