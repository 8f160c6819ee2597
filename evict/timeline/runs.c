#include "evict/timeline/runs.h"

#include <string.h>

#include "evict/timeline/sojourn.h"

#define NONE CEBUS_ITERATION_NONE

static bool add_run(cebus_runs *runs, cebus_run run)
{
    void *items = runs->items;
    if (!cebus_pool_grow(runs->pool, &items, &runs->capacity, runs->count, sizeof run))
        return false;
    runs->items = items;
    runs->items[runs->count++] = run;
    return true;
}

/** The run that replay action a begins; the action behind it. */
static bool add_replay(cebus_runs *runs, const cebus_plan *plan, size_t *a)
{
    const cebus_action *actions = plan->actions;
    cebus_run run = {.call = runs->iteration->values[actions[*a].value].born,
                     .at = actions[*a].at,
                     .action = (uint32_t)*a};
    while (*a < plan->count && actions[*a].kind == CEBUS_ACTION_REPLAY &&
           actions[*a].at <= run.at && runs->iteration->values[actions[*a].value].born == run.call)
        ++*a;
    return add_run(runs, run);
}

static bool find_runs(cebus_runs *runs, const cebus_plan *plan)
{
    bool ok = true;
    size_t a = 0;
    for (uint32_t k = 0; k <= runs->iteration->n_calls && ok; k++) {
        while (a < plan->count && plan->actions[a].at <= k && ok) {
            if (plan->actions[a].kind == CEBUS_ACTION_REPLAY)
                ok = add_replay(runs, plan, &a);
            else
                a++;
        }
        if (k < runs->iteration->n_calls)
            ok = ok && add_run(runs, (cebus_run){.call = k, .at = k, .action = NONE});
    }
    return ok;
}

/** Steps of the curve, then the curve: what runs make, and what was there before them. */
static bool find_bytes(cebus_runs *runs, const cebus_plan *plan)
{
    const cebus_iteration *iteration = runs->iteration;
    cebus_sojourns sojourns;
    if (!cebus_sojourns_init(&sojourns, iteration, plan, NULL, runs->pool))
        return false;
    memset(runs->bytes, 0, (runs->count + 1) * sizeof *runs->bytes);
    for (size_t i = 0; i < sojourns.count; i++) {
        const cebus_sojourn *stay = &sojourns.items[i];
        runs->bytes[stay->from] += stay->bytes;
        runs->bytes[stay->to < runs->count ? stay->to : runs->count] -= stay->bytes;
    }
    for (size_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->born != NONE || value->persistent)
            continue;
        runs->bytes[0] += value->bytes;
        uint32_t to = value->freed < iteration->n_calls ? sojourns.run_of[value->freed] : NONE;
        runs->bytes[to < runs->count ? to : runs->count] -= value->bytes;
    }
    for (size_t r = 1; r < runs->count; r++)
        runs->bytes[r] += runs->bytes[r - 1];
    cebus_sojourns_deinit(&sojourns);
    return true;
}

static void find_times(cebus_runs *runs)
{
    uint64_t now = 0;
    for (size_t r = 0; r < runs->count; r++) {
        runs->times[r] = now;
        now += runs->iteration->calls[runs->items[r].call].cost_ns;
    }
    runs->times[runs->count] = now;
}

/** Whether a call names the value in one of its refs before the i-th. */
static bool is_named(const uint32_t *refs, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++) {
        if (refs[j] == refs[i])
            return true;
    }
    return false;
}

/** Counts uses behind their value's place, or writes them down. */
static void visit_uses(cebus_runs *runs, bool write)
{
    const cebus_iteration *iteration = runs->iteration;
    for (uint32_t r = 0; r < runs->count; r++) {
        const cebus_iteration_call *call = &iteration->calls[runs->items[r].call];
        const uint32_t *refs = &iteration->refs[call->refs];
        for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
            if (refs[i] == NONE || !iteration->values[refs[i]].persistent || is_named(refs, i))
                continue;
            if (write)
                runs->uses[runs->first_uses[refs[i]]] = r;
            runs->first_uses[refs[i]]++;
        }
    }
}

