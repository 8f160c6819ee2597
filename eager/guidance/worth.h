/**
 * worth.h: whether a kind of iteration is worth planning. A program may have hundreds of kinds, and
 * to plan each takes as long as many of its iterations: more than most plans bring where each kind
 * comes a few times. So a kind is planned once its iterations have taken as long as that will take:
 * whatever comes then, no more than half of the time goes into plans.
 *
 *     learned       a first plan, at once     once it ran as long as earlier first plans took
 *     planned       a search, on a thread     once it ran as long as earlier searches took
 *     planned anew  another one               after twice as long, then four times, ...
 *
 * The very first plan of a program is made at once, and so is everything where runs must repeat,
 * since clocks decide here.
 */
#ifndef CEBUS_EAGER_GUIDANCE_WORTH_H
#define CEBUS_EAGER_GUIDANCE_WORTH_H

#include "lineage/iteration.h"

/** Longer than that no first search is waited for. */
#define CEBUS_WORTH_MOST_NS UINT64_C(1000000000)

/** What plans took so far. */
typedef struct cebus_pace {
    uint64_t call_ns; /**< for each call of the iteration: a running mean; 0: there was none */
} cebus_pace;

/** What a kind of iteration took so far. */
typedef struct cebus_worth {
    uint64_t ran_ns;   /**< all its iterations, since a search for it began last */
    uint32_t searches; /**< that began */
} cebus_worth;

/** Of this thread, in ns from an arbitrary start: what plans take does not depend on others. */
uint64_t cebus_pace_clock(void);
/** A plan for an iteration of so many calls took so long. */
void cebus_pace_note(cebus_pace *pace, uint64_t took_ns, size_t n_calls);

/** How long one would take; `guess`: as long as none was made. */
uint64_t cebus_pace_reckon(const cebus_pace *pace, size_t n_calls, uint64_t guess);

/** Whether a first plan, or the next search, is due that would take so long. */
bool cebus_worth_planning(const cebus_worth *worth, uint64_t plan_ns);
/** The search begins. */
void cebus_worth_spend(cebus_worth *worth);

#endif
