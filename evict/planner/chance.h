/**
 * chance.h: random numbers of a search: from equal states equal ones follow, so that equal input
 * has equal plans.
 */
#ifndef CEBUS_EVICT_PLANNER_CHANCE_H
#define CEBUS_EVICT_PLANNER_CHANCE_H

#include <stdint.h>

/** A number below `n`, which is not 0. The generator of Knuth's MMIX, without its low bits, which
 * repeat soon. */
static inline uint32_t cebus_chance_below(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % n);
}

#endif
