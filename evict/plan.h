/**
 * plan.h: what to do when the program does again what it did in a recorded iteration
 * (lineage/iteration.h): which values go when, and when they start to come back.
 *
 * An action is due at a number of calls: after that many calls of the iteration, before the next
 * one. It names a value by its ordinal. Actions are wishes: one whose value is in use, or gone, or
 * whose bytes find no room, is left out, and what the plan did not foresee is left to the reactive
 * policy. No result depends on them.
 *
 * A plan may say all that goes and comes, replays included: then it is the program with further
 * runs of its calls between, in the order in which they stand (Beyond Capuchin, planner `cebus`):
 *
 *     calls    conv  relu  conv2 ......... relu2'      conv'
 *     actions             drop x1             |  replay x1
 *
 * Consecutive replays of outputs of one call are one run of it. What a replay reads is resident
 * then: replays of absent inputs come before it. A value that nobody holds any more goes by itself,
 * unless the plan drops it later on without having made it again in between: then it stays
 * until that, for the replays that read it.
 */
#ifndef CEBUS_EVICT_PLAN_H
#define CEBUS_EVICT_PLAN_H

#include "lineage/iteration.h"

/** cebus_plan_sort() puts those due at the same time in this order: what goes makes room for what
 * comes. */
typedef enum cebus_action_kind {
    CEBUS_ACTION_COPY_OUT, /**< start the copy to the host; the bytes stay on the device, too */
    CEBUS_ACTION_SWAP_OUT, /**< from now on the bytes may go to the host, whenever room is needed;
                                the copy starts now if it did not before */
    CEBUS_ACTION_DROP,     /**< give the bytes up, to be made again by a replay */
    CEBUS_ACTION_SWAP_IN,  /**< start the copy back, as soon as there is a place for it */
    CEBUS_ACTION_REPLAY,   /**< make the bytes again, by the call that made them first */
    CEBUS_ACTION_KINDS,
} cebus_action_kind;

typedef struct cebus_action {
    uint32_t at;    /**< calls done */
    uint32_t value; /**< ordinal */
    uint8_t kind;   /**< cebus_action_kind */
    uint8_t then;   /**< the kind of its value's next action; KINDS: there is none. Once linked */
} cebus_action;

typedef struct cebus_plan cebus_plan;

/** What a planner may count on. */
typedef struct cebus_plan_terms {
    uint64_t budget; /**< bytes for the values of the iteration and the workspaces of its calls */
    uint64_t holes;  /**< of these: to be left free, since bytes have addresses and leave holes */
    uint64_t grain;  /**< what each value has is rounded up to that: a power of two; 0: it is not */
    uint64_t host;   /**< bytes on the host; 0: nothing can be swapped */
    uint64_t out_rate, in_rate; /**< bytes/s of the link, each above 0 */
    uint64_t latency_ns;        /**< of each copy, before its first byte */
    bool once;     /**< planners that search have no value come back from the host a second time */
    bool unhidden; /**< what planners that search have hidden by the calls does not fit: values go
                      by the host all the same, and are waited for, or none does */
    bool crowded;  /**< all that persists found no room to stay in so much memory, or in more */
    uint64_t effort; /**< steps a planner that searches may take; 0: only its first plan, at once */
    uint64_t most;   /**< steps that it may take in all; 0: some times the effort */
    uint64_t rival_ns; /**< that an iteration takes by another plan: planners that search need not
                          answer with one by which it takes as long; 0: there is none */
    uint64_t trial;    /**< steps after which it gives up if no plan fits; 0: as the above */
    /** Plans for parts of the memory that were made for another budget, and may do again: planners
     * that search look there, and leave theirs. NULL: there are none. */
    struct cebus_stock *stock;
    /** Asked now and then while it searches; false: nobody wants the plan any more. NULL: go on. */
    bool (*go_on)(void *context);
    void *context;
    /** Asked whether what a plan (in order) leaves resident finds places side by side. *out_ns:
     * what it takes to move values between theirs, where they cannot keep them. If they move, or
     * there are none, crowd[k], zeroed before, has the bytes too many while call k runs, or what
     * the plan runs before it: planners that search leave them free there and try again. NULL:
     * nobody minds where bytes lie. */
    bool (*place)(void *context, cebus_plan *plan, uint64_t *crowd, uint64_t *out_ns);
    /** Said right after: what was found there, be it nothing, stands from now on, for the plan that
     * is handed out. NULL: nobody wants to know. */
    void (*keep)(void *context);
    void *place_context;
} cebus_plan_terms;

