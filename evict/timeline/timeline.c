#include "evict/timeline/timeline.h"

#include <string.h>

#include "evict/placement.h"
#include "evict/timeline/ground.h"
#include "evict/timeline/holes.h"
#include "evict/timeline/occupancy.h"
#include "evict/timeline/releases.h"
#include "evict/timeline/streams.h"
#include "layout/number.h"

#define NONE CEBUS_ITERATION_NONE

/** Evictions that are looked for, at most: a plan that foresees so little tells no time. */
#define MOST_UNFORESEEN 4096

typedef struct state {
    uint64_t ready;   /**< when its bytes are there */
    uint64_t last;    /**< when compute is through with them */
    uint64_t out_end; /**< of the copy to the host */
    bool resident, on_host, stays;
    bool busy;      /**< the call at hand reads it */
    size_t back;    /**< behind the action that was to bring it back last: it stays from there on */
    uint64_t place; /**< where it lies; ANYWHERE: it is not known */
    uint64_t spot;  /**< where it is to come next */
} state;

typedef struct walk {
    const cebus_iteration *iteration;
    const cebus_plan *plan;
    const cebus_timeline_terms *terms;
    cebus_timeline *out;
    state *states;
    uint32_t *released; /**< values by when they are released */
    uint32_t *stack;    /**< values to be made again */
    uint32_t *leaving;  /**< actions whose values may leave, or left, and are not to be back yet */
    cebus_holes holes;
    size_t n_released, n_leaving;
    size_t next;       /**< actions before it were due */
    size_t left, came; /**< actions before these have left, or come, or never will */
    cebus_streams streams;
    uint32_t at;
    const cebus_placement *placement; /**< NULL: memory is a number */
    cebus_ground ground;
    bool failed;   /**< no host memory */
    bool shuttles; /**< some persistent value is away as the iteration begins */
} walk;

/* --- room ------------------------------------------------------------------------------------ */

static void add_hole(walk *w, uint64_t since, uint64_t bytes)
{
    if (!cebus_holes_add(&w->holes, since, bytes))
        w->failed = true;
}

/** What has a place is there, or has left it at a time. */
static void settle(walk *w, uint64_t place, uint64_t bytes, uint64_t since)
{
    if (place != CEBUS_ANYWHERE && !cebus_ground_set(&w->ground, place, bytes, since))
        w->failed = true;
}

/** Its bytes are free since then, but not before a copy of them is done: of what is let go, too. */
static void go(walk *w, uint32_t v, uint64_t since)
{
    state *s = &w->states[v];
    since = cebus_max_u64(since, s->out_end);
    s->resident = false;
    settle(w, s->place, w->iteration->values[v].bytes, since);
    s->place = CEBUS_ANYWHERE;
    add_hole(w, since, w->iteration->values[v].bytes);
}

static void copy_out(walk *w, uint32_t v)
{
    state *s = &w->states[v];
    uint64_t bytes = w->iteration->values[v].bytes;
    if (s->on_host)
        return;
    s->out_end = cebus_streams_copy_out(&w->streams, bytes, cebus_max_u64(s->last, s->ready)).to;
    s->on_host = true;
    w->out->out_bytes += bytes;
}

/** Whether an action that was due waits for its value to leave. */
static bool may_leave(const walk *w, size_t a)
{
    const cebus_action *action = &w->plan->actions[a];
    const state *s = &w->states[action->value];
    return action->kind == CEBUS_ACTION_SWAP_OUT && s->resident && s->on_host && !s->busy &&
           a >= s->back;
}

/** The first value that may leave does; false: there is none. */
static bool yield(walk *w)
{
    for (; w->left < w->next; w->left++) {
        const uint32_t v = w->plan->actions[w->left].value;
        if (!may_leave(w, w->left))
            continue;
        go(w, v, w->states[v].last);
        w->left++;
        return true;
    }
    return false;
}

static bool may_go(const walk *w, uint32_t v)
{
    const cebus_iteration_value *value = &w->iteration->values[v];
    const state *s = &w->states[v];
    return s->resident && !s->busy && !value->persistent && value->bytes > 0 &&
           (w->terms->swaps || (value->replayable && value->born != NONE));
}

