#include "evict/planner/emit.h"

#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

/** Lists of what is to be done behind an instance, linked by index. */
typedef struct ends {
    cebus_pool *pool;
    uint32_t *first; /**< of instances */
    struct end {
        uint32_t value, next;
        cebus_action_kind kind;
    } * ends;
    size_t count, capacity;
} ends;

static bool push_end(ends *e, cebus_action_kind kind, uint32_t value, uint32_t instance)
{
    void *items = e->ends;
    if (!cebus_pool_grow(e->pool, &items, &e->capacity, e->count, sizeof *e->ends))
        return false;
    e->ends = items;
    e->ends[e->count] = (struct end){value, e->first[instance], kind};
    e->first[instance] = (uint32_t)e->count++;
    return true;
}

/** Whether bytes stay behind the last event of a life, to be dropped. */
static bool is_left(const cebus_sequence *sequence, uint32_t v, uint32_t i)
{
    const cebus_life *life = &sequence->lives[v];
    uint32_t instance = cebus_event_instance(life->events[i]);
    if (i + 1 < life->count && cebus_event_kind_of(life->events[i + 1]) != CEBUS_EVENT_PRODUCE)
        return false;
    if (cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_MOVE ||
        instance == cebus_sequence_start(sequence) || instance == cebus_sequence_end(sequence))
        return false;
    if (cebus_sequence_is_replay(sequence, instance))
        return cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_USE;
    /* Released before a call that takes the bytes over says no more than that it does. */
    const cebus_iteration_value *value = &sequence->iteration->values[v];
    return value->freed != instance + 1 || value->moved == value->freed;
}

/** Whether event i of a value brings it back from the host. */
static bool comes_back(const cebus_sequence *sequence, uint32_t v, uint32_t i)
{
    const cebus_life *life = &sequence->lives[v];
    return i < life->count &&
           sequence->instances[cebus_event_instance(life->events[i])].call ==
               cebus_sequence_in(sequence, v) &&
           cebus_sequence_is_placed(sequence, v, i);
}

/** The instance behind which the copy out starts that event i brings back: in its slot, or, where
 * the value was made again since, behind that. */
static uint32_t copy_behind(const cebus_sequence *sequence, uint32_t v, uint32_t i, uint32_t at)
{
    const cebus_life *life = &sequence->lives[v];
    uint32_t instance = CEBUS_SEQUENCE_NONE, out = cebus_sequence_out(sequence, v);
    while (i > 0 && (instance == NONE || sequence->instances[instance].call != out))
        instance = cebus_event_instance(life->events[--i]);
    while (i > 0 && cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE)
        instance = cebus_event_instance(life->events[--i]);
    bool is_later =
        cebus_sequence_is_replay(sequence, instance) && sequence->instances[instance].gap >= at;
    return is_later ? instance : at - 1;
}

static bool find_ends(const cebus_sequence *sequence, const uint32_t *copy_at, ends *e)
{
    bool ok = true;
    for (uint32_t v = (uint32_t)sequence->iteration->n_values; v-- > 0 && ok;) {
        const cebus_life *life = &sequence->lives[v];
        for (uint32_t i = 0; i < life->count && ok; i++) {
            bool swaps = copy_at != NULL && comes_back(sequence, v, i + 1);
            if (is_left(sequence, v, i))
                ok = push_end(e, swaps ? CEBUS_ACTION_SWAP_OUT : CEBUS_ACTION_DROP, v,
                              cebus_event_instance(life->events[i]));
            if (swaps)
                ok = ok && push_end(e, CEBUS_ACTION_COPY_OUT, v,
                                    copy_behind(sequence, v, i + 1, copy_at[v]));
        }
    }
    return ok;
}

static bool emit_replay(const cebus_sequence *sequence, uint32_t instance, cebus_plan *out)
{
    uint32_t count, call = sequence->instances[instance].call;
    const uint32_t *values = cebus_sequence_makes(sequence, call, &count);
    uint64_t key = cebus_sequence_key(sequence, instance);
    cebus_action_kind kind =
        cebus_sequence_is_swap(sequence, call) ? CEBUS_ACTION_SWAP_IN : CEBUS_ACTION_REPLAY;
    bool ok = true;
    for (uint32_t j = 0; j < count && ok; j++) {
        uint32_t i = cebus_sequence_find(sequence, values[j], key);
        if (cebus_sequence_remakes(sequence, call, values[j]) &&
            cebus_sequence_is_placed(sequence, values[j], i))
            ok = cebus_plan_add(out, kind, sequence->instances[instance].gap, values[j]);
    }
    return ok;
}

static bool emit_all(const cebus_sequence *sequence, const ends *e, cebus_plan *out)
{
    uint32_t instance = cebus_sequence_start(sequence);
    bool ok = true;
    while ((instance = cebus_track_next(&sequence->track, instance)) !=
               cebus_sequence_end(sequence) &&
           ok) {
        bool is_replay = cebus_sequence_is_replay(sequence, instance);
        uint32_t at = sequence->instances[instance].gap + !is_replay;
        if (is_replay)
            ok = emit_replay(sequence, instance, out);
        for (uint32_t i = e->first[instance]; i != NONE && ok; i = e->ends[i].next)
            ok = cebus_plan_add(out, e->ends[i].kind, at, e->ends[i].value);
    }
    return ok;
}

bool cebus_emit_plan(const cebus_sequence *sequence, const uint32_t *copy_at, cebus_plan *out)
{
    size_t bytes = sequence->n_instances * sizeof(uint32_t);
    ends e = {.pool = sequence->pool, .first = cebus_pool_alloc(sequence->pool, bytes)};
    bool ok = e.first != NULL;
    if (ok) {
        memset(e.first, 0xff, bytes);
        ok = find_ends(sequence, copy_at, &e) && emit_all(sequence, &e, out);
    }
    cebus_pool_free_object(e.pool, e.ends, e.capacity * sizeof *e.ends);
    cebus_pool_free_object(e.pool, e.first, bytes);
    return ok;
}
