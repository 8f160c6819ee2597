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

/**
 * The stretch that is best by price, moving and worth, where what costs more a byte than `dearest`
 * moves. What the board has as free and listed counts as free, whatever its block says. False when
 * there is none. O(blocks), and for each stretch that is better than those before it O(blocks that
 * move in it).
 */
bool cebus_vacancy_find(const cebus_board *board, const cebus_market *market, double dearest,
                        cebus_vacancy *out);

#endif
