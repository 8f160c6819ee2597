#include "evict/timeline/crossing.h"

#include <string.h>

#define NONE UINT32_MAX

/** One walk over the planned iteration, for its copies out. */
typedef struct walk {
    const cebus_iteration *iteration;
    const cebus_plan *plan;
    const cebus_crossing_link *link;
    uint64_t *times;    /**< of runs */
    uint64_t *done;     /**< by ordinal: when its last copy out is; 0: there is none */
    bool *written;      /**< by ordinal: since then */
    uint64_t now, busy; /**< ns: compute; until when the link is */
    uint32_t run;
} walk;

static void run(walk *w, uint32_t call)
{
    w->times[w->run++] = w->now;
    w->now += w->iteration->calls[call].cost_ns;
}

static void write(walk *w, uint32_t call)
{
    const cebus_iteration_call *c = &w->iteration->calls[call];
    for (uint32_t i = c->n_in; i < (uint32_t)c->n_in + c->n_out; i++) {
        if (w->iteration->refs[c->refs + i] != CEBUS_ITERATION_NONE)
            w->written[w->iteration->refs[c->refs + i]] = true;
    }
}

static void copy_out(walk *w, uint32_t value)
{
    if (!w->written[value])
        return;
    w->busy = (w->busy > w->now ? w->busy : w->now) + w->link->latency_ns +
              cebus_plan_copy_ns(w->iteration->values[value].bytes, w->link->out_rate);
    w->done[value] = w->busy;
    w->written[value] = false;
}

/** Consecutive replays of outputs of one call are one run, as in sojourn.h. */
static size_t act(walk *w, size_t a, uint32_t k)
{
    uint32_t replayed = NONE;
    for (; a < w->plan->count && w->plan->actions[a].at <= k; a++) {
        const cebus_action *action = &w->plan->actions[a];
        bool replays = action->kind == CEBUS_ACTION_REPLAY;
        uint32_t born = replays ? w->iteration->values[action->value].born : NONE;
        if (replays && born != replayed)
            run(w, born);
        replayed = born;
        if (action->kind == CEBUS_ACTION_SWAP_OUT || action->kind == CEBUS_ACTION_COPY_OUT)
            copy_out(w, action->value);
    }
    return a;
}

static void walk_all(walk *w)
{
    size_t a = 0;
    for (uint32_t k = 0; k < w->iteration->n_calls; k++) {
        a = act(w, a, k);
        run(w, k);
        write(w, k);
    }
    (void)act(w, a, (uint32_t)w->iteration->n_calls);
}

/** The last stays of what is over late. */
static void collect(cebus_crossings *crossings, const walk *w, uint32_t *at)
{
    const cebus_sojourns *sojourns = crossings->sojourns;
    for (uint32_t i = 0; i < sojourns->count; i++) {
        const cebus_sojourn *stay = &sojourns->items[i];
        if (stay->kind != CEBUS_SOJOURN_ACTION)
            continue;
        uint32_t v = w->plan->actions[stay->index].value;
        if (w->done[v] <= w->now || !cebus_plan_begins_away(w->plan, w->iteration, v))
            continue;
        if (at[v] == NONE) {
            at[v] = (uint32_t)crossings->count;
            crossings->items[crossings->count++].over_ns = w->done[v] - w->now;
        }
        crossings->items[at[v]].stay = i;
        if (crossings->over_ns < w->done[v] - w->now)
            crossings->over_ns = w->done[v] - w->now;
    }
}

bool cebus_crossings_init(cebus_crossings *crossings, const cebus_sojourns *sojourns,
                          const cebus_iteration *iteration, const cebus_plan *plan,
                          const cebus_crossing_link *link)
{
    cebus_pool *pool = sojourns->pool;
    size_t n = iteration->n_values;
    *crossings = (cebus_crossings){.sojourns = sojourns};
    if (link->out_rate == 0 || !cebus_plan_shuttles(plan, iteration))
        return true;
    walk w = {.iteration = iteration, .plan = plan, .link = link};
    uint32_t *at = cebus_pool_alloc(pool, n * sizeof *at);
    w.done = cebus_pool_alloc(pool, n * sizeof *w.done);
    w.written = cebus_pool_alloc(pool, n * sizeof *w.written);
    crossings->capacity = n;
    crossings->items = cebus_pool_alloc(pool, n * sizeof *crossings->items);
    crossings->times = cebus_pool_alloc(pool, sojourns->runs * sizeof *crossings->times);
    w.times = crossings->times;
    bool ok = at != NULL && w.done != NULL && w.written != NULL && crossings->items != NULL &&
              crossings->times != NULL;
    if (ok) {
        memset(at, 0xff, n * sizeof *at);
        memset(w.done, 0, n * sizeof *w.done);
        memset(w.written, 0, n * sizeof *w.written);
        walk_all(&w);
        collect(crossings, &w, at);
    }
    cebus_pool_free_object(pool, w.written, n * sizeof *w.written);
    cebus_pool_free_object(pool, w.done, n * sizeof *w.done);
    cebus_pool_free_object(pool, at, n * sizeof *at);
    if (!ok)
        cebus_crossings_deinit(crossings);
    return ok;
}

void cebus_crossings_deinit(cebus_crossings *crossings)
{
    const cebus_sojourns *sojourns = crossings->sojourns;
    cebus_pool_free_object(sojourns->pool, crossings->times,
                           sojourns->runs * sizeof *crossings->times);
    cebus_pool_free_object(sojourns->pool, crossings->items,
                           crossings->capacity * sizeof *crossings->items);
    *crossings = (cebus_crossings){.sojourns = sojourns};
}

static bool overlap(const cebus_sojourns *sojourns, const uint64_t *offsets, uint32_t a, uint32_t b)
{
    return offsets[a] < offsets[b] + sojourns->items[b].bytes &&
           offsets[b] < offsets[a] + sojourns->items[a].bytes;
}

uint64_t cebus_crossings_wait_ns(const cebus_crossings *crossings, const uint64_t *offsets)
{
    const cebus_sojourns *sojourns = crossings->sojourns;
    uint64_t longest = 0;
    for (size_t i = 0; i < crossings->count; i++) {
        const cebus_crossing *crossing = &crossings->items[i];
        for (uint32_t j = 0; j < sojourns->count; j++) {
            uint64_t since = crossings->times[sojourns->items[j].from];
            if (j != crossing->stay && since + longest < crossing->over_ns &&
                overlap(sojourns, offsets, crossing->stay, j))
                longest = crossing->over_ns - since;
        }
    }
    return longest;
}
