/**
 * gather.h: the cheapest place to make one hole of several: the run of blocks whose free bytes
 * are enough for a request and whose used blocks are the least to move.
 *
 * Free bytes that lie apart are of no use to a large request. Giving up what lies between them
 * costs a recomputation, moving it a copy. Blocks marked immovable end a run.
 */
#ifndef CEBUS_LAYOUT_GATHER_H
#define CEBUS_LAYOUT_GATHER_H

#include "layout/arena.h"

typedef struct cebus_gather {
    cebus_block *first;    /**< free: the blocks above it slide down over it; NULL: no such run */
    cebus_block *last;     /**< free, above the blocks that move */
    uint64_t moved_bytes;  /**< of the used blocks between */
    uint64_t moved_blocks; /**< how many they are */
} cebus_gather;

/** The run with the least to move that ends in a hole of `bytes`; among equals the lowest. False
 * when there is none. One sweep: O(blocks); O(holes log holes + blocks in the run) where holes are
 * few. */
bool cebus_gather_find(const cebus_arena *arena, uint64_t bytes, cebus_gather *out);

/** What else ends a run: blocks not to be moved now, and holes not to be moved to. */
typedef struct cebus_gather_bar {
    bool (*bars)(void *context, const cebus_block *block);
    void *context;
} cebus_gather_bar;

/** The same between such blocks. One sweep: O(blocks). */
bool cebus_gather_find_between(const cebus_arena *arena, uint64_t bytes,
                               const cebus_gather_bar *bar, cebus_gather *out);

#endif
