/**
 * mirror.h: what may follow, guessed from what was: the mirror image of the program. From where it
 * turned back (lineage/turn.h) it reads what it holds once more, call by call, the last first. How
 * far it came is told by the oldest value that had to be made again. What it should have read by
 * then, and gradients, which were made since, are taken to stay for as long again as they have been
 * there.
 *
 *     ran                          may follow
 *     f  g  h  i | i'  h'  |  now  g~   wait for h'   f~   wait for i'
 *                turn
 *
 * Gradients that went are wanted now: each takes most of the backward to make, and all of them the
 * same part.
 */
#ifndef CEBUS_EAGER_REBUILD_MIRROR_H
#define CEBUS_EAGER_REBUILD_MIRROR_H

#include "eager/storage.h"

typedef struct cebus_mirror {
    cebus_runtime *rt;
    cebus_iteration iteration; /**< all recorded calls, its past, and what may follow */
    cebus_value **values;      /**< by ordinal */
    cebus_call **calls;        /**< of the past */
    size_t values_capacity, n_calls, calls_capacity;
    uint64_t room; /**< bytes for the values: free, or of those that may go */
    uint32_t now;  /**< the call that waits: it reads what is pinned */
} cebus_mirror;

/** Looks at all records; `passed`: calls with a higher serial were mirrored already. False without
 * host memory; to be cleared even so. O(records). */
bool cebus_mirror_draw(cebus_mirror *mirror, cebus_runtime *rt, uint64_t passed);
/** At first gradients that are there must not go, and what the mirrored calls make takes room. Both
 * no longer. */
void cebus_mirror_ease(cebus_mirror *mirror);
void cebus_mirror_clear(cebus_mirror *mirror);

#endif