/** What no plan said: the one used least recently goes. */
static bool evict(walk *w)
{
    uint32_t oldest = NONE;
    if (w->out->unforeseen >= MOST_UNFORESEEN)
        return false;
    for (uint32_t v = 0; v < w->iteration->n_values; v++) {
        if (may_go(w, v) && (oldest == NONE || w->states[v].last < w->states[oldest].last))
            oldest = v;
    }
    if (oldest == NONE)
        return false;
    if (w->terms->swaps)
        copy_out(w, oldest);
    go(w, oldest, w->states[oldest].last);
    w->out->unforeseen++;
    return true;
}

/** Takes bytes; answers when all of them are free. What does not fit at all goes over the budget.
 */
static uint64_t take(walk *w, uint64_t bytes)
{
    while (w->holes.free < bytes && (yield(w) || evict(w)))
        continue;
    return cebus_holes_take(&w->holes, bytes);
}

/** Who waits to leave goes from a place that others are to have. False: somebody stays there. */
static bool clear(walk *w, uint64_t place, uint64_t bytes)
{
    if (cebus_ground_since(&w->ground, place, bytes) != CEBUS_GROUND_TAKEN)
        return true;
    size_t kept = 0;
    for (size_t i = 0; i < w->n_leaving; i++) {
        const uint32_t a = w->leaving[i], v = w->plan->actions[a].value;
        const state *s = &w->states[v];
        if (a < w->left || a < s->back)
            continue;
        w->leaving[kept++] = a;
        if (s->place != CEBUS_ANYWHERE && s->place < place + bytes &&
            place < s->place + w->iteration->values[v].bytes && may_leave(w, a))
            go(w, v, s->last);
    }
    w->n_leaving = kept;
    return cebus_ground_since(&w->ground, place, bytes) != CEBUS_GROUND_TAKEN;
}

/** The same at a place, if it has one and that can be had; else it has none. */
static uint64_t take_at(walk *w, uint64_t *place, uint64_t bytes)
{
    if (w->placement == NULL || *place == CEBUS_ANYWHERE || !clear(w, *place, bytes)) {
        *place = CEBUS_ANYWHERE;
        return take(w, bytes);
    }
    const uint64_t since = cebus_ground_since(&w->ground, *place, bytes);
    settle(w, *place, bytes, CEBUS_GROUND_TAKEN);
    (void)take(w, bytes); /* which bytes these are is known */
    return since;
}

/** A value's bytes, at its spot. */
static uint64_t take_for(walk *w, uint32_t v)
{
    state *s = &w->states[v];
    s->place = s->spot;
    s->spot = CEBUS_ANYWHERE;
    return take_at(w, &s->place, w->iteration->values[v].bytes);
}

/** Bytes of a value that compute is about to write. */
static void come(walk *w, uint32_t v)
{
    cebus_streams_wait(&w->streams, take_for(w, v));
    w->states[v].resident = true;
    w->states[v].ready = 0;
}

/** Answers when it begins. */
static uint64_t copy_in(walk *w, uint32_t v)
{
    state *s = &w->states[v];
    uint64_t bytes = w->iteration->values[v].bytes;
    uint64_t start = cebus_max_u64(take_for(w, v), s->out_end);
    if (!w->terms->ahead)
        start = cebus_max_u64(start, w->streams.compute);
    const cebus_span span = cebus_streams_copy_in(&w->streams, bytes, start);
    s->ready = span.to;
    s->resident = true;
    w->out->in_bytes += bytes;
    return span.from;
}

/** Values due to come back, in order, as far as there is room. */
static void copy_in_waiting(walk *w)
{
    for (; w->came < w->next; w->came++) {
        const cebus_action *action = &w->plan->actions[w->came];
        const state *s = &w->states[action->value];
        if (action->kind == CEBUS_ACTION_SWAP_IN && s->resident)
            cebus_occupancy_stay(w->terms->occupancy, w->came);
        if (action->kind != CEBUS_ACTION_SWAP_IN || s->resident || !s->on_host)
            continue;
        uint64_t bytes = w->iteration->values[action->value].bytes;
        while (w->holes.free < bytes && yield(w))
            continue;
        if (w->holes.free < bytes)
            return;
        cebus_occupancy_copy(w->terms->occupancy, w->came, copy_in(w, action->value));
    }
}

static bool is_held(const walk *w, uint32_t v)
{
    const cebus_iteration_value *value = &w->iteration->values[v];
    return value->freed > w->at || w->states[v].stays;
}

