#include "eager/swap/away.h"

#include "eager/guidance/guidance.h"
#include "eager/storage.h"
#include "eager/swap/swap.h"
#include "lineage/cost.h"
#include "lineage/version.h"

static cebus_away *list_of(cebus_runtime *rt, const cebus_candidate *candidate)
{
    return &rt->swap.away[candidate->tier == CEBUS_TIER_SPILL][candidate->abandoned];
}

void cebus_away_remove(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_away *list = list_of(rt, candidate);
    bool linked =
        candidate->warmer != NULL || candidate->colder != NULL || list->coldest == candidate;
    if (!linked)
        return;
    *(candidate->colder != NULL ? &candidate->colder->warmer : &list->coldest) = candidate->warmer;
    *(candidate->warmer != NULL ? &candidate->warmer->colder : &list->warmest) = candidate->colder;
    candidate->warmer = candidate->colder = NULL;
    if (candidate->abandoned)
        cebus_swap_spare(rt, candidate, false);
    candidate->abandoned = false;
}

void cebus_away_add(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_away_remove(rt, candidate);
    candidate->abandoned =
        candidate->value.holders == 0 && cebus_value_is_replayable(&candidate->value);
    cebus_away *list = list_of(rt, candidate);
    candidate->colder = list->warmest;
    *(list->warmest != NULL ? &list->warmest->warmer : &list->coldest) = candidate;
    list->warmest = candidate;
    if (candidate->abandoned)
        cebus_swap_spare(rt, candidate, true);
}

void cebus_away_sort(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->value.swapped && candidate->abandoned != (candidate->value.holders == 0))
        cebus_away_add(rt, candidate);
}

cebus_candidate *cebus_away_coldest(const cebus_runtime *rt)
{
    return rt->swap.away[false][false].coldest;
}

/** No running call reads it, and no plan. */
static bool may_go(const cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    return value->swapped && cebus_value_is_replayable(value) && value->pins == 0 &&
           value->plan_uses == 0 && rt->spots == NULL && !cebus_guidance_keeps(rt, candidate);
}

void cebus_away_lose(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_swap_forget(rt, candidate);
    cebus_cost_leave(&rt->lineage, &candidate->value);
    cebus_version_changed(&rt->lineage, &candidate->value);
}

bool cebus_away_give_up(cebus_runtime *rt, bool spill)
{
    cebus_candidate *candidate = rt->swap.away[spill][true].coldest;
    while (candidate != NULL && !may_go(rt, candidate))
        candidate = candidate->warmer;
    if (candidate == NULL)
        return false;
    cebus_away_lose(rt, candidate);
    return true;
}

static bool cut_in(cebus_runtime *rt, bool spill)
{
    bool freed = false;
    cebus_candidate *candidate = rt->swap.away[spill][false].coldest;
    while (candidate != NULL) {
        bool cut = cebus_candidate_cut(rt, candidate);
        freed = freed || cut;
        candidate = cut ? rt->swap.away[spill][false].coldest : candidate->warmer;
    }
    return freed;
}

bool cebus_away_cut(cebus_runtime *rt)
{
    bool freed = cut_in(rt, false);
    freed = cut_in(rt, true) || freed;
    rt->swap.blocked = rt->swap.blocked && !freed;
    return freed;
}
