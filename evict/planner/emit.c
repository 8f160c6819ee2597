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

/** Whether event i of a value brings it back from the host, or the first after it that places
 * bytes. */
static bool comes_back(const cebus_sequence *sequence, uint32_t v, uint32_t i)
{
    const cebus_life *life = &sequence->lives[v];
    while (i < life->count && cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE &&
           !cebus_sequence_is_placed(sequence, v, i))
        i++;
    return i < life->count &&
           sequence->instances[cebus_event_instance(life->events[i])].call ==
               cebus_sequence_in(sequence, v) &&
           cebus_sequence_is_placed(sequence, v, i);
}

static bool find_ends(const cebus_sequence *sequence, ends *e)
{
    bool ok = true;
    for (uint32_t v = (uint32_t)sequence->iteration->n_values; v-- > 0 && ok;) {
        const cebus_life *life = &sequence->lives[v];
        for (uint32_t i = 0; i < life->count && ok; i++) {
            cebus_action_kind kind =
                comes_back(sequence, v, i + 1) ? CEBUS_ACTION_SWAP_OUT : CEBUS_ACTION_DROP;
            if (is_left(sequence, v, i))
                ok = push_end(e, kind, v, cebus_event_instance(life->events[i]));
        }
    }
    return ok;
}

/** Copies out where their values are made; but none before one that the link takes first. */
static bool find_copies(const cebus_sequence *sequence, const cebus_links *links, ends *e)
{
    size_t n = links != NULL ? links->out.count : 0, bytes = n * sizeof(uint32_t);
    uint32_t *behind = n > 0 ? cebus_pool_alloc(sequence->pool, bytes) : NULL;
    bool ok = n == 0 || behind != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        behind[i] = links->out.items[i].behind;
        if (i > 0 &&
            cebus_sequence_key(sequence, behind[i]) < cebus_sequence_key(sequence, behind[i - 1]))
            behind[i] = behind[i - 1];
    }
    for (size_t i = n; i-- > 0 && ok;) /* what is pushed last is done first */
        ok = push_end(e, CEBUS_ACTION_COPY_OUT, links->out.items[i].value, behind[i]);
    cebus_pool_free_object(sequence->pool, behind, bytes);
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
    for (; instance != cebus_sequence_end(sequence) && ok;
         instance = cebus_track_next(&sequence->track, instance)) {
        bool is_replay = cebus_sequence_is_replay(sequence, instance);
        bool is_call = !is_replay && instance != cebus_sequence_start(sequence);
        uint32_t at = sequence->instances[instance].gap + is_call;
        if (is_replay)
            ok = emit_replay(sequence, instance, out);
        for (uint32_t i = e->first[instance]; i != NONE && ok; i = e->ends[i].next)
            ok = cebus_plan_add(out, e->ends[i].kind, at, e->ends[i].value);
    }
    return ok;
}

bool cebus_emit_plan(const cebus_sequence *sequence, const cebus_links *links, cebus_plan *out)
{
    size_t bytes = sequence->n_instances * sizeof(uint32_t);
    ends e = {.pool = sequence->pool, .first = cebus_pool_alloc(sequence->pool, bytes)};
    bool ok = e.first != NULL;
    if (ok) {
        memset(e.first, 0xff, bytes);
        ok = find_copies(sequence, links, &e) && find_ends(sequence, &e) &&
             emit_all(sequence, &e, out);
    }
    cebus_pool_free_object(e.pool, e.ends, e.capacity * sizeof *e.ends);
    cebus_pool_free_object(e.pool, e.first, bytes);
    return ok;
}
