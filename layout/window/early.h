/**
 * early.h: a lower bound on the time at which each window that starts in a chunk may reach a level,
 * for all of them at once, in vectors: no window reaches it before each of its blocks does. For
 * windows of few blocks.
 */
#ifndef CEBUS_LAYOUT_WINDOW_EARLY_H
#define CEBUS_LAYOUT_WINDOW_EARLY_H

#include "layout/window/chunk.h"

/** Of which size, at which level or somewhat less; the time, since the epoch of the chunks. */
typedef struct cebus_early {
    const cebus_chunks *chunks;
    uint64_t bytes;
    float level, now;
} cebus_early;

/**
 * Bit i: the window that starts at block i may be at the level by now; some of them may be none, or
 * not minimal. Of the others none is before `out_next` (FLT_MAX: never). False where that takes
 * more blocks of a window than are looked at.
 */
bool cebus_early_find(const cebus_early *what, uint32_t id, uint32_t *out_bits, float *out_next);

#endif