/** Runs a call again for one of its outputs. */
static void run_again(walk *w, uint32_t v)
{
    const cebus_iteration_call *call = &w->iteration->calls[w->iteration->values[v].born];
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t input = w->iteration->refs[call->refs + i];
        if (input == NONE)
            continue;
        cebus_streams_wait(&w->streams, w->states[input].ready);
        w->states[input].last = w->streams.compute + call->cost_ns;
    }
    if (!w->states[v].resident)
        come(w, v);
    w->streams.compute += call->cost_ns;
    w->states[v].last = w->streams.compute;
    w->out->replay_ns += call->cost_ns;
}

/** The first input that is absent and can only be made again; what is on the host comes back. */
static uint32_t find_missing(walk *w, uint32_t v)
{
    const cebus_iteration_call *call = &w->iteration->calls[w->iteration->values[v].born];
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t input = w->iteration->refs[call->refs + i];
        if (input == NONE || w->states[input].resident)
            continue;
        if (!w->states[input].on_host && w->iteration->values[input].born != NONE)
            return input;
        (void)copy_in(w, input);
    }
    return NONE;
}

/** Makes a value again with all that it takes; what nobody holds goes when it has been read. */
static void rebuild(walk *w, uint32_t v)
{
    size_t depth = 0, made = w->iteration->n_values; /* both in one array, from its ends */
    w->stack[depth++] = v;
    while (depth > 0 && depth + 1 < made) {
        uint32_t top = w->stack[depth - 1], missing = find_missing(w, top);
        if (missing != NONE) {
            w->stack[depth++] = missing;
            continue;
        }
        run_again(w, top);
        w->out->unforeseen++;
        w->stack[--made] = top;
        depth--;
    }
    for (; made < w->iteration->n_values; made++) {
        uint32_t passing = w->stack[made];
        if (passing != v && !is_held(w, passing) && w->states[passing].resident)
            go(w, passing, w->states[passing].last);
    }
}

/** A call reads a value. */
static void need(walk *w, uint32_t v)
{
    state *s = &w->states[v];
    if (!s->resident && s->on_host) {
        (void)copy_in(w, v);
        w->out->unforeseen++;
    } else if (!s->resident && w->iteration->values[v].born != NONE) {
        rebuild(w, v);
    }
    s->busy = true;
    cebus_streams_wait(&w->streams, s->ready);
}

/** Where what a call makes comes: to its place, or to that of what it takes over. */
static void expect_output(walk *w, uint32_t v, uint64_t heritage)
{
    if (w->placement == NULL)
        return;
    const uint64_t place = w->placement->values[v];
    w->states[v].spot = place != CEBUS_ANYWHERE ? place : heritage;
}

static void finish_call(walk *w, const cebus_iteration_call *call, const uint32_t *refs)
{
    w->streams.compute += call->cost_ns;
    w->out->compute_ns += call->cost_ns;
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        if (refs[i] == NONE)
            continue;
        state *s = &w->states[refs[i]];
        s->last = w->streams.compute;
        s->busy = false;
    }
}

static void run_call(walk *w, uint32_t k)
{
    const cebus_iteration *iteration = w->iteration;
    const cebus_iteration_call *call = &iteration->calls[k];
    const uint32_t *refs = &iteration->refs[call->refs];
    uint64_t heritage = CEBUS_ANYWHERE;
    cebus_occupancy_await(w->terms->occupancy, w->streams.compute);
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (refs[i] != NONE)
            need(w, refs[i]);
    }
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (refs[i] == NONE || !w->states[refs[i]].resident ||
            !cebus_iteration_takes_over(iteration, k, refs[i]))
            continue;
        heritage = w->states[refs[i]].place;
        go(w, refs[i], w->streams.compute);
    }
    for (uint32_t i = call->n_in; i < (uint32_t)call->n_in + call->n_out; i++) {
        if (refs[i] == NONE)
            continue;
        if (iteration->values[refs[i]].born == k && !w->states[refs[i]].resident) {
            expect_output(w, refs[i], heritage);
            come(w, refs[i]);
        } else
            w->states[refs[i]].on_host = false; /* written: the copy is of what was before */
        w->states[refs[i]].busy = true;
    }
    uint64_t place = w->placement != NULL ? w->placement->workspaces[k] : CEBUS_ANYWHERE;
    cebus_streams_wait(&w->streams, take_at(w, &place, call->workspace));
    cebus_occupancy_run(w->terms->occupancy, w->streams.compute);
    finish_call(w, call, refs);
    settle(w, place, call->workspace, w->streams.compute);
    add_hole(w, w->streams.compute, call->workspace);
}

