/**
 * terms.h: what the plans of a scheme may count on: memory, the link, effort, and where values may
 * lie.
 */
#ifndef CEBUS_EAGER_GUIDANCE_TERMS_H
#define CEBUS_EAGER_GUIDANCE_TERMS_H

#include "eager/guidance/state.h"

/** Rounds of packing where a plan's values do not fit at once: about a millisecond each for 500
 * values. None where the program waits. */
#define CEBUS_TERMS_ROUNDS 100

/** As things are now. `placed`: the plan is to have places; else it leaves some bytes free. What
 * was said about the swap tiers is asked for anew. The effort is 0. */
cebus_plan_terms cebus_terms_now(cebus_runtime *rt, const cebus_scheme *scheme, bool placed);

/** A plan for the one is none for the other. */
bool cebus_terms_differ(const cebus_plan_terms *a, const cebus_plan_terms *b);

/** Steps that a search for a plan may take. O(calls). */
uint64_t cebus_terms_effort(const cebus_iteration *iteration);

/** Where values may be placed. The fixtures are the scheme's. */
cebus_site cebus_terms_site(const cebus_runtime *rt, const cebus_scheme *scheme,
                            const cebus_outside *outside);

#endif
