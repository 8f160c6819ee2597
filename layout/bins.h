/**
 * bins.h: the free blocks of an arena by size, two-level as in TLSF (Masmano et al., ECRTS 2004):
 * a power of two is split into 2^CEBUS_BINS_SPLIT_LOG2 linear bins, two bitmap levels find the
 * first bin that surely fits in O(1).
 */
#ifndef CEBUS_LAYOUT_BINS_H
#define CEBUS_LAYOUT_BINS_H

#include "layout/block.h"

#define CEBUS_BINS_SPLIT_LOG2 4
#define CEBUS_BINS_SPLIT (1 << CEBUS_BINS_SPLIT_LOG2)
#define CEBUS_BINS_LEVELS 64

typedef struct cebus_bins {
    uint64_t levels;                      /**< bit l: some bin of level l is not empty */
    uint32_t splits[CEBUS_BINS_LEVELS];   /**< bit s: bin (l, s) is not empty */
    cebus_block *head[CEBUS_BINS_LEVELS][CEBUS_BINS_SPLIT];
} cebus_bins;

void cebus_bins_init(cebus_bins *bins);
void cebus_bins_insert(cebus_bins *bins, cebus_block *block);
void cebus_bins_remove(cebus_bins *bins, cebus_block *block);

/**
 * A free block of at least `bytes`: the smallest within the first bin that holds a fitting one
 * (`prefer_low`: the lowest address among equals, else the highest). NULL when none fits: unlike
 * plain TLSF the request's own bin is searched too, so a fitting block is never missed.
 */
cebus_block *cebus_bins_find(const cebus_bins *bins, uint64_t bytes, bool prefer_low);

/** The largest free block, or NULL. */
cebus_block *cebus_bins_largest(const cebus_bins *bins);

#endif
