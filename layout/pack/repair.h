/**
 * repair.h: makes a packing end lower by moving single blocks. What ends too high waits. One block
 * after another, the largest first, goes where it takes the place of as little as it can; what it
 * overlaps there waits in its turn (ejection chains, Glover 1996), and counts for more the next
 * time, so that no two blocks put each other out for ever (breakout, Morris 1993). Other than a new
 * order this leaves alone what fits.
 */
#ifndef CEBUS_LAYOUT_PACK_REPAIR_H
#define CEBUS_LAYOUT_PACK_REPAIR_H

#include "layout/pack/problem.h"
#include "layout/pack/stop.h"

typedef struct cebus_pack_repair cebus_pack_repair;

/** Room for any part of the problem; NULL without host memory. */
cebus_pack_repair *cebus_pack_repair_create(const cebus_pack_problem *problem,
                                            cebus_pack_memory *memory);

/**
 * Packs a part so that it ends at `target` bytes, from `offset`, units, on; the first of them is
 * the part's first block's. UINT64_MAX: the block has no place yet. After so many steps, or where
 * it is stopped, what waited for the least of time and bytes is put on top of the rest. Answers the
 * bytes where it ends. Deterministic. Cost: O(blocks of the part) a step, with a small constant.
 */
uint64_t cebus_pack_repair_run(cebus_pack_repair *repair, const cebus_pack_part *part,
                               uint64_t target, uint64_t steps, cebus_pack_stop *stop,
                               uint64_t *offset);

#endif
