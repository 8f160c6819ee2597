/**
 * sieve.h: narrows the search for the best clearing and the best vacancy to a few rows of a board,
 * for several limits on prices at once.
 *
 * To slide along a board (clearing.h, vacancy.h) takes a few ns for each row and limit: what a run
 * costs is a sum that rows enter and leave, one after the other. The order of these additions must
 * not change, since rounding decides between runs of the same price. But prefix sums tell about
 * what each run costs, for four limits in one pass, and so which few runs may win. Only the rows
 * from the first of these runs to the last are slid along: what is found there is what would be
 * found in all of the board.
 *
 *     rows       | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 |     W: a wall
 *     about            9   4   W   7   2   8   2   5   6       what the run costs that ends there
 *     reach                        |_______________|           two that may be best
 */
#ifndef CEBUS_EVICT_CHOICE_SIEVE_H
#define CEBUS_EVICT_CHOICE_SIEVE_H

#include "evict/choice/vacancy.h"

/** Limits on prices; and how many of them are looked at in one pass for vacancies. */
#define CEBUS_SIEVE_LIMITS 7
#define CEBUS_SIEVE_LANES 4

typedef struct cebus_sieve {
    const cebus_board *board; /**< its scratch holds what is known of rows */
    const cebus_market *market;
    double limits[CEBUS_SIEVE_LIMITS];   /**< ascending; below 0: nothing goes */
    uint64_t gained[CEBUS_SIEVE_LIMITS]; /**< bytes that rows yield in all */
    uint32_t n_sale;                     /**< rows that yield at one of them */
    double byte_worth;                   /**< cebus_market_byte_worth() */
    double all;                          /**< no run costs more, or is worth more */
} cebus_sieve;

/** Rows from..to (exclusive), among them all runs that may be best. */
typedef struct cebus_reach {
    uint32_t from, to; /**< alike: there is none */
    bool sole;         /**< these are the rows of the one that is best */
    double most;       /**< the best is no worse than this, */
    double moving;     /**< moves for that price at least, */
    uint64_t evicted;  /**< and sets so many bytes free at most */
} cebus_reach;

/** Of a board with its holes listed. O(blocks). */
void cebus_sieve_lay(cebus_sieve *sieve, cebus_board *board, const cebus_market *market,
                     const double limits[CEBUS_SIEVE_LIMITS]);

/** Some rows have opened, and holes are listed anew: what vacancies need is up to date again.
 * O(rows). */
void cebus_sieve_open(cebus_sieve *sieve, const uint32_t *rows, size_t count);

/** Where to look with cebus_clearing_find() at a limit. O(rows that yield). */
void cebus_sieve_clearings(const cebus_sieve *sieve, size_t limit, cebus_reach *out);

/** Where to look with cebus_vacancy_find() at each of up to CEBUS_SIEVE_LANES limits. O(blocks),
 * and for each stretch that may be the best O(blocks in it). */
void cebus_sieve_vacancies(const cebus_sieve *sieve, const size_t *limits, size_t count,
                           cebus_reach *out);

/** Lays shares of the rows within reach, from where sums begin: after what neither yields nor
 * moves, as any of the bits (CEBUS_BOARD_FIXED, ...) has it. */
void cebus_sieve_lay_shares(const cebus_sieve *sieve, cebus_board *board, size_t limit,
                            unsigned bits, const cebus_reach *reach, cebus_shares *out);

#endif
