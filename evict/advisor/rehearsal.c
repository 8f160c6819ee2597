#include "evict/advisor/rehearsal.h"

#include <math.h>
#include <string.h>

bool cebus_rehearsal_init(cebus_rehearsal *rehearsal, const cebus_belady *belady, size_t max_pools,
                          cebus_shelf *shelf)
{
    *rehearsal = (cebus_rehearsal){.belady = belady};
    rehearsal->used = cebus_shelf_take(shelf, max_pools, sizeof *rehearsal->used);
    rehearsal->order = cebus_shelf_take(shelf, belady->trips_room, sizeof *rehearsal->order);
    rehearsal->after = cebus_shelf_take(shelf, belady->trips_room, sizeof *rehearsal->after);
    rehearsal->gone =
        cebus_shelf_take(shelf, belady->unfold->steps_room + 2, sizeof *rehearsal->gone);
    return !shelf->failed;
}

/** A run of three streams. Copies count down the bytes they have left. */
typedef struct stage {
    cebus_rehearsal *r;
    const cebus_pools *pools;
    const cebus_link_terms *link;
    const cebus_rehearsal_log *log;
    const cebus_unfold *unfold;
    double now, end; /**< ns; when the step under way ends */
    double out_left, in_left;
    uint32_t step, out, in;         /**< under way, or the next */
    bool is_running, is_out, is_in; /**< under way */
    uint32_t in_needed;             /**< copies in that must be done before the step */
} stage;

static const cebus_trip *trip_of(const stage *s, uint32_t index)
{
    return &s->r->belady->trips[index];
}

static void take_room(stage *s, uint32_t buffer)
{
    if (s->pools->pool[buffer] != CEBUS_GRAPH_NONE)
        s->r->used[s->pools->pool[buffer]] += s->pools->units[buffer];
}

static void free_room(stage *s, uint32_t buffer)
{
    if (s->pools->pool[buffer] != CEBUS_GRAPH_NONE)
        s->r->used[s->pools->pool[buffer]] -= s->pools->units[buffer];
}

static bool is_over(const stage *s, uint32_t buffer)
{
    const uint32_t pool = s->pools->pool[buffer];
    return pool != CEBUS_GRAPH_NONE && s->r->used[pool] > s->pools->room[pool];
}

/** Takes what the step makes and its scratch; gives it back if that is too much. */
static bool take_step_room(stage *s, const cebus_step *step)
{
    const cebus_use *uses = s->unfold->uses + step->use;
    bool fits = true;
    if (s->pools->bytes) {
        const uint64_t used = s->r->used[0] + s->r->belady->makes[s->step];
        fits = used <= s->pools->room[0];
        s->r->used[0] = fits ? used : s->r->used[0];
        return fits;
    }
    for (uint32_t i = 0; i < step->n_uses; i++) {
        if (!(uses[i].flags & CEBUS_USE_MAKES))
            continue;
        take_room(s, uses[i].buffer);
        fits = fits && !is_over(s, uses[i].buffer);
    }
    for (uint32_t i = 0; i < step->n_uses && !fits; i++) {
        if (uses[i].flags & CEBUS_USE_MAKES)
            free_room(s, uses[i].buffer);
    }
    return fits;
}

/** What the step used last goes, and its scratch. */
static void free_step_room(stage *s, const cebus_step *step)
{
    const cebus_use *uses = s->unfold->uses + step->use;
    if (s->pools->bytes) {
        s->r->used[0] -= s->r->belady->frees[s->step];
        return;
    }
    for (uint32_t i = 0; i < step->n_uses; i++) {
        if (uses[i].flags & CEBUS_USE_LAST)
            free_room(s, uses[i].buffer);
    }
}

static bool start_step(stage *s)
{
    const cebus_belady *b = s->r->belady;
    if (s->is_running || s->step >= s->unfold->n_steps)
        return false;
    while (s->in_needed < b->n_ins && trip_of(s, b->ins[s->in_needed])->to <= s->step)
        s->in_needed++;
    const cebus_step *step = &s->unfold->steps[s->step];
    if (s->in < s->in_needed || !take_step_room(s, step))
        return false;
    s->is_running = true;
    s->end = s->now + (double)(int64_t)step->cost_ns;
    if (s->log != NULL)
        s->log->steps[s->step] = (uint64_t)s->now;
    return true;
}

static bool start_out(stage *s)
{
    const cebus_belady *b = s->r->belady;
    if (s->is_out || s->out >= b->n_outs || trip_of(s, b->outs[s->out])->from > s->step)
        return false;
    const uint32_t buffer = trip_of(s, b->outs[s->out])->buffer;
    s->is_out = true;
    s->out_left = (double)(int64_t)b->unfold->graph->buffers[buffer].bytes +
                  (double)s->link->latency_ns * s->link->out;
    if (s->log != NULL)
        s->log->outs[s->out] = (uint64_t)s->now;
    return true;
}

