/**
 * arena.h: an offset allocator over [0, capacity). Pure integers: it never sees the memory.
 *
 * Best fit by size through bins (bins.h), ties broken toward the zone's own end (zones.h).
 * A released block merges with free neighbours at once. A full arena is a normal answer
 * (cebus_place_result), not an error. Nothing here evicts: it decides and answers, eager acts.
 *
 * Invariants (cebus_arena_check walks them all): blocks tile [0, capacity); no two free
 * neighbours; every free block, and only those, is in the bin of its size; the byte counters
 * match; capacity, offsets and lengths are multiples of the alignment.
 *
 * Thread-safety: none; the runtime's lock.
 */
#ifndef CEBUS_LAYOUT_ARENA_H
#define CEBUS_LAYOUT_ARENA_H

#include "layout/bins.h"
#include "layout/block.h"
#include "layout/pool.h"

typedef enum cebus_place_result {
    CEBUS_PLACED,
    CEBUS_PLACE_FULL,           /**< no hole is large enough: choose victims, or compact */
    CEBUS_PLACE_NO_HOST_MEMORY, /**< the books could not grow; nothing changed */
} cebus_place_result;

typedef struct cebus_arena {
    uint64_t capacity;   /**< addresses are below it */
    uint64_t limit;      /**< used bytes never exceed it: the capacity, unless `commodity` */
    bool commodity;      /**< memory is a number: there are more addresses than bytes */
    uint64_t alignment;  /**< power of two */
    uint64_t used_bytes; /**< sum of used block lengths */
    uint64_t used_blocks;
    uint64_t free_blocks;
    cebus_block *first, *last; /**< lowest and highest block; NULL only when capacity is 0 */
    cebus_bins bins;
    cebus_pool *pool; /**< borrowed: block records */
} cebus_arena;

/**
 * One free block of `capacity` bytes (rounded down to the alignment); none when that is 0.
 * `pool` must outlive it. After NO_HOST_MEMORY the arena is empty and may be resized.
 */
cebus_place_result cebus_arena_init(cebus_arena *arena, uint64_t capacity, uint64_t alignment,
                                    cebus_pool *pool);

/**
 * Memory as a commodity, the way simulators without addresses count it: `limit` bytes may be used,
 * wherever they lie in [0, capacity). With a capacity many times the limit a request fails for want
 * of bytes only, never for want of a hole (Robson, 1971: log2 of the largest request is enough).
 */
cebus_place_result cebus_arena_init_commodity(cebus_arena *arena, uint64_t limit, uint64_t capacity,
                                              uint64_t alignment, cebus_pool *pool);

/** Returns every record to the pool, those of used blocks too. */
void cebus_arena_deinit(cebus_arena *arena);

/**
 * Takes `bytes` (rounded up to the alignment, at least one unit) from the hole that suits `zone`.
 * *out is a BARRIER block with owner NULL, for the caller to dress. O(1), or O(log) of the holes in
 * one bin where a bin holds many.
 */
cebus_place_result cebus_arena_place(cebus_arena *arena, uint64_t bytes, cebus_zone zone,
                                     cebus_block **out);

/** The same within one free block, e.g. the hole an evicted window left. */
cebus_place_result cebus_arena_place_in(cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                                        cebus_zone zone, cebus_block **out);

/** Frees a used block and merges it with free neighbours; returns the merged free block. O(1). */
cebus_block *cebus_arena_release(cebus_arena *arena, cebus_block *block);

/**
 * Grows, or shrinks when everything at and above the new capacity is free (a commodity: when no
 * more is used); else FULL and nothing changed. O(1).
 */
cebus_place_result cebus_arena_resize(cebus_arena *arena, uint64_t capacity);

/** True when `bytes` would be placed without evicting. */
bool cebus_arena_fits(const cebus_arena *arena, uint64_t bytes);

uint64_t cebus_arena_free_bytes(const cebus_arena *arena);
uint64_t cebus_arena_largest_hole(const cebus_arena *arena); /**< O(log) */

/** Free bytes that a request of `bytes` could not use: the holes smaller than it. O(blocks). */
uint64_t cebus_arena_stranded_bytes(const cebus_arena *arena, uint64_t bytes);

/** Bytes of `request` after rounding, or 0 when that overflows. */
uint64_t cebus_arena_rounded(const cebus_arena *arena, uint64_t request);

/**
 * Compaction, one move at a time. cebus_arena_next_move() finds the lowest movable used block at
 * or after `from` (NULL: the start) that has a free block right before it, and says which bytes
 * the caller must copy (ranges may overlap: copy as memmove does); false when nothing is left to
 * move. Once they are copied, cebus_arena_move() slides the block down over the free block: free
 * space bubbles up. A copy that failed leaves the books as they were. Blocks marked immovable
 * stay. O(1) amortized over a pass that hands the last move's block back as `from`.
 */
typedef struct cebus_move {
    cebus_block *block;
    uint64_t from, to; /**< old and new offset */
} cebus_move;
bool cebus_arena_next_move(const cebus_arena *arena, cebus_block *from, cebus_move *out);
void cebus_arena_move(cebus_arena *arena, const cebus_move *move);

/** Verifies every invariant; writes the first violation to `why` (may be NULL). O(blocks). */
bool cebus_arena_check(const cebus_arena *arena, char *why, size_t why_bytes);

/** Text dump: a line a block, then totals. Returns the length it wanted, as snprintf does. */
size_t cebus_arena_dump(const cebus_arena *arena, char *text, size_t text_bytes);

#endif