/* --- the plan -------------------------------------------------------------------------------- */

/** What an action brings back has a spot. */
static void expect(walk *w, size_t action)
{
    if (w->placement != NULL)
        w->states[w->plan->actions[action].value].spot = w->placement->actions[action];
}

/** What never left goes, and comes to its spot. */
static void make_way(walk *w, uint32_t v)
{
    state *s = &w->states[v];
    const uint64_t bytes = w->iteration->values[v].bytes;
    if (w->placement == NULL || !s->resident || s->spot == CEBUS_ANYWHERE || s->place == s->spot)
        return;
    if (s->place == CEBUS_ANYWHERE && clear(w, s->spot, bytes)) {
        s->place = s->spot;
        settle(w, s->place, bytes, CEBUS_GROUND_TAKEN);
        return;
    }
    if (w->iteration->values[v].persistent)
        copy_out(w, v);
    if (s->on_host)
        go(w, v, cebus_max_u64(s->last, s->ready));
}

/** The replay that action a begins; the action behind it. */
static size_t replay(walk *w, size_t a)
{
    const cebus_action *actions = w->plan->actions;
    uint32_t k = w->iteration->values[actions[a].value].born;
    bool ran = false;
    cebus_occupancy_await(w->terms->occupancy, w->streams.compute);
    for (; a < w->plan->count; a++) {
        uint32_t v = actions[a].value;
        if (actions[a].kind != CEBUS_ACTION_REPLAY || actions[a].at > w->at ||
            w->iteration->values[v].born != k || k == NONE)
            break;
        if (w->states[v].resident || find_missing(w, v) != NONE)
            continue;
        expect(w, a);
        if (ran) {
            come(w, v);
            w->states[v].last = w->streams.compute;
        } else {
            run_again(w, v);
        }
        ran = true;
    }
    cebus_occupancy_run(w->terms->occupancy,
                        w->streams.compute - (ran ? w->iteration->calls[k].cost_ns : 0));
    return k == NONE ? a + 1 : a;
}

static void act(walk *w)
{
    while (w->next < w->plan->count && w->plan->actions[w->next].at <= w->at) {
        const cebus_action *action = &w->plan->actions[w->next];
        const state *s = &w->states[action->value];
        if (action->kind == CEBUS_ACTION_REPLAY) {
            copy_in_waiting(w);
            w->next = replay(w, w->next);
            continue;
        }
        if (action->kind == CEBUS_ACTION_SWAP_OUT)
            w->leaving[w->n_leaving++] = (uint32_t)w->next;
        w->next++;
        if (action->kind == CEBUS_ACTION_SWAP_IN) {
            w->states[action->value].back = w->next;
            expect(w, w->next - 1);
            make_way(w, action->value);
        }
        if (action->kind == CEBUS_ACTION_DROP && s->resident)
            go(w, action->value, cebus_max_u64(s->last, s->ready));
        else if (action->kind != CEBUS_ACTION_DROP && action->kind != CEBUS_ACTION_SWAP_IN &&
                 s->resident) {
            copy_out(w, action->value);
            cebus_occupancy_copy(w->terms->occupancy, w->next - 1,
                                 cebus_max_u64(s->out_end, s->last));
        }
    }
    copy_in_waiting(w);
}

static void release(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    for (; w->n_released < iteration->n_values; w->n_released++) {
        uint32_t v = w->released[w->n_released];
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->freed > w->at)
            break;
        if (w->states[v].resident && !w->states[v].stays && !value->persistent &&
            value->freed != value->moved)
            go(w, v, cebus_max_u64(w->states[v].last, w->states[v].ready));
    }
}

/** Values whose first action after their release is a DROP stay until that. */
static void find_stays(walk *w)
{
    for (size_t a = w->plan->count; a-- > 0;) {
        const cebus_action *action = &w->plan->actions[a];
        if (action->at >= w->iteration->values[action->value].freed)
            w->states[action->value].stays = action->kind == CEBUS_ACTION_DROP;
    }
}

