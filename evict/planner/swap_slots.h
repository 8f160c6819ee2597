/**
 * swap_slots.h: which values go to the host and come back without anybody waiting. A link carries
 * one copy at a time each way; a copy out takes the earliest slot behind the last use, a copy back
 * the latest that ends before the next. Between the two the bytes are away, at no cost. Time is
 * that of the program without replays: with them there is more.
 *
 *     out   |xxxx|yyyy|      |zz|
 *     calls  f0   f1   f2   f3   b3   b2   b1   b0
 *     in                          |zz|   |yyyy|xxxx|
 *
 * Link time goes to what saves most for it: the time to make the value again, or what its bytes are
 * worth over the calls it is away (weights.h), whichever is less. Or copies out follow one another:
 * of all that idles when the link is free, what is used last goes next (Belady, 1966), as long as
 * it takes anything off what is over the limit. The first is better where replays do most of it,
 * the second where the link does. What came back may go again: its copy is on the host, so it needs
 * no other slot to leave. No value is swapped that is too small to matter. Beyond Capuchin (Peng et
 * al., ASPLOS'20), section 4.4.
 */
#ifndef CEBUS_EVICT_PLANNER_SWAP_SLOTS_H
#define CEBUS_EVICT_PLANNER_SWAP_SLOTS_H

#include "evict/plan.h"
#include "evict/planner/sequence.h"

/** Who has the link first. */
typedef enum cebus_swap_order {
    CEBUS_SWAP_IN_TURN, /**< of those that idle, who is used last */
    CEBUS_SWAP_BEST,    /**< who saves most */
} cebus_swap_order;

/** Puts swaps into a sequence without replays until it fits, or the link or the host has no more
 * room. For the best: price: ns for an area of 1 at the sequence's weights. again: times its own
 * cost that it takes to make a value again, chains and all. *out_more: values may come back once
 * (terms->once), and some would have come back again. False without host memory. */
bool cebus_swap_slots_fill(cebus_sequence *sequence, const cebus_plan_terms *terms, double limit,
                           cebus_swap_order order, double price, double again, bool *out_more);

#endif
