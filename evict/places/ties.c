#include "evict/places/ties.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/** The value whose place an action brings it to; NONE: it does not persist. */
static uint32_t value_of(const cebus_sojourn *stay, const cebus_iteration *iteration,
                         const cebus_plan *plan)
{
    if (stay->kind != CEBUS_SOJOURN_ACTION || plan->first == NULL)
        return NONE;
    const cebus_action *action = &plan->actions[stay->index];
    bool there = plan->first[action->value] == CEBUS_ACTION_SWAP_IN;
    return there && iteration->values[action->value].persistent ? action->value : NONE;
}

static void collect(cebus_ties *ties, const cebus_sojourns *sojourns,
                    const cebus_iteration *iteration, const cebus_plan *plan, uint32_t *first)
{
    const cebus_sojourn *stays = sojourns->items;
    for (uint32_t i = 0; i < sojourns->count; i++) {
        uint32_t value = value_of(&stays[i], iteration, plan);
        if (value == NONE)
            continue;
        if (stays[i].from == 0 && first[value] == NONE)
            first[value] = i;
        if (stays[i].to < sojourns->runs || first[value] == NONE)
            continue;
        ties->items[ties->count++] = (cebus_tie){.first = first[value], .last = i};
    }
}

static bool any_leaves(const cebus_ties *ties)
{
    bool any = false;
    for (size_t i = 0; i < ties->count && !any; i++)
        any = ties->items[i].first != ties->items[i].last;
    return any;
}

bool cebus_ties_init(cebus_ties *ties, const cebus_sojourns *sojourns,
                     const cebus_iteration *iteration, const cebus_plan *plan)
{
    cebus_pool *pool = sojourns->pool;
    size_t n = iteration->n_values;
    *ties = (cebus_ties){.pool = pool, .capacity = n};
    uint32_t *first = cebus_pool_alloc(pool, n * sizeof *first);
    ties->items = cebus_pool_alloc(pool, n * sizeof *ties->items);
    bool ok = n == 0 || (first != NULL && ties->items != NULL);
    if (ok && n > 0) {
        memset(first, 0xff, n * sizeof *first);
        collect(ties, sojourns, iteration, plan, first);
        if (!any_leaves(ties))
            ties->count = 0;
    }
    cebus_pool_free_object(pool, first, n * sizeof *first);
    if (!ok)
        cebus_ties_deinit(ties);
    return ok;
}

bool cebus_ties_find_firm(cebus_ties *ties, const cebus_sojourns *sojourns, const cebus_plan *plan,
                          const cebus_occupancy *occupancy)
{
    const size_t n = plan->n_values;
    bool *goes_on = cebus_pool_alloc(ties->pool, n * sizeof *goes_on);
    if (goes_on == NULL)
        return n == 0;
    memset(goes_on, 0, n * sizeof *goes_on);
    for (size_t a = 0; a < plan->count; a++)
        goes_on[plan->actions[a].value] |= cebus_occupancy_goes_on(occupancy, a);
    for (size_t i = 0; i < ties->count; i++) {
        const cebus_action *action = &plan->actions[sojourns->items[ties->items[i].last].index];
        ties->items[i].bond = goes_on[action->value] ? CEBUS_TIES_OF_FIRM : CEBUS_TIES_OF_ALL;
    }
    cebus_pool_free_object(ties->pool, goes_on, n * sizeof *goes_on);
    return true;
}

bool cebus_ties_add(cebus_ties *ties, uint32_t block, uint32_t stay)
{
    void *items = ties->items;
    if (!cebus_pool_grow(ties->pool, &items, &ties->capacity, ties->count, sizeof *ties->items))
        return false;
    ties->items = items;
    ties->items[ties->count++] =
        (cebus_tie){.first = block, .last = stay, .bond = CEBUS_TIES_OF_COPIES};
    return true;
}

/** Then as they stand: an order that is the same everywhere. */
static int by_first(const cebus_tie *x, const cebus_tie *y)
{
    return (x->first > y->first) - (x->first < y->first);
}

static int by_length(const void *a, const void *b)
{
    const cebus_tie *x = a, *y = b;
    return x->length != y->length ? (x->length > y->length ? -1 : 1) : by_first(x, y);
}

static int by_end(const void *a, const void *b)
{
    const cebus_tie *x = a, *y = b;
    return x->to != y->to ? (x->to > y->to ? -1 : 1) : by_first(x, y);
}

static int by_begin(const void *a, const void *b)
{
    const cebus_tie *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : by_first(x, y);
}

void cebus_ties_sort(cebus_ties *ties, const cebus_pack_block *blocks, cebus_tie_order order)
{
    static int (*const orders[])(const void *, const void *) = {[CEBUS_TIES_BY_LENGTH] = by_length,
                                                                [CEBUS_TIES_BY_END] = by_end,
                                                                [CEBUS_TIES_BY_BEGIN] = by_begin};
    for (size_t i = 0; i < ties->count; i++) {
        cebus_tie *tie = &ties->items[i];
        const cebus_pack_block *first = &blocks[tie->first], *last = &blocks[tie->last];
        tie->from = last->lower;
        tie->to = first->upper;
        tie->length = last->upper - last->lower;
        tie->length += first != last ? first->upper - first->lower : 0;
    }
    if (ties->count > 0)
        qsort(ties->items, ties->count, sizeof *ties->items, orders[order]);
}

void cebus_ties_deinit(cebus_ties *ties)
{
    cebus_pool_free_object(ties->pool, ties->items, ties->capacity * sizeof *ties->items);
    *ties = (cebus_ties){.pool = ties->pool};
}
