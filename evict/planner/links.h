/**
 * links.h: how long a sequence takes with its swaps: calls, copies out and copies in on a stream
 * each. It says what the calls wait for, and in which order the copies leave.
 *
 *     calls   f0 | f1 | OUT x | f2 ....... | IN x | b2 | wait | b1     OUT x: waits until x is out
 *     out          [= x ==]   [= y ===]                                b1 reads x: waits for it
 *     in                                    [== x ======]
 *
 * A value may leave once it is made. Of those that may, the link takes the one whose room is needed
 * first, where its OUT stands. Copies back start where their IN stands, in that order, once the
 * link is free and the copy out is done. A value may come back several times: its copy on the host
 * serves for all of them, so it leaves once, unless it is made again in between.
 *
 * That calls wait at OUT is cautious: a runtime waits only if somebody takes that room at once.
 */
#ifndef CEBUS_EVICT_PLANNER_LINKS_H
#define CEBUS_EVICT_PLANNER_LINKS_H

#include "evict/plan.h"
#include "evict/planner/copies.h"
#include "evict/planner/sequence.h"

/** Events around a copy back of a value. */
typedef struct cebus_leave {
    uint32_t value;
    uint32_t last;  /**< use before it; NONE: nobody uses what comes back */
    uint32_t maker; /**< of the value before that use */
} cebus_leave;

typedef struct cebus_links {
    cebus_pool *pool;               /**< borrowed */
    const cebus_sequence *sequence; /**< borrowed */
    const cebus_plan_terms *terms;  /**< borrowed: rates */
    uint64_t *starts;               /**< of instances, ns from the start, END's the whole time */
    uint32_t *order;                /**< instances as they run */
    uint32_t *first;                /**< of instances: the first value that leaves behind it */
    uint32_t *ins;                  /**< instances that are copies back of what is used */
    cebus_leave *leaves;            /**< of copies back, by instance */
    uint32_t *next;                 /**< of values: another that leaves behind the same one; then
                                         that one, until the copy starts; NONE */
    uint32_t *outs;                 /**< of values: behind which instance their room is free the
                                         first time, the OUT; NONE: they stay */
    uint32_t *held;    /**< of values: behind which instance they leave at the earliest;
                            NONE: once they are made. NULL: all (yielding.h) */
    uint64_t *ready;   /**< of values: when the last copy of it is done */
    uint32_t *waiting; /**< a heap of values that may leave, by where their OUT stands */
    size_t n_waiting, waiting_capacity, n_order, n_ins, instances_capacity;
    cebus_copies out, in;
    cebus_streams streams; /**< its stall: how long calls wait for copies */
    uint64_t host;         /**< bytes that leave */
} cebus_links;

/** Of the sequence as it is whenever it is run. False without host memory: then there is nothing to
 * free. */
bool cebus_links_init(cebus_links *links, const cebus_sequence *sequence,
                      const cebus_plan_terms *terms, cebus_pool *pool);
void cebus_links_deinit(cebus_links *links);

/** Runs the sequence; all of the above is then known. False without host memory.
 * O(refs + replays + swaps log swaps). */
bool cebus_links_run(cebus_links *links);
/** The same until calls have waited longer than that: then nothing but that is known. */
bool cebus_links_run_within(cebus_links *links, uint64_t most_ns);

/** When what an instance runs is done. */
uint64_t cebus_links_end(const cebus_links *links, uint32_t instance);
/** Place in `order` of the last instance that starts at or before a time. O(log instances). */
size_t cebus_links_at(const cebus_links *links, uint64_t ns);

#endif
