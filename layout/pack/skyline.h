/**
 * skyline.h: a constructive heuristic that fills niches. The skyline is the height that is taken in
 * each section; a niche is a stretch of it between higher ones. The best-ranked block that fits in
 * there is put down; where none fits, the niche is given up and raised to its lower neighbour.
 *
 * In which order niches are filled changes nothing, since no block fits into two of them, and a
 * niche stays what it is until it is filled. So each one is filled before its neighbour, which
 * looks at blocks and sections that were just looked at.
 *
 * A block is only put on a stretch of one height, so that putting never wastes room, raising alone
 * does. Presets do not fit this scheme: list.h.
 */
#ifndef CEBUS_LAYOUT_PACK_SKYLINE_H
#define CEBUS_LAYOUT_PACK_SKYLINE_H

#include "layout/pack/problem.h"
#include "layout/pack/stop.h"

typedef struct cebus_pack_skyline cebus_pack_skyline;

/** Room for any part of the problem; NULL without host memory. */
cebus_pack_skyline *cebus_pack_skyline_create(const cebus_pack_problem *problem,
                                              cebus_pack_memory *memory);

/**
 * Packs a part by the ranks of its blocks (0 the best) into out_offset, units, the first of them
 * the part's first block's. Gives up, and returns false, when a block would end at `limit` units or
 * above, or when it is stopped. Deterministic. At most three steps a block, each a descent of a
 * tree over the blocks; with a limit, each niche that is given up is another of a tree over the
 * sections.
 */
bool cebus_pack_skyline_run(cebus_pack_skyline *skyline, const cebus_pack_part *part,
                            const uint32_t *rank, uint64_t limit, cebus_pack_stop *stop,
                            uint64_t *out_offset);

#endif
