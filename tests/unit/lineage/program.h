/**
 * program.h: a program of values and calls built by hand, for tests of lineage. Values are kept in
 * an array; freeing goes through reaping, as in the runtime.
 */
#ifndef CEBUS_TESTS_UNIT_LINEAGE_PROGRAM_H
#define CEBUS_TESTS_UNIT_LINEAGE_PROGRAM_H

#include <stdlib.h>

#include "lineage/cost.h"
#include "lineage/replay.h"
#include "lineage/version.h"

typedef struct program {
    cebus_pool pool;
    cebus_lineage lineage;
    size_t live; /**< values not yet freed */
} program;

static inline void program_init(program *p)
{
    cebus_pool_init(&p->pool, NULL);
    cebus_lineage_init(&p->lineage, &p->pool);
    p->live = 0;
}

static inline void program_deinit(program *p)
{
    cebus_lineage_deinit(&p->lineage);
    cebus_pool_deinit(&p->pool);
}

/** A resident leaf with one holder. */
static inline cebus_value *program_leaf(program *p, uint64_t bytes)
{
    cebus_value *value = calloc(1, sizeof *value);
    cebus_value_init(value, bytes);
    value->resident = true;
    p->live++;
    return value;
}

/** A resident value made from up to two others (NULL: none) at a cost; one holder. */
static inline cebus_value *program_call(program *p, uint64_t cost, cebus_value *a, cebus_value *b)
{
    cebus_value *value = program_leaf(p, 64);
    cebus_call *call = cebus_call_create(&p->lineage, "op", 2, 1, 0);
    call->cost_ns = cost;
    if (a != NULL)
        cebus_call_read(call, 0, a);
    if (b != NULL)
        cebus_call_read(call, 1, b);
    cebus_call_make(&p->lineage, call, 0, value);
    cebus_call_release(&p->lineage, call);
    return value;
}

static inline void program_evict(program *p, cebus_value *value)
{
    value->resident = false;
    cebus_version_changed(&p->lineage, value);
    cebus_cost_leave(&p->lineage, value);
}

static inline void program_return(program *p, cebus_value *value)
{
    cebus_cost_return(&p->lineage, value);
    value->resident = true;
    cebus_version_changed(&p->lineage, value);
}

/** Drops a holder and frees whatever died of it. */
static inline void program_release(program *p, cebus_value *value)
{
    cebus_value_unhold(&p->lineage, value);
    cebus_value *dead;
    while ((dead = cebus_lineage_reap(&p->lineage)) != NULL) {
        free(dead);
        p->live--;
    }
}

#endif
