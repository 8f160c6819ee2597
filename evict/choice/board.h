/**
 * board.h: what a choice reads of every block, copied into arrays in address order. Records lie
 * scattered in memory, and each search for a window, clearing or vacancy among them would wait for
 * every record again. So they are read and priced once, and all searches read the board.
 *
 *     arena   | w | y1 | free | y2 | pinned |       row 0   1   2   3   4
 *     rate      inf 40  -inf    15   inf          state B   E   F   E   B
 *
 * What is summed over runs of rows (bytes, prices of windows) is kept as sums from the first row
 * on.
 *
 * A board is a snapshot: it does not follow what happens to blocks later. To see what would be if
 * some had gone, free their rows and have holes listed anew.
 */
#ifndef CEBUS_EVICT_CHOICE_BOARD_H
#define CEBUS_EVICT_CHOICE_BOARD_H

#include <math.h>

#include "layout/arena.h"
#include "layout/window/window.h"

/** No row. */
#define CEBUS_BOARD_NONE UINT32_MAX

/** What becomes of a row that does not go; combined with |. */
enum {
    CEBUS_BOARD_FIXED = 1 << 0,   /**< must not slide */
    CEBUS_BOARD_SETTLED = 1 << 1, /**< nor go to another hole: nobody's, or persistent */
    CEBUS_BOARD_LARGE = 1 << 2    /**< larger than all holes */
};

/** Free bytes side by side: rows from..to. */
typedef struct cebus_board_hole {
    uint64_t bytes;
    uint32_t from, to; /**< inclusive */
} cebus_board_hole;

/** A run of rows that has so many bytes, without any row at its ends that it could do without. */
typedef struct cebus_board_run {
    uint64_t price; /**< UINT64_MAX: it is taken */
    uint32_t first, last;
} cebus_board_run;

/** A row that yields at one of the limits of a sieve. */
typedef struct cebus_board_sale {
    uint32_t row;
    uint32_t wall; /**< the row after the last before it that never yields and must not slide; 0:
                        there is none */
} cebus_board_sale;

/** Room for what is worked out of rows (shares.h, sieve.h). */
typedef struct cebus_board_scratch {
    double *paid, *moved;
    double *sums;   /**< four for each row, and four more */
    double *bounds; /**< and for each group of eight */
    uint64_t *gained, *evicted;
    cebus_board_sale *sale, *left;
    uint32_t *firsts;
    uint8_t *yields;
    uint8_t *marks;
} cebus_board_scratch;

typedef struct cebus_board {
    cebus_pool *pool; /**< borrowed; NULL: there is no board */
    uint32_t count;
    uint32_t n_holes;
    uint64_t limit;   /**< of the arena */
    uint64_t idle;    /**< free bytes in all */
    uint64_t largest; /**< hole */
    cebus_block **blocks;
    double *rates;  /**< ns to make again per ns of age; HUGE_VAL: does not go, -HUGE_VAL: free */
    double *widths; /**< bytes */
    uint64_t *offsets;       /**< and one more, where the last row ends */
    uint64_t *prices;        /**< of windows, of all rows before; one more */
    uint64_t *evicted;       /**< bytes that may go, of all rows before; one more */
    uint8_t *states;         /**< cebus_block_state */
    uint8_t *stays;          /**< CEBUS_BOARD_FIXED, _SETTLED, _LARGE */
    cebus_board_hole *holes; /**< in address order */
    cebus_board_run *runs;   /**< of the last search, in address order */
    uint32_t *best;          /**< of each group of these */
    uint32_t n_runs;
    uint32_t *starts; /**< of cebus_board_find_starts(); 0 where rows up to this one have fewer */
    uint64_t started; /**< bytes asked for there; 0: nobody asked */
    cebus_board_scratch scratch;
} cebus_board;

/** By the states and weights that there are. False without host memory: no board. O(blocks). */
bool cebus_board_make(cebus_board *board, const cebus_arena *arena, uint64_t now);

/** The same in steps, for who reads blocks anyway: first with no row read, */
bool cebus_board_create(cebus_board *board, const cebus_arena *arena);
/** then each row, in any order, by its state and weight as they are now, */
void cebus_board_read(cebus_board *board, uint32_t row, cebus_block *block, uint64_t now);
/** and then what follows from that. O(blocks). */
void cebus_board_complete(cebus_board *board, uint64_t now);

/** A board that was made, or was not. */
void cebus_board_free(cebus_board *board);

/** The row of a block. O(log). */
uint32_t cebus_board_find(const cebus_board *board, const cebus_block *block);

static inline uint64_t cebus_board_bytes(const cebus_board *board, uint32_t row)
{
    return board->offsets[row + 1] - board->offsets[row];
}

/** Whether a row yields its bytes where a byte costs up to `dearest`: it is free, or goes. */
static inline bool cebus_board_yields(const cebus_board *board, uint32_t row, double dearest)
{
    return board->rates[row] <= dearest * board->widths[row];
}

/** A row that may go is as if it had. Windows and holes do not know yet. */
void cebus_board_open(cebus_board *board, uint32_t row);

/** Lists what is free, and what fits none of that. O(blocks). */
void cebus_board_list_holes(cebus_board *board);

/** Rows that may go, among them all that are of the `limit` which cost least by the byte, but for
 * rounding, and few others; in the board's memory, until something else is asked of it. O(blocks).
 */
uint32_t cebus_board_list_cheap(cebus_board *board, uint32_t limit, const uint32_t **out);

/** Where runs start that have so many bytes, the shortest for each row that they end with.
 * O(blocks), once for each size in turn. */
void cebus_board_find_starts(cebus_board *board, uint64_t bytes);

/** What cebus_window_find_best() finds. O(blocks), for each window a part of that. */
size_t cebus_board_find_windows(cebus_board *board, uint64_t bytes, cebus_window *out,
                                size_t limit);

#endif
