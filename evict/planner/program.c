#include "evict/planner/program.h"

#include <string.h>

#include "evict/cuts.h"

#define NONE CEBUS_SEQUENCE_NONE

static void *zeroed(cebus_pool *pool, size_t count, size_t bytes)
{
    void *items = cebus_pool_alloc(pool, count * bytes);
    if (items != NULL)
        memset(items, 0, count * bytes);
    return items;
}

/** Whether a call writes a value that it did not make: one that keeps its ordinal. */
static bool is_write(const cebus_iteration *iteration, uint32_t value, size_t call)
{
    return iteration->values[value].born != call;
}

/** Values that can be made again have a call; a write to one makes it one that cannot. */
static void find_calls(cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    for (size_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        bool again = value->replayable && !value->persistent && value->born < iteration->n_calls;
        sequence->lives[v].call = again ? value->born : NONE;
        sequence->lives[v].bytes = cebus_sequence_bytes(sequence, value->bytes);
        sequence->selves[v] = (uint32_t)v;
    }
    for (size_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        for (uint32_t i = 0; i < call->n_out; i++) {
            uint32_t v = iteration->refs[call->refs + call->n_in + i];
            if (v != NONE && is_write(iteration, v, k))
                sequence->lives[v].call = NONE;
        }
    }
}

/** Until when each call finds what it read as it was. writes[v]: the next write to v. */
static void find_last_gaps(cebus_sequence *sequence, uint32_t *writes)
{
    const cebus_iteration *iteration = sequence->iteration;
    for (size_t v = 0; v < iteration->n_values; v++) {
        bool taken = sequence->lives[v].call == NONE && !iteration->values[v].persistent;
        writes[v] = taken ? iteration->values[v].moved : NONE;
    }
    for (size_t k = iteration->n_calls; k-- > 0;) {
        const cebus_iteration_call *call = &iteration->calls[k];
        const uint32_t *refs = &iteration->refs[call->refs];
        for (uint32_t i = 0; i < call->n_out; i++) {
            uint32_t v = refs[call->n_in + i];
            if (v != NONE && is_write(iteration, v, k) && k < writes[v])
                writes[v] = (uint32_t)k;
        }
        uint32_t last = NONE;
        for (uint32_t i = 0; i < call->n_in; i++) {
            if (refs[i] != NONE && writes[refs[i]] < last)
                last = writes[refs[i]];
        }
        sequence->last_gaps[k] = last;
    }
}

static void add_port(cebus_sequence *sequence, uint32_t first, uint32_t value, uint32_t *count)
{
    if (value == NONE || sequence->iteration->values[value].persistent)
        return;
    for (uint32_t i = first; i < *count; i++) {
        if (sequence->ports[i] == value)
            return;
    }
    sequence->ports[(*count)++] = value;
}

static void find_ports(cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    uint32_t count = 0;
    for (size_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        const uint32_t *refs = &iteration->refs[call->refs];
        uint32_t first = count;
        sequence->port_ends[2 * k] = first;
        for (uint32_t i = 0; i < call->n_in; i++)
            add_port(sequence, first, refs[i], &count);
        sequence->port_ends[2 * k + 1] = count;
        for (uint32_t i = call->n_in; i < (uint32_t)call->n_in + call->n_out; i++) {
            if (refs[i] != NONE && !is_write(iteration, refs[i], k))
                add_port(sequence, first, refs[i], &count);
        }
    }
    sequence->port_ends[2 * iteration->n_calls] = count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = sequence->ports[i], call = sequence->lives[v].call;
        sequence->sources[i] = call != NONE ? call : (uint32_t)iteration->n_calls + v;
    }
}

/** The first call that a value which can be made again has to be there for though none reads it any
 * more; NONE: there is no such call. */
static uint32_t cut_of(const cebus_sequence *sequence, const cebus_cuts *cuts, uint32_t v)
{
    const cebus_iteration *iteration = sequence->iteration;
    const cebus_iteration_value *value = &iteration->values[v];
    uint32_t at = value->n_uses > 0     ? cebus_iteration_use(iteration, v, value->n_uses - 1) + 1
                  : value->born != NONE ? value->born + 1
                                        : 0;
    if (iteration->past > 0 || value->moved != NONE || sequence->lives[v].call == NONE)
        return NONE;
    return cebus_cuts_find(cuts, iteration, v, at);
}

/** The call while which a value is used last because it is held; START: nobody must hold it. */
static uint32_t holder(const cebus_sequence *sequence, uint32_t cut, uint32_t v)
{
    const cebus_iteration *iteration = sequence->iteration;
    const cebus_iteration_value *value = &iteration->values[v];
    uint32_t last = value->n_uses > 0 ? cebus_iteration_use(iteration, v, value->n_uses - 1) : 0;
    if (iteration->past > 0 || (value->moved != NONE && last == value->moved))
        return cebus_sequence_start(sequence);
    if (value->freed == NONE)
        return cebus_sequence_end(sequence);
    bool stays = sequence->lives[v].call == NONE || value->moved != NONE || cut != NONE;
    return stays && value->freed > 0 ? value->freed - 1 : cebus_sequence_start(sequence);
}

