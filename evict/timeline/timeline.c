#include "evict/timeline/timeline.h"

#include <string.h>

#include "evict/timeline/releases.h"
#include "evict/timeline/walk.h"
#include "layout/number.h"

#define NONE CEBUS_ITERATION_NONE

/** Bytes of a value that compute is about to write. */
static void come(cebus_walk *w, uint32_t v)
{
    cebus_streams_wait(&w->streams, cebus_walk_take_for(w, v));
    w->states[v].resident = true;
    w->states[v].ready = 0;
}

/** Answers when it begins. */
static uint64_t copy_in(cebus_walk *w, uint32_t v)
{
    cebus_walk_state *s = &w->states[v];
    uint64_t bytes = w->iteration->values[v].bytes;
    uint64_t start = cebus_max_u64(cebus_walk_take_for(w, v), s->out_end);
    if (!w->terms->ahead)
        start = cebus_max_u64(start, w->streams.compute);
    const cebus_span span = cebus_streams_copy_in(&w->streams, bytes, start);
    s->ready = span.to;
    s->resident = true;
    w->out->in_bytes += bytes;
    return span.from;
}

/** Values due to come back, in order, as far as there is room. */
static void copy_in_waiting(cebus_walk *w)
{
    for (; w->came < w->next; w->came++) {
        const cebus_action *action = &w->plan->actions[w->came];
        const cebus_walk_state *s = &w->states[action->value];
        if (action->kind == CEBUS_ACTION_SWAP_IN && s->resident)
            cebus_occupancy_stay(w->terms->occupancy, w->came);
        if (action->kind != CEBUS_ACTION_SWAP_IN || s->resident || !s->on_host)
            continue;
        uint64_t bytes = w->iteration->values[action->value].bytes;
        while (w->holes.free < bytes && cebus_walk_yield(w))
            continue;
        if (w->holes.free < bytes)
            return;
        cebus_occupancy_copy(w->terms->occupancy, w->came, copy_in(w, action->value));
        cebus_occupancy_arrive(w->terms->occupancy, w->came, s->ready);
    }
}

static bool is_held(const cebus_walk *w, uint32_t v)
{
    const cebus_iteration_value *value = &w->iteration->values[v];
    return value->freed > w->at || w->states[v].stays;
}

/** What a call costs the device: where the host's time is known it need not be guessed. */
static uint64_t cost_of(const cebus_walk *w, const cebus_iteration_call *call)
{
    return call->cost_ns - (w->terms->issue_ns > 0 ? call->held_ns : 0);
}

/** Runs a call again for one of its outputs. */
static void run_again(cebus_walk *w, uint32_t v)
{
    const cebus_iteration_call *call = &w->iteration->calls[w->iteration->values[v].born];
    const uint64_t cost = cost_of(w, call);
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t input = w->iteration->refs[call->refs + i];
        if (input == NONE)
            continue;
        cebus_streams_wait(&w->streams, w->states[input].ready);
        w->states[input].last = w->streams.compute + cost;
    }
    if (!w->states[v].resident)
        come(w, v);
    cebus_streams_ask(&w->streams);
    w->streams.compute += cost;
    w->states[v].last = w->streams.compute;
    w->out->replay_ns += cost;
}

/** The first input that is absent and can only be made again; what is on the host comes back. */
static uint32_t find_missing(cebus_walk *w, uint32_t v)
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
static void rebuild(cebus_walk *w, uint32_t v)
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
            cebus_walk_go(w, passing, w->states[passing].last);
    }
}

/** A call reads a value. */
static void need(cebus_walk *w, uint32_t v)
{
    cebus_walk_state *s = &w->states[v];
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
static void expect_output(cebus_walk *w, uint32_t v, uint64_t heritage)
{
    if (w->placement == NULL)
        return;
    const uint64_t place = w->placement->values[v];
    w->states[v].spot = place != CEBUS_ANYWHERE ? place : heritage;
}

static void finish_call(cebus_walk *w, const cebus_iteration_call *call, const uint32_t *refs)
{
    const uint64_t cost = cost_of(w, call);
    cebus_streams_ask(&w->streams);
    w->streams.compute += cost;
    w->out->compute_ns += cost;
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        if (refs[i] == NONE)
            continue;
        cebus_walk_state *s = &w->states[refs[i]];
        s->last = w->streams.compute;
        s->busy = false;
    }
}

static void run_call(cebus_walk *w, uint32_t k)
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
        cebus_walk_go(w, refs[i], w->streams.compute);
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
    cebus_streams_wait(&w->streams, cebus_walk_take_at(w, &place, call->workspace));
    cebus_occupancy_run(w->terms->occupancy, w->streams.compute);
    finish_call(w, call, refs);
    cebus_walk_settle(w, place, call->workspace, w->streams.compute);
    cebus_walk_add_hole(w, w->streams.compute, call->workspace);
}

/* --- the plan -------------------------------------------------------------------------------- */

/** What an action brings back has a spot. */
static void expect(cebus_walk *w, size_t action)
{
    if (w->placement != NULL)
        w->states[w->plan->actions[action].value].spot = w->placement->actions[action];
}

