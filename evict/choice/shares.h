/**
 * shares.h: for one limit on the price of a byte, what each row of a board adds to the sums over a
 * run of rows: values that cost no more than the limit are evicted, all others move. Clearings and
 * vacancies slide over these columns, over all of the board or where a sieve has them look
 * (sieve.h).
 *
 *     rows      free   dear   cheap   dear
 *     yields    yes    no     yes     no
 *     paid      0      0      15      0
 *     moved     0      2      0       3
 */
#ifndef CEBUS_EVICT_CHOICE_SHARES_H
#define CEBUS_EVICT_CHOICE_SHARES_H

#include "evict/choice/board.h"

typedef struct cebus_shares {
    double dearest;    /**< the limit; below 0: nothing goes */
    uint32_t from, to; /**< of rows from (inclusive) to (exclusive) alone */
    /* Of the board's memory, until the next are laid. */
    const uint8_t *yields;   /**< whether the row is free, or goes */
    const double *paid;      /**< for what goes */
    const double *moved;     /**< price of moving what does not */
    const uint64_t *gained;  /**< bytes that rows before this one yield; one more */
    const uint64_t *evicted; /**< and those that go; one more */
} cebus_shares;

/** Moving costs so much a byte, and for each row besides. O(rows). */
void cebus_shares_lay(cebus_board *board, double dearest, double move_byte, double move_row,
                      cebus_shares *out);
/** The same of rows from..to (exclusive) alone. */
void cebus_shares_lay_part(cebus_board *board, double dearest, double move_byte, double move_row,
                           uint32_t from, uint32_t to, cebus_shares *out);

/** Whether a row of the board is in the way, since it neither goes nor moves: it has one of these
 * bits (CEBUS_BOARD_FIXED, ...). */
static inline bool cebus_shares_wall(const cebus_board *board, const cebus_shares *shares,
                                     uint32_t row, unsigned bits)
{
    return !shares->yields[row] && (board->stays[row] & bits) != 0;
}

#endif
