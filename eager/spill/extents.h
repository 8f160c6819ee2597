/**
 * extents.h: which bytes of the spill file are whose: layout's arena over [0, budget), best fit. An
 * extent is one run of blocks of CEBUS_SPILL_ALIGNMENT.
 *
 * Thread-safety: none; the runtime's lock.
 */
#ifndef CEBUS_EAGER_SPILL_EXTENTS_H
#define CEBUS_EAGER_SPILL_EXTENTS_H

#include "layout/arena.h"

typedef struct cebus_extents {
    cebus_arena arena;
} cebus_extents;

/** `budget` bytes, rounded down to whole blocks; false without host memory. `pool` must outlive
 * it. */
bool cebus_extents_init(cebus_extents *extents, uint64_t budget, cebus_pool *pool);
void cebus_extents_deinit(cebus_extents *extents);

/** Room for `bytes`, more than none; NULL: no hole is large enough, or no host memory. */
cebus_block *cebus_extents_take(cebus_extents *extents, uint64_t bytes);
void cebus_extents_give_back(cebus_extents *extents, cebus_block *extent);

/** Bytes taken, whole blocks. */
static inline uint64_t cebus_extents_used(const cebus_extents *extents)
{
    return extents->arena.used_bytes;
}

#endif
