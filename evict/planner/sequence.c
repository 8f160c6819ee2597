#include "evict/planner/sequence.h"

#include <string.h>

#include "evict/planner/program.h"

#define NONE CEBUS_SEQUENCE_NONE

/* ---- events ------------------------------------------------------------------------------- */

static cebus_event_kind kind_at(const cebus_life *life, uint32_t i)
{
    return i < life->count ? cebus_event_kind_of(life->events[i]) : CEBUS_EVENT_PRODUCE;
}

/** Whether the value is there between event i - 1 and event i. */
static bool is_used_at(const cebus_life *life, uint32_t i)
{
    return kind_at(life, i) != CEBUS_EVENT_PRODUCE;
}

bool cebus_sequence_is_placed(const cebus_sequence *sequence, uint32_t value, uint32_t i)
{
    const cebus_life *life = &sequence->lives[value];
    return kind_at(life, i) == CEBUS_EVENT_PRODUCE &&
           (!cebus_sequence_is_replay(sequence, cebus_event_instance(life->events[i])) ||
            is_used_at(life, i + 1));
}

/** Bytes of the value while the instance of event i runs. */
static double bytes_at(const cebus_sequence *sequence, uint32_t value, uint32_t i)
{
    const cebus_life *life = &sequence->lives[value];
    if (kind_at(life, i) == CEBUS_EVENT_USE)
        return life->bytes;
    return cebus_sequence_is_placed(sequence, value, i) ? life->bytes : 0;
}

static bool reserve_events(cebus_sequence *sequence, cebus_life *life, uint32_t count)
{
    if (count <= life->capacity)
        return true;
    uint32_t capacity = 2 * count;
    uint32_t *events = cebus_pool_alloc(sequence->pool, capacity * sizeof *events);
    if (events == NULL)
        return false;
    if (life->count > 0)
        memcpy(events, life->events, life->count * sizeof *events);
    cebus_pool_free_object(sequence->pool, life->events, life->capacity * sizeof *events);
    life->events = events;
    life->capacity = capacity;
    return true;
}

/** Adds bytes at the event before i, where it is a replay that places something only if event i
 * uses it. */
static void place_before(cebus_sequence *sequence, const cebus_life *life, uint32_t i, double bytes)
{
    uint32_t instance = cebus_event_instance(life->events[i - 1]);
    if (kind_at(life, i - 1) != CEBUS_EVENT_PRODUCE ||
        !cebus_sequence_is_replay(sequence, instance))
        return;
    uint64_t key = cebus_sequence_key(sequence, instance);
    cebus_track_add(&sequence->track, key, key + 1, bytes);
}

/** What an event between event i - 1 and event i + 1 changes around it, with the sign given. The
 * level of its own instance is for a value that is there if event i + 1 is a use. */
static void weigh_event(cebus_sequence *sequence, uint32_t value, uint32_t i, double sign)
{
    const cebus_life *life = &sequence->lives[value];
    uint64_t before = cebus_sequence_key(sequence, cebus_event_instance(life->events[i - 1]));
    uint64_t key = cebus_sequence_key(sequence, cebus_event_instance(life->events[i]));
    bool was = is_used_at(life, i + 1), is = is_used_at(life, i);
    if (was == is)
        return;
    double bytes = is ? sign * life->bytes : -sign * life->bytes;
    cebus_track_add(&sequence->track, before + 1, is ? key + 1 : key, bytes);
    place_before(sequence, life, i, bytes);
}

/** Notes when the last event of a value is. */
static void note_end(cebus_sequence *sequence, uint32_t value)
{
    const cebus_life *life = &sequence->lives[value];
    uint32_t last = cebus_event_instance(life->events[life->count - 1]);
    sequence->ends[value] = sequence->instances[last].gap;
}

static void note_turn(cebus_sequence *sequence, uint32_t value)
{
    const cebus_iteration *iteration = sequence->iteration;
    sequence->turns[iteration->n_calls + value]++;
    if (iteration->values[value].born < iteration->n_calls)
        sequence->turns[iteration->values[value].born]++;
}

static bool insert_event(cebus_sequence *sequence, uint32_t value, uint32_t event)
{
    cebus_life *life = &sequence->lives[value];
    if (!reserve_events(sequence, life, life->count + 1))
        return false;
    uint32_t i = cebus_sequence_find(sequence, value,
                                     cebus_sequence_key(sequence, cebus_event_instance(event)));
    memmove(&life->events[i + 1], &life->events[i], (life->count - i) * sizeof *life->events);
    life->events[i] = event;
    life->count++;
    note_turn(sequence, value);
    if (i + 1 == life->count)
        note_end(sequence, value);
    weigh_event(sequence, value, i, 1);
    return true;
}