static bool add_life(cebus_sequence *sequence, const cebus_cuts *cuts, uint32_t v)
{
    const cebus_iteration *iteration = sequence->iteration;
    const cebus_iteration_value *value = &iteration->values[v];
    cebus_life *life = &sequence->lives[v];
    uint32_t cut = cut_of(sequence, cuts, v), holds = holder(sequence, cut, v);
    uint32_t start = cebus_sequence_start(sequence);
    life->capacity = value->n_uses + 4;
    life->events = cebus_pool_alloc(sequence->pool, life->capacity * sizeof *life->events);
    if (life->events == NULL)
        return false;
    uint32_t born = value->born < iteration->n_calls ? value->born : start;
    if (iteration->past > 0)
        born = value->absent ? start : iteration->past;
    cebus_event_kind kind = value->absent ? CEBUS_EVENT_MOVE : CEBUS_EVENT_PRODUCE;
    life->events[life->count++] = born * 4 + kind;
    uint32_t last = value->n_uses > 0 ? cebus_iteration_use(iteration, v, value->n_uses - 1) : 0;
    for (uint32_t i = 0; i < value->n_uses; i++) {
        uint32_t k = cebus_iteration_use(iteration, v, i);
        bool moves = k == value->moved && k == last;
        if (k != born && k >= iteration->past)
            life->events[life->count++] = k * 4 + (moves ? CEBUS_EVENT_MOVE : CEBUS_EVENT_USE);
    }
    if (cut < holds)
        life->events[life->count++] = cut * 4 + CEBUS_EVENT_USE;
    if (holds != start && holds != born && (holds > start || value->n_uses == 0 || holds > last))
        life->events[life->count++] = holds * 4 + CEBUS_EVENT_USE;
    return true;
}

/** Steps of the curve: at[i] of instance i of the program, START the first. */
static double *curve(const cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    size_t n = iteration->n_calls;
    double *steps = zeroed(sequence->pool, n + 3, sizeof *steps);
    for (size_t v = 0; v < iteration->n_values && steps != NULL; v++) {
        const cebus_life *life = &sequence->lives[v];
        if (life->count == 0)
            continue;
        /* START stands before call 0, END behind the last: one more for each. */
        uint32_t from = cebus_event_instance(life->events[0]);
        uint32_t to = cebus_event_instance(life->events[life->count - 1]);
        bool moved = cebus_event_kind_of(life->events[life->count - 1]) == CEBUS_EVENT_MOVE;
        from = from == n ? 0 : from + 1;
        to = (to == n ? 0 : to > n ? (uint32_t)n + 1 : to + 1) + !moved;
        steps[from] += life->bytes;
        steps[to] -= life->bytes;
    }
    return steps;
}

static bool add_program(cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    size_t n = iteration->n_calls;
    double level = cebus_sequence_persistent(sequence);
    double *steps = curve(sequence);
    bool ok = steps != NULL;
    for (size_t i = 0; i < n + 2 && ok; i++) {
        uint32_t instance = (uint32_t)(i == 0 ? n : i > n ? n + 1 : i - 1);
        bool is_call = instance < n;
        sequence->instances[instance] = (cebus_instance){.call = is_call ? instance : NONE,
                                                         .gap = i == 0 ? 0 : (uint32_t)(i - 1)};
        level += steps[i];
        ok = cebus_track_append(
            &sequence->track, instance,
            level + (is_call ? cebus_sequence_workspace(sequence, instance) : 0), 1);
    }
    cebus_pool_free_object(sequence->pool, steps, (n + 3) * sizeof *steps);
    return ok;
}

static bool alloc_all(cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    cebus_pool *pool = sequence->pool;
    size_t n = iteration->n_calls;
    sequence->instances_capacity = n + 2;
    sequence->n_instances = n + 2;
    sequence->lives = zeroed(pool, iteration->n_values, sizeof *sequence->lives);
    sequence->ports = zeroed(pool, iteration->n_refs, sizeof *sequence->ports);
    sequence->port_ends = zeroed(pool, 2 * n + 1, sizeof *sequence->port_ends);
    sequence->selves = zeroed(pool, iteration->n_values, sizeof *sequence->selves);
    sequence->ends = zeroed(pool, iteration->n_values, sizeof *sequence->ends);
    sequence->turns = zeroed(pool, n + iteration->n_values, sizeof *sequence->turns);
    sequence->sources = zeroed(pool, iteration->n_refs, sizeof *sequence->sources);
    sequence->last_gaps = zeroed(pool, n, sizeof *sequence->last_gaps);
    sequence->instances = zeroed(pool, n + 2, sizeof *sequence->instances);
    return sequence->lives != NULL && sequence->ports != NULL && sequence->port_ends != NULL &&
           sequence->last_gaps != NULL && sequence->instances != NULL && sequence->selves != NULL &&
           sequence->ends != NULL && sequence->turns != NULL && sequence->sources != NULL;
}

bool cebus_program_lay_out(cebus_sequence *sequence)
{
    const cebus_iteration *iteration = sequence->iteration;
    if (!alloc_all(sequence))
        return false;
    uint32_t *writes = zeroed(sequence->pool, iteration->n_values, sizeof *writes);
    bool ok = writes != NULL;
    if (ok) {
        find_calls(sequence);
        find_last_gaps(sequence, writes);
        find_ports(sequence);
    }
    cebus_pool_free_object(sequence->pool, writes, iteration->n_values * sizeof *writes);
    cebus_cuts cuts = {.pool = sequence->pool};
    ok = ok && cebus_cuts_init(&cuts, iteration, sequence->pool);
    for (uint32_t v = 0; v < iteration->n_values && ok; v++)
        ok = iteration->values[v].persistent || add_life(sequence, &cuts, v);
    cebus_cuts_deinit(&cuts);
    return ok && add_program(sequence);
}
