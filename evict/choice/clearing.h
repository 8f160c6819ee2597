/**
 * clearing.h: a run of neighbouring blocks that is cleared for one request: cheap values are
 * evicted, dear ones slide aside, holes are used as they are. A window that is evicted whole and
 * blocks that only slide together (layout/gather.h) are its two extremes.
 *
 *     | a 3 | free | B 90 | c 2 |      request: 3 units; each block and the hole have one
 *     | B | .  .  . |                  a and c go, B slides down: 3 + 2 and the price of a copy
 *
 * Bytes freed beyond the request serve the requests that follow, so they earn a credit: the
 * market's price, which is what a byte would cost now if addresses did not matter. The credit is a
 * little below it, since memory may not stay short, and falls the more is freed. Without it small
 * requests would never evict a large value, however cheap by the byte. A replay frees what it takes
 * soon itself, so for it the credit is smaller: else it would evict its own inputs for bytes that
 * nobody needs.
 */
#ifndef CEBUS_EVICT_CHOICE_CLEARING_H
#define CEBUS_EVICT_CHOICE_CLEARING_H

#include "evict/choice/shares.h"

/** From so many blocks on, sweeps for clearings would take longer than they save. */
#define CEBUS_CLEARING_BLOCKS 3000
/** Looking for all ways beside windows is taken for so many ns a block. Where what would go is made
 * again sooner than that, nobody looks. */
#define CEBUS_CLEARING_NS 32

/** One search is credited for sparing at most so many later ones: further ahead is guesswork. */
#define CEBUS_SPARED_MOST 64

/** Prices are in ns to rebuild per ns of age, as scores are. */
typedef struct cebus_market {
    uint64_t now;      /**< the runtime's clock, ns */
    uint64_t bytes;    /**< of the request */
    uint64_t idle;     /**< free now, in pieces that moves can join; 0: none can */
    double ns;         /**< to make again what would go if addresses did not matter */
    double byte_price; /**< the market's price: of the dearest byte of that */
    double move_byte;  /**< price of copying one byte, */
    double move_block; /**< and of each copy besides */
    double search;     /**< price of one more search like this one; 0: too little to count */
    bool moves;        /**< blocks may move at all */
    bool passing;      /**< the request is a replay's: it gives back what it takes */
} cebus_market;

typedef struct cebus_clearing {
    cebus_block *first, *last; /**< inclusive */
    uint64_t evicted_bytes;
    double price;  /**< of what goes */
    double moving; /**< price of what moves */
} cebus_clearing;

/** How many of `bytes` freed count in full, in an arena that may use `limit`. What is beyond the
 * request counts less and less. So does what goes for a request that is much of the memory where
 * nearly enough is free in pieces: if 888 MiB of 1 GiB are free, 136 MiB are wanted, and what goes
 * beyond these lies idle afterwards. */
double cebus_market_useful(const cebus_market *market, uint64_t limit, uint64_t bytes);

/** The credit for freed bytes in an arena that may use `limit`: their price, and that of the
 * searches which later requests of this size are spared. */
double cebus_market_worth(const cebus_market *market, uint64_t limit, uint64_t evicted_bytes);

/** What a byte costs of the `bytes` that are set free for `cost`; free bytes that are used up
 * beside them have the market's price. */
double cebus_market_usable(const cebus_market *market, uint64_t limit, double cost, uint64_t bytes);

/** The most that a freed byte may be worth: it counts in full, and spares its part of a search. So
 * many of it are no less than cebus_market_worth(), and sooner known. */
double cebus_market_byte_worth(const cebus_market *market);

/** Whether an EVICTABLE block goes where bytes cost up to `dearest`; none does below 0. */
bool cebus_market_sells(const cebus_market *market, const cebus_block *block, double dearest);

/**
 * The run with the lowest price + moving - credit, where what has its share of price goes and all
 * else slides. out->first is NULL where there is none. O(blocks).
 */
void cebus_clearing_find(const cebus_board *board, const cebus_market *market,
                         const cebus_shares *shares, cebus_clearing *out);

#endif