static bool start_in(stage *s)
{
    const cebus_belady *b = s->r->belady;
    if (s->is_in || s->in >= b->n_ins)
        return false;
    const cebus_trip *trip = trip_of(s, b->ins[s->in]);
    if (trip->since > s->step || s->r->order[b->ins[s->in]] > s->out)
        return false;
    take_room(s, trip->buffer);
    if (is_over(s, trip->buffer)) {
        free_room(s, trip->buffer);
        return false;
    }
    s->is_in = true;
    s->in_left = (double)b->unfold->graph->buffers[trip->buffer].bytes +
                 (double)s->link->latency_ns * s->link->in;
    if (s->log != NULL)
        s->log->ins[s->in] = (uint64_t)s->now;
    return true;
}

/** What leaves after so many steps and needs no copy. */
static void let_go(stage *s, uint32_t done)
{
    for (uint32_t i = s->r->gone[done]; i != 0; i = s->r->after[i - 1])
        free_room(s, trip_of(s, i - 1)->buffer);
}

static void end_step(stage *s)
{
    free_step_room(s, &s->unfold->steps[s->step]);
    if (s->log != NULL)
        s->log->ends[s->step] = (uint64_t)s->now;
    s->is_running = false;
    let_go(s, ++s->step);
}

static void end_out(stage *s)
{
    free_room(s, trip_of(s, s->r->belady->outs[s->out])->buffer);
    if (s->log != NULL)
        s->log->out_ends[s->out] = (uint64_t)s->now;
    s->is_out = false;
    s->out++;
}

static void end_in(stage *s)
{
    if (s->log != NULL)
        s->log->in_ends[s->in] = (uint64_t)s->now;
    s->is_in = false;
    s->in++;
}

/** To the next end of anything; false when nothing is under way. */
static bool advance(stage *s)
{
    const cebus_link_terms *link = s->link;
    double out = link->out, in = link->in, next = -1;
    if (s->is_out && s->is_in && out + in > link->both) {
        const double share = link->both / (out + in);
        out *= share;
        in *= share;
    }
    const double out_end = s->is_out ? s->now + s->out_left / out : -1;
    const double in_end = s->is_in ? s->now + s->in_left / in : -1;
    if (s->is_running)
        next = s->end;
    if (s->is_out && (next < 0 || out_end < next))
        next = out_end;
    if (s->is_in && (next < 0 || in_end < next))
        next = in_end;
    if (next < 0)
        return false;
    next = ceil(next); /* whole ns: what the log says is when it was, to the order of events */
    const double passed = next - s->now;
    s->now = next;
    s->out_left -= passed * out;
    s->in_left -= passed * in;
    if (s->is_out && out_end <= next)
        end_out(s);
    if (s->is_in && in_end <= next)
        end_in(s);
    if (s->is_running && s->end <= next)
        end_step(s);
    return true;
}

/** What is there at the start, and who leaves when. */
static void begin(stage *s)
{
    const cebus_belady *b = s->r->belady;
    const cebus_graph *graph = s->unfold->graph;
    memset(s->r->used, 0, s->pools->n_pools * sizeof *s->r->used);
    memset(s->r->order, 0, b->n_trips * sizeof *s->r->order);
    memset(s->r->gone, 0, (s->unfold->n_steps + 2) * sizeof *s->r->gone);
    for (uint32_t i = 0; i < graph->n_buffers; i++) {
        if (b->stays[i])
            take_room(s, i);
    }
    for (uint32_t i = 0; i < b->n_outs; i++)
        s->r->order[b->outs[i]] = i + 1;
    for (uint32_t i = 0; i < b->n_trips; i++) {
        const cebus_trip *trip = trip_of(s, i);
        const cebus_buffer *buffer = &graph->buffers[trip->buffer];
        const bool was_away =
            trip->from == 0 && !b->stays[trip->buffer] && (buffer->persistent || buffer->given);
        if (trip->copies || was_away)
            continue;
        s->r->after[i] = s->r->gone[trip->from];
        s->r->gone[trip->from] = i + 1;
    }
    let_go(s, 0);
}

uint64_t cebus_rehearsal_run(cebus_rehearsal *rehearsal, const cebus_pools *pools,
                             const cebus_link_terms *link, const cebus_rehearsal_log *log)
{
    const cebus_belady *b = rehearsal->belady;
    stage s = {.r = rehearsal, .pools = pools, .link = link, .log = log, .unfold = b->unfold};
    begin(&s);
    do {
        start_step(&s);
        start_out(&s);
        start_in(&s);
    } while (advance(&s));
    if (s.step < s.unfold->n_steps || s.out < b->n_outs || s.in < b->n_ins)
        return CEBUS_REHEARSAL_NEVER;
    return (uint64_t)s.now;
}