/** What a plan should bring an iteration down to that does not fit the budget. */
static inline uint64_t cebus_plan_target(const cebus_plan_terms *terms)
{
    return terms->budget > terms->holes ? terms->budget - terms->holes : 0;
}

struct cebus_plan {
    cebus_pool *pool; /**< borrowed */
    cebus_action *actions;
    size_t count, capacity;
    uint64_t wait_ns; /**< that calls should wait for copies; 0: the planner does not know */
    uint64_t spent;   /**< steps that a planner that searches took */
    bool over;        /**< a planner that searches found none that fits; this one comes near */
    uint8_t *first;   /**< by ordinal: the kind of the value's first action, KINDS; once linked */
    size_t n_values;
};

void cebus_plan_init(cebus_plan *plan, cebus_pool *pool);
void cebus_plan_clear(cebus_plan *plan);

/** `to`, empty, becomes like `from`, and as linked. False without host memory: then it stays empty.
 * O(actions + values). */
bool cebus_plan_copy(const cebus_plan *from, cebus_plan *to);

/** Adds an action, in any order; false without host memory. */
bool cebus_plan_add(cebus_plan *plan, cebus_action_kind kind, uint32_t at, uint32_t value);
/** Puts the actions in the order they are due, those of one time and kind as they were added: for
 * planners to which the order within one time does not matter, others add them as they are due.
 * False without host memory. O(actions + calls). */
bool cebus_plan_sort(cebus_plan *plan, const cebus_iteration *iteration);

/** To be done once all actions are there and sorted: fills in `then` and `first`. False without
 * host memory. O(actions + values). */
bool cebus_plan_link(cebus_plan *plan, const cebus_iteration *iteration);

/** Takes out the drops of values that nothing reads any more but the program holds while it writes
 * parameters: what cannot be made again after a write has to be there before it, so the runtime
 * would make them again at once. Of a plan that is linked, and is again. False without host memory.
 * O(refs + actions). */
bool cebus_plan_spare_held(cebus_plan *plan, const cebus_iteration *iteration);

/** Both of these, as a plan is followed. */
bool cebus_plan_make_ready(cebus_plan *plan, const cebus_iteration *iteration);

/** Whether a plan that is linked says anything about a value. */
static inline bool cebus_plan_names(const cebus_plan *plan, uint32_t value)
{
    return plan->first != NULL && plan->first[value] != CEBUS_ACTION_KINDS;
}

/** Whether a plan has persistent values come and go (planner/shuttle.h). O(actions). */
bool cebus_plan_shuttles(const cebus_plan *plan, const cebus_iteration *iteration);

/** Whether a plan that is linked has a persistent value away between iterations: it leaves before
 * anything else happens to it. */
static inline bool cebus_plan_begins_away(const cebus_plan *plan, const cebus_iteration *iteration,
                                          uint32_t value)
{
    return plan->first != NULL && iteration->values[value].persistent &&
           plan->first[value] == CEBUS_ACTION_SWAP_OUT;
}

/** What of a plan from elsewhere cannot be meant for the iteration: what is out of order or range,
 * names what is not there yet, or would send what stays away. A static text; NULL: nothing.
 * O(actions). */
const char *cebus_plan_wrong(const cebus_plan *plan, const cebus_iteration *iteration);

/** ns to copy `bytes` at `rate` a second. */
uint64_t cebus_plan_copy_ns(uint64_t bytes, uint64_t rate);
/** ns that the link is busy with copying a value out, or back. */
uint64_t cebus_plan_out_ns(const cebus_plan_terms *terms, uint64_t bytes);
uint64_t cebus_plan_in_ns(const cebus_plan_terms *terms, uint64_t bytes);

#endif
