#include "evict/planner/stock.h"

void cebus_stock_init(cebus_stock *stock, cebus_pool *pool)
{
    *stock = (cebus_stock){.pool = pool};
}

void cebus_stock_clear(cebus_stock *stock)
{
    for (size_t i = 0; i < stock->count; i++)
        cebus_plan_clear(&stock->items[i].plan);
    cebus_pool_free_object(stock->pool, stock->items, stock->capacity * sizeof *stock->items);
    cebus_stock_init(stock, stock->pool);
}

const cebus_plan *cebus_stock_find(const cebus_stock *stock, const cebus_stock_kind *kind,
                                   uint64_t slack)
{
    const cebus_stock_plan *best = NULL;
    for (size_t i = 0; i < stock->count; i++) {
        const cebus_stock_plan *one = &stock->items[i];
        const uint64_t bytes = one->kind.bytes;
        const uint64_t off = bytes > kind->bytes ? bytes - kind->bytes : kind->bytes - bytes;
        if (one->kind.lean != kind->lean || one->kind.swaps != kind->swaps ||
            one->kind.unhidden != kind->unhidden || one->kind.budget == kind->budget ||
            off > slack || (kind->lean && bytes > kind->bytes))
            continue;
        slack = off;
        best = one;
    }
    return best != NULL ? &best->plan : NULL;
}

const cebus_plan *cebus_stock_add(cebus_stock *stock, const cebus_stock_kind *kind,
                                  cebus_plan *plan)
{
    void *items = stock->items;
    if (!cebus_pool_grow(stock->pool, &items, &stock->capacity, stock->count, sizeof *stock->items))
        return NULL;
    stock->items = items;
    stock->items[stock->count] = (cebus_stock_plan){*kind, *plan};
    cebus_plan_init(plan, plan->pool);
    return &stock->items[stock->count++].plan;
}
