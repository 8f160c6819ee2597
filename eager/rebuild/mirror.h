/**
 * mirror.h: predicts the rest of a backward as the mirror image of the forward. From where the
 * program turned back (lineage/turn.h) it is taken to read what it holds once more, call by call,
 * the last first. How far it came is told by the oldest value that had to be made again. What it
 * should have read by then, and gradients, which were made since, are taken to stay for as long
 * again as they have been there.
 *
 *     ran                          may follow
 *     f  g  h  i | i'  h'  |  now  g~   wait for h'   f~   wait for i'
 *                turn
 *
 * Gradients that went are wanted now: each takes most of the backward to make, and all of them the
 * same part. That is the first guess. Gradients of a wide graph wait in another order, and what is
 * a leaf's is not read again. So the second guess tells from bytes for which call each was made
 * (due.h), and the third has those of leaves go for good where nobody has read them for long.
 */
#ifndef CEBUS_EAGER_REBUILD_MIRROR_H
#define CEBUS_EAGER_REBUILD_MIRROR_H

#include "eager/storage.h"

/** When a gradient is read. */
typedef enum cebus_guess {
    CEBUS_GUESS_BY_AGE,    /**< after as long again as it has been there; now, if it went */
    CEBUS_GUESS_BY_DUE,    /**< in the image of the call that it was made for */
    CEBUS_GUESS_FORGETFUL, /**< or not at all, where it has been there for long and is a leaf's */
} cebus_guess;

typedef struct cebus_mirror {
    cebus_runtime *rt;
    cebus_iteration iteration; /**< all recorded calls, its past, and what may follow */
    cebus_value **values;      /**< by ordinal */
    cebus_call **calls;        /**< of the past */
    uint64_t *due;             /**< by ordinal, of gradients: due.h; NULL by age */
    size_t values_capacity, n_calls, calls_capacity;
    uint64_t room; /**< bytes for the values: free, or of those that may go */
    cebus_guess guess;
    uint32_t now; /**< the call that waits: it reads what is pinned */
} cebus_mirror;

void cebus_mirror_init(cebus_mirror *mirror, cebus_runtime *rt);
/** Looks at all records, into an empty mirror; `passed`: calls with a higher serial were mirrored
 * already. False without host memory. O(records log records). */
bool cebus_mirror_draw(cebus_mirror *mirror, uint64_t passed, cebus_guess by);
/** Lifts two restrictions that a mirror is drawn with: that gradients which are there must not go,
 * and that what the mirrored calls make takes room. */
void cebus_mirror_relax(cebus_mirror *mirror);
/** Empty again. */
void cebus_mirror_clear(cebus_mirror *mirror);

#endif
