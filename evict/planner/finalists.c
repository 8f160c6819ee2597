#include "evict/planner/finalists.h"

#include <string.h>

/** Plans for which places are asked, and of one origin that may find none: to look for places that
 * are not to be had takes as long as a plan for the activations. */
#define MOST_ASKED 10
#define MOST_FAILED 2

void cebus_finalists_enter(cebus_finalists *finalists, cebus_plan *plan, uint64_t ns,
                           uint32_t origin)
{
    cebus_finalist *items = finalists->items;
    size_t at = 0;
    while (at < finalists->count && items[at].ns < ns)
        at++;
    if (at == CEBUS_FINALISTS || (at < finalists->count && items[at].ns == ns))
        return;
    if (finalists->count == CEBUS_FINALISTS)
        cebus_plan_clear(&items[--finalists->count].plan);
    memmove(&items[at + 1], &items[at], (finalists->count++ - at) * sizeof *items);
    items[at] = (cebus_finalist){*plan, ns, origin};
    cebus_plan_init(plan, plan->pool);
}

/** How many before this one have the same origin and found no places. */
static size_t count_failed(const cebus_finalists *finalists, const bool *failed, size_t i)
{
    size_t count = 0;
    for (size_t j = 0; j < i; j++)
        count += failed[j] && finalists->items[j].origin == finalists->items[i].origin;
    return count;
}

/** Asks for places in turn, until none that is left can be better than one that has some. Whoever
 * finds them may hold those of the plan that was to be handed out before. */
static size_t choose_placed(cebus_finalists *finalists, const cebus_iteration *iteration,
                            const cebus_plan_terms *terms, uint64_t *crowd)
{
    bool failed[CEBUS_FINALISTS] = {false};
    size_t best = 0;
    uint64_t least = UINT64_MAX, moving;
    for (size_t i = 0, asked = 0; i < finalists->count && asked < MOST_ASKED; i++) {
        cebus_finalist *one = &finalists->items[i];
        if (one->ns >= least)
            break;
        if (count_failed(finalists, failed, i) >= MOST_FAILED)
            continue;
        asked++;
        const uint64_t wait = one->plan.wait_ns;
        memset(crowd, 0, iteration->n_calls * sizeof *crowd);
        failed[i] = !terms->place(terms->place_context, &one->plan, crowd, &moving);
        uint64_t ns = failed[i] ? UINT64_MAX - 1 : one->ns + one->plan.wait_ns - wait;
        if (ns >= least)
            continue;
        least = ns;
        best = i;
        if (terms->keep != NULL)
            terms->keep(terms->place_context);
    }
    return best;
}

bool cebus_finalists_choose(cebus_finalists *finalists, const cebus_iteration *iteration,
                            const cebus_plan_terms *terms, cebus_plan *out)
{
    size_t bytes = iteration->n_calls * sizeof(uint64_t), best = 0;
    uint64_t *crowd = terms->place != NULL ? cebus_pool_alloc(out->pool, bytes) : NULL;
    if (terms->place != NULL && crowd == NULL)
        return false;
    if (crowd != NULL)
        best = choose_placed(finalists, iteration, terms, crowd);
    cebus_pool_free_object(out->pool, crowd, bytes);
    cebus_plan_clear(out);
    *out = finalists->items[best].plan;
    cebus_plan_init(&finalists->items[best].plan, out->pool);
    return true;
}

void cebus_finalists_clear(cebus_finalists *finalists)
{
    for (size_t i = 0; i < finalists->count; i++)
        cebus_plan_clear(&finalists->items[i].plan);
    finalists->count = 0;
}
