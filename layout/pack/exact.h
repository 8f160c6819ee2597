/**
 * exact.h: the exact search on the parts that the heuristics left too high.
 */
#ifndef CEBUS_LAYOUT_PACK_EXACT_H
#define CEBUS_LAYOUT_PACK_EXACT_H

#include "layout/pack/lane.h"

typedef struct cebus_pack_exact {
    const cebus_pack_problem *problem;
    cebus_pack_memory *memory;
    const cebus_host_allocator *host; /**< the lanes' */
    cebus_pack_stop *stop;
    uint64_t most_steps, steps; /**< nodes: at most, and so far */
    uint64_t seed;
    uint64_t *heights; /**< by part: bytes where it ends, UINT64_MAX: not packed */
    uint64_t *offset;  /**< units, of all blocks */
} cebus_pack_exact;

/** Repacks the parts that end above `capacity` bytes, a slice of each in turn, until all fit or one
 * cannot. Heights and offsets of those that fit are replaced. */
cebus_pack_outcome cebus_pack_exact_fit(cebus_pack_exact *exact, uint64_t capacity);

/**
 * Repacks the highest part, again and again, as low as time allows: first at the bound, then in
 * between, then just below where it is. *bound, bytes, rises with what is proved. Done (FITS) when
 * the highest part meets it.
 */
cebus_pack_outcome cebus_pack_exact_lower(cebus_pack_exact *exact, uint64_t *bound);

#endif
