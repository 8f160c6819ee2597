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
    const size_t n = unfold->graph->n_buffers, n_slots = 2 * unfold->steps_room + 2;
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
    belady->before = cebus_shelf_take(shelf, n, sizeof *belady->before);
    belady->after = cebus_shelf_take(shelf, n, sizeof *belady->after);
    belady->slots = cebus_shelf_take(shelf, max_pools * n_slots, sizeof *belady->slots);
    belady->taken = cebus_shelf_take(shelf, max_pools * (n_slots / 64 + 1), sizeof *belady->taken);
    belady->held = cebus_shelf_take(shelf, max_pools, sizeof *belady->held);
    belady->makes = cebus_shelf_take(shelf, unfold->steps_room, sizeof *belady->makes);
    belady->frees = cebus_shelf_take(shelf, unfold->steps_room, sizeof *belady->frees);
    belady->counts = cebus_shelf_take(shelf, unfold->steps_room + 2, sizeof *belady->counts);
    belady->curve = cebus_shelf_take(shelf, belady->curve_room, sizeof *belady->curve);
    belady->peaks = cebus_shelf_take(shelf, belady->curve_room, sizeof *belady->peaks);
    belady->fronts = cebus_shelf_take(shelf, max_pools, sizeof *belady->fronts);
    belady->times = cebus_shelf_take(shelf, unfold->steps_room + 1, sizeof *belady->times);
    return !shelf->failed;
}

/* --- what is there, by next use: a list for each step, a bit for each list with something in it */

static size_t n_slots(const cebus_belady *b)
{
    return 2 * b->unfold->n_steps + 2;
}

static size_t n_words(const cebus_belady *b)
{
    return n_slots(b) / 64 + 1;
}

/** Steps of this iteration, then of the next, then no use at all. */
static uint32_t slot_of(const cebus_belady *b, uint32_t buffer)
{
    const uint32_t last = (uint32_t)n_slots(b) - 1;
    return b->next[buffer] < last ? b->next[buffer] : last;
}

static void enter(cebus_belady *b, uint32_t pool, uint32_t buffer)
{
    const uint32_t slot = slot_of(b, buffer);
    uint32_t *head = &b->slots[pool * n_slots(b) + slot];
    uint64_t *word = &b->taken[pool * n_words(b) + slot / 64];
    const uint64_t bit = UINT64_C(1) << slot % 64;
    const uint32_t next = *word & bit ? *head : CEBUS_GRAPH_NONE;
    b->before[buffer] = CEBUS_GRAPH_NONE;
    b->after[buffer] = next;
    if (next != CEBUS_GRAPH_NONE)
        b->before[next] = buffer;
    *head = buffer;
    *word |= bit;
}

