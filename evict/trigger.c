#include "evict/trigger.h"

#define NONE CEBUS_ITERATION_NONE

/** The action that sends the value of action i away, before it; NONE: none does. */
static size_t find_leaving(const cebus_plan *plan, size_t i)
{
    uint32_t value = plan->actions[i].value;
    while (i-- > 0) {
        const cebus_action *action = &plan->actions[i];
        if (action->value == value &&
            (action->kind == CEBUS_ACTION_SWAP_OUT || action->kind == CEBUS_ACTION_COPY_OUT))
            return i;
    }
    return SIZE_MAX;
}

/** Earlier by as many calls as the lead takes; what is left of it stays. */
static bool advance(cebus_plan *plan, const cebus_iteration *iteration, size_t i,
                    cebus_trigger *trigger)
{
    cebus_action *action = &plan->actions[i];
    size_t leaving = find_leaving(plan, i);
    uint32_t at = action->at, least = leaving < i ? plan->actions[leaving].at : at;
    while (at > least && trigger->lead >= iteration->calls[at - 1].cost_ns) {
        at--;
        trigger->lead -= iteration->calls[at].cost_ns;
    }
    bool moved = at < action->at;
    action->at = at;
    return moved;
}

bool cebus_trigger_advance(cebus_plan *plan, const cebus_iteration *iteration,
                           cebus_trigger *triggers, uint32_t *out_moved)
{
    *out_moved = 0;
    for (size_t i = 0; i < plan->count; i++) {
        cebus_trigger *trigger = &triggers[plan->actions[i].value];
        if (plan->actions[i].kind == CEBUS_ACTION_SWAP_IN && trigger->lead > 0)
            *out_moved += advance(plan, iteration, i, trigger);
    }
    return *out_moved == 0 ||
           (cebus_plan_sort(plan, iteration) && cebus_plan_link(plan, iteration));
}
