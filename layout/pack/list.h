/**
 * list.h: a constructive heuristic, best fit. One block after another, by rank, goes into the
 * smallest gap between the blocks of its lifetime that it fits into, or on top of them all. Presets
 * go first, where they must.
 */
#ifndef CEBUS_LAYOUT_PACK_LIST_H
#define CEBUS_LAYOUT_PACK_LIST_H

#include "layout/pack/problem.h"
#include "layout/pack/stop.h"

typedef struct cebus_pack_list cebus_pack_list;

/** Room for any part of the problem; NULL without host memory. */
cebus_pack_list *cebus_pack_list_create(const cebus_pack_problem *problem,
                                        cebus_pack_memory *memory);

/**
 * Packs a part by the ranks of its blocks (0 the best) into out_offset, units, the first of them
 * the part's first block's. Gives up, and returns false, when a block would end at `limit` units or
 * above, or when it is stopped. Deterministic. Where few blocks live at once, O(those that live
 * with it) a block (lives.h). Else O(n), with a small constant: runs of 64 placed blocks that do
 * not meet the lifetime are passed by at once.
 */
bool cebus_pack_list_run(cebus_pack_list *list, const cebus_pack_part *part, const uint32_t *rank,
                         uint64_t limit, cebus_pack_stop *stop, uint64_t *out_offset);

#endif
