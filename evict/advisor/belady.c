#include "evict/advisor/belady.h"

#include <string.h>

/** Of a buffer. */
enum {
    HERE = 1 << 0,
    DIRTY = 1 << 1, /**< the host has no copy */
};

bool cebus_belady_init(cebus_belady *belady, const cebus_unfold *unfold, size_t max_pools,
                       cebus_shelf *shelf)
{
    const size_t n = unfold->graph->n_buffers;
    *belady = (cebus_belady){.unfold = unfold};
    belady->trips_room = unfold->uses_room + n;
    belady->curve_room = max_pools * (unfold->steps_room + 2);
    belady->trips = cebus_shelf_take(shelf, belady->trips_room, sizeof *belady->trips);
    belady->outs = cebus_shelf_take(shelf, belady->trips_room, sizeof *belady->outs);
    belady->ins = cebus_shelf_take(shelf, belady->trips_room, sizeof *belady->ins);
    belady->stays = cebus_shelf_take(shelf, n, sizeof *belady->stays);
    belady->state = cebus_shelf_take(shelf, n, sizeof *belady->state);
    belady->used = cebus_shelf_take(shelf, n, sizeof *belady->used);
    belady->next = cebus_shelf_take(shelf, n, sizeof *belady->next);
    belady->trip = cebus_shelf_take(shelf, n, sizeof *belady->trip);
    belady->heap = cebus_shelf_take(shelf, n, sizeof *belady->heap);
    belady->index = cebus_shelf_take(shelf, n, sizeof *belady->index);
    belady->aside = cebus_shelf_take(shelf, n, sizeof *belady->aside);
    belady->start = cebus_shelf_take(shelf, max_pools + 1, sizeof *belady->start);
    belady->size = cebus_shelf_take(shelf, max_pools, sizeof *belady->size);
    belady->held = cebus_shelf_take(shelf, max_pools, sizeof *belady->held);
    belady->counts = cebus_shelf_take(shelf, unfold->steps_room + 2, sizeof *belady->counts);
    belady->curve = cebus_shelf_take(shelf, belady->curve_room, sizeof *belady->curve);
    belady->times = cebus_shelf_take(shelf, unfold->steps_room + 1, sizeof *belady->times);
    return !shelf->failed;
}

/* --- what is there, the one used farthest ahead on top -------------------------------------- */

static void put_at(cebus_belady *b, uint32_t *heap, uint32_t at, uint32_t buffer)
{
    heap[at] = buffer;
    b->index[buffer] = at;
}

/** Moves a buffer from where there is a gap to where its next use belongs. */
static void settle(cebus_belady *b, uint32_t pool, uint32_t at, uint32_t buffer)
{
    uint32_t *heap = b->heap + b->start[pool];
    const uint32_t n = b->size[pool];
    for (; at > 0 && b->next[heap[(at - 1) / 2]] < b->next[buffer]; at = (at - 1) / 2)
        put_at(b, heap, at, heap[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && b->next[heap[child + 1]] > b->next[heap[child]])
            child++;
        if (b->next[heap[child]] <= b->next[buffer])
            break;
        put_at(b, heap, at, heap[child]);
    }
    put_at(b, heap, at, buffer);
}

static void enter(cebus_belady *b, uint32_t pool, uint32_t buffer)
{
    settle(b, pool, b->size[pool]++, buffer);
}

static void leave(cebus_belady *b, uint32_t pool, uint32_t buffer)
{
    uint32_t *heap = b->heap + b->start[pool];
    const uint32_t at = b->index[buffer], last = heap[--b->size[pool]];
    if (at < b->size[pool])
        settle(b, pool, at, last);
}

/* --- one pass over the steps ---------------------------------------------------------------- */

typedef struct pass {
    cebus_belady *b;
    const cebus_pools *pools;
    const cebus_belady_settings *settings;
} pass;

/** A pool's curve changes by so many units from step k on. */
static void bend(const pass *p, uint32_t pool, uint32_t k, int64_t units)
{
    p->b->curve[pool * (p->b->unfold->n_steps + 2) + k] += units;
}