static void remove_event(cebus_sequence *sequence, uint32_t value, uint32_t instance)
{
    cebus_life *life = &sequence->lives[value];
    uint32_t i = cebus_sequence_find(sequence, value, cebus_sequence_key(sequence, instance));
    weigh_event(sequence, value, i, -1);
    life->count--;
    note_turn(sequence, value);
    memmove(&life->events[i], &life->events[i + 1], (life->count - i) * sizeof *life->events);
    if (i == life->count)
        note_end(sequence, value);
}

/* ---- from begin to end --------------------------------------------------------------------- */

bool cebus_sequence_init(cebus_sequence *sequence, const cebus_iteration *iteration, uint64_t grain,
                         cebus_pool *pool)
{
    *sequence = (cebus_sequence){.pool = pool, .iteration = iteration, .grain = grain};
    cebus_track_init(&sequence->track, pool);
    if (!cebus_program_lay_out(sequence)) {
        cebus_sequence_deinit(sequence);
        return false;
    }
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        if (sequence->lives[v].count > 0)
            note_end(sequence, v);
    }
    return true;
}

void cebus_sequence_deinit(cebus_sequence *sequence)
{
    cebus_pool *pool = sequence->pool;
    size_t n = sequence->iteration->n_calls, n_values = sequence->iteration->n_values;
    for (size_t v = 0; v < n_values && sequence->lives != NULL; v++)
        cebus_pool_free_object(pool, sequence->lives[v].events,
                               sequence->lives[v].capacity * sizeof(uint32_t));
    cebus_track_deinit(&sequence->track);
    cebus_pool_free_object(pool, sequence->lives, n_values * sizeof *sequence->lives);
    cebus_pool_free_object(pool, sequence->ports, sequence->iteration->n_refs * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->port_ends, (2 * n + 1) * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->selves, n_values * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->ends, n_values * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->turns, (n + n_values) * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->sources, sequence->iteration->n_refs * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->last_gaps, n * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->instances,
                           sequence->instances_capacity * sizeof *sequence->instances);
    cebus_pool_free_object(pool, sequence->needs,
                           sequence->needs_capacity * sizeof *sequence->needs);
    cebus_pool_free_object(pool, sequence->unused, sequence->unused_capacity * sizeof(uint32_t));
    cebus_pool_free_object(pool, sequence->changes,
                           sequence->changes_capacity * sizeof *sequence->changes);
}

/* ---- changes ------------------------------------------------------------------------------ */

double cebus_sequence_level_before(const cebus_sequence *sequence, uint32_t instance)
{
    double level = cebus_track_level(&sequence->track, instance);
    uint32_t call = sequence->instances[instance].call, count;
    if (call == NONE)
        return level;
    level -= cebus_sequence_workspace(sequence, call);
    uint64_t key = cebus_sequence_key(sequence, instance);
    bool is_replay = cebus_sequence_is_replay(sequence, instance);
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_replay || cebus_sequence_remakes(sequence, call, values[i]))
            level -= bytes_at(sequence, values[i], cebus_sequence_find(sequence, values[i], key));
    }
    if (is_replay)
        return level;
    values = cebus_sequence_reads(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        const cebus_life *life = &sequence->lives[values[i]];
        bool moves =
            kind_at(life, cebus_sequence_find(sequence, values[i], key)) == CEBUS_EVENT_MOVE;
        level += moves ? life->bytes : 0;
    }
    return level;
}

static bool new_instance(cebus_sequence *sequence, uint32_t *out)
{
    if (sequence->n_unused > 0) {
        *out = sequence->unused[--sequence->n_unused];
        return true;
    }
    void *instances = sequence->instances;
    if (!cebus_pool_grow(sequence->pool, &instances, &sequence->instances_capacity,
                         sequence->n_instances, sizeof *sequence->instances))
        return false;
    sequence->instances = instances;
    *out = (uint32_t)sequence->n_instances++;
    return true;
}

static bool log_change(cebus_sequence *sequence, cebus_change change)
{
    void *changes = sequence->changes;
    if (!cebus_pool_grow(sequence->pool, &changes, &sequence->changes_capacity, sequence->n_changes,
                         sizeof change))
        return false;
    sequence->changes = changes;
    sequence->changes[sequence->n_changes++] = change;
    return true;
}

static bool put_in(cebus_sequence *sequence, uint32_t call, uint32_t before, uint32_t *out)
{
    uint32_t instance, count;
    if (!new_instance(sequence, &instance))
        return false;
    double level =
        cebus_sequence_level_before(sequence, before) + cebus_sequence_workspace(sequence, call);
    if (!cebus_track_insert(&sequence->track, instance, before, level))
        return false;
    sequence->instances[instance] = (cebus_instance){call, sequence->instances[before].gap};
    sequence->cost += cebus_sequence_cost(sequence, call);
    sequence->n_replays++;
    const uint32_t *values = cebus_sequence_reads(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!insert_event(sequence, values[i], instance * 4 + CEBUS_EVENT_USE))
            return false;
    }
    values = cebus_sequence_makes(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (cebus_sequence_remakes(sequence, call, values[i]) &&
            !insert_event(sequence, values[i], instance * 4 + CEBUS_EVENT_PRODUCE))
            return false;
    }
    *out = instance;
    return true;
}

