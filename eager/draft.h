/**
 * draft.h: a better plan, made while the program runs on. The first plan for an iteration is made
 * at once; where the policy can do better with more effort a thread of its own searches, over a
 * copy of the record. Between iterations it is asked whether it is done; the program never waits
 * for it.
 *
 * The thread takes its memory from malloc, whatever allocator the runtime was given: that one is
 * called under the runtime's lock only.
 */
#ifndef CEBUS_EAGER_DRAFT_H
#define CEBUS_EAGER_DRAFT_H

#include <pthread.h>
#include <stdatomic.h>

#include "evict/policy.h"

typedef struct cebus_draft {
    pthread_t thread;
    bool started;
    atomic_bool stop, done;
    cebus_pool pool;
    const cebus_policy *policy;
    cebus_iteration iteration; /**< a copy */
    cebus_plan_terms terms;
    cebus_plan plan;
    bool good; /**< there is a plan */
} cebus_draft;

void cebus_draft_init(cebus_draft *draft);

/** Begins to plan; what was being planned before is given up. Without memory or threads nothing
 * happens. */
void cebus_draft_start(cebus_draft *draft, const cebus_policy *policy,
                       const cebus_iteration *iteration, const cebus_plan_terms *terms);

/** True once, when a plan is there: `out` (empty) is a copy of it. */
bool cebus_draft_take(cebus_draft *draft, cebus_plan *out);

/** Gives it up, waiting for the thread to notice. */
void cebus_draft_cancel(cebus_draft *draft);

#endif
