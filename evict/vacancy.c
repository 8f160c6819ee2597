#include "evict/vacancy.h"

/** So many holes are kept in mind for what moves; fewer only mean that less may move. */
#define HOLES 64

/** What a block adds to a stretch. */
typedef struct share {
    double price, moving;
    uint64_t bytes, idle, evicted; /**< idle: free before */
} share;

typedef struct search {
    const cebus_arena *arena;
    const cebus_market *market;
    double dearest;
    uint64_t idle;    /**< free bytes in all */
    uint64_t largest; /**< hole */
} search;

static uint64_t hole_from(const cebus_block *block, const cebus_block **out_end)
{
    uint64_t bytes = 0;
    for (; block != NULL && block->state == CEBUS_BLOCK_FREE; block = block->next)
        bytes += block->bytes;
    *out_end = block;
    return bytes;
}

static void survey(search *s)
{
    for (const cebus_block *block = s->arena->first; block != NULL;) {
        const cebus_block *end = block->next;
        if (block->state == CEBUS_BLOCK_FREE) {
            uint64_t bytes = hole_from(block, &end);
            s->idle += bytes;
            s->largest = bytes > s->largest ? bytes : s->largest;
        }
        block = end;
    }
}

static bool goes(const search *s, const cebus_block *block)
{
    return block->state == CEBUS_BLOCK_EVICTABLE &&
           cebus_market_sells(s->market, block, s->dearest);
}

/** False: neither goes nor moves. */
static bool share_of(const search *s, const cebus_block *block, share *out)
{
    *out = (share){.bytes = block->bytes};
    if (block->state == CEBUS_BLOCK_FREE) {
        out->idle = block->bytes;
    } else if (goes(s, block)) {
        out->price = cebus_market_price(s->market, block);
        out->evicted = block->bytes;
    } else {
        if (block->immovable || block->unmapped || block->owner == NULL ||
            block->zone == CEBUS_ZONE_PERSISTENT || block->bytes > s->largest)
            return false;
        out->moving = s->market->move_byte * (double)block->bytes + s->market->move_block;
    }
    return true;
}

static void add(share *sum, const share *one)
{
    sum->price += one->price;
    sum->moving += one->moving;
    sum->bytes += one->bytes;
    sum->idle += one->idle;
    sum->evicted += one->evicted;
}

static void take_away(share *sum, const share *one)
{
    sum->price -= one->price;
    sum->moving -= one->moving;
    sum->bytes -= one->bytes;
    sum->idle -= one->idle;
    sum->evicted -= one->evicted;
}

static size_t list_holes(const search *s, const cebus_block *first, const cebus_block *last,
                         uint64_t out[HOLES])
{
    size_t count = 0;
    for (const cebus_block *block = s->arena->first; block != NULL && count < HOLES;) {
        const cebus_block *end = block->next;
        if (block == first) {
            end = last->next;
        } else if (block->state == CEBUS_BLOCK_FREE) {
            uint64_t bytes = 0;
            for (end = block; end != NULL && end != first && end->state == CEBUS_BLOCK_FREE;
                 end = end->next)
                bytes += end->bytes;
            out[count++] = bytes;
        }
        block = end;
    }
    return count;
}

/** Whether what moves finds holes outside. */
static bool settles(const search *s, const cebus_block *first, const cebus_block *last)
{
    uint64_t holes[HOLES];
    size_t count = list_holes(s, first, last, holes);
    for (const cebus_block *block = first;; block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE && !goes(s, block)) {
            size_t best = count;
            for (size_t i = 0; i < count; i++) {
                if (holes[i] >= block->bytes && (best == count || holes[i] < holes[best]))
                    best = i;
            }
            if (best == count)
                return false;
            holes[best] -= block->bytes;
        }
        if (block == last)
            return true;
    }
}

bool cebus_vacancy_find(const cebus_arena *arena, const cebus_market *market, double dearest,
                        cebus_vacancy *out)
{
    search s = {.arena = arena, .market = market, .dearest = dearest};
    cebus_block *first = NULL;
    share sum = {0}, one;
    double best = 0;
    *out = (cebus_vacancy){0};
    if (!market->moves)
        return false;
    survey(&s);
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (!share_of(&s, block, &one)) {
            first = NULL;
            continue;
        }
        if (first == NULL) {
            first = block;
            sum = (share){0};
        }
        add(&sum, &one);
        while (share_of(&s, first, &one) && sum.bytes - one.bytes >= market->bytes) {
            take_away(&sum, &one);
            first = first->next;
        }
        double net = sum.price + sum.moving - cebus_market_worth(market, arena->limit, sum.evicted);
        if (sum.bytes < market->bytes || (out->first != NULL && net >= best) ||
            sum.bytes - sum.idle - sum.evicted > s.idle - sum.idle || !settles(&s, first, block))
            continue;
        *out = (cebus_vacancy){first, block, sum.evicted, sum.price, sum.moving};
        best = net;
    }
    return out->first != NULL;
}
