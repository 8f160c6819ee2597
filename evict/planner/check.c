#include "evict/planner/check.h"

#include <string.h>

#define NONE CEBUS_ITERATION_NONE

/** What is known of a value while the iteration runs. */
typedef struct state {
    uint32_t writes; /**< calls that wrote it so far */
    bool resident;
    bool on_host;
    bool stays;   /**< past its release, until a DROP */
    bool away;    /**< persistent, and not there as the iteration begins */
    bool counted; /**< among what lies on the host */
} state;

typedef struct walk {
    const cebus_iteration *iteration;
    const cebus_plan *plan;
    cebus_check *out;
    state *states;
    uint32_t *seen;            /**< of refs: writes of an input when its call ran first */
    uint32_t *released;        /**< values by when they are released */
    uint32_t *read;            /**< values by when the host reads them last */
    size_t n_released, n_read; /**< so far */
    uint64_t level;
    uint32_t at;
} walk;

static void complain(walk *w, const char *wrong, uint32_t value)
{
    if (w->out->wrong != NULL)
        return;
    w->out->wrong = wrong;
    w->out->at = w->at;
    w->out->value = value;
}

static void reach(walk *w, uint64_t workspace)
{
    if (w->level + workspace <= w->out->peak)
        return;
    w->out->peak = w->level + workspace;
    w->out->peak_at = w->at;
}

static void come(walk *w, uint32_t v)
{
    w->states[v].resident = true;
    w->level += w->iteration->values[v].bytes;
}

static void go(walk *w, uint32_t v)
{
    w->states[v].resident = false;
    w->level -= w->iteration->values[v].bytes;
}

/** The copy on the host is of what was before. */
static void write(walk *w, uint32_t v)
{
    w->states[v].writes++;
    w->states[v].on_host &= !w->iteration->values[v].persistent;
}

static void run_call(walk *w, uint32_t k)
{
    const cebus_iteration *iteration = w->iteration;
    const cebus_iteration_call *call = &iteration->calls[k];
    const uint32_t *refs = &iteration->refs[call->refs];
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (refs[i] == NONE)
            continue;
        if (!w->states[refs[i]].resident)
            complain(w, "a call reads what is not there", refs[i]);
        w->seen[call->refs + i] = w->states[refs[i]].writes;
    }
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (refs[i] != NONE && w->states[refs[i]].resident &&
            cebus_iteration_takes_over(iteration, k, refs[i]))
            go(w, refs[i]);
    }
    for (uint32_t i = call->n_in; i < (uint32_t)call->n_in + call->n_out; i++) {
        if (refs[i] == NONE)
            continue;
        if (iteration->values[refs[i]].born != k)
            write(w, refs[i]);
        else if (!w->states[refs[i]].resident)
            come(w, refs[i]);
    }
    reach(w, call->workspace);
}

/** The host reads what it reads last now. */
static void read_back(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    for (; w->n_read < iteration->n_values; w->n_read++) {
        uint32_t v = w->read[w->n_read];
        if (iteration->values[v].read > w->at)
            break;
        if (iteration->values[v].read > 0 && !w->states[v].resident)
            complain(w, "the host reads what is not there", v);
    }
}

static void check_inputs(walk *w, const cebus_iteration_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t v = w->iteration->refs[call->refs + i];
        if (v == NONE)
            continue;
        if (!w->states[v].resident)
            complain(w, "a replay reads what is not there", v);
        if (w->seen[call->refs + i] != w->states[v].writes)
            complain(w, "a replay reads what was written since", v);
    }
}

/** The replay that action a begins; the action behind it. */
static size_t replay(walk *w, size_t a)
{
    const cebus_action *actions = w->plan->actions;
    uint32_t k = w->iteration->values[actions[a].value].born;
    if (k == NONE || k >= w->at) {
        complain(w, "a replay of what no call has made", actions[a].value);
        return a + 1;
    }
    const cebus_iteration_call *call = &w->iteration->calls[k];
    check_inputs(w, call);
    for (; a < w->plan->count; a++) {
        uint32_t v = actions[a].value;
        if (actions[a].kind != CEBUS_ACTION_REPLAY || actions[a].at != w->at ||
            w->iteration->values[v].born != k)
            break;
        if (!w->iteration->values[v].replayable || w->iteration->values[v].persistent)
            complain(w, "a replay of what cannot be made again", v);
        else if (w->states[v].resident)
            complain(w, "a replay of what is there", v);
        else
            come(w, v);
    }
    reach(w, call->workspace);
    w->out->replay_ns += call->cost_ns;
    w->out->replays++;
    return a;
}

static void drop(walk *w, uint32_t v)
{
    const cebus_iteration_value *value = &w->iteration->values[v];
    bool is_released = value->freed != NONE && value->freed <= w->at;
    if (!w->states[v].resident)
        complain(w, "a drop of what is not there", v);
    else if (value->persistent || (!value->replayable && !is_released))
        complain(w, "a drop of what is held and cannot be made again", v);
    else
        go(w, v);
}