static bool take_out(cebus_sequence *sequence, uint32_t instance)
{
    uint32_t call = sequence->instances[instance].call, count;
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (cebus_sequence_remakes(sequence, call, values[i]))
            remove_event(sequence, values[i], instance);
    }
    values = cebus_sequence_reads(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++)
        remove_event(sequence, values[i], instance);
    cebus_track_remove(&sequence->track, instance);
    sequence->cost -= cebus_sequence_cost(sequence, call);
    sequence->n_replays--;
    sequence->instances[instance].call = NONE;
    void *unused = sequence->unused;
    if (!cebus_pool_grow(sequence->pool, &unused, &sequence->unused_capacity, sequence->n_unused,
                         sizeof *sequence->unused))
        return false;
    sequence->unused = unused;
    sequence->unused[sequence->n_unused++] = instance;
    return true;
}

bool cebus_sequence_insert(cebus_sequence *sequence, uint32_t call, uint32_t before,
                           uint32_t *out_instance)
{
    uint32_t instance;
    if (!put_in(sequence, call, before, &instance))
        return false;
    if (out_instance != NULL)
        *out_instance = instance;
    return log_change(sequence, (cebus_change){instance, call, NONE});
}

/** The event of an instance among those of a value it makes. */
static uint32_t event_of(const cebus_sequence *sequence, uint32_t value, uint32_t instance)
{
    return cebus_sequence_find(sequence, value, cebus_sequence_key(sequence, instance));
}

bool cebus_sequence_is_useful(const cebus_sequence *sequence, uint32_t instance)
{
    uint32_t count, call = sequence->instances[instance].call;
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (cebus_sequence_remakes(sequence, call, values[i]) &&
            is_used_at(&sequence->lives[values[i]], event_of(sequence, values[i], instance) + 1))
            return true;
    }
    return false;
}

bool cebus_sequence_can_remove(const cebus_sequence *sequence, uint32_t instance)
{
    uint32_t count, call = sequence->instances[instance].call;
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    for (uint32_t i = 0; i < count; i++) {
        const cebus_life *life = &sequence->lives[values[i]];
        if (!cebus_sequence_remakes(sequence, call, values[i]))
            continue;
        uint32_t e = event_of(sequence, values[i], instance);
        if (is_used_at(life, e + 1) && kind_at(life, e - 1) == CEBUS_EVENT_MOVE)
            return false;
    }
    return true;
}

bool cebus_sequence_remove(cebus_sequence *sequence, uint32_t instance)
{
    uint32_t call = sequence->instances[instance].call;
    uint32_t before = cebus_track_next(&sequence->track, instance);
    return take_out(sequence, instance) &&
           log_change(sequence, (cebus_change){instance, call, before});
}

bool cebus_sequence_undo(cebus_sequence *sequence, size_t mark)
{
    while (sequence->n_changes > mark) {
        cebus_change change = sequence->changes[--sequence->n_changes];
        uint32_t instance = change.instance;
        bool ok = change.before == NONE ? take_out(sequence, instance)
                                        : put_in(sequence, change.call, change.before, &instance);
        if (!ok)
            return false;
    }
    return true;
}

bool cebus_sequence_clear(cebus_sequence *sequence)
{
    bool ok = true;
    for (size_t i = sequence->n_instances; i-- > sequence->iteration->n_calls + 2 && ok;) {
        if (sequence->instances[i].call != NONE)
            ok = take_out(sequence, (uint32_t)i);
    }
    cebus_sequence_keep(sequence);
    return ok;
}

/** The replay that makes a value for a reader: what precedes the reader among its events. */
static uint32_t maker(const cebus_sequence *sequence, uint32_t value, uint32_t reader)
{
    const cebus_life *life = &sequence->lives[value];
    uint32_t e = event_of(sequence, value, reader);
    while (e > 0 && kind_at(life, e) != CEBUS_EVENT_PRODUCE)
        e--;
    return cebus_event_instance(life->events[e]);
}

bool cebus_sequence_remove_all(cebus_sequence *sequence, uint32_t instance)
{
    enum {
        MAKERS = 64 /* beyond that, some that nobody needs stay: prune finds them */
    };
    uint32_t makers[MAKERS], n = 1;
    makers[0] = instance;
    while (n > 0) {
        uint32_t next = makers[--n], count;
        uint32_t call = sequence->instances[next].call;
        if (call == NONE || (next != instance && cebus_sequence_is_useful(sequence, next)))
            continue;
        const uint32_t *values = cebus_sequence_reads(sequence, call, &count);
        for (uint32_t i = 0; i < count && n < MAKERS; i++) {
            uint32_t one = maker(sequence, values[i], next);
            if (cebus_sequence_is_replay(sequence, one))
                makers[n++] = one;
        }
        if (!cebus_sequence_remove(sequence, next))
            return false;
    }
    return true;
}
