/**
 * joint.h: the joints of a part, where pieces end and others start, and heaps of those: pieces of
 * one lifetime, one on top of the other. What welding (weld.h) looks at.
 *
 * The joint of a section is where it begins; sections count from the part's first.
 */
#ifndef CEBUS_LAYOUT_PACK_JOINT_H
#define CEBUS_LAYOUT_PACK_JOINT_H

#include "layout/pack/problem.h"

enum {
    CEBUS_PACK_MOST_HEAP = 12, /**< pieces in a heap */
};

/** A block of the part, or what some were welded to. */
typedef struct cebus_pack_weld_piece {
    uint32_t first, end; /**< sections of the whole problem */
    uint32_t whole;      /**< what it is welded into, or UINT32_MAX */
    bool is_fixed;       /**< preset, or with an alignment of its own: it stays as it is */
    uint64_t lower, upper;
    uint64_t size, at;  /**< units, and where in the whole */
    uint64_t alignment; /**< bytes */
} cebus_pack_weld_piece;

typedef struct cebus_pack_heap {
    uint32_t pieces[CEBUS_PACK_MOST_HEAP];
    uint32_t count;
    uint32_t first, end; /**< sections of the whole problem */
    uint64_t size;       /**< units */
} cebus_pack_heap;

/** Heaps that end at a joint, or those that start there. */
typedef struct cebus_pack_side {
    cebus_pack_heap *heaps;
    cebus_pack_keyed *sums; /**< the heaps by size */
    size_t n;
} cebus_pack_side;

typedef struct cebus_pack_joints {
    const cebus_pack_weld_piece *pieces; /**< the caller's */
    uint32_t begin, n_sections;          /**< of the part */
    uint32_t *ends, *starts;             /**< by section: where in the lists its pieces begin */
    uint32_t *by_end, *by_start;         /**< pieces that are in no other */
    cebus_pack_keyed *spare;
} cebus_pack_joints;

/** For `pieces`, of which at most `n` are in no other. False without host memory. */
bool cebus_pack_joints_init(cebus_pack_joints *joints, const cebus_pack_part *part,
                            const cebus_pack_weld_piece *pieces, uint32_t n,
                            cebus_pack_memory *memory);
/** False without host memory. */
bool cebus_pack_side_init(cebus_pack_side *side, cebus_pack_memory *memory);

/** Sorts the pieces that are in no other by joint. */
void cebus_pack_joints_list(cebus_pack_joints *joints, uint32_t n_pieces);

/** Pairs of a piece that ends at a joint and one that starts there. */
uint64_t cebus_pack_joints_pairs(const cebus_pack_joints *joints, uint32_t section);

/** The heaps of few pieces, or of all of one lifetime, that end at a joint and that start there. */
void cebus_pack_joints_heaps(const cebus_pack_joints *joints, uint32_t section,
                             cebus_pack_side *before, cebus_pack_side *after);

/** The first heap by size, an index of `sums`, that has as many units or more. */
size_t cebus_pack_side_find(const cebus_pack_side *side, uint64_t size);

/** Heap number `k` by size. */
static inline const cebus_pack_heap *cebus_pack_side_heap(const cebus_pack_side *side, size_t k)
{
    return &side->heaps[side->sums[k].item];
}

#endif