static void arrive(const pass *p, uint32_t buffer, uint32_t k)
{
    cebus_belady *b = p->b;
    const uint32_t pool = p->pools->pool[buffer];
    b->state[buffer] |= HERE;
    if (pool == CEBUS_GRAPH_NONE)
        return;
    b->held[pool] += p->pools->units[buffer];
    bend(p, pool, k, (int64_t)p->pools->units[buffer]);
    enter(b, pool, buffer);
}

/** Its bytes are free from step k on. */
static void depart(const pass *p, uint32_t buffer, uint32_t k)
{
    cebus_belady *b = p->b;
    const uint32_t pool = p->pools->pool[buffer];
    b->state[buffer] &= (uint8_t)~HERE;
    if (pool == CEBUS_GRAPH_NONE)
        return;
    b->held[pool] -= p->pools->units[buffer];
    bend(p, pool, k, -(int64_t)p->pools->units[buffer]);
    leave(b, pool, buffer);
}

static void start_trip(const pass *p, uint32_t buffer)
{
    cebus_belady *b = p->b;
    b->trip[buffer] = (uint32_t)b->n_trips;
    b->trips[b->n_trips++] = (cebus_trip){.buffer = buffer,
                                          .from = b->used[buffer],
                                          .to = CEBUS_GRAPH_NONE,
                                          .copies = (b->state[buffer] & DIRTY) != 0};
    depart(p, buffer, b->used[buffer]);
    b->state[buffer] &= (uint8_t)~DIRTY;
}

static void end_trip(const pass *p, uint32_t buffer, uint32_t k)
{
    cebus_belady *b = p->b;
    b->trips[b->trip[buffer]].to = k;
    b->ins[b->n_ins++] = b->trip[buffer];
    arrive(p, buffer, k);
}

/** Whether a buffer may leave for step k: 2 at once, 1 if nothing else can, 0 not. */
static int may_leave(const pass *p, uint32_t buffer, uint32_t k)
{
    const cebus_belady *b = p->b;
    if (b->used[buffer] > k || b->next[buffer] <= k)
        return 0;
    const uint64_t used = b->used[buffer] > 0 ? b->times[b->used[buffer]] : 0;
    return b->used[buffer] == 0 || b->times[k] - used >= p->settings->idle_ns ? 2 : 1;
}

/** Makes room for so many units more in a pool, at step k. */
static bool make_room(const pass *p, uint32_t pool, uint64_t units, uint32_t k)
{
    cebus_belady *b = p->b;
    const uint64_t room = p->pools->room[pool];
    uint32_t n_aside = 0, *aside = b->aside;
    for (int least = 2; least >= 1; least--) {
        while (b->held[pool] + units > room && b->size[pool] > 0) {
            const uint32_t top = b->heap[b->start[pool]];
            if (may_leave(p, top, k) >= least) {
                start_trip(p, top);
            } else {
                leave(b, pool, top);
                aside[n_aside++] = top;
            }
        }
        while (n_aside > 0)
            enter(b, pool, aside[--n_aside]);
        if (b->held[pool] + units <= room)
            return true;
    }
    return false;
}

/** What the step's uses do before and while it runs. */
static bool run_step(const pass *p, uint32_t k)
{
    cebus_belady *b = p->b;
    const cebus_step *step = &b->unfold->steps[k];
    const cebus_use *uses = b->unfold->uses + step->use;
    for (uint32_t i = 0; i < step->n_uses; i++) {
        if (b->state[uses[i].buffer] & HERE)
            b->used[uses[i].buffer] = k + 1;
    }
    if (p->pools->bytes && step->scratch > 0 && !make_room(p, 0, step->scratch, k))
        return false;
    if (p->pools->bytes && step->scratch > 0) {
        b->held[0] += step->scratch;
        bend(p, 0, k, (int64_t)step->scratch);
        bend(p, 0, k + 1, -(int64_t)step->scratch);
    }
    for (uint32_t i = 0; i < step->n_uses; i++) {
        const uint32_t buffer = uses[i].buffer, pool = p->pools->pool[buffer];
        if (b->state[buffer] & HERE)
            continue;
        if (pool != CEBUS_GRAPH_NONE && !make_room(p, pool, p->pools->units[buffer], k))
            return false;
        b->used[buffer] = k + 1;
        b->next[buffer] = k;
        if (uses[i].flags & CEBUS_USE_MAKES)
            arrive(p, buffer, k);
        else
            end_trip(p, buffer, k);
    }
    return true;
}

