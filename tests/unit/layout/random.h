/**
 * random.h: splitmix64. Tests draw from it with a fixed seed, so that a failure repeats.
 */
#ifndef CEBUS_TESTS_LAYOUT_RANDOM_H
#define CEBUS_TESTS_LAYOUT_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** Uniform enough in [0, limit). */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return random_next(state) % limit;
}

/** Any magnitude: a number of a random count of bits. */
static inline uint64_t random_wide(uint64_t *state)
{
    return random_next(state) >> random_below(state, 64);
}

#endif
