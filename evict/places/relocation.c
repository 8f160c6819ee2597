#include "evict/places/relocation.h"

#include <string.h>

/** The first action of the run that an action is done by. */
static uint32_t first_of_run(const cebus_iteration *iteration, const cebus_plan *plan,
                             uint32_t action)
{
    const cebus_action *actions = plan->actions;
    uint32_t born = iteration->values[actions[action].value].born;
    while (action > 0 && actions[action - 1].kind == CEBUS_ACTION_REPLAY &&
           iteration->values[actions[action - 1].value].born == born)
        action--;
    return action;
}

cebus_moment *cebus_relocation_moments(const cebus_sojourns *sojourns,
                                       const cebus_iteration *iteration, const cebus_plan *plan)
{
    size_t bytes = ((size_t)sojourns->runs + 2) * sizeof(cebus_moment);
    cebus_moment *moments = cebus_pool_alloc(sojourns->pool, bytes);
    if (moments == NULL)
        return NULL;
    memset(moments, 0xff, bytes);
    for (uint32_t k = 0; k < sojourns->n_calls; k++)
        moments[sojourns->run_of[k]] = (cebus_moment){k, (uint32_t)plan->count};
    for (size_t i = 0; i < sojourns->count; i++) {
        const cebus_sojourn *stay = &sojourns->items[i];
        bool replays = stay->kind == CEBUS_SOJOURN_SCRATCH ||
                       (stay->kind == CEBUS_SOJOURN_ACTION &&
                        plan->actions[stay->index].kind == CEBUS_ACTION_REPLAY);
        if (!replays)
            continue;
        uint32_t first = first_of_run(iteration, plan, stay->index);
        moments[stay->from] = (cebus_moment){plan->actions[first].at, first};
    }
    return moments;
}

/** The version that has the bytes of a stay when a run begins. */
static uint32_t value_of(const cebus_sojourns *sojourns, const cebus_plan *plan, uint32_t stay,
                         uint32_t run)
{
    const cebus_sojourn *s = &sojourns->items[stay];
    uint32_t value = s->kind == CEBUS_SOJOURN_ACTION ? plan->actions[s->index].value : s->index;
    for (size_t i = 0; i < sojourns->n_heirs && sojourns->heirs[i].run < run; i++) {
        if (sojourns->heirs[i].stay == stay)
            value = sojourns->heirs[i].value;
    }
    return value;
}

cebus_relocation *cebus_relocations_of(const cebus_shifts *shifts, const cebus_sojourns *sojourns,
                                       const cebus_plan *plan, const cebus_moment *moments,
                                       uint64_t base)
{
    size_t bytes = shifts->count * sizeof(cebus_relocation);
    cebus_relocation *relocations = cebus_pool_alloc(sojourns->pool, bytes);
    for (size_t i = 0; i < shifts->count && relocations != NULL; i++) {
        const cebus_shift *shift = &shifts->items[i];
        relocations[i] = (cebus_relocation){
            .at = moments[shift->run].at,
            .action = moments[shift->run].action,
            .value = value_of(sojourns, plan, shift->name, shift->run),
            .offset = base + shift->offset,
        };
    }
    return relocations;
}
