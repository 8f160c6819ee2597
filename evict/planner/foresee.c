#include "evict/planner/foresee.h"

#include <stdlib.h>
#include <string.h>

#include "evict/planner/emit.h"
#include "evict/planner/march.h"
#include "evict/planner/prune.h"

/** Bytes that the past has less: nobody minds how much that was. */
#define BYGONE 1e15

/** The calls that make what is missing where another reads it. */
typedef struct missing {
    cebus_sequence *sequence;
    bool *made;     /**< values: looked after */
    uint32_t *runs; /**< calls: for whom they run last, + 1 */
    uint32_t *calls;
    uint32_t count;
} missing;

static bool want(missing *m, uint32_t reader, uint32_t value)
{
    const cebus_sequence *sequence = m->sequence;
    if (!sequence->iteration->values[value].absent || m->made[value])
        return true;
    m->made[value] = true;
    uint32_t call = sequence->lives[value].call;
    if (call == CEBUS_SEQUENCE_NONE)
        return false;
    if (m->runs[call] != reader + 1)
        m->calls[m->count++] = call;
    m->runs[call] = reader + 1;
    return true;
}

static bool want_reads(missing *m, uint32_t reader, uint32_t call)
{
    uint32_t count;
    const uint32_t *reads = cebus_sequence_reads(m->sequence, call, &count);
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++)
        ok = want(m, reader, reads[i]);
    return ok;
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/** Before a call, all that it reads, and what that is made of. */
static bool add_before(missing *m, uint32_t reader)
{
    m->count = 0;
    bool ok = want_reads(m, reader, reader);
    for (uint32_t i = 0; i < m->count && ok; i++)
        ok = want_reads(m, reader, m->calls[i]);
    qsort(m->calls, m->count, sizeof *m->calls, by_number);
    for (uint32_t i = 0; i < m->count && ok; i++)
        ok = cebus_sequence_insert(m->sequence, m->calls[i], reader, NULL);
    return ok;
}

/** What is absent is made before it is first read. */
static bool add_missing(cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    cebus_pool *pool = sequence->pool;
    size_t n = iteration->n_calls, bytes = n * sizeof(uint32_t);
    missing m = {.sequence = sequence,
                 .made = cebus_pool_alloc(pool, iteration->n_values),
                 .runs = cebus_pool_alloc(pool, bytes),
                 .calls = cebus_pool_alloc(pool, bytes)};
    bool ok = m.made != NULL && m.runs != NULL && m.calls != NULL;
    if (ok) {
        memset(m.made, 0, iteration->n_values);
        memset(m.runs, 0, bytes);
    }
    for (uint32_t k = iteration->past; k < n && ok; k++)
        ok = add_before(&m, k);
    cebus_pool_free_object(pool, m.made, iteration->n_values);
    cebus_pool_free_object(pool, m.runs, bytes);
    cebus_pool_free_object(pool, m.calls, bytes);
    return ok;
}

static bool march(cebus_sequence *sequence, double limit, uint64_t *steps)
{
    cebus_march how = {.price = 0, .merges = true};
    cebus_march_course ignored;
    uint64_t most_ns = sequence->cost + cebus_iteration_cost(sequence->iteration);
    cebus_greedy greedy;
    if (!cebus_greedy_init(&greedy, sequence, sequence->pool))
        return false;
    greedy.most_spent = *steps;
    bool fits = cebus_march_run(&greedy, &how, limit, most_ns, &ignored) == CEBUS_GREEDY_FITS;
    uint64_t pruning = 0;
    *steps = greedy.closure.spent;
    cebus_greedy_deinit(&greedy);
    fits = fits && cebus_prune_all(sequence, limit, sequence->pool, &pruning);
    *steps += pruning;
    return fits;
}

bool cebus_foresee_plan(const cebus_iteration *iteration, double limit, uint64_t *steps,
                        cebus_plan *out)
{
    cebus_sequence sequence;
    if (!cebus_sequence_init(&sequence, iteration, 1, out->pool))
        return false;
    uint64_t begun = cebus_sequence_key(&sequence, iteration->past) + 1;
    cebus_track_add(&sequence.track, 0, begun, -BYGONE);
    bool ok = add_missing(&sequence);
    cebus_sequence_keep(&sequence);
    ok = ok && march(&sequence, limit, steps) && cebus_emit_plan(&sequence, NULL, out);
    cebus_sequence_deinit(&sequence);
    return ok;
}