static bool find_uses(cebus_runs *runs)
{
    size_t n = runs->iteration->n_values;
    uint32_t sum = 0;
    memset(runs->first_uses, 0, (n + 1) * sizeof *runs->first_uses);
    visit_uses(runs, false);
    for (size_t v = 0; v <= n; v++) {
        uint32_t count = runs->first_uses[v];
        runs->first_uses[v] = sum;
        sum += count;
    }
    runs->n_uses = sum;
    runs->uses = cebus_pool_alloc(runs->pool, runs->n_uses * sizeof *runs->uses);
    if (runs->uses == NULL && runs->n_uses > 0)
        return false;
    visit_uses(runs, true);
    for (size_t v = n; v > 0; v--) /* each was moved to where the next one's begin */
        runs->first_uses[v] = runs->first_uses[v - 1];
    runs->first_uses[0] = 0;
    return true;
}

static bool allocate(cebus_runs *runs)
{
    cebus_pool *pool = runs->pool;
    runs->bytes = cebus_pool_alloc(pool, (runs->count + 1) * sizeof *runs->bytes);
    runs->times = cebus_pool_alloc(pool, (runs->count + 1) * sizeof *runs->times);
    runs->first_uses =
        cebus_pool_alloc(pool, (runs->iteration->n_values + 1) * sizeof *runs->first_uses);
    return runs->bytes != NULL && runs->times != NULL && runs->first_uses != NULL;
}

bool cebus_runs_init(cebus_runs *runs, const cebus_iteration *iteration, const cebus_plan *plan,
                     cebus_pool *pool)
{
    *runs = (cebus_runs){.pool = pool, .iteration = iteration};
    bool ok = find_runs(runs, plan);
    if (ok)
        ok = allocate(runs) && find_bytes(runs, plan) && find_uses(runs);
    if (ok)
        find_times(runs);
    else
        cebus_runs_deinit(runs);
    return ok;
}

static void turn_uses(const cebus_runs *runs, uint32_t by, cebus_runs *out)
{
    const uint32_t n = (uint32_t)runs->count;
    memcpy(out->first_uses, runs->first_uses,
           (runs->iteration->n_values + 1) * sizeof *out->first_uses);
    for (size_t v = 0; v < runs->iteration->n_values; v++) {
        uint32_t next = runs->first_uses[v];
        for (int before = 0; before <= 1; before++) {
            for (uint32_t i = runs->first_uses[v]; i < runs->first_uses[v + 1]; i++) {
                uint32_t run = runs->uses[i];
                if ((run < by) == (before == 1))
                    out->uses[next++] = run < by ? run + n - by : run - by;
            }
        }
    }
}

bool cebus_runs_turn(const cebus_runs *runs, uint32_t by, cebus_runs *out)
{
    const size_t n = runs->count;
    *out = (cebus_runs){.pool = runs->pool, .iteration = runs->iteration, .count = n};
    out->capacity = n;
    out->items = cebus_pool_alloc(out->pool, n * sizeof *out->items);
    out->n_uses = runs->n_uses;
    out->uses = cebus_pool_alloc(out->pool, out->n_uses * sizeof *out->uses);
    bool ok = out->items != NULL && (out->uses != NULL || out->n_uses == 0) && allocate(out);
    if (!ok) {
        cebus_runs_deinit(out);
        return false;
    }
    for (size_t r = 0; r < n; r++) {
        size_t from = (r + by) % n;
        out->items[r] = runs->items[from];
        out->bytes[r] = runs->bytes[from];
    }
    out->bytes[n] = out->bytes[0];
    turn_uses(runs, by, out);
    find_times(out);
    return true;
}

void cebus_runs_deinit(cebus_runs *runs)
{
    cebus_pool *pool = runs->pool;
    cebus_pool_free_object(pool, runs->uses, runs->n_uses * sizeof *runs->uses);
    if (runs->iteration != NULL)
        cebus_pool_free_object(pool, runs->first_uses,
                               (runs->iteration->n_values + 1) * sizeof *runs->first_uses);
    cebus_pool_free_object(pool, runs->times, (runs->count + 1) * sizeof *runs->times);
    cebus_pool_free_object(pool, runs->bytes, (runs->count + 1) * sizeof *runs->bytes);
    cebus_pool_free_object(pool, runs->items, runs->capacity * sizeof *runs->items);
    *runs = (cebus_runs){.pool = pool};
}
