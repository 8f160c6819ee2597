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

/** The most a freed byte can be worth: it counts in full, and spares its part of a search. */
static double byte_worth(const cebus_market *market)
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

bool cebus_market_sells(const cebus_market *market, const cebus_block *block, double dearest)
{
    uint64_t age = market->now > block->tick ? market->now - block->tick : 1;
    return (double)block->weight / (double)age <= dearest * (double)block->bytes;
}

/** What a block adds to the sums of a run. */
typedef struct share {
    double price, moving;
    uint64_t gained, evicted; /**< bytes */
    bool wall;                /**< can neither be evicted nor moved: no run crosses it */
} share;

static share share_of(const cebus_market *market, const cebus_board_row *row, double dearest)
{
    if (row->state == CEBUS_BLOCK_FREE)
        return (share){.gained = row->bytes};
    if (cebus_market_sells_row(row, dearest))
        return (share){.price = row->rate, .gained = row->bytes, .evicted = row->bytes};
    if (row->fixed)
        return (share){.wall = true};
    return (share){.moving = market->move_byte * (double)row->bytes + market->move_block};
}

static void add(share *sum, const share *one)
{
    sum->price += one->price;
    sum->moving += one->moving;
    sum->gained += one->gained;
    sum->evicted += one->evicted;
}

static void take_away(share *sum, const share *one)
{
    sum->price -= one->price;
    sum->moving -= one->moving;
    sum->gained -= one->gained;
    sum->evicted -= one->evicted;
}

/** The shortest run that ends with the current row, and the score of the best run so far. */
typedef struct runner {
    double dearest, best;
    const cebus_board_row *first; /**< NULL: the run has none yet */
    share sum;
} runner;

/** Drops leading rows while the rest still has the request's bytes. Leading blocks that would only
 * move always go: nothing needs them to. */
static void trim(const cebus_market *market, runner *run, const cebus_board_row *last)
{
    while (run->first != last) {
        share one = share_of(market, run->first, run->dearest);
        if (run->sum.gained - one.gained < market->bytes && one.gained > 0)
            break;
        take_away(&run->sum, &one);
        run->first++;
    }
}

static void extend(const cebus_market *market, uint64_t limit, runner *run,
                   const cebus_board_row *row, cebus_clearing *out)
{
    share one = share_of(market, row, run->dearest);
    if (one.wall) {
        run->first = NULL;
        return;
    }
    if (run->first == NULL) {
        run->first = row;
        run->sum = (share){0};
    }
    add(&run->sum, &one);
    trim(market, run, row);
    const share *sum = &run->sum;
    if (sum->gained < market->bytes)
        return;
    /* A bound first: it spares most rows the divisions of cebus_market_worth. */
    const double most = byte_worth(market) * (double)sum->evicted;
    if (out->first != NULL && sum->price + sum->moving - most > run->best)
        return;
    double net = sum->price + sum->moving - cebus_market_worth(market, limit, sum->evicted);
    if (out->first == NULL || net < run->best) {
        *out =
            (cebus_clearing){run->first->block, row->block, sum->evicted, sum->price, sum->moving};
        run->best = net;
    }
}

void cebus_clearing_find(const cebus_board *board, const cebus_market *market,
                         const double *dearest, size_t n, cebus_clearing *out)
{
    runner runs[CEBUS_CLEARINGS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        runs[i].dearest = dearest[i];
        out[i] = (cebus_clearing){0};
    }
    for (uint32_t k = 0; k < board->count && market->moves; k++) {
        for (size_t i = 0; i < n; i++)
            extend(market, board->limit, &runs[i], &board->rows[k], &out[i]);
    }
}
