/**
 * board.h: what a choice reads of every block, side by side, in address order. Records lie about in
 * memory, and to look for one window, clearing or vacancy after the other among them is to wait for
 * each record again and again: so they are read once, priced once, and all look at the board.
 *
 *     arena   | w | y1 | free | y2 | pinned |       row 0   1   2   3   4
 *     price     #   40    0     15     #            state B   E   F   E   B
 *
 * A board is of one moment. What happens to blocks later it does not know; who wants to know what
 * would be if some had gone sets their states, and has holes listed anew.
 */
#ifndef CEBUS_EVICT_CHOICE_BOARD_H
#define CEBUS_EVICT_CHOICE_BOARD_H

#include "layout/arena.h"
#include "layout/window/window.h"

typedef struct cebus_board_row {
    cebus_block *block;
    uint64_t offset, bytes;
    uint64_t price; /**< as a block of a window; 0: free */
    double rate;    /**< ns to make again per ns of age; 0 where it does not go */
    uint8_t state;  /**< cebus_block_state */
    bool fixed;     /**< must not slide */
    bool settled;   /**< must not go to another hole, either: nobody's, or persistent */
} cebus_board_row;

/** Free bytes side by side: rows from..to. */
typedef struct cebus_board_hole {
    uint64_t bytes;
    uint32_t from, to; /**< inclusive */
} cebus_board_hole;

/** The shortest run of so many bytes that starts at a row. */
typedef struct cebus_board_run {
    uint64_t price; /**< UINT64_MAX: none, or it is taken */
    uint64_t evicted_bytes;
    uint32_t last;
} cebus_board_run;

typedef struct cebus_board {
    cebus_pool *pool; /**< borrowed; NULL: there is no board */
    uint32_t count;
    uint32_t n_holes;
    uint64_t limit;   /**< of the arena */
    uint64_t idle;    /**< free bytes in all */
    uint64_t largest; /**< hole */
    cebus_board_row *rows;
    cebus_board_hole *holes; /**< in address order */
    cebus_board_run *runs;   /**< of the last search */
    uint32_t *best;          /**< of each group of these; UINT32_MAX: none */
} cebus_board;

/** By the states and weights that there are. False without host memory: no board. O(blocks). */
bool cebus_board_make(cebus_board *board, const cebus_arena *arena, uint64_t now);

/** A board that was made, or was not. */
void cebus_board_free(cebus_board *board);

/** The row of a block. O(log). */
cebus_board_row *cebus_board_find(const cebus_board *board, const cebus_block *block);

/** Lists what is free. O(blocks). */
void cebus_board_list_holes(cebus_board *board);

/** What cebus_window_find_best() finds. O(blocks), for each window a part of that. */
size_t cebus_board_find_windows(cebus_board *board, uint64_t bytes, cebus_window *out,
                                size_t limit);

#endif
