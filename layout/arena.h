/**
 * arena.h: an offset allocator over [0, capacity). Pure integers: it never sees the memory.
 *
 * Where in it a request goes is up to a layout (layout.h); all find holes by size (bins.h).
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
#include "layout/layout.h"
#include "layout/pool.h"

typedef enum cebus_place_result {
    CEBUS_PLACED,
    CEBUS_PLACE_FULL,           /**< no hole is large enough: choose victims, or compact */
    CEBUS_PLACE_NO_HOST_MEMORY, /**< the books could not grow; nothing changed */
} cebus_place_result;

/** Sizes of a caching allocator (segments.h). */
typedef struct cebus_segment_rules {
    uint64_t unit;       /**< block lengths are multiples of it */
    uint64_t page;       /**< segments are, and small ones are one */
    uint64_t small_most; /**< requests up to it come from the small pool; no rest up to it is split
                            off in the large one */
    uint64_t middle_most, middle_segment; /**< below the first, a segment has the second */
} cebus_segment_rules;

typedef struct cebus_arena {
    const cebus_layout *layout;
    uint64_t capacity;   /**< addresses are below it */
    uint64_t limit;      /**< used bytes never exceed it: the capacity, unless addresses abound */
    bool commodity;      /**< memory is a number: there are more addresses than bytes */
    bool maps;           /**< the layout extends: there are segments, and idle bytes to count */
    uint64_t alignment;  /**< power of two */
    uint64_t used_bytes; /**< sum of used block lengths */
    uint64_t used_blocks;
    uint64_t free_blocks;
    uint64_t blocks;                   /**< in the list: these, and those that are unmapped */
    uint64_t untouched, untouched_end; /**< no block was ever in between; empty where addresses
                                            abound, and may be less than could be said */
    cebus_block *first, *last; /**< lowest and highest block; NULL only when capacity is 0 */
    cebus_bins bins;           /**< holes that start below the border */
    cebus_bins upper;          /**< holes that start at or above it */
    uint64_t border;           /**< of the run, or of the small pool; UINT64_MAX: neither */
    cebus_block *straddler;    /**< the hole that has the border inside, or NULL */
    bool runs;                 /**< the layout's run grows and shrinks with the capacity */
    uint64_t small_most;       /**< blocks up to it go to the run (zones.h); 0: none */
    cebus_pool *pool;          /**< borrowed: block records */

    cebus_segment_rules rules; /**< of layouts with segments; what follows, too */
    uint64_t mapped_bytes;     /**< with bytes behind them; never more than the limit */
    uint64_t idle_bytes;       /**< of these: could be unmapped at once */
    /** Told which addresses lost their bytes, before others get some. NULL: nobody wants to know */
    void (*on_unmap)(void *context, uint64_t offset, uint64_t bytes);
    void *on_unmap_context;

    /** Owned: follows the blocks, answers for windows (window/index.h). NULL: none. */
    struct cebus_window_index *index;
} cebus_arena;

/**
 * One free block of `capacity` bytes (rounded down to the alignment); none when that is 0. Layout
 * zones, without a run. `pool` must outlive it. After NO_HOST_MEMORY the arena is empty and may be
 * resized.
 */
cebus_place_result cebus_arena_init(cebus_arena *arena, uint64_t capacity, uint64_t alignment,
                                    cebus_pool *pool);

/** What an arena is made with. */
typedef struct cebus_arena_setup {
    const cebus_layout *layout; /**< NULL: the default */
    uint64_t limit;             /**< most bytes in use */
    uint64_t most;              /**< the limit will never be raised beyond it; 0: the limit */
    uint64_t alignment;
} cebus_arena_setup;

/** As the layout wants it: addresses, run, segments. */
cebus_place_result cebus_arena_open(cebus_arena *arena, const cebus_arena_setup *setup,
                                    cebus_pool *pool);

/** A run of this many bytes at the top for blocks up to `small_most`; 0: none. A resize of an arena
 * from cebus_arena_open() makes it what suits the capacity: 1/1024 of it, 64 KiB at least (else
 * there is none), 10 MiB at most; for blocks up to 1/32 of that, 10 KiB at most. O(blocks). */
