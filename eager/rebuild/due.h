/**
 * due.h: guesses when the backward will read a gradient, from what the gradient was made of. A
 * backward runs an image of each of the program's calls, the last first, which reads the gradients
 * of what its call made.
 *
 *     calls     f: x -> y        backward of f: g(y), x -> g(x)
 *                                g(x) is as large as x, and waits for the image of what made x
 *
 * It is a guess by sizes: values of one size are matched in their order, and a call that reads no
 * value of the size sought passes on what it reads. The gradient of a leaf is due at the end.
 */
#ifndef CEBUS_EAGER_REBUILD_DUE_H
#define CEBUS_EAGER_REBUILD_DUE_H

#include "lineage/call.h"

/** No image reads it. */
#define CEBUS_DUE_AT_END 0

/**
 * Of the values that calls after the turn made: calls[], by serial; due[] and number() by value.
 * Fills due[] with serials of calls up to the turn. O(calls log calls).
 */
typedef struct cebus_dues {
    cebus_call *const *calls; /**< by serial */
    size_t n_calls;
    uint64_t turn; /**< calls with a higher serial are of the backward */
    uint64_t *due; /**< serials, by cebus_candidate.foreseen - 1 */
} cebus_dues;

void cebus_dues_find(const cebus_dues *dues);

#endif
