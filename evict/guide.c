#include "evict/guide.h"

#include <string.h>

void cebus_guide_init(cebus_guide *guide, cebus_pool *pool)
{
    *guide = (cebus_guide){.pool = pool};
}

void cebus_guide_deinit(cebus_guide *guide)
{
    cebus_pool_free_object(guide->pool, guide->coming, guide->n_values);
    cebus_guide_init(guide, guide->pool);
}

/** What comes next is the plan's first action on each value. */
static void expect(cebus_guide *guide)
{
    const cebus_plan *plan = guide->plan;
    size_t n_values = plan->first != NULL ? plan->n_values : 0;
    if (guide->n_values != n_values) {
        cebus_pool_free_object(guide->pool, guide->coming, guide->n_values);
        guide->coming = n_values > 0 ? cebus_pool_alloc(guide->pool, n_values) : NULL;
        guide->n_values = guide->coming != NULL ? n_values : 0;
    }
    if (guide->n_values > 0)
        memcpy(guide->coming, plan->first, guide->n_values);
}

void cebus_guide_start(cebus_guide *guide, const cebus_plan *plan)
{
    guide->plan = plan;
    guide->next = 0;
    memset(guide->waiting, 0, sizeof guide->waiting);
    expect(guide);
}

const cebus_action *cebus_guide_peek(const cebus_guide *guide, uint32_t calls)
{
    const cebus_plan *plan = guide->plan;
    if (guide->next >= plan->count || plan->actions[guide->next].at > calls)
        return NULL;
    return &plan->actions[guide->next];
}

const cebus_action *cebus_guide_next(cebus_guide *guide, uint32_t calls)
{
    const cebus_action *action = cebus_guide_peek(guide, calls);
    if (action == NULL)
        return NULL;
    if (action->value < guide->n_values)
        guide->coming[action->value] = action->then;
    guide->next++;
    return action;
}

void cebus_guide_join(cebus_guide *guide, const cebus_plan *plan, uint32_t calls)
{
    cebus_guide_start(guide, plan);
    while (calls > 0 && cebus_guide_next(guide, calls - 1) != NULL)
        continue;
}

const cebus_action *cebus_guide_waiting(cebus_guide *guide, cebus_action_kind kind)
{
    size_t *at = &guide->waiting[kind];
    while (*at < guide->next && guide->plan->actions[*at].kind != kind)
        ++*at;
    return *at < guide->next ? &guide->plan->actions[*at] : NULL;
}

const cebus_action *cebus_guide_waiting_behind(const cebus_guide *guide, cebus_action_kind kind,
                                               const cebus_action *action)
{
    size_t at = (size_t)(action - guide->plan->actions) + 1;
    while (at < guide->next && guide->plan->actions[at].kind != kind)
        at++;
    return at < guide->next ? &guide->plan->actions[at] : NULL;
}

void cebus_guide_done(cebus_guide *guide, cebus_action_kind kind)
{
    guide->waiting[kind]++;
}
