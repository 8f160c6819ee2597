#include "evict/planner/links.h"

#include <string.h>

#define NONE CEBUS_SEQUENCE_NONE

bool cebus_links_init(cebus_links *links, const cebus_sequence *sequence,
                      const cebus_plan_terms *terms, cebus_pool *pool)
{
    size_t n = sequence->iteration->n_values;
    *links = (cebus_links){.pool = pool, .sequence = sequence, .terms = terms};
    links->next = cebus_pool_alloc(pool, n * sizeof *links->next);
    links->outs = cebus_pool_alloc(pool, n * sizeof *links->outs);
    links->ready = cebus_pool_alloc(pool, n * sizeof *links->ready);
    if (links->next != NULL && links->outs != NULL && links->ready != NULL)
        return true;
    cebus_links_deinit(links);
    return false;
}

static void free_instances(cebus_links *links)
{
    size_t n = links->instances_capacity;
    cebus_pool_free_object(links->pool, links->starts, n * sizeof *links->starts);
    cebus_pool_free_object(links->pool, links->order, n * sizeof *links->order);
    cebus_pool_free_object(links->pool, links->first, n * sizeof *links->first);
    cebus_pool_free_object(links->pool, links->ins, n * sizeof *links->ins);
    cebus_pool_free_object(links->pool, links->leaves, n * sizeof *links->leaves);
    links->starts = NULL;
    links->order = links->first = links->ins = NULL;
    links->leaves = NULL;
    links->instances_capacity = 0;
}

void cebus_links_deinit(cebus_links *links)
{
    size_t n = links->sequence->iteration->n_values;
    free_instances(links);
    cebus_copies_deinit(&links->out, links->pool);
    cebus_copies_deinit(&links->in, links->pool);
    cebus_pool_free_object(links->pool, links->next, n * sizeof *links->next);
    cebus_pool_free_object(links->pool, links->outs, n * sizeof *links->outs);
    cebus_pool_free_object(links->pool, links->ready, n * sizeof *links->ready);
    cebus_pool_free_object(links->pool, links->waiting,
                           links->waiting_capacity * sizeof *links->waiting);
    memset(links, 0, sizeof *links);
}

static bool reserve(cebus_links *links)
{
    size_t n = links->sequence->n_instances + links->sequence->n_instances / 4;
    if (links->sequence->n_instances <= links->instances_capacity)
        return true;
    free_instances(links);
    links->starts = cebus_pool_alloc(links->pool, n * sizeof *links->starts);
    links->order = cebus_pool_alloc(links->pool, n * sizeof *links->order);
    links->first = cebus_pool_alloc(links->pool, n * sizeof *links->first);
    links->ins = cebus_pool_alloc(links->pool, n * sizeof *links->ins);
    links->leaves = cebus_pool_alloc(links->pool, n * sizeof *links->leaves);
    links->instances_capacity = n;
    return links->starts != NULL && links->order != NULL && links->first != NULL &&
           links->ins != NULL && links->leaves != NULL;
}

/* ---- copies out --------------------------------------------------------------------------- */

static bool goes_before(const cebus_links *links, uint32_t a, uint32_t b)
{
    return cebus_sequence_key(links->sequence, links->outs[a]) <
           cebus_sequence_key(links->sequence, links->outs[b]);
}

