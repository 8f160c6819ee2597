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

/** All alike. Of a sequence without replays but swaps, as cebus_weights_fit(). */
void cebus_weights_level(cebus_sequence *sequence);
/** cost: ns of the best plan known. rounds: of the climb, each O(calls + stretches). *out_price: ns
 * for an area of 1. False without host memory. */
bool cebus_weights_fit(cebus_sequence *sequence, double limit, double cost, int rounds,
                       cebus_pool *pool, double *out_price);

#endif
