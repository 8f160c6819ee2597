/**
 * problem.h: a packing as both engines want it: time cut down to sections, bytes to units.
 *
 * A section is a moment at which as much lives as can be: every start that has no end between it
 * and the next one shares its section. Two blocks live together exactly if they share a section.
 * A part is a stretch of sections that no block crosses the ends of; parts are packed on their own.
 *
 * Sizes are rounded up to the smallest alignment, which takes nothing away since every offset is a
 * multiple of it, then divided by the unit, the largest number that every offset of a packing
 * without needless gaps is a multiple of. What rounding adds to a block may end above the capacity:
 * a block's own limit is what counts.
 */
#ifndef CEBUS_LAYOUT_PACK_PROBLEM_H
#define CEBUS_LAYOUT_PACK_PROBLEM_H

#include "layout/pack/memory.h"
#include "layout/pack/sort.h"

#include <cebus/pack.h>

/** Blocks and sections [begin, end) of a part. */
typedef struct cebus_pack_part {
    uint32_t block_begin, block_end;
    uint32_t section_begin, section_end;
    bool has_presets;
} cebus_pack_part;

/** Blocks in the order of `first`; those of no bytes are left out. */
typedef struct cebus_pack_problem {
    const cebus_pack_block *blocks; /**< the caller's */
    size_t n;
    uint32_t *index;       /**< in `blocks` */
    uint32_t *first, *end; /**< sections the block lives in: [first, end) */
    uint64_t *size;        /**< units */
    uint64_t *align;       /**< units, a power of two */
    uint64_t *preset;      /**< units, or CEBUS_PACK_ANYWHERE */
    uint64_t *load;        /**< units alive in each section */
    uint64_t unit;         /**< bytes */
    uint64_t slack;        /**< bytes: the most that rounding added to a block */
    uint32_t n_sections;
    size_t n_parts;
    cebus_pack_part *parts;
    uint64_t max_load;   /**< bytes, not rounded: the most that live at once */
    uint32_t max_starts; /**< the block, of `blocks`, whose start makes it so */
} cebus_pack_problem;

/**
 * Checks blocks and presets and builds the problem, out of `memory`. What is wrong with them is in
 * out_result->reason. O(n log n).
 */
cebus_status cebus_pack_problem_build(cebus_pack_problem *problem, cebus_pack_memory *memory,
                                      const cebus_pack_block *blocks, size_t n,
                                      const uint64_t *presets, cebus_pack_result *out_result);

/** Bytes where block `i` ends when it begins at `offset` units. */
static inline uint64_t cebus_pack_problem_top(const cebus_pack_problem *problem, size_t i,
                                              uint64_t offset)
{
    return offset * problem->unit + problem->blocks[problem->index[i]].bytes;
}

/** The next number of a sequence (splitmix64). */
static inline uint64_t cebus_pack_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