static bool push_waiting(cebus_links *links, uint32_t value)
{
    void *items = links->waiting;
    if (!cebus_pool_grow(links->pool, &items, &links->waiting_capacity, links->n_waiting,
                         sizeof *links->waiting))
        return false;
    uint32_t *heap = links->waiting = items;
    size_t i = links->n_waiting++;
    for (; i > 0 && goes_before(links, value, heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = value;
    return true;
}

static uint32_t pop_waiting(cebus_links *links)
{
    uint32_t *heap = links->waiting, top = heap[0], last = heap[--links->n_waiting];
    size_t i = 0;
    for (size_t child = 1; child < links->n_waiting; child = 2 * i + 1) {
        if (child + 1 < links->n_waiting && goes_before(links, heap[child + 1], heap[child]))
            child++;
        if (!goes_before(links, heap[child], last))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

static bool add_copy(cebus_links *links, cebus_copies *copies, cebus_copy copy)
{
    links->ready[copy.value] = copy.when.to;
    return cebus_copies_add(copies, links->pool, copy);
}

/** The copy out that is wanted first, once the link is free. Until it starts, `ready` is when the
 * value was made, and `next` behind which instance. */
static bool start_out(cebus_links *links)
{
    uint32_t value = pop_waiting(links);
    uint64_t bytes = links->sequence->iteration->values[value].bytes;
    cebus_span when = cebus_streams_copy_out(&links->streams, bytes, links->ready[value]);
    cebus_copy copy = {when, value, links->next[value]};
    links->host += bytes;
    links->next[value] = NONE;
    return add_copy(links, &links->out, copy);
}

/** Copies out go on until now. */
static bool go_on(cebus_links *links)
{
    bool ok = true;
    while (links->n_waiting > 0 && links->streams.out < links->streams.compute && ok)
        ok = start_out(links);
    return ok;
}

/** What an instance made, and what leaves behind it, may leave from now on. */
static bool let_leave(cebus_links *links, uint32_t instance)
{
    bool ok = go_on(links);
    for (uint32_t v = links->first[instance], next; v != NONE && ok; v = next) {
        next = links->next[v];
        links->next[v] = instance;
        links->ready[v] = links->streams.compute;
        ok = push_waiting(links, v);
    }
    return ok;
}

/* ---- the run ------------------------------------------------------------------------------ */

/** What is around a copy back of a value. */
static cebus_leave find_leave(const cebus_sequence *sequence, uint32_t value, uint32_t in)
{
    const cebus_life *life = &sequence->lives[value];
    cebus_leave found = {value, NONE, NONE};
    uint32_t i = cebus_sequence_find(sequence, value, cebus_sequence_key(sequence, in));
    if (!cebus_sequence_is_placed(sequence, value, i))
        return found;
    do /* replays between that place no bytes do not count */
        i--;
    while (i > 0 && cebus_event_kind_of(life->events[i]) == CEBUS_EVENT_PRODUCE);
    found.last = cebus_event_instance(life->events[i]);
    while (i > 0 && cebus_event_kind_of(life->events[i]) != CEBUS_EVENT_PRODUCE)
        i--;
    found.maker = cebus_event_instance(life->events[i]);
    return found;
}

/** All copies back of what is used. */
static void list_ins(cebus_links *links)
{
    const cebus_sequence *sequence = links->sequence;
    links->n_ins = 0;
    for (uint32_t i = cebus_sequence_end(sequence) + 1; i < sequence->n_instances; i++) {
        const uint32_t call = sequence->instances[i].call;
        const uint32_t of = call - (uint32_t)sequence->iteration->n_calls;
        if (!cebus_sequence_is_swap(sequence, call) || of % 2 == 0)
            continue;
        links->leaves[i] = find_leave(sequence, of / 2, i);
        if (links->leaves[i].last != NONE)
            links->ins[links->n_ins++] = i;
    }
}

/** It leaves before it comes back for the first time. */
static void find_out(cebus_links *links, const cebus_leave *l)
{
    uint32_t *out = &links->outs[l->value];
    if (*out == NONE ||
        cebus_sequence_key(links->sequence, l->last) < cebus_sequence_key(links->sequence, *out))
        *out = l->last;
}

/** It may leave behind what made it. */
static void list_out(cebus_links *links, const cebus_leave *l)
{
    if (l->last != links->outs[l->value])
        return;
    uint32_t behind = l->maker;
    if (links->held != NULL && links->held[l->value] != NONE)
        behind = links->held[l->value];
    links->next[l->value] = links->first[behind];
    links->first[behind] = l->value;
}

static void find_outs(cebus_links *links)
{
    const cebus_sequence *sequence = links->sequence;
    memset(links->first, 0xff, sequence->n_instances * sizeof *links->first);
    memset(links->outs, 0xff, sequence->iteration->n_values * sizeof *links->outs);
    memset(links->ready, 0, sequence->iteration->n_values * sizeof *links->ready);
    list_ins(links);
    for (size_t i = 0; i < links->n_ins; i++)
        find_out(links, &links->leaves[links->ins[i]]);
    for (size_t i = 0; i < links->n_ins; i++)
        list_out(links, &links->leaves[links->ins[i]]);
}

/** Its room is needed now. */
static bool run_out(cebus_links *links, uint32_t value)
{
    bool ok = true;
    while (links->next[value] != NONE && ok)
        ok = start_out(links);
    cebus_streams_wait(&links->streams, links->ready[value]);
    return ok;
}

uint64_t cebus_links_end(const cebus_links *links, uint32_t instance)
{
    uint32_t call = links->sequence->instances[instance].call;
    return links->starts[instance] +
           (call != NONE ? cebus_sequence_cost(links->sequence, call) : 0);
}

/** What is made again since its OUT leaves behind its last use. The wait for that comes late here,
 * but it counts. */
static void wait_for_last(cebus_links *links, uint32_t value, uint32_t last)
{
    if (links->sequence->instances[last].call == cebus_sequence_out(links->sequence, value))
        return;
    uint64_t end = cebus_links_end(links, last);
    if (links->ready[value] > end)
        cebus_streams_wait(&links->streams, links->streams.compute + links->ready[value] - end);
}

/** What comes back again has a copy on the host since it first left, unless it was made again
 * since: then that was given up, and it is copied once more. */
static void copy_again(cebus_links *links, uint32_t value, const cebus_leave *l)
{
    const cebus_sequence *sequence = links->sequence;
    if (sequence->instances[l->maker].call == cebus_sequence_in(sequence, value))
        return;
    uint64_t bytes = sequence->iteration->values[value].bytes;
    links->ready[value] =
        cebus_streams_copy_out(&links->streams, bytes, cebus_links_end(links, l->maker)).to;
    wait_for_last(links, value, l->last);
}

static bool run_in(cebus_links *links, uint32_t value, uint32_t instance)
{
    uint64_t bytes = links->sequence->iteration->values[value].bytes;
    const cebus_leave l = links->leaves[instance];
    if (l.last == NONE)
        return true;
    while (links->next[value] != NONE) {
        if (!start_out(links))
            return false;
    }
    if (l.last == links->outs[value])
        wait_for_last(links, value, l.last);
    else
        copy_again(links, value, &l);
    uint64_t now = links->streams.compute, ready = links->ready[value];
    cebus_span when = cebus_streams_copy_in(&links->streams, bytes, now > ready ? now : ready);
    return add_copy(links, &links->in, (cebus_copy){when, value, instance});
}

static bool run_call(cebus_links *links, uint32_t instance, uint32_t call)
{
    uint32_t count;
    const uint32_t *values = cebus_sequence_reads(links->sequence, call, &count);
    for (uint32_t i = 0; i < count && links->in.count > 0; i++) {
        if (links->outs[values[i]] != NONE && links->ready[values[i]] > links->streams.compute &&
            cebus_sequence_key(links->sequence, links->outs[values[i]]) <
                cebus_sequence_key(links->sequence, instance))
            cebus_streams_wait(&links->streams, links->ready[values[i]]);
    }
    links->starts[instance] = links->streams.compute;
    links->streams.compute += links->sequence->iteration->calls[call].cost_ns;
    return let_leave(links, instance);
}

static bool run_one(cebus_links *links, uint32_t instance)
{
    const cebus_sequence *sequence = links->sequence;
    uint32_t call = sequence->instances[instance].call;
    if (instance == cebus_sequence_end(sequence))
        cebus_streams_wait(&links->streams, links->streams.in);
    links->starts[instance] = links->streams.compute;
    if (call == NONE)
        return instance == cebus_sequence_end(sequence) || let_leave(links, instance);
    if (!cebus_sequence_is_swap(sequence, call))
        return run_call(links, instance, call);
    uint32_t of = call - (uint32_t)sequence->iteration->n_calls;
    if (of % 2 == 0)
        return links->outs[of / 2] != instance || run_out(links, of / 2);
    return run_in(links, of / 2, instance);
}

bool cebus_links_run(cebus_links *links)
{
    return cebus_links_run_within(links, UINT64_MAX);
}

bool cebus_links_run_within(cebus_links *links, uint64_t most_ns)
{
    if (!reserve(links))
        return false;
    links->out.count = links->in.count = links->n_waiting = links->n_order = 0;
    links->host = 0;
    links->streams = (cebus_streams){.out_rate = links->terms->out_rate,
                                     .in_rate = links->terms->in_rate,
                                     .latency_ns = links->terms->latency_ns};
    find_outs(links);
    bool ok = true;
    const cebus_track *track = &links->sequence->track;
    uint32_t i = cebus_sequence_start(links->sequence);
    for (; i != CEBUS_TRACK_NONE && ok && links->streams.stall_ns <= most_ns;
         i = cebus_track_next(track, i)) {
        links->order[links->n_order++] = i;
        ok = run_one(links, i);
    }
    return ok;
}

size_t cebus_links_at(const cebus_links *links, uint64_t ns)
{
    size_t low = 0, high = links->n_order;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (links->starts[links->order[middle]] <= ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}
