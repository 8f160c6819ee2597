/**
 * timeline.h: how long an iteration takes by a plan: calls and replays one after the other, copies
 * beside them on a link that carries one each way at a time.
 *
 *     compute   conv | relu | conv2 |wait| conv3' | relu' ...   waits for inputs, and for room
 *     out              [== x1 ==]              from the last use on; its room is free at its end
 *     in                             [== x1 ==]                 once there is room for it
 *
 * Memory is a number here. Free bytes remember since when they are free, those free for longest are
 * taken first; values that may leave do so when room is needed, in the plan's order. With places
 * bytes are free where they are (ground.h), too. What the plan
 * does not foresee is made up for as the runtime would: what is absent is copied back or made
 * again when it is read, and where nothing else makes room what was used least recently goes. The
 * record's costs are taken for what calls take.
 */
#ifndef CEBUS_EVICT_TIMELINE_TIMELINE_H
#define CEBUS_EVICT_TIMELINE_TIMELINE_H

#include "evict/choice/move_terms.h"
#include "evict/plan.h"

typedef struct cebus_timeline {
    uint64_t total_ns;            /**< until the last call is done: the sum of the five below */
    uint64_t compute_ns;          /**< the program's calls */
    uint64_t replay_ns;           /**< planned replays, and those that were not */
    uint64_t stall_ns;            /**< compute waited for copies */
    uint64_t moving_ns;           /**< what the one before left elsewhere goes to its places */
    uint64_t held_ns;             /**< compute waited for the host to ask for what is next */
    uint64_t over_ns;             /**< copies out go on for so long behind the last call */
    uint64_t out_bytes, in_bytes; /**< copied */
    uint32_t unforeseen;          /**< evictions, replays and copies back without an action */
} cebus_timeline;

typedef struct cebus_timeline_terms {
    uint64_t budget;            /**< bytes */
    uint64_t out_rate, in_rate; /**< bytes/s, each above 0 */
    uint64_t latency_ns;        /**< of each copy, before its first byte */
    bool swaps; /**< what nobody foresaw goes to the host; else it is dropped if it can be */
    const struct cebus_placement *placement; /**< of the plan (placement.h): who has a place waits
                                                  for who had it before; NULL: memory is a number */
    struct cebus_occupancy *occupancy; /**< out, for the plan (occupancy.h); NULL: nobody asks */
    cebus_move_terms moves; /**< of what crosses to an iteration; rate 0: it stays where it is */
    bool ahead;             /**< the host asks for copies long before compute gets there */
    uint64_t issue_ns;      /**< what it takes to ask for a call or a copy; 0: what the record's
                                 calls were held by is taken for what they cost */
} cebus_timeline_terms;

/** Of a sealed record and a plan in order (plan.h). False without host memory. O(refs + actions),
 * and the values for each eviction that was not foreseen. */
bool cebus_timeline_run(const cebus_iteration *iteration, const cebus_plan *plan,
                        const cebus_timeline_terms *terms, cebus_pool *pool, cebus_timeline *out);

#endif
