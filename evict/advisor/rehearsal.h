/**
 * rehearsal.h: how long a plan takes: three streams (calls, copies out, copies in) side by side,
 * each in its order, from event to event.
 *
 *     calls   0 | 1 | 2 |wait| 3 | 4 ...      waits for copies in that it reads, and for room
 *     out         [= x ==]                    after the last use of x, whose room is free at its
 * end in                    [= y =]           from `since` on, as soon as there is room
 *
 * Copies of both directions at once share what the link carries in all. Room that is promised to a
 * copy in by belady.h is free once the copies out before it are done, so nothing waits for ever.
 *
 * Source: SwapAdvisor, section 4.3.
 */
#ifndef CEBUS_EVICT_ADVISOR_REHEARSAL_H
#define CEBUS_EVICT_ADVISOR_REHEARSAL_H

#include "evict/advisor/belady.h"

#define CEBUS_REHEARSAL_NEVER UINT64_MAX

typedef struct cebus_link_terms {
    double out, in, both; /**< bytes a ns, each way alone and together */
    uint64_t latency_ns;  /**< of each copy */
} cebus_link_terms;

/** When everything happened; all ns from the start. */
typedef struct cebus_rehearsal_log {
    uint64_t *steps, *ends;    /**< by step */
    uint64_t *outs, *out_ends; /**< by index in belady.outs */
    uint64_t *ins, *in_ends;   /**< by index in belady.ins */
} cebus_rehearsal_log;

typedef struct cebus_rehearsal {
    const cebus_belady *belady;
    uint64_t *used;  /**< by pool: units taken now */
    uint32_t *order; /**< by trip: its copy out's place in line, plus 1; 0: it has none */
    uint32_t *gone;  /**< by step: trips without a copy that leave after it, a list's head plus 1 */
    uint32_t *after; /**< by trip: the next of that list, plus 1 */
} cebus_rehearsal;

/** False without host memory. */
bool cebus_rehearsal_init(cebus_rehearsal *rehearsal, const cebus_belady *belady, size_t max_pools,
                          cebus_shelf *shelf);

/** ns of an iteration as planned last; NEVER if it came to a halt. log: NULL, or room for all.
 * O(steps + uses + trips). */
uint64_t cebus_rehearsal_run(cebus_rehearsal *rehearsal, const cebus_pools *pools,
                             const cebus_link_terms *link, const cebus_rehearsal_log *log);

#endif