/** What never left goes, and comes to its spot. */
static void make_way(cebus_walk *w, uint32_t v)
{
    cebus_walk_state *s = &w->states[v];
    const uint64_t bytes = w->iteration->values[v].bytes;
    if (w->placement == NULL || !s->resident || s->spot == CEBUS_ANYWHERE || s->place == s->spot)
        return;
    if (w->at == 0 && w->terms->moves.rate > 0 && w->iteration->values[v].persistent)
        return; /* all of these move together */
    if (s->place == CEBUS_ANYWHERE && cebus_walk_clear(w, s->spot, bytes)) {
        s->place = s->spot;
        cebus_walk_settle(w, s->place, bytes, CEBUS_GROUND_TAKEN);
        return;
    }
    if (w->iteration->values[v].persistent)
        cebus_walk_copy_out(w, v);
    if (s->on_host)
        cebus_walk_go(w, v, cebus_max_u64(s->last, s->ready));
}

/** Persistent, and there as an iteration begins: not where it is to lie then. */
static bool is_misplaced(const cebus_walk *w, size_t a)
{
    const cebus_action *action = &w->plan->actions[a];
    const cebus_walk_state *s = &w->states[action->value];
    return action->kind == CEBUS_ACTION_SWAP_IN && s->resident &&
           w->iteration->values[action->value].persistent &&
           w->placement->actions[a] != CEBUS_ANYWHERE && s->place != w->placement->actions[a];
}

/** It goes to its spot, if that can be had; else by way of the host. Answers since when it may. */
static uint64_t move(cebus_walk *w, uint32_t v, uint64_t spot)
{
    cebus_walk_state *s = &w->states[v];
    const uint64_t bytes = w->iteration->values[v].bytes;
    uint64_t since = s->ready;
    s->place = CEBUS_ANYWHERE;
    if (cebus_walk_clear(w, spot, bytes)) {
        s->place = spot;
        since = cebus_max_u64(since, cebus_ground_since(&w->ground, spot, bytes));
        cebus_walk_settle(w, spot, bytes, CEBUS_GROUND_TAKEN);
        return since;
    }
    cebus_walk_copy_out(w, v);
    cebus_walk_go(w, v, cebus_max_u64(s->last, s->ready));
    return 0;
}

/** What persists goes to where it is to lie as the iteration begins. All of it leaves its place
 * before any comes to another. */
static void arrange(cebus_walk *w)
{
    uint64_t since = 0, ns = 0;
    const cebus_move_terms *moves = &w->terms->moves;
    if (w->at > 0 || w->placement == NULL || moves->rate == 0)
        return;
    for (size_t a = 0; a < w->next; a++) {
        const cebus_walk_state *s = &w->states[w->plan->actions[a].value];
        if (is_misplaced(w, a))
            cebus_walk_settle(w, s->place, w->iteration->values[w->plan->actions[a].value].bytes,
                              cebus_max_u64(cebus_max_u64(s->last, s->ready), s->out_end));
    }
    for (size_t a = 0; a < w->next; a++) {
        const uint32_t v = w->plan->actions[a].value;
        const bool lay = w->states[v].place != CEBUS_ANYWHERE;
        if (!is_misplaced(w, a))
            continue;
        since = cebus_max_u64(since, move(w, v, w->placement->actions[a]));
        w->streams.host += lay ? w->streams.issue_ns : 0;
        if (lay)
            ns += moves->ns +
                  (uint64_t)(1e9 * (double)w->iteration->values[v].bytes / (double)moves->rate);
    }
    if (ns == 0)
        return;
    cebus_streams_wait(&w->streams, since);
    w->streams.compute += ns;
    w->out->moving_ns += ns;
}

/** The replay that action a begins; the action behind it. */
static size_t replay(cebus_walk *w, size_t a)
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
                        w->streams.compute - (ran ? cost_of(w, &w->iteration->calls[k]) : 0));
    return k == NONE ? a + 1 : a;
}

static void act(cebus_walk *w)
{
    while (w->next < w->plan->count && w->plan->actions[w->next].at <= w->at) {
        const cebus_action *action = &w->plan->actions[w->next];
        const cebus_walk_state *s = &w->states[action->value];
        if (action->kind == CEBUS_ACTION_REPLAY) {
            arrange(w);
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
            cebus_walk_go(w, action->value, cebus_max_u64(s->last, s->ready));
        else if (action->kind != CEBUS_ACTION_DROP && action->kind != CEBUS_ACTION_SWAP_IN &&
                 s->resident) {
            cebus_walk_copy_out(w, action->value);
            cebus_occupancy_copy(w->terms->occupancy, w->next - 1,
                                 cebus_max_u64(s->out_end, s->last));
        }
    }
    arrange(w);
    copy_in_waiting(w);
}

static void release(cebus_walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    for (; w->n_released < iteration->n_values; w->n_released++) {
        uint32_t v = w->released[w->n_released];
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->freed > w->at)
            break;
        if (w->states[v].resident && !w->states[v].stays && !value->persistent &&
            value->freed != value->moved)
            cebus_walk_go(w, v, cebus_max_u64(w->states[v].last, w->states[v].ready));
    }
}

