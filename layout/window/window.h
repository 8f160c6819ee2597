/**
 * window.h: the contiguous run of blocks that yields n bytes at the least price, in one sweep
 * (Coop's sliding window, with both defects of the published code mended: windows are trimmed
 * to minimal ones up to the very end of the arena, and prices are integers with a staleness of at
 * least 1, so that nothing is ever infinite or NaN).
 *
 * Price of a block at time `now`: FREE 0; EVICTABLE weight / max(1, now - tick), fixed point with
 * CEBUS_PRICE_SHIFT fraction bits, rounded up, saturating at CEBUS_PRICE_MAX so that sums cannot
 * wrap (not before a window has 2^20 saturated blocks); BARRIER ends the run. Of all minimal runs
 * (no end block could be left out) with at least n bytes the best has the lowest (price, evicted
 * bytes, start offset).
 *
 * Prices are not cached: a block's owner may write its weight and tick at any time.
 */
#ifndef CEBUS_LAYOUT_WINDOW_WINDOW_H
#define CEBUS_LAYOUT_WINDOW_WINDOW_H

#include "layout/arena.h"

#define CEBUS_PRICE_SHIFT 26
#define CEBUS_PRICE_MAX (UINT64_C(1) << 44)

typedef struct cebus_window {
    cebus_block *first, *last; /**< inclusive; NULL when there is no window */
    uint64_t price;            /**< sum of its blocks' prices */
    uint64_t evicted_bytes;    /**< sum of its EVICTABLE blocks' bytes */
    uint64_t evicted_blocks;
} cebus_window;

/** Of a BARRIER too: what it would cost if it were EVICTABLE. */
uint64_t cebus_block_price(const cebus_block *block, uint64_t now);

/** The best window of at least `bytes`; out->first NULL when there is none. O(blocks). */
void cebus_window_find(const cebus_arena *arena, uint64_t bytes, uint64_t now, cebus_window *out);

/**
 * The up to `limit` best windows that share no block with a better one of the list, best first;
 * returns how many. For callers that re-price a few with knowledge layout lacks. O(blocks*limit).
 */
size_t cebus_window_find_best(const cebus_arena *arena, uint64_t bytes, uint64_t now,
                              cebus_window *out, size_t limit);

#endif
