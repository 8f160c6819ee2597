/**
 * compaction.h: makes one hole of several by sliding blocks down over the free bytes before them,
 * on the compute stream.
 */
#ifndef CEBUS_EAGER_COMPACTION_H
#define CEBUS_EAGER_COMPACTION_H

#include "eager/runtime.h"

struct cebus_gather_bar; /* layout/gather.h */

/**
 * Moves as little as it takes for a hole of `bytes`; where no run of blocks can yield one, slides
 * everything down (as with UINT64_MAX). CEBUS_OK whether or not it fits then; a copy that fails
 * leaves the blocks moved so far where they are.
 */
cebus_status cebus_compaction_run(cebus_runtime *rt, uint64_t bytes);

/** The same between blocks that bar it, where that takes so many ns at most; whether it fits then.
 * O(blocks). */
bool cebus_compaction_gather(cebus_runtime *rt, uint64_t bytes, const struct cebus_gather_bar *bar,
                             uint64_t most_ns);

/**
 * Moves what lies in [from, to) to holes elsewhere, each block to the smallest that has room, until
 * those bytes are one hole; returns it, or NULL where something found no place or a copy failed:
 * what was moved so far stays where it is now.
 */
cebus_block *cebus_compaction_vacate(cebus_runtime *rt, uint64_t from, uint64_t to);

/** Takes a value to an offset where all bytes are free; false: they are not, or a copy failed, and
 * it lies where it was. */
bool cebus_compaction_shift(cebus_runtime *rt, cebus_block *block, uint64_t offset);

/** What moving takes here. */
cebus_move_terms cebus_compaction_terms(const cebus_runtime *rt);

/** ns that takes, UINT64_MAX when free bytes alone do not do. O(blocks). */
uint64_t cebus_compaction_cost(const cebus_runtime *rt, uint64_t bytes);

#endif
