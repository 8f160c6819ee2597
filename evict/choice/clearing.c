#include "evict/choice/clearing.h"

#include <math.h>

/** The parts of the market's price that a freed byte is worth: freed for a call of the program, and
 * for a replay. */
#define LASTING 0.9
#define PASSING 0.5
/** The part of the memory limit at which bytes beyond the request are worth half their price. */
#define DEPTH 0.125
/** Of a request of at least that size: where so much is free already, only the rest is wanted. */
#define NEARLY 0.875

static double part_of(const cebus_market *market)
{
    return market->passing ? PASSING : LASTING;
}

double cebus_market_byte_worth(const cebus_market *market)
{
    return part_of(market) * (market->byte_price + market->search / (double)market->bytes);
}

/** Bytes of the request that have to be evicted. Free bytes count against it only if they are
 * nearly all of a large request; those beside a small one serve the requests after it. Where enough
 * is free in all, contest.h weighs moving alone. */
static double wanted(const cebus_market *market, double depth)
{
    double asked = (double)market->bytes, idle = (double)market->idle;
    bool nearly = asked >= depth && idle >= NEARLY * asked && idle < asked;
    return nearly ? asked - idle : asked;
}

double cebus_market_useful(const cebus_market *market, uint64_t limit, uint64_t bytes)
{
    double depth = DEPTH * (double)limit;
    double want = wanted(market, depth), beyond = (double)bytes - want;
    return beyond > 0 ? want + depth * beyond / (depth + beyond) : (double)bytes;
}

double cebus_market_worth(const cebus_market *market, uint64_t limit, uint64_t evicted_bytes)
{
    double useful = cebus_market_useful(market, limit, evicted_bytes);
    double more = fmin(useful / (double)market->bytes, CEBUS_SPARED_MOST) - 1;
    double spared = more > 0 ? more * market->search : 0;
    return part_of(market) * market->byte_price * useful + part_of(market) * spared;
}

double cebus_market_usable(const cebus_market *market, uint64_t limit, double cost, uint64_t bytes)
{
    if (bytes < market->bytes) {
        cost += (double)(market->bytes - bytes) * market->byte_price;
        bytes = market->bytes;
    }
    return cost / cebus_market_useful(market, limit, bytes);
}

bool cebus_market_sells(const cebus_market *market, const cebus_block *block, double dearest)
{
    uint64_t age = market->now > block->tick ? market->now - block->tick : 1;
    return (double)block->weight / (double)age <= dearest * (double)block->bytes;
}

/** Rows first..last and what they cost. */
typedef struct run {
    uint32_t first, last;
    double price, moving;
} run;

/** Enters the run if it is the best so far. */
static void enter(const cebus_board *board, const cebus_market *market, const cebus_shares *shares,
                  run at, double *best, cebus_clearing *out)
{
    uint64_t evicted = shares->evicted[at.last + 1] - shares->evicted[at.first];
    /* A bound first: it spares most rows the divisions of cebus_market_worth. */
    const double most = cebus_market_byte_worth(market) * (double)evicted;
    if (out->first != NULL && at.price + at.moving - most > *best)
        return;
    double net = at.price + at.moving - cebus_market_worth(market, board->limit, evicted);
    if (out->first != NULL && net >= *best)
        return;
    *out = (cebus_clearing){board->blocks[at.first], board->blocks[at.last], evicted, at.price,
                            at.moving};
    *best = net;
}

/** For each row that yields something the shortest run that ends with it: one that ends with what
 * moves is better without. Leading rows that would only move always go: nothing needs them to. */
void cebus_clearing_find(const cebus_board *board, const cebus_market *market,
                         const cebus_shares *shares, cebus_clearing *out)
{
    const cebus_shares by = *shares;
    const uint64_t wanted = market->bytes;
    run at = {.first = by.from, .last = by.from};
    double best = 0;
    *out = (cebus_clearing){0};
    if (!market->moves || by.gained[by.to] < wanted)
        return;
    for (; at.last < by.to; at.last++) {
        if (cebus_shares_wall(board, &by, at.last, CEBUS_BOARD_FIXED)) {
            at = (run){.first = at.last + 1, .last = at.last};
            continue;
        }
        at.price += by.paid[at.last];
        at.moving += by.moved[at.last];
        uint64_t end = by.gained[at.last + 1];
        while (at.first < at.last &&
               (!by.yields[at.first] || end - by.gained[at.first + 1] >= wanted)) {
            at.price -= by.paid[at.first];
            at.moving -= by.moved[at.first++];
        }
        if (by.yields[at.last] && end - by.gained[at.first] >= wanted)
            enter(board, market, shares, at, &best, out);
    }
}