static void leave(cebus_belady *b, uint32_t pool, uint32_t buffer)
{
    const uint32_t slot = slot_of(b, buffer), next = b->after[buffer], prior = b->before[buffer];
    if (next != CEBUS_GRAPH_NONE)
        b->before[next] = prior;
    if (prior != CEBUS_GRAPH_NONE)
        b->after[prior] = next;
    else if (next != CEBUS_GRAPH_NONE)
        b->slots[pool * n_slots(b) + slot] = next;
    else
        b->taken[pool * n_words(b) + slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static void set_next(cebus_belady *b, uint32_t pool, uint32_t buffer, uint32_t next)
{
    if (pool == CEBUS_GRAPH_NONE) {
        b->next[buffer] = next;
        return;
    }
    leave(b, pool, buffer);
    b->next[buffer] = next;
    enter(b, pool, buffer);
}

/** The highest slot below `end` with something in it; 0: there is none above 0. */
static uint32_t slot_below(const cebus_belady *b, uint32_t pool, uint32_t end)
{
    const uint64_t *taken = b->taken + pool * n_words(b);
    size_t w = end / 64;
    uint64_t word = taken[w] & ((UINT64_C(1) << end % 64) - 1);
    while (word == 0 && w > 0)
        word = taken[--w];
    return word == 0 ? 0 : (uint32_t)(w * 64 + 63 - (size_t)__builtin_clzll(word));
}

/* --- one pass over the steps ---------------------------------------------------------------- */

typedef struct pass {
    cebus_belady *b;
    const cebus_pools *pools;
    const cebus_belady_settings *settings;
    const uint8_t *streams;
    bool knows; /**< who stays over */
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
    for (int least = 2; least >= 1 && b->held[pool] + units > room; least--) {
        uint32_t slot = (uint32_t)n_slots(b);
        while (b->held[pool] + units > room && (slot = slot_below(b, pool, slot)) > k) {
            uint32_t buffer = b->slots[pool * n_slots(b) + slot];
            while (buffer != CEBUS_GRAPH_NONE && b->held[pool] + units > room) {
                const uint32_t next = b->after[buffer];
                if (may_leave(p, buffer, k) >= least)
                    start_trip(p, buffer);
                buffer = next;
            }
        }
    }
    return b->held[pool] + units <= room;
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
    b->makes[k] = step->scratch;
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
        if (uses[i].flags & CEBUS_USE_MAKES) {
            arrive(p, buffer, k);
            b->makes[k] += pool == CEBUS_GRAPH_NONE ? 0 : p->pools->units[buffer];
        } else {
            end_trip(p, buffer, k);
        }
    }
    return true;
}

/** When a buffer is used next. One that does not stay over and was used last goes before all. */
static uint32_t next_of(const pass *p, const cebus_use *use)
{
    const uint32_t n = (uint32_t)p->b->unfold->n_steps;
    return p->knows && use->next >= n && !p->b->stays[use->buffer] ? 2 * n : use->next;
}

static void end_step(const pass *p, uint32_t k)
{
    cebus_belady *b = p->b;
    const cebus_step *step = &b->unfold->steps[k];
    b->frees[k] = step->scratch;
    if (p->pools->bytes)
        b->held[0] -= step->scratch;
    for (uint32_t i = 0; i < step->n_uses; i++) {
        const cebus_use *use = &b->unfold->uses[step->use + i];
        const uint32_t pool = p->pools->pool[use->buffer];
        if (use->flags & CEBUS_USE_WRITES)
            b->state[use->buffer] |= DIRTY;
        if (use->flags & CEBUS_USE_LAST) {
            depart(p, use->buffer, k + 1);
            b->frees[k] += pool == CEBUS_GRAPH_NONE ? 0 : p->pools->units[use->buffer];
            b->state[use->buffer] &= (uint8_t)~DIRTY;
            continue;
        }
        set_next(b, pool, use->buffer, next_of(p, use));
    }
}

/** What stays is there, what is not waits on the host. */
static void begin(const pass *p)
{
    cebus_belady *b = p->b;
    const cebus_graph *graph = b->unfold->graph;
    const size_t row = b->unfold->n_steps + 2;
    b->n_trips = b->n_ins = b->n_outs = 0;
    memset(b->curve, 0, p->pools->n_pools * row * sizeof *b->curve);
    memset(b->held, 0, p->pools->n_pools * sizeof *b->held);
    memset(b->taken, 0, p->pools->n_pools * n_words(b) * sizeof *b->taken);
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

/** Everything persistent that is used at all, but for what is streamed. */
static void keep_rest(const pass *p)
{
    cebus_belady *b = p->b;
    const cebus_graph *graph = b->unfold->graph;
    for (size_t i = 0; i < graph->n_buffers; i++)
        b->stays[i] = graph->buffers[i].persistent && !p->streams[i] &&
                      b->unfold->first[i] != CEBUS_GRAPH_NONE &&
                      p->pools->pool[i] != CEBUS_GRAPH_NONE;
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

/** The curve gets a pool's units at each step, for what used to be changes. */
static void sum_curves(const pass *p)
{
    const size_t n = p->b->unfold->n_steps;
    for (size_t i = 0; i < p->pools->n_pools; i++) {
        int64_t *curve = p->b->curve + i * (n + 2);
        for (size_t k = 1; k <= n + 1; k++)
            curve[k] += curve[k - 1];
    }
}

/**
 * The step from which on a pool has room for so many units more until step `to`, fetches before
 * this one counted. All of these began no later than the step `last`, before which nobody asks, so
 * what they take at step k is what was ever asked for, less what had come by k: each step is
 * compared with the sum so far, once it is less its own. What could still be in the way are steps
 * that are higher than all after them; more of them are, the more is asked for.
 */
static uint32_t room_since(const pass *p, uint32_t pool, uint64_t units, uint32_t to)
{
    cebus_belady *b = p->b;
    const size_t row = pool * (b->unfold->n_steps + 2);
    int64_t *curve = b->curve + row;
    uint32_t *peaks = b->peaks + row;
    cebus_belady_front *front = &b->fronts[pool];
    for (; front->seen < to; front->seen++) {
        const int64_t height = curve[front->seen] - front->asked;
        while (front->n_peaks > 0 && curve[peaks[front->n_peaks - 1]] <= height)
            front->n_peaks--;
        if (front->n_high > front->n_peaks)
            front->n_high = front->n_peaks;
        curve[front->seen] = height;
        peaks[front->n_peaks++] = front->seen;
    }
    front->asked += (int64_t)units;
    const int64_t most = (int64_t)p->pools->room[pool] - front->asked;
    while (front->n_high < front->n_peaks && curve[peaks[front->n_high]] > most)
        front->n_high++;
    return front->n_high > 0 ? peaks[front->n_high - 1] + 1 : 0;
}

/** Each copy in as early as all steps from there on have room, but in the order of the uses. */
static void fetch_early(const pass *p)
{
    cebus_belady *b = p->b;
    uint32_t last = 0, soon = 0;
    sum_curves(p);
    memset(b->fronts, 0, p->pools->n_pools * sizeof *b->fronts);
    for (size_t i = 0; i < b->n_ins; i++) {
        cebus_trip *trip = &b->trips[b->ins[i]];
        const uint32_t pool = p->pools->pool[trip->buffer];
        const uint32_t room = room_since(p, pool, p->pools->units[trip->buffer], trip->to);
        while (soon < trip->to && b->times[trip->to] - b->times[soon] > p->settings->ahead_ns)
            soon++;
        last = trip->from > last ? trip->from : last;
        last = room > last ? room : last;
        last = soon > last ? soon : last;
        trip->since = last;
    }
}

static void set_times(cebus_belady *b)
{
    b->times[0] = 0;
    for (size_t k = 0; k < b->unfold->n_steps; k++)
        b->times[k + 1] = b->times[k] + b->unfold->steps[k].cost_ns;
}

bool cebus_belady_plan(cebus_belady *belady, const cebus_pools *pools,
                       const cebus_belady_settings *settings, const uint8_t *streams)
{
    pass p = {belady, pools, settings, streams, false};
    memset(belady->stays, 0, belady->unfold->graph->n_buffers);
    set_times(belady);
    bool ok = true;
    if (streams != NULL) {
        keep_rest(&p);
    } else if (settings->stay > 0) {
        ok = run_steps(&p);
        choose_stays(&p);
    }
    p.knows = true;
    ok = ok && run_steps(&p) && end_pass(&p);
    if (!ok) {
        belady->n_trips = belady->n_ins = belady->n_outs = 0;
        return false;
    }
    sort_outs(belady);
    fetch_early(&p);
    return true;
}
