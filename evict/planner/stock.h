/**
 * stock.h: plans for the activations beside parameters that shuttle (shuttle.h), which take most of
 * the time that is planned. Where a long program is planned again for less memory, those that were
 * made for a little more or less do as well: which parts of it are tried matters little.
 */
#ifndef CEBUS_EVICT_PLANNER_STOCK_H
#define CEBUS_EVICT_PLANNER_STOCK_H

#include "evict/plan.h"

/** What such a plan is for. */
typedef struct cebus_stock_kind {
    uint64_t bytes;  /**< for activations */
    uint64_t budget; /**< of the plan it is a part of: nothing else is looked for in the same */
    bool lean;       /**< beside what persists, where a call uses that */
    bool swaps;      /**< not with replays alone */
    bool unhidden;   /**< calls wait for copies */
} cebus_stock_kind;

typedef struct cebus_stock_plan {
    cebus_stock_kind kind;
    cebus_plan plan;
} cebus_stock_plan;

typedef struct cebus_stock {
    cebus_pool *pool; /**< borrowed */
    cebus_stock_plan *items;
    size_t count, capacity;
} cebus_stock;

void cebus_stock_init(cebus_stock *stock, cebus_pool *pool);
void cebus_stock_clear(cebus_stock *stock);

/** One of that kind, but for another budget, and for bytes that differ by `slack` at most; those
 * that are lean for no more bytes than that. NULL: there is none. Good until one is added. */
const cebus_plan *cebus_stock_find(const cebus_stock *stock, const cebus_stock_kind *kind,
                                   uint64_t slack);
/** Keeps a plan, which is empty then. NULL without host memory: it is as it was. */
const cebus_plan *cebus_stock_add(cebus_stock *stock, const cebus_stock_kind *kind,
                                  cebus_plan *plan);

#endif
