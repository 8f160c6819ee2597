#include "evict/places/hours.h"

#include <string.h>

#include "layout/number.h"

#define NONE UINT32_MAX

static bool comes(const cebus_sojourn *stay, const cebus_plan *plan)
{
    return stay->kind == CEBUS_SOJOURN_ACTION &&
           plan->actions[stay->index].kind == CEBUS_ACTION_SWAP_IN;
}

/** When an action's copy begins or ends, not before `least`. */
static uint64_t copy_time(const cebus_occupancy *occupancy, uint32_t action, uint64_t least)
{
    const uint64_t ns = occupancy->copies[action];
    return ns != CEBUS_OCCUPANCY_NEVER ? cebus_max_u64(least, cebus_occupancy_time(occupancy, ns))
                                       : least;
}

static void find(cebus_hours *hours, const cebus_sojourns *sojourns, const cebus_plan *plan,
                 const cebus_occupancy *occupancy, double share)
{
    for (size_t i = 0; i < hours->count; i++) {
        const cebus_sojourn *s = &sojourns->items[i];
        uint64_t from = comes(s, plan) ? copy_time(occupancy, s->index,
                                                   cebus_occupancy_turn(occupancy, s->from))
                                       : cebus_occupancy_start(occupancy, s->from);
        uint64_t to = cebus_occupancy_turn(occupancy, s->to);
        if (s->gone_by != NONE)
            to += (uint64_t)(share * (double)(copy_time(occupancy, s->gone_by, to) - to));
        hours->from[i] = from;
        hours->to[i] = cebus_max_u64(to, from + 1);
    }
}

/** The value whose stay it is; NONE: it is a workspace's. */
static uint32_t value_of(const cebus_sojourn *stay, const cebus_plan *plan)
{
    if (stay->kind == CEBUS_SOJOURN_ACTION)
        return plan->actions[stay->index].value;
    return stay->kind == CEBUS_SOJOURN_VALUE ? stay->index : NONE;
}

/** Stays of what never left become one. `last`: by ordinal, the value's stay so far. */
static void join(cebus_hours *hours, const cebus_sojourns *sojourns, const cebus_plan *plan,
                 const cebus_occupancy *occupancy, uint32_t *last)
{
    size_t heir = 0;
    for (uint32_t i = 0; i < hours->count; i++) {
        const cebus_sojourn *s = &sojourns->items[i];
        const uint32_t v = value_of(s, plan);
        for (; heir < sojourns->n_heirs && sojourns->heirs[heir].run <= s->from; heir++)
            last[sojourns->heirs[heir].value] = sojourns->heirs[heir].stay;
        if (v == NONE)
            continue;
        if (last[v] != NONE && comes(s, plan) && occupancy->stays[s->index]) {
            hours->roots[i] = hours->roots[last[v]];
            hours->to[hours->roots[i]] = hours->to[i];
        }
        last[v] = i;
    }
}

static bool find_times(cebus_hours *hours, const cebus_sojourns *sojourns,
                       const cebus_iteration *iteration, const cebus_plan *plan,
                       const cebus_occupancy *occupancy, double share)
{
    const size_t bytes = iteration->n_values * sizeof(uint32_t);
    uint32_t *last = cebus_pool_alloc(hours->pool, bytes);
    if (last == NULL)
        return false;
    memset(last, 0xff, bytes);
    hours->end = cebus_occupancy_turn(occupancy, sojourns->runs);
    find(hours, sojourns, plan, occupancy, share);
    join(hours, sojourns, plan, occupancy, last);
    cebus_pool_free_object(hours->pool, last, bytes);
    return true;
}

bool cebus_hours_init(cebus_hours *hours, const cebus_sojourns *sojourns,
                      const cebus_iteration *iteration, const cebus_plan *plan,
                      const cebus_occupancy *occupancy, double share)
{
    cebus_pool *pool = sojourns->pool;
    const size_t n = sojourns->count;
    *hours = (cebus_hours){.pool = pool, .count = n, .end = sojourns->runs};
    hours->from = cebus_pool_alloc(pool, n * sizeof *hours->from);
    hours->to = cebus_pool_alloc(pool, n * sizeof *hours->to);
    hours->roots = cebus_pool_alloc(pool, n * sizeof *hours->roots);
    bool ok = n == 0 || (hours->from != NULL && hours->to != NULL && hours->roots != NULL);
    for (uint32_t i = 0; i < n && ok; i++) {
        hours->from[i] = sojourns->items[i].from;
        hours->to[i] = sojourns->items[i].to;
        hours->roots[i] = i;
    }
    if (ok && occupancy != NULL)
        ok = find_times(hours, sojourns, iteration, plan, occupancy, share);
    if (!ok)
        cebus_hours_deinit(hours);
    return ok;
}

void cebus_hours_deinit(cebus_hours *hours)
{
    cebus_pool *pool = hours->pool;
    cebus_pool_free_object(pool, hours->from, hours->count * sizeof *hours->from);
    cebus_pool_free_object(pool, hours->to, hours->count * sizeof *hours->to);
    cebus_pool_free_object(pool, hours->roots, hours->count * sizeof *hours->roots);
    *hours = (cebus_hours){.pool = pool};
}
