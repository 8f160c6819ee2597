/**
 * segments.h: a caching allocator within an arena, by the rules that PyTorch documents for its own
 * (notes on CUDA memory management; its memory snapshots show the rest): a baseline to measure
 * others against, not a design of ours.
 *
 * There are many times more addresses than bytes, and most of them are unmapped: no bytes lie
 * behind them. Mapped bytes never exceed the limit. Requests are rounded to 512 bytes. Those up to
 * 1 MiB come from a small pool (above the arena's border), the others from a large one (below it);
 * the best fit of the pool's free blocks is split where the rest is worth keeping.
 *
 *   segments   mapped at once: 2 MiB for the small pool, 20 MiB below 10 MiB, else as much as asked
 *              for in multiples of 2 MiB. The large pool splits for rests above 1 MiB only. Wholly
 *              free segments are kept, and all unmapped when mapping another would go beyond the
 *              limit. Addresses between segments keep them apart.
 *   expandable one segment a pool that grows by pages of 2 MiB: the lowest stretch of free and
 *              unmapped addresses that is long enough is mapped. Splits for any rest. When memory
 *              is short every wholly free page is unmapped.
 *
 * Blocks never move. A request that fails may have changed what is mapped, never what is used.
 * Below a limit of 256 MiB all sizes are halved until 2 MiB has become at most 1/128 of it, so that
 * small programs can be measured as well.
 */
#ifndef CEBUS_LAYOUT_SEGMENTS_H
#define CEBUS_LAYOUT_SEGMENTS_H

#include "layout/arena.h"

/** Addresses for a limit that may rise to `most`; half of them are each pool's. */
uint64_t cebus_segments_addresses(uint64_t most, uint64_t alignment);

/** Everything unmapped. The arena is bare but for layout, alignment and pool, and is so again after
 * a failure. */
cebus_place_result cebus_segments_begin(cebus_arena *arena, uint64_t limit, uint64_t addresses);

/** The limit changed: pages become smaller for a lower one; larger ones while none is mapped. */
void cebus_segments_suit(cebus_arena *arena, uint64_t limit);

/** The highest limit that the addresses are enough for. */
uint64_t cebus_segments_most(const cebus_arena *arena);

/** Unmaps what is idle. PLACED, or NO_HOST_MEMORY when some of it is still mapped. O(blocks). */
cebus_place_result cebus_segments_trim(cebus_arena *arena);

/** Bytes that could be mapped now, or after a trim. */
uint64_t cebus_segments_mappable(const cebus_arena *arena);

/** See cebus_arena_largest_hole_for() and cebus_arena_stranded_bytes(). */
uint64_t cebus_segments_largest_hole(const cebus_arena *arena, uint64_t bytes);
uint64_t cebus_segments_stranded(const cebus_arena *arena, uint64_t bytes);

/* The functions of the two layouts (layout.h). */

void cebus_segments_find(const cebus_arena *arena, uint64_t bytes, cebus_zone zone,
                         cebus_spot *out);

bool cebus_segments_extend(cebus_arena *arena, uint64_t bytes, bool *out_no_memory);
bool cebus_segments_can_extend(const cebus_arena *arena, uint64_t bytes);
uint64_t cebus_segments_idle_whole(const cebus_arena *arena, const cebus_block *hole);

bool cebus_segments_grow(cebus_arena *arena, uint64_t bytes, bool *out_no_memory);
bool cebus_segments_can_grow(const cebus_arena *arena, uint64_t bytes);
uint64_t cebus_segments_idle_pages(const cebus_arena *arena, const cebus_block *hole);

#endif
