/**
 * lives.h: an index of placed blocks by their lifetimes: finds those that share a section with a
 * given block without looking at the rest.
 *
 * A block that lives in 2^k sections or fewer, but more than 2^(k-1), is in level k, in the bucket
 * of 2^k sections in which it starts. So whoever lives in given sections starts in one of those
 * buckets that they cross or in the one before.
 */
#ifndef CEBUS_LAYOUT_PACK_LIVES_H
#define CEBUS_LAYOUT_PACK_LIVES_H

#include "layout/pack/problem.h"

#define CEBUS_PACK_LEVELS 33

typedef struct cebus_pack_lives {
    const cebus_pack_problem *problem;
    uint32_t bucket[CEBUS_PACK_LEVELS]; /**< the first of each level */
    uint32_t levels;                    /**< that have any */
    uint32_t *begin;                    /**< by bucket: where its blocks are in `blocks` */
    uint32_t *end;
    uint32_t *blocks;
} cebus_pack_lives;

/** Of no block yet; false without host memory. O(n). */
bool cebus_pack_lives_init(cebus_pack_lives *lives, const cebus_pack_problem *problem,
                           cebus_pack_memory *memory);

/** None of the part's blocks was placed. O(its blocks). */
void cebus_pack_lives_clear(cebus_pack_lives *lives, const cebus_pack_part *part);

/** Once between two _clear(). O(1). */
void cebus_pack_lives_add(cebus_pack_lives *lives, uint32_t block);

/** Those that live with `block`, in no order; how many. O(its sections + of these). */
uint32_t cebus_pack_lives_with(const cebus_pack_lives *lives, uint32_t block, uint32_t *out);

#endif
