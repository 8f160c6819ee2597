/**
 * weights.h: what a byte over the limit is worth, call by call. Where much is over the limit and
 * little could go cheaply, taking off a byte is worth more than where anything will do.
 *
 * The weights are Lagrange multipliers of a simple model: each idle stretch of the program can be
 * evicted alone, for the cost of the call that made it; what is evicted over a call must make up
 * for the bytes over the limit there. Subgradient steps with Polyak's length (1969). They guide a
 * search and prove nothing: the model counts a call that makes two values twice.
 */
#ifndef CEBUS_EVICT_PLANNER_WEIGHTS_H
#define CEBUS_EVICT_PLANNER_WEIGHTS_H

#include "evict/planner/sequence.h"

/** Answers that are remembered: a search asks the same more than once, mostly about the bare
 * program while it has no plan that fits. */
#define CEBUS_WEIGHTS_KNOWN 4

/** An idle stretch: positions [from, to). Position 0 is START, k + 1 is call k. */
typedef struct cebus_weights_stretch {
    uint32_t from, to;
    double bytes, cost;
} cebus_weights_stretch;

/** What was asked, and the answer. */
typedef struct cebus_weights_fitted {
    cebus_weights_stretch *stretches;
    size_t n_stretches, capacity;
    size_t n; /**< positions */
    double cost;
    int rounds;
    double *over; /**< bytes over the limit, below 0 where there is room */
    double *best; /**< prices of the highest dual */
} cebus_weights_fitted;

typedef struct cebus_weights {
    cebus_pool *pool;                                /**< borrowed */
    cebus_weights_fitted known[CEBUS_WEIGHTS_KNOWN]; /**< what was asked last first */
} cebus_weights;

void cebus_weights_init(cebus_weights *weights, cebus_pool *pool);
void cebus_weights_deinit(cebus_weights *weights);

/** All alike. Of a sequence without replays but swaps, as cebus_weights_fit(). */
void cebus_weights_level(cebus_sequence *sequence);
/** cost: ns of the best plan known. rounds: of the climb, each O(calls + stretches), if it is not
 * known what comes of it. *out_price: ns for an area of 1. False without host memory. */
bool cebus_weights_fit(cebus_weights *weights, cebus_sequence *sequence, double limit, double cost,
                       int rounds, double *out_price);

#endif
