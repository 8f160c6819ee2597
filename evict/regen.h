/**
 * regen.h: what it costs to bring a value back, and how: by running its call again, or by copying
 * it back from host memory or the spill file (ALGORITHMS: regen(x) = min(recompute, swap)).
 *
 * A copy back is charged in full, since an on-demand swap-in is waited for. A copy out is charged
 * only where it is still to be made, since nothing waits for it but the reuse of its block. Whether
 * to copy or to rebuild is told without latencies: what a call reads comes in one copy behind the
 * other. What is copied counts with a part of the link's, or thousands of values of a few bytes
 * would go before a large one. The file's is left out: measured ones count waits for other copies;
 * so is that of policies published with swapping only.
 *
 * Leaves cannot be made again, so they swap or stay, and so do persistent values where the terms
 * let them; gradients swap if they can, since no neighbourhood cost tells what rebuilding one runs
 * again.
 *
 * A new copy goes to the host while there is room, then to the file.
 */
#ifndef CEBUS_EVICT_REGEN_H
#define CEBUS_EVICT_REGEN_H

#include "evict/candidate.h"

typedef enum cebus_swap_use {
    CEBUS_SWAP_NEVER,
    CEBUS_SWAP_CHEAPER, /**< where it costs less than rebuilding */
    CEBUS_SWAP_ALWAYS,  /**< wherever there is room: policies published with swapping only */
} cebus_swap_use;

/** A place for copies: bytes/s to it and back, and what more it can hold. */
typedef struct cebus_swap_tier {
    uint64_t out_rate, in_rate, room;
    uint64_t latency_ns; /**< of each copy: for planners, prices leave it out */
} cebus_swap_tier;

typedef struct cebus_swap_terms {
    cebus_swap_use use;
    uint64_t out_rate, in_rate; /**< bytes/s of the link to the host */
    uint64_t latency_ns;        /**< of each copy */
    uint64_t room;              /**< bytes of host memory left */
    cebus_swap_tier spill;      /**< the file; no room: there is none */
    bool persistent;            /**< parameters and optimizer state may swap, too */
    uint64_t memory;            /**< bytes of the device: a rebuild has no more */
} cebus_swap_terms;

/** True if a copy of the bytes is off the device, or can be. */
bool cebus_regen_may_swap(const cebus_swap_terms *terms, const cebus_candidate *candidate);

/**
 * True if the bytes may be dropped, to be made again. What can swap is not dropped where its call
 * alone, with all it reads and makes, takes more than half of memory: by the time it is missed
 * other rebuilds may wait for it, with what they made so far, and find no room to run it. (In-place
 * calls make a second copy then.) What cannot swap takes that risk, as does what the program wishes
 * made again. O(inputs).
 */
bool cebus_regen_may_drop(const cebus_swap_terms *terms, const cebus_candidate *candidate);

/** ns of the copy back, without latency. */
uint64_t cebus_regen_back_ns(const cebus_swap_terms *terms, const cebus_candidate *candidate);

/** ns of the copies still to be made, without latencies. */
uint64_t cebus_regen_swap_ns(const cebus_swap_terms *terms, const cebus_candidate *candidate);

/** True if the value may go either way, and goes the cheaper. O(inputs). */
bool cebus_regen_may_choose(const cebus_swap_terms *terms, const cebus_candidate *candidate);

/**
 * What a policy takes instead of the cost of rebuilding, `recompute` (0: a leaf); writes how the
 * value would go to candidate->method. Only for candidates that may go one way or the other.
 */
uint64_t cebus_regen_weight(const cebus_swap_terms *terms, cebus_candidate *candidate,
                            uint64_t recompute);

#endif
