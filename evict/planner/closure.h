/**
 * closure.h: what it costs to evict a value between two events, and what that gains. The call that
 * made it runs again before the second event. Each of its inputs that would be gone by then is
 * either kept until then or made again in its turn, whichever is cheaper: that is the chain.
 *
 *     bytes over the limit      ######
 *     x   made--used .......................[x' used      -bytes of x while it is idle
 *     p   made--used----------------------->|             +bytes of p, kept for x'
 *     q   made--used                        [q'           not kept: made again, for x' as well
 *
 * Keeping costs theta x the area it adds over the limit, where theta is what area costs elsewhere
 * (greedy.h). The score of the whole is time / area gained. All stretches end where the chain runs,
 * so together they are a staircase, with a step where each begins.
 */
#ifndef CEBUS_EVICT_PLANNER_CLOSURE_H
#define CEBUS_EVICT_PLANNER_CLOSURE_H

#include "evict/planner/sequence.h"

/** How far a chain may reach. */
typedef struct cebus_reach {
    uint32_t calls, steps, visits, depth;
} cebus_reach;

/** Bytes more (or less) from a key on, to where the chain runs. */
typedef struct cebus_step {
    uint64_t key;
    double bytes;
} cebus_step;

typedef struct cebus_closure {
    const cebus_sequence *sequence; /**< borrowed */
    cebus_pool *pool;               /**< borrowed */
    double limit;                   /**< bytes */
    double theta;                   /**< ns for a byte over the limit at a call of weight 1 */
    double *needs;                  /**< of calls: bytes that are there if one runs again */
    double *shares;                 /**< of values: bytes of the idle values that are made of it */
    bool sharing;                   /**< they share the price of keeping it, by their bytes */
    uint64_t settled;  /**< up to this key nothing may be kept that adds bytes over the limit */
    double caution;    /**< of what a chain has over the limit as it runs, the part that counts */
    uint32_t *states;  /**< of values: epoch x 8 + state */
    uint32_t *readers; /**< of values made again: the last of the chain that reads it */
    uint32_t *undo_values, *undo_states; /**< states as they were, for going back */
    size_t n_undo;
    uint32_t epoch, visits;
    uint32_t value;  /**< what it is for */
    uint32_t before; /**< the chain runs before this instance */
    uint32_t early;  /**< behind this instance the first input of the last call is gone: the chain
                        might run here instead; NONE: all are there */
    uint64_t key;    /**< of `before` */
    double weight;   /**< of it */
    cebus_reach reach;
    uint32_t *calls; /**< the chain, ascending once weighed */
    uint64_t *bits;  /**< of calls, all 0: to sort by */
    uint32_t n_calls;
    double most_time;  /**< ns of the chain, beyond which it cannot be */
    cebus_step *steps; /**< by key */
    cebus_step *added; /**< the same as they came, for going back */
    uint32_t n_steps;
    double time;    /**< ns of the chain */
    double score;   /**< ns for a unit of area; INFINITY: it gains nothing, or cannot be */
    uint64_t spent; /**< visits, ever */
} cebus_closure;

/** False without host memory: then there is nothing to free. */
bool cebus_closure_init(cebus_closure *closure, const cebus_sequence *sequence, cebus_pool *pool);
void cebus_closure_deinit(cebus_closure *closure);

/** Allows chains that run most of the program again; off: none longer than usually pays. */
void cebus_closure_reach_far(cebus_closure *closure, bool on);

/** Weighs evicting a value from its last event before the instance `before` until there, where it
 * is made again. The chain and its score are in the closure until the next time. */
void cebus_closure_weigh(cebus_closure *closure, uint32_t value, uint32_t before);

#endif
