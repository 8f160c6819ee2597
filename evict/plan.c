#include "evict/plan.h"

#include <string.h>

#include "evict/cuts.h"

#define NONE CEBUS_ITERATION_NONE

void cebus_plan_init(cebus_plan *plan, cebus_pool *pool)
{
    *plan = (cebus_plan){.pool = pool};
}

void cebus_plan_clear(cebus_plan *plan)
{
    cebus_pool_free_object(plan->pool, plan->actions, plan->capacity * sizeof *plan->actions);
    cebus_pool_free_object(plan->pool, plan->first, plan->n_values);
    cebus_plan_init(plan, plan->pool);
}

bool cebus_plan_copy(const cebus_plan *from, cebus_plan *to)
{
    cebus_pool *pool = to->pool;
    const bool linked = from->first != NULL;
    *to = *from;
    to->pool = pool;
    to->capacity = from->count;
    to->actions = cebus_pool_copy(pool, from->actions, from->count * sizeof *from->actions);
    to->first = linked ? cebus_pool_copy(pool, from->first, from->n_values) : NULL;
    const bool ok = to->actions != NULL && (to->first != NULL || !linked);
    if (!ok)
        cebus_plan_clear(to);
    return ok;
}

bool cebus_plan_add(cebus_plan *plan, cebus_action_kind kind, uint32_t at, uint32_t value)
{
    void *actions = plan->actions;
    if (!cebus_pool_grow(plan->pool, &actions, &plan->capacity, plan->count, sizeof(cebus_action)))
        return false;
    plan->actions = actions;
    plan->actions[plan->count++] = (cebus_action){.at = at, .value = value, .kind = (uint8_t)kind};
    return true;
}

/** Counting sort: the key is small, and what is equal must keep its order. */
bool cebus_plan_sort(cebus_plan *plan, const cebus_iteration *iteration)
{
    size_t keys = (iteration->n_calls + 1) * CEBUS_ACTION_KINDS;
    if (plan->count == 0)
        return true;
    size_t *start = cebus_pool_alloc(plan->pool, (keys + 1) * sizeof *start);
    cebus_action *sorted = cebus_pool_alloc(plan->pool, plan->capacity * sizeof *sorted);
    bool ok = start != NULL && sorted != NULL;
    if (ok) {
        memset(start, 0, (keys + 1) * sizeof *start);
        for (size_t i = 0; i < plan->count; i++)
            start[plan->actions[i].at * CEBUS_ACTION_KINDS + plan->actions[i].kind + 1]++;
        for (size_t k = 0; k < keys; k++)
            start[k + 1] += start[k];
        for (size_t i = 0; i < plan->count; i++) {
            const cebus_action *action = &plan->actions[i];
            sorted[start[action->at * CEBUS_ACTION_KINDS + action->kind]++] = *action;
        }
        memcpy(plan->actions, sorted, plan->count * sizeof *sorted);
    }
    cebus_pool_free_object(plan->pool, sorted, plan->capacity * sizeof *sorted);
    cebus_pool_free_object(plan->pool, start, (keys + 1) * sizeof *start);
    return ok;
}

bool cebus_plan_link(cebus_plan *plan, const cebus_iteration *iteration)
{
    cebus_pool_free_object(plan->pool, plan->first, plan->n_values);
    plan->n_values = iteration->n_values;
    plan->first = cebus_pool_alloc(plan->pool, plan->n_values);
    if (plan->first == NULL)
        return false;
    memset(plan->first, CEBUS_ACTION_KINDS, plan->n_values);
    for (size_t i = plan->count; i-- > 0;) {
        cebus_action *action = &plan->actions[i];
        action->then = plan->first[action->value];
        plan->first[action->value] = action->kind;
    }
    return true;
}

/** Whether the action gives up for good what is held while a parameter is written. */
static bool drops_held(const cebus_iteration *iteration, const cebus_cuts *cuts,
                       const cebus_action *action)
{
    return action->kind == CEBUS_ACTION_DROP && action->then == CEBUS_ACTION_KINDS &&
           cebus_cuts_find(cuts, iteration, action->value, action->at) != NONE;
}

bool cebus_plan_spare_held(cebus_plan *plan, const cebus_iteration *iteration)
{
    cebus_cuts cuts;
    size_t kept = 0;
    if (plan->count == 0)
        return true;
    if (!cebus_cuts_init(&cuts, iteration, plan->pool))
        return false;
    for (size_t i = 0; i < plan->count; i++) {
        if (!drops_held(iteration, &cuts, &plan->actions[i]))
            plan->actions[kept++] = plan->actions[i];
    }
    cebus_cuts_deinit(&cuts);
    if (kept == plan->count)
        return true;
    plan->count = kept;
    return cebus_plan_link(plan, iteration);
}

bool cebus_plan_make_ready(cebus_plan *plan, const cebus_iteration *iteration)
{
    return cebus_plan_link(plan, iteration) && cebus_plan_spare_held(plan, iteration);
}

bool cebus_plan_shuttles(const cebus_plan *plan, const cebus_iteration *iteration)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (iteration->values[plan->actions[i].value].persistent)
            return true;
    }
    return false;
}

const char *cebus_plan_wrong(const cebus_plan *plan, const cebus_iteration *iteration)
{
    for (size_t i = 0; i < plan->count; i++) {
        const cebus_action *action = &plan->actions[i];
        if (action->kind >= CEBUS_ACTION_KINDS || action->value >= iteration->n_values)
            return "it names a value that the iteration does not have";
        const cebus_iteration_value *value = &iteration->values[action->value];
        if (action->at > iteration->n_calls || (i > 0 && action->at < action[-1].at))
            return "its actions are out of order, or past the iteration's end";
        if (value->born != CEBUS_ITERATION_NONE && value->born >= action->at)
            return "it names a value before that is made";
        if (value->persistent &&
            (action->kind == CEBUS_ACTION_DROP || action->kind == CEBUS_ACTION_REPLAY))
            return "it drops a persistent value";
    }
    return NULL;
}

uint64_t cebus_plan_copy_ns(uint64_t bytes, uint64_t rate)
{
    return (uint64_t)((double)bytes * 1e9 / (double)rate) + 1;
}

uint64_t cebus_plan_out_ns(const cebus_plan_terms *terms, uint64_t bytes)
{
    return terms->latency_ns + cebus_plan_copy_ns(bytes, terms->out_rate);
}

uint64_t cebus_plan_in_ns(const cebus_plan_terms *terms, uint64_t bytes)
{
    return terms->latency_ns + cebus_plan_copy_ns(bytes, terms->in_rate);
}
