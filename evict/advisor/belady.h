/**
 * belady.h: what leaves the device when room runs out, and when it is fetched again: of what was
 * not used for a while, that whose next use is farthest (Belady). SwapAdvisor, section 4.2, with
 * these differences, which a setting may take back:
 *
 * - Room is counted by pools, each of equal objects, or, with one pool of bytes, as one number
 * whose blocks are placed afterwards (layout/pack).
 * - Persistent buffers may be away between iterations. Which of them are there when an iteration
 *   begins is found in a first pass: what the end of one would leave there. The second keeps to it.
 *   Or it was chosen beforehand (stream.h).
 *
 *     steps        0    1    2    3    4    5    6
 *     x            use            gone ......    use      a trip: from 1 (after step 0) to 6
 *     copy out          [====)                            as early as it is safe
 *     copy in                     [since ====)            as early as there is room
 *
 * What was not written since it was last copied, either way, leaves without a copy.
 */
#ifndef CEBUS_EVICT_ADVISOR_BELADY_H
#define CEBUS_EVICT_ADVISOR_BELADY_H

#include "evict/advisor/unfold.h"

/** Pools: one of bytes, or as many as sizes. */
typedef struct cebus_pools {
    uint32_t *pool;  /**< by buffer; NONE: too small to matter, always there */
    uint64_t *units; /**< by buffer: what it takes of its pool */
    uint64_t *room;  /**< by pool, in units */
    size_t n_pools;
    bool bytes; /**< one pool, in which scratch counts, too */
} cebus_pools;

typedef struct cebus_belady_settings {
    uint64_t idle_ns;  /**< what was used less long ago goes only if nothing else can */
    uint64_t ahead_ns; /**< nothing is fetched earlier than so long before its use */
    uint64_t stay;     /**< bytes that stay over from one iteration to the next, at most */
} cebus_belady_settings;

typedef struct cebus_trip {
    uint32_t buffer;
    uint32_t from;  /**< steps done when it may leave */
    uint32_t to;    /**< the step that needs it again; number of steps: the end; NONE: none does */
    uint32_t since; /**< steps done when its copy in may start, where it comes back */
    bool copies;    /**< the host has no copy yet */
} cebus_trip;

/** How far a pool's curve was looked at for room, and its high steps (belady.c). */
typedef struct cebus_belady_front {
    int64_t asked; /**< units of all fetches so far */
    uint32_t seen, n_peaks, n_high;
} cebus_belady_front;

typedef struct cebus_belady {
    const cebus_unfold *unfold;
    cebus_trip *trips;
    uint32_t *outs, *ins; /**< trips that copy, by from; that come back, by to */
    size_t n_trips, n_outs, n_ins, trips_room;
    uint8_t *stays; /**< by buffer: there when an iteration begins and ends */
    uint8_t *state;
    uint32_t *used, *next, *trip; /**< by buffer: last step plus 1, next use, its open trip */
    uint32_t *before, *after;     /**< by buffer: lists of those there, by next use */
    uint32_t *slots;              /**< by pool and next use: the head of a list */
    uint64_t *taken;              /**< by pool, a bit for each of these: it has one */
    uint32_t *counts;
    uint64_t *held;             /**< by pool */
    uint64_t *makes, *frees;    /**< by step: bytes that come with it and go with it, if pools are
                                     bytes */
    int64_t *curve;             /**< by pool and step: units there, if all copies took no time */
    uint32_t *peaks;            /**< by pool: steps higher than all after them */
    cebus_belady_front *fronts; /**< by pool */
    uint64_t *times;            /**< by step: when it starts, if nothing waits */
    size_t curve_room;
    uint32_t stuck; /**< the step that found no room */
} cebus_belady;

/** max_pools: that cebus_belady_plan() will be given. False without host memory. */
bool cebus_belady_init(cebus_belady *belady, const cebus_unfold *unfold, size_t max_pools,
                       cebus_shelf *shelf);

/** streams, by buffer: what is persistent and does not stay over; NULL: it is found. False when
 * some step does not fit whatever leaves: then there are no trips. */
bool cebus_belady_plan(cebus_belady *belady, const cebus_pools *pools,
                       const cebus_belady_settings *settings, const uint8_t *streams);

#endif