static void swap(walk *w, const cebus_action *action)
{
    uint32_t v = action->value;
    state *s = &w->states[v];
    bool persistent = w->iteration->values[v].persistent;
    if (s->resident == (action->kind == CEBUS_ACTION_SWAP_IN) && persistent && w->at == 0)
        return; /* it is where it is to be as an iteration begins */
    if (s->resident != (action->kind != CEBUS_ACTION_SWAP_IN))
        complain(w, "a swap out of what is not there, or in of what is", v);
    else if (action->kind == CEBUS_ACTION_SWAP_IN && !s->on_host)
        complain(w, "a swap in of what is not on the host", v);
    else if (action->kind == CEBUS_ACTION_SWAP_IN)
        come(w, v);
    else if (action->kind == CEBUS_ACTION_SWAP_OUT)
        go(w, v);
    s->away |= persistent && w->at == 0 && action->kind == CEBUS_ACTION_SWAP_OUT;
    if (!s->counted)
        w->out->host += w->iteration->values[v].bytes;
    s->on_host = s->counted = true;
}

/** Actions due now; the first that is not. */
static size_t act(walk *w, size_t a)
{
    while (a < w->plan->count && w->plan->actions[a].at <= w->at) {
        const cebus_action *action = &w->plan->actions[a];
        if (action->value >= w->iteration->n_values || action->at < w->at) {
            complain(w, "an action out of order, or of no value", action->value);
            a++;
        } else if (action->kind == CEBUS_ACTION_REPLAY) {
            a = replay(w, a);
        } else {
            if (action->kind == CEBUS_ACTION_DROP)
                drop(w, action->value);
            else
                swap(w, action);
            a++;
        }
    }
    return a;
}

static void release(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    for (; w->n_released < iteration->n_values; w->n_released++) {
        uint32_t v = w->released[w->n_released];
        if (iteration->values[v].freed > w->at)
            break;
        /* What a call takes over is released when that starts, and goes as it runs. */
        const cebus_iteration_value *value = &iteration->values[v];
        if (w->states[v].resident && !w->states[v].stays && !value->persistent &&
            value->freed != value->moved)
            go(w, v);
    }
}

/** Values whose first action after their release is a DROP stay until that. */
static void find_stays(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    for (size_t a = w->plan->count; a-- > 0;) {
        const cebus_action *action = &w->plan->actions[a];
        if (action->value < iteration->n_values &&
            action->at >= iteration->values[action->value].freed)
            w->states[action->value].stays = action->kind == CEBUS_ACTION_DROP;
    }
}

static uint32_t when(const cebus_iteration *iteration, uint32_t v, bool read)
{
    uint32_t at = read ? iteration->values[v].read : iteration->values[v].freed;
    return at <= iteration->n_calls ? at : (uint32_t)iteration->n_calls + 1;
}

/** Values by release, or by the host's last look. starts: a count for each time, and one. */
static void sort_values(const cebus_iteration *iteration, bool read, uint32_t *starts,
                        uint32_t *out_values)
{
    size_t n = iteration->n_calls + 2;
    memset(starts, 0, n * sizeof *starts);
    for (uint32_t v = 0; v < iteration->n_values; v++)
        starts[when(iteration, v, read)]++;
    uint32_t sum = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t count = starts[k];
        starts[k] = sum;
        sum += count;
    }
    for (uint32_t v = 0; v < iteration->n_values; v++)
        out_values[starts[when(iteration, v, read)]++] = v;
}

static void walk_all(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    size_t a = 0;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        if (iteration->values[v].born == NONE || iteration->values[v].persistent)
            come(w, v);
    }
    for (w->at = 0; w->at <= iteration->n_calls; w->at++) {
        read_back(w);
        release(w);
        a = act(w, a);
        if (w->at < iteration->n_calls)
            run_call(w, w->at);
    }
    w->at = (uint32_t)iteration->n_calls;
    reach(w, 0);
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        if (iteration->values[v].freed == NONE && !w->states[v].resident && !w->states[v].away)
            complain(w, "what outlives the iteration is not there at its end", v);
    }
    if (a < w->plan->count)
        complain(w, "an action behind the end", w->plan->actions[a].value);
}

static void *zeroed(cebus_pool *pool, size_t count, size_t bytes)
{
    void *items = cebus_pool_alloc(pool, count * bytes);
    if (items != NULL)
        memset(items, 0, count * bytes);
    return items;
}

bool cebus_check_run(const cebus_iteration *iteration, const cebus_plan *plan, cebus_pool *pool,
                     cebus_check *out)
{
    *out = (cebus_check){.value = NONE};
    walk w = {.iteration = iteration, .plan = plan, .out = out};
    size_t n_values = iteration->n_values, n_starts = iteration->n_calls + 2;
    uint32_t *starts = zeroed(pool, n_starts, sizeof *starts);
    w.states = zeroed(pool, n_values, sizeof *w.states);
    w.seen = zeroed(pool, iteration->n_refs, sizeof *w.seen);
    w.released = zeroed(pool, n_values, sizeof *w.released);
    w.read = zeroed(pool, n_values, sizeof *w.read);
    bool ok = starts != NULL && w.states != NULL && w.seen != NULL && w.released != NULL &&
              w.read != NULL;
    if (ok) {
        sort_values(iteration, false, starts, w.released);
        sort_values(iteration, true, starts, w.read);
        find_stays(&w);
        walk_all(&w);
    }
    cebus_pool_free_object(pool, w.read, n_values * sizeof *w.read);
    cebus_pool_free_object(pool, w.released, n_values * sizeof *w.released);
    cebus_pool_free_object(pool, w.seen, iteration->n_refs * sizeof *w.seen);
    cebus_pool_free_object(pool, w.states, n_values * sizeof *w.states);
    cebus_pool_free_object(pool, starts, n_starts * sizeof *starts);
    return ok;
}