static void end_step(const pass *p, uint32_t k)
{
    cebus_belady *b = p->b;
    const cebus_step *step = &b->unfold->steps[k];
    if (p->pools->bytes)
        b->held[0] -= step->scratch;
    for (uint32_t i = 0; i < step->n_uses; i++) {
        const cebus_use *use = &b->unfold->uses[step->use + i];
        const uint32_t pool = p->pools->pool[use->buffer];
        if (use->flags & CEBUS_USE_WRITES)
            b->state[use->buffer] |= DIRTY;
        if (use->flags & CEBUS_USE_LAST) {
            depart(p, use->buffer, k + 1);
            b->state[use->buffer] &= (uint8_t)~DIRTY;
            continue;
        }
        b->next[use->buffer] = use->next;
        if (pool != CEBUS_GRAPH_NONE)
            settle(b, pool, b->index[use->buffer], use->buffer);
    }
}

/** Heaps of the right sizes; what stays is there, what is not waits on the host. */
static void begin(const pass *p)
{
    cebus_belady *b = p->b;
    const cebus_graph *graph = b->unfold->graph;
    const size_t row = b->unfold->n_steps + 2;
    b->n_trips = b->n_ins = b->n_outs = 0;
    memset(b->curve, 0, p->pools->n_pools * row * sizeof *b->curve);
    memset(b->size, 0, p->pools->n_pools * sizeof *b->size);
    memset(b->held, 0, p->pools->n_pools * sizeof *b->held);
    memset(b->start, 0, (p->pools->n_pools + 1) * sizeof *b->start);
    for (size_t i = 0; i < graph->n_buffers; i++) {
        if (p->pools->pool[i] != CEBUS_GRAPH_NONE)
            b->start[p->pools->pool[i] + 1]++;
    }
    for (size_t i = 0; i < p->pools->n_pools; i++)
        b->start[i + 1] += b->start[i];
    for (uint32_t i = 0; i < graph->n_buffers; i++) {
        const cebus_buffer *buffer = &graph->buffers[i];
        const bool small = p->pools->pool[i] == CEBUS_GRAPH_NONE;
        b->state[i] = 0;
        b->used[i] = 0;
        b->next[i] = b->unfold->first[i];
        if (!buffer->persistent && !buffer->given)
            continue;
        if (small || b->stays[i]) {
            arrive(p, i, 0);
            b->state[i] |= b->stays[i] && buffer->n_writes > 0 ? DIRTY : 0;
        } else {
            b->trip[i] = (uint32_t)b->n_trips;
            b->trips[b->n_trips++] = (cebus_trip){.buffer = i, .to = CEBUS_GRAPH_NONE};
        }
    }
}

static bool run_steps(const pass *p)
{
    cebus_belady *b = p->b;
    begin(p);
    for (uint32_t k = 0; k < b->unfold->n_steps; k++) {
        if (!run_step(p, k)) {
            b->stuck = k;
            return false;
        }
        end_step(p, k);
    }
    return true;
}

/** What the pass left there and the next iteration reads first stays over, up to a limit. */
static void choose_stays(const pass *p)
{
    cebus_belady *b = p->b;
    const cebus_graph *graph = b->unfold->graph;
    uint64_t left = p->settings->stay;
    memset(b->stays, 0, graph->n_buffers);
    for (size_t k = 0; k < b->unfold->n_steps && left > 0; k++) {
        const cebus_step *step = &b->unfold->steps[k];
        for (uint32_t i = 0; i < step->n_uses; i++) {
            const uint32_t at = b->unfold->uses[step->use + i].buffer;
            const cebus_buffer *buffer = &graph->buffers[at];
            if (!buffer->persistent || b->stays[at] || !(b->state[at] & HERE) ||
                p->pools->pool[at] == CEBUS_GRAPH_NONE || buffer->bytes > left)
                continue;
            b->stays[at] = 1;
            left -= buffer->bytes;
        }
    }
}

