/**
 * advice.h: a plan as it is handed out (<cebus/advise.h>), made of the best genome of a search: its
 * steps, copies and blocks with the times of a rehearsal, every block at an offset (layout/pack).
 */
#ifndef CEBUS_EVICT_ADVISOR_ADVICE_H
#define CEBUS_EVICT_ADVISOR_ADVICE_H

#include "evict/advisor/breed.h"

/** What a plan is made from: the bench has the genome's plan, and `log` when everything happened.
 */
typedef struct cebus_advice_draft {
    const cebus_graph *graph;
    const uint32_t *value_of; /**< by buffer: a value it holds */
    const cebus_breed_bench *bench;
    const cebus_rehearsal_log *log;
    uint64_t memory, time_ns;
} cebus_advice_draft;

/** CEBUS_OK and NULL in *out: the blocks cannot be placed, *out_missing bytes more would do. */
cebus_status cebus_advice_make(const cebus_advice_draft *draft, const cebus_host_allocator *host,
                               uint64_t *out_missing, cebus_advice **out);

/** How many of a plan's steps start before `ns`; the first `from` of them count whenever they do.
 */
uint32_t cebus_advice_steps_before(const cebus_advice_step *steps, size_t from, size_t n_steps,
                                   uint64_t ns);

#endif
