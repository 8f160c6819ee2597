#include "evict/timeline/sojourn.h"

#include <string.h>

#define NONE UINT32_MAX

/** One walk over the planned iteration. */
typedef struct walk {
    cebus_sojourns *sojourns;
    const cebus_iteration *iteration;
    const cebus_plan *plan;
    const cebus_outside *outside; /**< may be NULL */
    uint32_t *open;               /**< by ordinal: the stay that goes on; NONE: it is not there */
    uint8_t *coming;              /**< by ordinal: the kind of its next action */
    uint32_t *freed;              /**< ordinals by the time they are let go */
    size_t let_go;                /**< of these: done */
    size_t action;                /**< the next one */
} walk;

static bool begin(walk *w, cebus_sojourn_kind kind, uint32_t index, uint64_t bytes)
{
    cebus_sojourns *s = w->sojourns;
    void *items = s->items;
    if (bytes == 0)
        return true;
    if (!cebus_pool_grow(s->pool, &items, &s->capacity, s->count, sizeof *s->items))
        return false;
    s->items = items;
    s->items[s->count++] = (cebus_sojourn){.bytes = bytes,
                                           .from = s->runs,
                                           .to = s->runs + 1,
                                           .index = index,
                                           .gone_by = NONE,
                                           .kind = (uint8_t)kind};
    return true;
}

static bool arrive(walk *w, cebus_sojourn_kind kind, uint32_t index, uint32_t value)
{
    uint64_t bytes = w->iteration->values[value].bytes;
    if (w->open[value] != NONE || bytes == 0 || (w->outside != NULL && w->outside->has[value]))
        return true;
    const uint32_t stay = (uint32_t)w->sojourns->count;
    if (!begin(w, kind, index, bytes))
        return false;
    w->open[value] = stay;
    return true;
}

/** Bytes that came and go before anything runs have no stay, but must not end before they began. */
static void leave(walk *w, uint32_t value)
{
    cebus_sojourn *stay = w->open[value] != NONE ? &w->sojourns->items[w->open[value]] : NULL;
    w->open[value] = NONE;
    if (stay != NULL && w->sojourns->runs > stay->from)
        stay->to = w->sojourns->runs;
}

/** Values let go after k calls, but for those the plan will drop itself. */
static void let_go(walk *w, uint32_t k)
{
    const cebus_iteration *iteration = w->iteration;
    for (; w->let_go < iteration->n_values; w->let_go++) {
        uint32_t value = w->freed[w->let_go];
        if (iteration->values[value].freed > k)
            return;
        bool taken_over = iteration->values[value].moved == iteration->values[value].freed;
        if (!taken_over && w->coming[value] != CEBUS_ACTION_DROP)
            leave(w, value);
    }
}

static uint64_t workspace_of(const walk *w, uint32_t value)
{
    uint32_t born = w->iteration->values[value].born;
    return born != CEBUS_ITERATION_NONE ? w->iteration->calls[born].workspace : 0;
}

/** The next action replays an output of the same call, too. */
static bool goes_on(const walk *w, uint32_t k, uint32_t value)
{
    const cebus_action *next = &w->plan->actions[w->action];
    return w->action < w->plan->count && next->at <= k && next->kind == CEBUS_ACTION_REPLAY &&
           w->iteration->values[next->value].born == w->iteration->values[value].born;
}

/** A run of a call for the outputs that consecutive actions name. */
static bool replay(walk *w, uint32_t k)
{
    uint32_t first = (uint32_t)w->action;
    uint32_t value = w->plan->actions[first].value;
    bool ok = begin(w, CEBUS_SOJOURN_SCRATCH, first, workspace_of(w, value));
    do {
        const cebus_action *action = &w->plan->actions[w->action];
        w->coming[action->value] = action->then;
        ok = ok && arrive(w, CEBUS_SOJOURN_ACTION, (uint32_t)w->action, action->value);
        w->action++;
    } while (ok && goes_on(w, k, value));
    w->sojourns->runs++;
    return ok;
}

static bool act(walk *w, uint32_t k)
{
    bool ok = true;
    while (ok && w->action < w->plan->count && w->plan->actions[w->action].at <= k) {
        const cebus_action *action = &w->plan->actions[w->action];
        if (action->kind == CEBUS_ACTION_REPLAY) {
            ok = replay(w, k);
            continue;
        }
        w->coming[action->value] = action->then;
        if (action->kind == CEBUS_ACTION_SWAP_OUT && w->open[action->value] != NONE)
            w->sojourns->items[w->open[action->value]].gone_by = (uint32_t)w->action;
        if (action->kind == CEBUS_ACTION_DROP || action->kind == CEBUS_ACTION_SWAP_OUT)
            leave(w, action->value);
        else if (action->kind == CEBUS_ACTION_SWAP_IN)
            ok = arrive(w, CEBUS_SOJOURN_ACTION, (uint32_t)w->action, action->value);
        w->action++;
    }
    return ok;
}

