/**
 * order.h: in which order blocks are considered: "TWA" is by the largest load of the block's
 * sections, then by lifetime, then by area, the largest first (MiniMalloc's names, ASPLOS'23).
 */
#ifndef CEBUS_LAYOUT_PACK_ORDER_H
#define CEBUS_LAYOUT_PACK_ORDER_H

#include "layout/pack/problem.h"

typedef struct cebus_pack_order {
    const cebus_pack_problem *problem;
    uint64_t *peak;          /**< of each block: T */
    cebus_pack_keyed *items; /**< after _sort(): the blocks of the part, best first */
    cebus_pack_keyed *spare;
} cebus_pack_order;

/** False without host memory. O(n log n). */
bool cebus_pack_order_init(cebus_pack_order *order, const cebus_pack_problem *problem,
                           cebus_pack_memory *memory);

/**
 * Sorts a part's blocks by `keys`, a text of T (peak load), W (lifetime), A (bytes x lifetime), Z
 * (size), descending, and L (start), ascending; ties keep the order of the blocks. O(n).
 */
void cebus_pack_order_sort(cebus_pack_order *order, const cebus_pack_part *part, const char *keys);

/** Shakes the order that was sorted last: a block moves down by less than `reach` places. */
void cebus_pack_order_shake(cebus_pack_order *order, const cebus_pack_part *part, uint64_t reach,
                            uint64_t *seed);

/** out_rank[i] is the place of block `block_begin + i`, 0 the best. */
void cebus_pack_order_rank(const cebus_pack_order *order, const cebus_pack_part *part,
                           uint32_t *out_rank);

#endif
