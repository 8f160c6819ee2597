#include "evict/clearing.h"

/** Of the market's price: what bytes are worth that are set free, and those that a replay sets
 * free.
 */
#define LASTING 0.9
#define PASSING 0.5
/** Of the limit: so many bytes that nobody has asked for are worth half their price. */
#define DEPTH 0.125

static double byte_worth(const cebus_market *market)
{
    return (market->passing ? PASSING : LASTING) * market->byte_price;
}

double cebus_market_useful(const cebus_market *market, uint64_t limit, uint64_t bytes)
{
    double asked = (double)market->bytes, beyond = (double)bytes - asked;
    double depth = DEPTH * (double)limit;
    return beyond > 0 ? asked + depth * beyond / (depth + beyond) : (double)bytes;
}

double cebus_market_worth(const cebus_market *market, uint64_t limit, uint64_t evicted_bytes)
{
    return byte_worth(market) * cebus_market_useful(market, limit, evicted_bytes);
}

double cebus_market_price(const cebus_market *market, const cebus_block *block)
{
    if (block->state != CEBUS_BLOCK_EVICTABLE)
        return 0;
    uint64_t age = market->now > block->tick ? market->now - block->tick : 1;
    return (double)block->weight / (double)age;
}

bool cebus_market_sells(const cebus_market *market, const cebus_block *block, double dearest)
{
    return cebus_market_price(market, block) <= dearest * (double)block->bytes;
}

/** What a block adds to a run. */
typedef struct share {
    double price, moving;
    uint64_t gained, evicted; /**< bytes */
    bool wall;                /**< neither goes nor moves */
} share;

/** `price`: of the block. */
static share share_of(const cebus_market *market, const cebus_block *block, double price,
                      double dearest)
{
    if (block->state == CEBUS_BLOCK_FREE)
        return (share){.gained = block->bytes};
    if (block->state == CEBUS_BLOCK_EVICTABLE && price <= dearest * (double)block->bytes)
        return (share){.price = price, .gained = block->bytes, .evicted = block->bytes};
    if (block->immovable || block->unmapped)
        return (share){.wall = true};
    return (share){.moving = market->move_byte * (double)block->bytes + market->move_block};
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

/** A run that ends with the block at hand, and the best so far. */
typedef struct runner {
    double dearest, best;
    cebus_block *first; /**< NULL: the run has none yet */
    share sum;
} runner;

/** Leaves out what the request can do without at the front, which nothing needs to move for. */
static void trim(const cebus_market *market, runner *run, const cebus_block *last)
{
    while (run->first != last) {
        share one =
            share_of(market, run->first, cebus_market_price(market, run->first), run->dearest);
        if (run->sum.gained - one.gained < market->bytes && one.gained > 0)
            break;
        take_away(&run->sum, &one);
        run->first = run->first->next;
    }
}

static void extend(const cebus_market *market, uint64_t limit, runner *run, cebus_block *block,
                   double price, cebus_clearing *out)
{
    share one = share_of(market, block, price, run->dearest);
    if (one.wall) {
        run->first = NULL;
        return;
    }
    if (run->first == NULL) {
        run->first = block;
        run->sum = (share){0};
    }
    add(&run->sum, &one);
    trim(market, run, block);
    const share *sum = &run->sum;
    if (sum->gained < market->bytes)
        return;
    const double most = byte_worth(market) * (double)sum->evicted; /* no division */
    if (out->first != NULL && sum->price + sum->moving - most > run->best)
        return;
    double net = sum->price + sum->moving - cebus_market_worth(market, limit, sum->evicted);
    if (out->first == NULL || net < run->best) {
        *out = (cebus_clearing){run->first, block, sum->evicted, sum->price, sum->moving};
        run->best = net;
    }
}

void cebus_clearing_find(const cebus_arena *arena, const cebus_market *market,
                         const double *dearest, size_t n, cebus_clearing *out)
{
    runner runs[CEBUS_CLEARINGS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        runs[i].dearest = dearest[i];
        out[i] = (cebus_clearing){0};
    }
    for (cebus_block *block = arena->first; block != NULL && market->moves; block = block->next) {
        const double price = cebus_market_price(market, block);
        for (size_t i = 0; i < n; i++)
            extend(market, arena->limit, &runs[i], block, price, &out[i]);
    }
}
