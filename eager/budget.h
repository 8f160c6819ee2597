/**
 * budget.h: the size of the arena, which can change while tensors live in it. A runtime that was
 * given no budget, on a device where memory is taken from other programs once it is set aside
 * (CUDA), begins with little and takes more as it needs it, up to the default:
 *
 *     |==== arena ====|----------- growth ----------->|   80% of what was free
 *
 * Until then nothing is given up. Where another program took the memory meanwhile, half a step is
 * tried, and so on; once the smallest does not fit either what the arena has is the budget.
 */
#ifndef CEBUS_EAGER_BUDGET_H
#define CEBUS_EAGER_BUDGET_H

#include "eager/runtime.h"

/** What the arena of a runtime with this default budget begins with. It may grow to all of it. */
uint64_t cebus_budget_begin(cebus_runtime *rt, uint64_t budget);

/** What the arena has, or may grow to. */
static inline uint64_t cebus_budget_now(const cebus_runtime *rt)
{
    return rt->growth > rt->arena.limit ? rt->growth : rt->arena.limit;
}

/** The arena grows to so many bytes, if it may. */
void cebus_budget_reach(cebus_runtime *rt, uint64_t bytes);

/** Takes more memory for a request of so many bytes that found no room. False: the arena is as
 * large as it may be, or as can be. O(1). */
bool cebus_budget_extend(cebus_runtime *rt, uint64_t bytes);

#endif
