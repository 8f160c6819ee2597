#include "evict/planner/prune.h"

#include <stdlib.h>

typedef struct cost {
    uint64_t ns;
    uint64_t key;
    uint32_t instance, call;
} cost;

static int dearest_first(const void *a, const void *b)
{
    const cost *left = a, *right = b;
    if (left->ns != right->ns)
        return left->ns > right->ns ? -1 : 1;
    return left->key < right->key ? -1 : left->key > right->key;
}

/** Bytes that a replay reads and nobody behind it does: they may be gone without it. */
static double spare_of(const cebus_sequence *sequence, uint32_t call, uint64_t key)
{
    uint32_t count;
    double spare = 0;
    const uint32_t *values = cebus_sequence_reads(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        const cebus_life *life = &sequence->lives[values[i]];
        uint32_t next = cebus_sequence_find(sequence, values[i], key) + 1;
        bool stays =
            next < life->count && cebus_event_kind_of(life->events[next]) != CEBUS_EVENT_PRODUCE;
        spare += stays ? 0 : life->bytes;
    }
    return spare;
}

/** Bytes that a replay keeps from being there anyway, too many at once for the rest? A first look.
 */
static bool may_go(const cebus_sequence *sequence, uint32_t instance, double limit)
{
    uint32_t count, call = sequence->instances[instance].call;
    uint64_t key = cebus_sequence_key(sequence, instance);
    double spare = spare_of(sequence, call, key);
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    for (uint32_t j = 0; j < count; j++) {
        const cebus_life *life = &sequence->lives[values[j]];
        uint32_t i = cebus_sequence_find(sequence, values[j], key);
        if (life->call != call || !cebus_sequence_is_placed(sequence, values[j], i))
            continue;
        uint64_t from = cebus_sequence_key(sequence, cebus_event_instance(life->events[i - 1])) + 1;
        if (cebus_track_exceeds(&sequence->track, from, key, limit - life->bytes + spare))
            return false;
    }
    return true;
}

static bool try_one(cebus_sequence *sequence, uint32_t instance, double limit)
{
    size_t mark = cebus_sequence_mark(sequence);
    if (!cebus_sequence_can_remove(sequence, instance) || !may_go(sequence, instance, limit))
        return true;
    if (!cebus_sequence_remove_all(sequence, instance))
        return false;
    return cebus_track_peak(&sequence->track, NULL) <= limit || cebus_sequence_undo(sequence, mark);
}

bool cebus_prune_all(cebus_sequence *sequence, double limit, cebus_pool *pool)
{
    size_t most = sequence->n_replays, n = 0;
    cost *costs = cebus_pool_alloc(pool, most * sizeof *costs);
    if (costs == NULL)
        return false;
    for (uint32_t i = cebus_sequence_end(sequence) + 1; i < sequence->n_instances; i++) {
        uint32_t call = sequence->instances[i].call;
        if (call != CEBUS_SEQUENCE_NONE && !cebus_sequence_is_swap(sequence, call))
            costs[n++] = (cost){cebus_sequence_cost(sequence, call),
                                cebus_sequence_key(sequence, i), i, call};
    }
    qsort(costs, n, sizeof *costs, dearest_first);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        if (sequence->instances[costs[i].instance].call == costs[i].call)
            ok = try_one(sequence, costs[i].instance, limit);
    }
    cebus_pool_free_object(pool, costs, most * sizeof *costs);
    return ok;
}
