#include "evict/planner/snapshot.h"

#include <string.h>

void cebus_snapshot_init(cebus_snapshot *snapshot, cebus_pool *pool)
{
    *snapshot = (cebus_snapshot){.pool = pool};
}

void cebus_snapshot_deinit(cebus_snapshot *snapshot)
{
    cebus_pool_free_object(snapshot->pool, snapshot->instances,
                           snapshot->capacity * sizeof *snapshot->instances);
    cebus_snapshot_init(snapshot, snapshot->pool);
}

bool cebus_snapshot_take(cebus_snapshot *snapshot, const cebus_sequence *sequence)
{
    snapshot->count = 0;
    snapshot->cost = sequence->cost;
    snapshot->peak = cebus_track_peak(&sequence->track, NULL);
    uint32_t i = cebus_sequence_start(sequence);
    for (; i != CEBUS_TRACK_NONE; i = cebus_track_next(&sequence->track, i)) {
        if (!cebus_sequence_is_replay(sequence, i))
            continue;
        void *instances = snapshot->instances;
        if (!cebus_pool_grow(snapshot->pool, &instances, &snapshot->capacity, snapshot->count,
                             sizeof *snapshot->instances))
            return false;
        snapshot->instances = instances;
        snapshot->instances[snapshot->count++] = sequence->instances[i];
    }
    return true;
}

bool cebus_snapshot_copy(const cebus_snapshot *from, cebus_snapshot *to)
{
    const size_t bytes = from->count * sizeof *from->instances;
    if (to->capacity < from->count) {
        cebus_instance *instances = cebus_pool_alloc(to->pool, bytes);
        if (instances == NULL)
            return false;
        cebus_pool_free_object(to->pool, to->instances, to->capacity * sizeof *to->instances);
        to->instances = instances;
        to->capacity = from->count;
    }
    if (bytes > 0)
        memcpy(to->instances, from->instances, bytes);
    to->count = from->count;
    to->cost = from->cost;
    to->peak = from->peak;
    return true;
}

bool cebus_snapshot_is_same(const cebus_snapshot *a, const cebus_snapshot *b)
{
    return a->count == b->count && a->cost == b->cost && a->peak == b->peak &&
           (a->count == 0 ||
            memcmp(a->instances, b->instances, a->count * sizeof *a->instances) == 0);
}

bool cebus_snapshot_restore(const cebus_snapshot *snapshot, cebus_sequence *sequence)
{
    if (!cebus_sequence_clear(sequence))
        return false;
    for (size_t i = 0; i < snapshot->count; i++) {
        const cebus_instance *replay = &snapshot->instances[i];
        uint32_t first =
            replay->gap < sequence->iteration->n_calls ? replay->gap : cebus_sequence_end(sequence);
        if (!cebus_sequence_insert(sequence, replay->call, first, NULL))
            return false;
    }
    cebus_sequence_keep(sequence);
    return true;
}