/** At the end: what stays is there, everything else left after its last use. */
static bool end_pass(const pass *p)
{
    cebus_belady *b = p->b;
    const cebus_graph *graph = b->unfold->graph;
    const uint32_t n = (uint32_t)b->unfold->n_steps;
    for (uint32_t i = 0; i < graph->n_buffers; i++) {
        if (p->pools->pool[i] != CEBUS_GRAPH_NONE && (b->state[i] & HERE) && !b->stays[i])
            start_trip(p, i);
    }
    for (uint32_t i = 0; i < graph->n_buffers; i++) {
        const uint32_t pool = p->pools->pool[i];
        if (!b->stays[i] || (b->state[i] & HERE))
            continue;
        if (b->held[pool] + p->pools->units[i] > p->pools->room[pool])
            return false;
        end_trip(p, i, n);
    }
    return true;
}

/* --- when copies start ---------------------------------------------------------------------- */

static void sort_outs(cebus_belady *b)
{
    const size_t n = b->unfold->n_steps;
    memset(b->counts, 0, (n + 2) * sizeof *b->counts);
    for (size_t i = 0; i < b->n_trips; i++)
        b->counts[b->trips[i].from + 1] += b->trips[i].copies;
    for (size_t k = 0; k <= n; k++)
        b->counts[k + 1] += b->counts[k];
    for (size_t i = 0; i < b->n_trips; i++) {
        if (b->trips[i].copies)
            b->outs[b->counts[b->trips[i].from]++] = (uint32_t)i;
        b->n_outs += b->trips[i].copies;
    }
}

/** Each copy in as early as all steps from there on have room, but in the order of the uses. */
static void fetch_early(const pass *p)
{
    cebus_belady *b = p->b;
    const uint32_t n = (uint32_t)b->unfold->n_steps;
    uint32_t last = 0;
    for (size_t i = 0; i < p->pools->n_pools; i++) {
        int64_t *curve = b->curve + i * (n + 2);
        for (uint32_t k = 1; k <= n + 1; k++)
            curve[k] += curve[k - 1];
    }
    for (size_t i = 0; i < b->n_ins; i++) {
        cebus_trip *trip = &b->trips[b->ins[i]];
        const uint32_t pool = p->pools->pool[trip->buffer];
        int64_t *curve = b->curve + pool * (n + 2);
        const int64_t units = (int64_t)p->pools->units[trip->buffer];
        const int64_t most = (int64_t)p->pools->room[pool] - units;
        const uint32_t first = trip->from > last ? trip->from : last;
        uint32_t k = trip->to;
        while (k > first && curve[k - 1] <= most &&
               b->times[trip->to] - b->times[k - 1] <= p->settings->ahead_ns)
            curve[--k] += units;
        trip->since = last = k;
    }
}

static void set_times(cebus_belady *b)
{
    b->times[0] = 0;
    for (size_t k = 0; k < b->unfold->n_steps; k++)
        b->times[k + 1] = b->times[k] + b->unfold->steps[k].cost_ns;
}

bool cebus_belady_plan(cebus_belady *belady, const cebus_pools *pools,
                       const cebus_belady_settings *settings)
{
    const pass p = {belady, pools, settings};
    memset(belady->stays, 0, belady->unfold->graph->n_buffers);
    set_times(belady);
    bool ok = true;
    if (settings->stay > 0) {
        ok = run_steps(&p);
        choose_stays(&p);
    }
    ok = ok && run_steps(&p) && end_pass(&p);
    if (!ok) {
        belady->n_trips = belady->n_ins = belady->n_outs = 0;
        return false;
    }
    sort_outs(belady);
    fetch_early(&p);
    return true;
}
