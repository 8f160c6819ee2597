/**
 * clearing.h: a run of neighbours that is cleared for one request: what is cheap goes, what is dear
 * moves aside, and free bytes are free already. A window of which all goes and the blocks that only
 * move together (layout/gather.h) are the two ends of it.
 *
 *     | a 3 | free | B 90 | c 2 |      request: 3 units, of which each block and the hole have one
 *     | B | .  .  . |                  a and c go, B slides down: 3 + 2 and what a copy costs
 *
 * What a run sets free beyond the request is there for those that follow. It is worth what a byte
 * would cost now if addresses did not matter, the market's price: less a little, since
 * memory may not be short much longer, and ever less the more it is. Without that no large value
 * would ever go for small requests, however cheap it is by the byte. A replay gives back what it
 * takes, so that there are fewer requests to come; at the full price its own inputs would go for
 * what nobody needs.
 */
#ifndef CEBUS_EVICT_CLEARING_H
#define CEBUS_EVICT_CLEARING_H

#include "evict/board.h"

/** From so many blocks on, sweeps for clearings would take longer than they save. */
#define CEBUS_CLEARING_BLOCKS 3000
/** All ways beside windows take so many ns a block to look for; who would save less does not look.
 */
#define CEBUS_CLEARING_NS 32

/** One search is made for so many requests at most: who knows which those after them are. */
#define CEBUS_SPARED_MOST 64

/** Prices are in ns to rebuild per ns of age, as scores are. */
typedef struct cebus_market {
    uint64_t now;      /**< the runtime's clock, ns */
    uint64_t bytes;    /**< of the request */
    uint64_t idle;     /**< free now, in pieces that moves can join; 0: none can */
    double ns;         /**< to make again what single victims would give for it */
    double byte_price; /**< of the last of the bytes that single victims would give for it */
    double move_byte;  /**< of copying one byte; */
    double move_block; /**< of a copy besides */
    double search;     /**< of one more search like this one; 0: next to nothing */
    bool moves;        /**< blocks may move at all */
    bool passing;      /**< the request is a replay's: it gives back what it takes */
} cebus_market;

typedef struct cebus_clearing {
    cebus_block *first, *last; /**< inclusive */
    uint64_t evicted_bytes;
    double price;  /**< of what goes */
    double moving; /**< price of what moves */
} cebus_clearing;

/** Of bytes set free in an arena that may use `limit`: what is beyond the request counts less. So
 * does what goes for a request that is much of the memory while nearly enough is idle, in pieces:
 * of 1 GiB for which 888 MiB are there, 136 MiB are wanted, and all else that goes lies idle. */
double cebus_market_useful(const cebus_market *market, uint64_t limit, uint64_t bytes);

/** What bytes set free are worth in an arena that may use `limit`: their price, and the searches
 * that requests like this one need not make. */
double cebus_market_worth(const cebus_market *market, uint64_t limit, uint64_t evicted_bytes);

/** Whether an EVICTABLE block goes where bytes cost up to `dearest`; none does below 0. */
bool cebus_market_sells(const cebus_market *market, const cebus_block *block, double dearest);

/** The same of a row, which may be in any state. */
static inline bool cebus_market_sells_row(const cebus_board_row *row, double dearest)
{
    return row->state == CEBUS_BLOCK_EVICTABLE && row->rate <= dearest * (double)row->bytes;
}

/** How many limits between cheap (goes) and dear (moves) are tried side by side. */
#define CEBUS_CLEARINGS 6

/**
 * The run that is best by price, moving and worth, where what costs more a byte than `dearest`
 * stays and moves; for each of n (at most CEBUS_CLEARINGS) prices. `first` of it is NULL where
 * there is none. One sweep for all: O(n x blocks).
 */
void cebus_clearing_find(const cebus_board *board, const cebus_market *market,
                         const double *dearest, size_t n, cebus_clearing *out);

#endif
