#include "evict/guide.h"

void cebus_guide_start(cebus_guide *guide, const cebus_plan *plan)
{
    *guide = (cebus_guide){.plan = plan};
}

const cebus_action *cebus_guide_next(cebus_guide *guide, uint32_t calls)
{
    const cebus_plan *plan = guide->plan;
    if (guide->next >= plan->count || plan->actions[guide->next].at > calls)
        return NULL;
    return &plan->actions[guide->next++];
}

const cebus_action *cebus_guide_waiting(cebus_guide *guide, cebus_action_kind kind)
{
    size_t *at = &guide->waiting[kind];
    while (*at < guide->next && guide->plan->actions[*at].kind != kind)
        ++*at;
    return *at < guide->next ? &guide->plan->actions[*at] : NULL;
}

void cebus_guide_done(cebus_guide *guide, cebus_action_kind kind)
{
    guide->waiting[kind]++;
}
