/**
 * placement.h: where the bytes of a planned iteration lie: offsets for all that calls and actions
 * make. places/site.h and places/timed.h find them.
 */
#ifndef CEBUS_EVICT_PLACEMENT_H
#define CEBUS_EVICT_PLACEMENT_H

#include "layout/pool.h"

/** No place is planned: anywhere will do. */
#define CEBUS_ANYWHERE UINT64_MAX

/** A value that goes on to another place. */
typedef struct cebus_relocation {
    uint32_t at;     /**< calls done */
    uint32_t action; /**< before that one, a replay; the number of actions: before the call */
    uint32_t value;  /**< ordinal */
    uint64_t offset;
} cebus_relocation;

typedef struct cebus_placement {
    cebus_pool *pool;     /**< borrowed */
    uint64_t *values;     /**< by ordinal: offset of what its call makes */
    uint64_t *actions;    /**< by index: of what a REPLAY or SWAP_IN brings back */
    uint64_t *workspaces; /**< by call: of its first run's workspace */
    uint64_t *scratch;    /**< by index: of the workspace of a REPLAY, the first of its run */
    cebus_relocation *relocations; /**< in order */
    size_t n_values, n_actions, n_calls, n_relocations;
    uint64_t moving_ns; /**< what these take */
    uint64_t over_ns;   /**< what leaves as the iteration ends is copied for so long behind it, */
    uint64_t wait_ns;   /**< and the next one waits so long for its place, if nothing else waits */
    uint64_t height;    /**< all of these end at or below it; 0: there is no placement */
} cebus_placement;

void cebus_placement_init(cebus_placement *placement, cebus_pool *pool);
void cebus_placement_clear(cebus_placement *placement);

/** Makes `to` (empty) the same. False without host memory: then it is empty. */
bool cebus_placement_copy(const cebus_placement *from, cebus_placement *to);

#endif
