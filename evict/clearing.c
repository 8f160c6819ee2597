#include "evict/clearing.h"

/** Of the market's price: what bytes are worth that are set free, and those that a replay sets
 * free.
 */
#define LASTING 0.9
#define PASSING 0.5
/** Of the limit: so many bytes that nobody has asked for are worth half their price. */
#define DEPTH 0.125

double cebus_market_worth(const cebus_market *market, uint64_t limit, uint64_t evicted_bytes)
{
    double bytes = (double)evicted_bytes, asked = (double)market->bytes;
    double depth = DEPTH * (double)limit;
    if (bytes > asked)
        bytes = asked + depth * (bytes - asked) / (depth + bytes - asked);
    return (market->passing ? PASSING : LASTING) * market->byte_price * bytes;
}

static double price_of(const cebus_market *market, const cebus_block *block)
{
    uint64_t age = market->now > block->tick ? market->now - block->tick : 1;
    return (double)block->weight / (double)age;
}

bool cebus_market_sells(const cebus_market *market, const cebus_block *block, double dearest)
{
    return price_of(market, block) <= dearest * (double)block->bytes;
}

/** What a block adds to a run. */
typedef struct share {
    double price, moving;
    uint64_t gained, evicted; /**< bytes */
    bool wall;                /**< neither goes nor moves */
} share;

static share share_of(const cebus_market *market, const cebus_block *block, double dearest)
{
    if (block->state == CEBUS_BLOCK_FREE)
        return (share){.gained = block->bytes};
    if (block->state == CEBUS_BLOCK_EVICTABLE && cebus_market_sells(market, block, dearest))
        return (share){
            .price = price_of(market, block), .gained = block->bytes, .evicted = block->bytes};
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

/** Leaves out what the request can do without at the front, which nothing needs to move for. */
static cebus_block *trim(const cebus_market *market, double dearest, cebus_block *first,
                         const cebus_block *last, share *sum)
{
    while (first != last) {
        share one = share_of(market, first, dearest);
        if (sum->gained - one.gained < market->bytes && one.gained > 0)
            break;
        take_away(sum, &one);
        first = first->next;
    }
    return first;
}

bool cebus_clearing_find(const cebus_arena *arena, const cebus_market *market, double dearest,
                         cebus_clearing *out)
{
    cebus_block *first = NULL;
    share sum = {0};
    double best = 0;
    *out = (cebus_clearing){0};
    if (!market->moves)
        return false;
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        share one = share_of(market, block, dearest);
        if (one.wall) {
            first = NULL;
            continue;
        }
        if (first == NULL) {
            first = block;
            sum = (share){0};
        }
        add(&sum, &one);
        first = trim(market, dearest, first, block, &sum);
        double net = sum.price + sum.moving - cebus_market_worth(market, arena->limit, sum.evicted);
        if (sum.gained >= market->bytes && (out->first == NULL || net < best)) {
            *out = (cebus_clearing){first, block, sum.evicted, sum.price, sum.moving};
            best = net;
        }
    }
    return out->first != NULL;
}
