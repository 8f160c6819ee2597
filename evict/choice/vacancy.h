/**
 * vacancy.h: a stretch of addresses that is vacated for one request. What is cheap goes, in it or
 * anywhere else; all else in the stretch moves to holes elsewhere, each block to one of its own. A
 * clearing (clearing.h) slides blocks within a run, and moves all that lies between the bytes it
 * joins; a vacancy moves no more than the request's bytes, wherever those set free lie. What
 * persists stays: in a hole among what comes and goes it would be in the way for good, of plans
 * with places above all.
 *
 *     | a 3 | B 90 | C 80 | d 2 |     request: 2 units; each block has one
 *     |  .     .   | C 80 |  B  |     a and d go, B moves to where d was
 *
 * Whether what moves finds holes is dear to know. So that is asked only of stretches that would be
 * the best so far, and of one that would not matter by what it moves alone (cebus_stakes), whatever
 * goes of it costs, only where it may be better than one that would.
 */
#ifndef CEBUS_EVICT_CHOICE_VACANCY_H
#define CEBUS_EVICT_CHOICE_VACANCY_H

#include "evict/choice/clearing.h"

typedef struct cebus_vacancy {
    cebus_block *first, *last; /**< inclusive */
    uint64_t evicted_bytes;    /**< in the stretch */
    double price;              /**< of what goes in the stretch */
    double moving;             /**< price of what moves */
} cebus_vacancy;

/** What a vacancy is to be better than. Prices of what goes may turn out to be less than the board
 * has them, down to nothing; that of what moves is as it is. */
typedef struct cebus_stakes {
    double cost;    /**< is paid beside it, */
    uint64_t bytes; /**< which sets so much free */
    double score;   /**< cost, with moves, less what the bytes are worth: it is to be below this */
    double usable;  /**< or a byte is to cost less (cebus_market_usable()); 0: that is no matter */
} cebus_stakes;

/** All of them matter. */
#define CEBUS_STAKES_NONE ((cebus_stakes){.score = HUGE_VAL})

/** Whether what moves for so much, and sets so many bytes free in an arena that may use `limit`,
 * may be better than that. What goes for nothing is. */
bool cebus_stakes_matter(const cebus_stakes *stakes, const cebus_market *market, uint64_t limit,
                         double moving, uint64_t evicted);

/** Whether what moves of rows first..last finds holes elsewhere. O(rows that move x holes). */
bool cebus_vacancy_settles(const cebus_board *board, double dearest, uint32_t first, uint32_t last);

/**
 * The stretch that is best by price, moving and worth, where what has its share of price goes and
 * all else moves; it is known to be no worse than `most` (sieve.h), HUGE_VAL: nothing is. What the
 * board has as free and listed counts as free, whatever its block says. False when there is none,
 * or when it would not matter. O(rows), and for each stretch that may be the best O(blocks that
 * move in it).
 */
bool cebus_vacancy_find(const cebus_board *board, const cebus_market *market,
                        const cebus_shares *shares, const cebus_stakes *stakes, double most,
                        cebus_vacancy *out);

#endif