void cebus_arena_set_run(cebus_arena *arena, uint64_t run_bytes, uint64_t small_most);

/** What has no planned place goes at or above `border`, where it fits there: below it others have
 * theirs. 0: nothing is planned, and the arena has what run suits it. O(blocks). */
void cebus_arena_plan_below(cebus_arena *arena, uint64_t border);

/** Addresses that an arena of this setup has: as much must be reserved. */
uint64_t cebus_arena_addresses(const cebus_arena_setup *setup);

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
 * Takes `bytes` (rounded up to the alignment, at least one unit) from the hole that the layout
 * says. *out is a BARRIER block with owner NULL, for the caller to dress. O(1), or O(log) of the
 * holes in one bin where a bin holds many; with segments O(blocks) where one is mapped.
 */
cebus_place_result cebus_arena_place(cebus_arena *arena, uint64_t bytes, cebus_zone zone,
                                     cebus_block **out);

/**
 * The same at `offset`, a multiple of the alignment: FULL when not all bytes there are free, or the
 * arena has no addresses of its own to choose from (segments, memory as a number). O(holes that are
 * as large).
 */
cebus_place_result cebus_arena_place_at(cebus_arena *arena, uint64_t offset, uint64_t bytes,
                                        cebus_zone zone, cebus_block **out);
/** Whether bytes could be placed there. */
bool cebus_arena_fits_at(const cebus_arena *arena, uint64_t offset, uint64_t bytes);
/** The first block, free or used, that reaches beyond `offset`; NULL: none does. O(blocks). */
cebus_block *cebus_arena_block_at(const cebus_arena *arena, uint64_t offset);

/** The same within one free block, e.g. the hole an evicted window left. With segments the hole is
 * only a hint. */
cebus_place_result cebus_arena_place_in(cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                                        cebus_zone zone, cebus_block **out);

/** Frees a used block and merges it with free neighbours; returns the merged free block. O(1). */
cebus_block *cebus_arena_release(cebus_arena *arena, cebus_block *block);

/**
 * Grows, or shrinks when everything at and above the new capacity is free (where addresses abound:
 * when no more is used, or can be unmapped); else FULL and nothing changed but for idle segments.
 * O(1), with a run O(holes), with segments O(blocks).
 */
cebus_place_result cebus_arena_resize(cebus_arena *arena, uint64_t capacity);

/** True when `bytes` would be placed without evicting. */
bool cebus_arena_fits(const cebus_arena *arena, uint64_t bytes);

/** Whether any run of neighbours that is long enough makes a hole for a request: not where memory
 * is a number, nor with pools of segments. */
bool cebus_arena_has_windows(const cebus_arena *arena);

uint64_t cebus_arena_free_bytes(const cebus_arena *arena);
/** The most bytes that could be placed at once. O(log) */
uint64_t cebus_arena_largest_hole(const cebus_arena *arena);

/** The largest hole that a request of `bytes` may use: with segments each pool has its own. */
uint64_t cebus_arena_largest_hole_for(const cebus_arena *arena, uint64_t bytes);

/** Free bytes that a request of `bytes` could not use: the holes smaller than it, or in another
 * pool. O(blocks). */
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

/**
 * Slides a used block along the hole beside it to `offset`; the bytes it leaves are free. False,
 * and nothing has changed: what lies between is not one hole, the block must stay, or host memory
 * is short. The caller copies the bytes once it is true; the block has the fences of all that
 * it met. O(1).
 */
bool cebus_arena_slide(cebus_arena *arena, cebus_block *block, uint64_t offset);

/** Verifies every invariant; writes the first violation to `why` (may be NULL). O(blocks). */
bool cebus_arena_check(const cebus_arena *arena, char *why, size_t why_bytes);

/** Text dump: a line a block, then totals. Returns the length it wanted, as snprintf does. */
size_t cebus_arena_dump(const cebus_arena *arena, char *text, size_t text_bytes);

#endif