/** The input, from *i on, whose bytes the in-place call k takes over; NONE: there is none. */
static uint32_t next_moved(const walk *w, uint32_t k, uint32_t *i)
{
    const cebus_iteration_call *call = &w->iteration->calls[k];
    const uint32_t *refs = &w->iteration->refs[call->refs];
    for (; *i < call->n_in; ++*i) {
        if (refs[*i] != CEBUS_ITERATION_NONE && w->iteration->values[refs[*i]].moved == k)
            return refs[(*i)++];
    }
    return NONE;
}

/** From now on that version has the bytes of another. */
static bool inherit(walk *w, uint32_t from, uint32_t to)
{
    cebus_sojourns *s = w->sojourns;
    void *heirs = s->heirs;
    w->open[to] = w->open[from];
    w->open[from] = NONE;
    if (w->open[to] == NONE)
        return true;
    if (!cebus_pool_grow(s->pool, &heirs, &s->heirs_capacity, s->n_heirs, sizeof *s->heirs))
        return false;
    s->heirs = heirs;
    s->heirs[s->n_heirs++] = (cebus_heir){.stay = w->open[to], .value = to, .run = s->runs};
    return true;
}

static bool run(walk *w, uint32_t k)
{
    const cebus_iteration_call *call = &w->iteration->calls[k];
    const uint32_t *made = &w->iteration->refs[call->refs + call->n_in];
    uint32_t i = 0;
    bool ok = begin(w, CEBUS_SOJOURN_WORKSPACE, k, call->workspace);
    for (uint32_t j = 0; j < call->n_out && ok; j++) {
        if (w->iteration->values[made[j]].born != k)
            continue; /* a write to a leaf: it stays where it is */
        uint32_t old = next_moved(w, k, &i);
        ok = old == NONE ? arrive(w, CEBUS_SOJOURN_VALUE, made[j], made[j])
                         : inherit(w, old, made[j]);
    }
    w->sojourns->run_of[k] = w->sojourns->runs++;
    return ok;
}

/** Ordinals by `freed`, those that never are last: a counting sort. */
static bool sort_freed(walk *w, cebus_pool *pool)
{
    const cebus_iteration *iteration = w->iteration;
    size_t keys = iteration->n_calls + 2;
    size_t *start = cebus_pool_alloc(pool, (keys + 1) * sizeof *start);
    if (start == NULL)
        return false;
    memset(start, 0, (keys + 1) * sizeof *start);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t v = 0; v < iteration->n_values; v++) {
            size_t key = iteration->values[v].freed;
            key = key < keys - 1 ? key : keys - 1;
            if (pass == 0)
                start[key + 1]++;
            else
                w->freed[start[key]++] = v;
        }
        for (size_t key = 0; key < keys && pass == 0; key++)
            start[key + 1] += start[key];
    }
    cebus_pool_free_object(pool, start, (keys + 1) * sizeof *start);
    return true;
}

static bool walk_all(walk *w)
{
    const cebus_iteration *iteration = w->iteration;
    bool ok = true;
    for (uint32_t k = 0; ok && k <= iteration->n_calls; k++) {
        let_go(w, k);
        ok = act(w, k) && (k == iteration->n_calls || run(w, k));
    }
    for (uint32_t v = 0; v < iteration->n_values; v++)
        leave(w, v);
    return ok;
}

bool cebus_sojourns_init(cebus_sojourns *sojourns, const cebus_iteration *iteration,
                         const cebus_plan *plan, const cebus_outside *outside, cebus_pool *pool)
{
    size_t n = iteration->n_values;
    *sojourns = (cebus_sojourns){.pool = pool, .n_calls = iteration->n_calls};
    sojourns->run_of = cebus_pool_alloc(pool, iteration->n_calls * sizeof *sojourns->run_of);
    walk w = {.sojourns = sojourns, .iteration = iteration, .plan = plan, .outside = outside};
    w.open = cebus_pool_alloc(pool, n * sizeof *w.open);
    w.freed = cebus_pool_alloc(pool, n * sizeof *w.freed);
    w.coming = cebus_pool_alloc(pool, n);
    bool ok = sojourns->run_of != NULL && w.open != NULL && w.freed != NULL && w.coming != NULL &&
              sort_freed(&w, pool);
    if (ok) {
        memset(w.open, 0xff, n * sizeof *w.open);
        if (plan->first != NULL)
            memcpy(w.coming, plan->first, n);
        else
            memset(w.coming, CEBUS_ACTION_KINDS, n);
        ok = walk_all(&w);
    }
    cebus_pool_free_object(pool, w.open, n * sizeof *w.open);
    cebus_pool_free_object(pool, w.freed, n * sizeof *w.freed);
    cebus_pool_free_object(pool, w.coming, n);
    if (!ok)
        cebus_sojourns_deinit(sojourns);
    return ok;
}

void cebus_sojourns_deinit(cebus_sojourns *sojourns)
{
    cebus_pool_free_object(sojourns->pool, sojourns->items,
                           sojourns->capacity * sizeof *sojourns->items);
    cebus_pool_free_object(sojourns->pool, sojourns->heirs,
                           sojourns->heirs_capacity * sizeof *sojourns->heirs);
    cebus_pool_free_object(sojourns->pool, sojourns->run_of,
                           sojourns->n_calls * sizeof *sojourns->run_of);
    *sojourns = (cebus_sojourns){.pool = sojourns->pool};
}
