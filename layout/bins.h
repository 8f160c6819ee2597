/**
 * bins.h: the free blocks of an arena by size.
 *
 * Two levels as in TLSF (Masmano et al., ECRTS 2004): a power of two is split into
 * 2^CEBUS_BINS_SPLIT_LOG2 linear bins, and two bitmap levels find the next bin that is not empty
 * in O(1). Within a bin the blocks form a treap (Seidel, Aragon, 1996) ordered by (bytes, offset)
 * whose priorities are a hash of the offset: equal contents, equal tree. Bins mostly hold one
 * block or two, so all functions are O(1) typically; a thousand holes of one size cost O(log).
 *
 * A block must leave its bin before its offset or length changes, and return after.
 */
#ifndef CEBUS_LAYOUT_BINS_H
#define CEBUS_LAYOUT_BINS_H

#include "layout/block.h"

#define CEBUS_BINS_SPLIT_LOG2 4
#define CEBUS_BINS_SPLIT (1 << CEBUS_BINS_SPLIT_LOG2)
#define CEBUS_BINS_LEVELS 64

typedef struct cebus_bins {
    uint64_t levels;                    /**< bit l: some bin of level l is not empty */
    uint32_t splits[CEBUS_BINS_LEVELS]; /**< bit s: bin (l, s) is not empty */
    cebus_block *root[CEBUS_BINS_LEVELS][CEBUS_BINS_SPLIT];
} cebus_bins;

void cebus_bins_init(cebus_bins *bins);

/** `block` has at least one byte and is in no bin. */
void cebus_bins_insert(cebus_bins *bins, cebus_block *block);

/** `block` is in its bin. */
void cebus_bins_remove(cebus_bins *bins, cebus_block *block);

/**
 * The smallest free block of at least `bytes`; among equals the one at the lowest address when
 * `prefer_low`, else the highest. NULL when none fits. Exact: unlike plain TLSF the request's
 * own bin is searched too, so a fitting block is never missed.
 */
cebus_block *cebus_bins_find(const cebus_bins *bins, uint64_t bytes, bool prefer_low);

/** The free block that all of [offset, offset + bytes) lies in, or NULL. O(blocks at least as
 * large). */
cebus_block *cebus_bins_around(const cebus_bins *bins, uint64_t offset, uint64_t bytes);

/** The largest free block, or NULL. */
cebus_block *cebus_bins_largest(const cebus_bins *bins);

/** All free blocks, the small before the large, into `out`, which has room for them. Answers how
 * many they are. */
size_t cebus_bins_list(const cebus_bins *bins, cebus_block **out);

/** True when `block` is in the bin of its size. */
bool cebus_bins_contains(const cebus_bins *bins, const cebus_block *block);

/** True when the bitmaps match the bins and exactly `blocks` blocks are in them. O(blocks). */
bool cebus_bins_check(const cebus_bins *bins, uint64_t blocks);

#endif
