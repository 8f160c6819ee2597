/**
 * stages.h: places for blocks that find none side by side from their first run to their last. The
 * iteration is cut into stages, each as long as one packing (<cebus/pack.h>) can be found for, and
 * between two of them what stays moves: a copy on the device, cheap beside another replay.
 *
 *     runs    0 ............... cut ............. cut ........ end
 *     stage   [ packed         ][ packed         ][ packed    ]
 *     x       [ at 0 -----------> at 512 ------------------]
 *     y                    [ at 64 --------------- stays -------]
 *     dust    [ at the top, in all stages alike ---------------]
 *
 * Dust are the smallest: each would cost a launch. A cut is where the least has to move.
 */
#ifndef CEBUS_EVICT_PLACES_STAGES_H
#define CEBUS_EVICT_PLACES_STAGES_H

#include <cebus/pack.h>

#include "evict/places/shifts.h"

typedef struct cebus_stages {
    const cebus_pack_block *blocks; /**< on a clock of runs; by `lower`, then those with presets,
                                         by these */
    size_t n, n_presets;            /**< blocks; the last of them that stay where they are */
    const uint64_t *presets;        /**< as pack wants them */
    uint64_t capacity;
    uint32_t runs;    /**< blocks live below runs + 1 */
    const bool *firm; /**< by run: there can be no cut before it */
    cebus_move_terms moves;
    bool (*go_on)(void *context); /**< as of pack */
    void *context;
    uint64_t *offsets;    /**< out: where blocks begin */
    cebus_shifts *shifts; /**< out, empty: by run; names are indices of blocks */
} cebus_stages;

/** *out_found false: there are no such places, or they would move too often. False without host
 * memory. Cost: some ten packings of all blocks. */
bool cebus_stages_make(cebus_stages *stages, bool *out_found);

#endif
