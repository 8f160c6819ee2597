/**
 * draft.h: a better plan, made while the program runs on. The first plan for an iteration is made
 * at once; where the policy can do better with more effort a thread of its own searches, over a
 * copy of the record. Between iterations it is asked whether it is done; the program never waits
 * for it.
 *
 * The thread takes its memory from malloc, whatever allocator the runtime was given: that one is
 * called under the runtime's lock only.
 */
#ifndef CEBUS_EAGER_GUIDANCE_DRAFT_H
#define CEBUS_EAGER_GUIDANCE_DRAFT_H

#include <pthread.h>
#include <stdatomic.h>

#include "evict/places/fit.h"

typedef struct cebus_draft {
    pthread_t thread;
    bool started;
    atomic_bool stop, done;
    cebus_pool pool;
    cebus_iteration iteration; /**< a copy */
    cebus_fixture *fixtures;   /**< likewise */
    cebus_outside outside;
    cebus_plan plan;
    cebus_placement placement;
    cebus_fit fit;
    bool places;      /**< the plan is to be placed */
    bool good;        /**< there is a plan */
    uint64_t took_ns; /**< of the thread's time, once it is done */
} cebus_draft;

void cebus_draft_init(cebus_draft *draft);

/** Begins to plan; what was being planned before is given up. site: where its values are to be
 * placed, too (copied; what is outside is found out), or, where they cannot be, a plan that leaves
 * `holes` bytes free will do (fit.h); NULL: nowhere. Without memory or threads nothing happens. */
void cebus_draft_start(cebus_draft *draft, const cebus_policy *policy,
                       const cebus_iteration *iteration, const cebus_plan_terms *terms,
                       const cebus_site *site, uint64_t holes);

/** True once, when a plan is there: `out` (empty) is a copy of it, to be linked. With a site
 * `placement` (empty) is one of its places, and stays empty where the plan found none. */
bool cebus_draft_take(cebus_draft *draft, cebus_plan *out, cebus_placement *placement);

/** Gives it up, waiting for the thread to notice. */
void cebus_draft_cancel(cebus_draft *draft);

#endif
