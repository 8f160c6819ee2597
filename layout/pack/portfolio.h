/**
 * portfolio.h: both heuristics under several orders, the best packing kept. No order wins
 * everywhere; on most programs one of them reaches the load, where the portfolio ends.
 */
#ifndef CEBUS_LAYOUT_PACK_PORTFOLIO_H
#define CEBUS_LAYOUT_PACK_PORTFOLIO_H

#include "layout/pack/list.h"
#include "layout/pack/order.h"
#include "layout/pack/skyline.h"
#include "layout/pack/stop.h"

typedef struct cebus_pack_portfolio {
    const cebus_pack_problem *problem;
    cebus_pack_order order;
    cebus_pack_skyline *skyline;
    cebus_pack_list *list;
    uint32_t *rank;
    uint64_t *trial;
    bool at_least_one; /**< the first order is never stopped */
} cebus_pack_portfolio;

/** False without host memory. What is not memory is the caller's to set. */
bool cebus_pack_portfolio_init(cebus_pack_portfolio *portfolio, const cebus_pack_problem *problem,
                               cebus_pack_memory *memory);

/**
 * Packs a part into out_offset, units, the first of them the part's first block's, until it ends at
 * `target` bytes or the orders do; returns the bytes where it ends. When none ends below `limit`
 * units, or it is stopped before the first order has ended: UINT64_MAX.
 */
uint64_t cebus_pack_portfolio_run(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                                  uint64_t target, uint64_t limit, cebus_pack_stop *stop,
                                  uint64_t *out_offset);

/** Packs a part into `trial` in the order that was sorted last, by best fit or on a skyline;
 * answers the bytes where it ends, UINT64_MAX if at `limit` units or above, or stopped. */
uint64_t cebus_pack_portfolio_try(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                                  bool best_fit, uint64_t limit, cebus_pack_stop *stop);

#endif