/** Values whose first action after their release is a DROP stay until that. */
static void find_stays(cebus_walk *w)
{
    for (size_t a = w->plan->count; a-- > 0;) {
        const cebus_action *action = &w->plan->actions[a];
        if (action->at >= w->iteration->values[action->value].freed)
            w->states[action->value].stays = action->kind == CEBUS_ACTION_DROP;
    }
}

/** What is there as the first iteration begins. Persistent values that shuttle are not. */
static void begin(cebus_walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    cebus_walk_add_hole(w, 0, w->terms->budget);
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        w->states[v].on_host = cebus_plan_begins_away(w->plan, iteration, v);
        w->shuttles =
            w->shuttles || (iteration->values[v].persistent && cebus_plan_names(w->plan, v));
        if (!w->states[v].on_host &&
            (iteration->values[v].born == NONE || iteration->values[v].persistent))
            come(w, v);
    }
}

static void run_all(cebus_walk *w)
{
    for (w->at = 0; w->at < w->iteration->n_calls && !w->failed; w->at++) {
        release(w);
        act(w);
        run_call(w, w->at);
    }
}

/** What is due behind the last call. */
static void finish(cebus_walk *w)
{
    w->at = (uint32_t)w->iteration->n_calls;
    act(w);
}

/** From the end of an iteration to the beginning of the next: what persists, and copies that are
 * under way, go on. */
static void turn(cebus_walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    finish(w);
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        w->states[v].back = 0;
        if (iteration->values[v].persistent)
            continue;
        if (w->states[v].resident)
            cebus_walk_go(w, v, w->states[v].last);
        w->states[v] = (cebus_walk_state){.place = CEBUS_ANYWHERE, .spot = CEBUS_ANYWHERE};
    }
    *w->out = (cebus_timeline){.over_ns = cebus_max_u64(w->streams.out, w->streams.compute) -
                                          w->streams.compute};
    w->next = w->left = w->came = w->n_released = w->n_leaving = 0;
    w->streams.stall_ns = w->streams.held_ns = w->streams.requests = 0;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        if (!iteration->values[v].persistent && iteration->values[v].born == NONE)
            come(w, v);
    }
    find_stays(w);
}

/** Where persistent values shuttle, an iteration meets what the one before it left to do; and by
 * how much the host was ahead. */
static void walk_all(cebus_walk *w)
{
    uint64_t from = 0;
    begin(w);
    find_stays(w);
    cebus_occupancy_begin(w->terms->occupancy, 0);
    run_all(w);
    if (w->shuttles || w->streams.issue_ns > 0) {
        from = w->streams.compute;
        turn(w);
        cebus_occupancy_begin(w->terms->occupancy, from);
        run_all(w);
    }
    w->out->total_ns = w->streams.compute - from;
    w->out->stall_ns = w->streams.stall_ns;
    w->out->held_ns = w->streams.held_ns;
    cebus_occupancy_end(w->terms->occupancy, w->streams.compute);
    if (w->terms->occupancy != NULL) /* copies out go on behind the end */
        finish(w);
}

/** With a host that takes so long to ask for each; whether it holds others up in *out_holds. */
static bool run(const cebus_iteration *iteration, const cebus_plan *plan,
                const cebus_timeline_terms *terms, uint64_t issue_ns, cebus_pool *pool,
                cebus_timeline *out, bool *out_holds)
{
    const size_t n_values = iteration->n_values, n_leaving = plan->count + 1;
    *out = (cebus_timeline){0};
    cebus_walk w = {.iteration = iteration, .plan = plan, .terms = terms, .out = out};
    w.streams = (cebus_streams){.out_rate = terms->out_rate,
                                .in_rate = terms->in_rate,
                                .latency_ns = terms->latency_ns,
                                .issue_ns = issue_ns};
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
            w.states[v] = (cebus_walk_state){.place = CEBUS_ANYWHERE, .spot = CEBUS_ANYWHERE};
        walk_all(&w);
    }
    *out_holds = w.streams.requests * terms->issue_ns > out->total_ns;
    cebus_ground_deinit(&w.ground);
    cebus_holes_deinit(&w.holes);
    cebus_pool_free_object(pool, w.stack, n_values * sizeof *w.stack);
    cebus_pool_free_object(pool, w.released, n_values * sizeof *w.released);
    cebus_pool_free_object(pool, w.states, n_values * sizeof *w.states);
    cebus_pool_free_object(pool, w.leaving, n_leaving * sizeof *w.leaving);
    return ok && !w.failed;
}

bool cebus_timeline_run(const cebus_iteration *iteration, const cebus_plan *plan,
                        const cebus_timeline_terms *terms, cebus_pool *pool, cebus_timeline *out)
{
    bool holds;
    return run(iteration, plan, terms, 0, pool, out, &holds) &&
           (!holds || run(iteration, plan, terms, terms->issue_ns, pool, out, &holds));
}
