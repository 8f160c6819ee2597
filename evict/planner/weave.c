#include "evict/planner/weave.h"

#include <string.h>

#define NONE CEBUS_ITERATION_NONE

/** What is due before each run, as lists of presences by index. */
typedef struct schedule {
    const cebus_runs *runs;
    const cebus_presences *presences;
    uint32_t *first_in, *next_in;     /**< of runs, of presences */
    uint32_t *first_copy, *next_copy; /**< those whose copy out starts there; of the end, too */
    uint32_t *first_out, *next_out;   /**< those that are gone then */
} schedule;

static void fill_schedule(schedule *d)
{
    memset(d->first_in, 0xff, (d->runs->count + 1) * sizeof *d->first_in);
    memset(d->first_copy, 0xff, (d->runs->count + 1) * sizeof *d->first_copy);
    memset(d->first_out, 0xff, (d->runs->count + 1) * sizeof *d->first_out);
    for (uint32_t i = (uint32_t)d->presences->count; i-- > 0;) {
        const cebus_presence *p = &d->presences->items[i];
        d->next_in[i] = d->first_in[p->since];
        d->first_in[p->since] = i;
        d->next_out[i] = d->first_out[p->gone];
        d->first_out[p->gone] = i;
        if (p->writes && p->gone != p->done) {
            d->next_copy[i] = d->first_copy[p->done];
            d->first_copy[p->done] = i;
        }
    }
}

static bool add_list(const schedule *d, cebus_action_kind kind, uint32_t i, const uint32_t *next,
                     uint32_t at, cebus_plan *out)
{
    bool ok = true;
    for (; i != NONE && ok; i = next[i])
        ok = cebus_plan_add(out, kind, at, d->presences->items[i].value);
    return ok;
}

/** What goes, then what comes, before a run. */
static bool add_all(const schedule *d, uint32_t r, uint32_t at, cebus_plan *out)
{
    return add_list(d, CEBUS_ACTION_COPY_OUT, d->first_copy[r], d->next_copy, at, out) &&
           add_list(d, CEBUS_ACTION_SWAP_OUT, d->first_out[r], d->next_out, at, out) &&
           add_list(d, CEBUS_ACTION_SWAP_IN, d->first_in[r], d->next_in, at, out);
}

/** Copies actions from *a on up to `until`, or to those due later. */
static bool add_from(const cebus_plan *from, size_t *a, size_t until, uint32_t at, cebus_plan *out)
{
    bool ok = true;
    for (; *a < until && *a < from->count && from->actions[*a].at <= at && ok; ++*a) {
        const cebus_action *action = &from->actions[*a];
        ok = cebus_plan_add(out, (cebus_action_kind)action->kind, action->at, action->value);
    }
    return ok;
}

/** Where everything is when an iteration begins: what crosses is there. */
static bool add_beginning(const cebus_iteration *iteration, const bool *streams,
                          const cebus_presences *presences, cebus_plan *out)
{
    const size_t n = iteration->n_values;
    bool ok = true, *away = cebus_pool_copy(out->pool, streams, n * sizeof *away);
    if (away == NULL)
        return false;
    for (size_t i = 0; i < presences->count; i++) {
        if (cebus_presence_crosses(&presences->items[i]))
            away[presences->items[i].value] = false;
    }
    for (int there = 0; there <= 1; there++) {
        for (uint32_t v = 0; v < n && ok; v++) {
            if (iteration->values[v].persistent && away[v] == (there == 0))
                ok =
                    cebus_plan_add(out, there ? CEBUS_ACTION_SWAP_IN : CEBUS_ACTION_SWAP_OUT, 0, v);
        }
    }
    cebus_pool_free_object(out->pool, away, n * sizeof *away);
    return ok;
}

static bool weave(const schedule *d, const bool *streams, const cebus_plan *others, cebus_plan *out)
{
    const cebus_runs *runs = d->runs;
    size_t a = 0;
    bool ok = add_beginning(runs->iteration, streams, d->presences, out);
    for (uint32_t r = 0; r < runs->count && ok; r++) {
        const cebus_run *run = &runs->items[r];
        size_t until = run->action != NONE ? run->action : others->count;
        ok = add_from(others, &a, until, run->at, out) && add_all(d, r, run->at, out);
    }
    uint32_t end = (uint32_t)runs->iteration->n_calls;
    return ok && add_from(others, &a, others->count, end, out) &&
           add_all(d, (uint32_t)runs->count, end, out);
}

bool cebus_weave(const cebus_runs *runs, const cebus_presences *presences, const bool *streams,
                 const cebus_plan *others, cebus_plan *out)
{
    size_t n_runs = runs->count + 1, n = presences->count;
    size_t bytes = 3 * (n_runs + n) * sizeof(uint32_t);
    uint32_t *lists = cebus_pool_alloc(out->pool, bytes);
    if (lists == NULL)
        return false;
    schedule d = {.runs = runs,
                  .presences = presences,
                  .first_in = lists,
                  .first_copy = lists + n_runs,
                  .first_out = lists + 2 * n_runs,
                  .next_in = lists + 3 * n_runs,
                  .next_copy = lists + 3 * n_runs + n,
                  .next_out = lists + 3 * n_runs + 2 * n};
    fill_schedule(&d);
    bool ok = weave(&d, streams, others, out) && cebus_plan_link(out, runs->iteration);
    cebus_pool_free_object(out->pool, lists, bytes);
    return ok;
}
