/**
 * check.h: does an iteration, with the actions of a plan, do what it should, and in how many bytes?
 * Written from the meaning of actions (plan.h) alone: it follows residency call by call, and knows
 * nothing of how the plan came about. For tests, and for measuring plans without a runtime.
 *
 * While a call runs there are: what is resident, all its outputs (of a replay: those named), its
 * workspace. A call that takes the bytes of an input over in place has them once, unless the
 * program reads the old value later: then the runtime makes that again, and it counts as there.
 * Swaps take no time here: bytes are gone with SWAP_OUT, and there with SWAP_IN.
 */
#ifndef CEBUS_EVICT_PLANNER_CHECK_H
#define CEBUS_EVICT_PLANNER_CHECK_H

#include "evict/plan.h"

typedef struct cebus_check {
    const char *wrong;  /**< what is, first; NULL: nothing */
    uint32_t at, value; /**< there: calls done; ordinal, or NONE */
    uint64_t peak;      /**< bytes */
    uint32_t peak_at;   /**< calls done then */
    uint64_t replay_ns; /**< of all replays */
    size_t replays;     /**< runs */
    uint64_t host;      /**< bytes that were copied out */
} cebus_check;

/** False without host memory. O(refs + actions). */
bool cebus_check_run(const cebus_iteration *iteration, const cebus_plan *plan, cebus_pool *pool,
                     cebus_check *out);

#endif