/** What is there as the first iteration begins. Persistent values that shuttle are not. */
static void begin(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    add_hole(w, 0, w->terms->budget);
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        w->states[v].on_host = cebus_plan_begins_away(w->plan, iteration, v);
        w->shuttles =
            w->shuttles || (iteration->values[v].persistent && cebus_plan_names(w->plan, v));
        if (!w->states[v].on_host &&
            (iteration->values[v].born == NONE || iteration->values[v].persistent))
            come(w, v);
    }
}

static void run_all(walk *w)
{
    for (w->at = 0; w->at < w->iteration->n_calls && !w->failed; w->at++) {
        release(w);
        act(w);
        run_call(w, w->at);
    }
}

/** What is due behind the last call. */
static void finish(walk *w)
{
    w->at = (uint32_t)w->iteration->n_calls;
    act(w);
}

/** From the end of an iteration to the beginning of the next: what persists, and copies that are
 * under way, go on. */
static void turn(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    finish(w);
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        w->states[v].back = 0;
        if (iteration->values[v].persistent)
            continue;
        if (w->states[v].resident)
            go(w, v, w->states[v].last);
        w->states[v] = (state){.place = CEBUS_ANYWHERE, .spot = CEBUS_ANYWHERE};
    }
    *w->out = (cebus_timeline){.over_ns = cebus_max_u64(w->streams.out, w->streams.compute) -
                                          w->streams.compute};
    w->next = w->left = w->came = w->n_released = w->n_leaving = 0;
    w->streams.stall_ns = 0;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        if (!iteration->values[v].persistent && iteration->values[v].born == NONE)
            come(w, v);
    }
    find_stays(w);
}

/** Where persistent values shuttle, an iteration meets what the one before it left to do. */
static void walk_all(walk *w)
{
    uint64_t from = 0;
    begin(w);
    find_stays(w);
    cebus_occupancy_begin(w->terms->occupancy, 0);
    run_all(w);
    if (w->shuttles) {
        from = w->streams.compute;
        turn(w);
        cebus_occupancy_begin(w->terms->occupancy, from);
        run_all(w);
    }
    w->out->total_ns = w->streams.compute - from;
    w->out->stall_ns = w->streams.stall_ns;
    cebus_occupancy_end(w->terms->occupancy, w->streams.compute);
    if (w->terms->occupancy != NULL) /* copies out go on behind the end */
        finish(w);
}

bool cebus_timeline_run(const cebus_iteration *iteration, const cebus_plan *plan,
                        const cebus_timeline_terms *terms, cebus_pool *pool, cebus_timeline *out)
{
    const size_t n_values = iteration->n_values, n_leaving = plan->count + 1;
    *out = (cebus_timeline){0};
    walk w = {.iteration = iteration, .plan = plan, .terms = terms, .out = out};
    w.streams = (cebus_streams){
        .out_rate = terms->out_rate, .in_rate = terms->in_rate, .latency_ns = terms->latency_ns};
    cebus_holes_init(&w.holes, pool);
    w.states = cebus_pool_alloc(pool, n_values * sizeof *w.states);
    w.released = cebus_pool_alloc(pool, n_values * sizeof *w.released);
    w.stack = cebus_pool_alloc(pool, n_values * sizeof *w.stack);
    w.leaving = cebus_pool_alloc(pool, n_leaving * sizeof *w.leaving);
    bool ok = w.states != NULL && w.released != NULL && w.stack != NULL && w.leaving != NULL &&
              cebus_ground_init(&w.ground, pool) &&
              cebus_releases_sort(iteration, pool, w.released);
    if (ok) {
        if (terms->placement != NULL && terms->placement->height > 0 &&
            terms->placement->n_relocations == 0)
            w.placement = terms->placement;
        for (size_t v = 0; v < n_values; v++)
            w.states[v] = (state){.place = CEBUS_ANYWHERE, .spot = CEBUS_ANYWHERE};
        walk_all(&w);
    }
    cebus_ground_deinit(&w.ground);
    cebus_holes_deinit(&w.holes);
    cebus_pool_free_object(pool, w.stack, n_values * sizeof *w.stack);
    cebus_pool_free_object(pool, w.released, n_values * sizeof *w.released);
    cebus_pool_free_object(pool, w.states, n_values * sizeof *w.states);
    cebus_pool_free_object(pool, w.leaving, n_leaving * sizeof *w.leaving);
    return ok && !w.failed;
}
