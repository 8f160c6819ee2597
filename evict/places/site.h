/**
 * site.h: where the bytes of a planned iteration go. Once it is known when each value comes
 * and goes, the best places for all of them follow ahead of time (<cebus/pack.h>), and the
 * iteration needs to search for none: no hole is left that a later value does not fit into.
 *
 *     runs       call 0 | call 1 | replay | call 2 ...     what runs, in order: the clock
 *     w          [========================================  was there before: stays where it is
 *     x                 [made   ------ dropped)
 *     x again                             [replayed ------
 *     workspace         [------)
 *
 * What has no place here (outside.h) goes above all that has. Where no places are found for the
 * whole iteration values may move between them (stages.h).
 */
#ifndef CEBUS_EVICT_PLACES_SITE_H
#define CEBUS_EVICT_PLACES_SITE_H

#include "evict/placement.h"
#include "evict/places/relocation.h"
#include "evict/places/ties.h"
#include "evict/plan.h"
#include "evict/timeline/crossing.h"
#include "evict/timeline/occupancy.h"
#include "evict/timeline/outside.h"

/** Bytes that are in use before the iteration and stay so. */
typedef struct cebus_fixture {
    uint64_t offset, bytes;
    uint32_t owner; /**< the ordinal of a persistent value, plus 1; 0: anything else. What the plan
                         has come or go (shuttle.h) is no fixture, but placed */
} cebus_fixture;

typedef struct cebus_site {
    uint64_t capacity;             /**< offsets end below it */
    uint64_t alignment;            /**< of offsets and lengths: a power of two */
    const cebus_fixture *fixtures; /**< by offset, apart */
    size_t n_fixtures;
    const cebus_outside *outside; /**< what gets no place; NULL: what was there before, only */
    uint64_t rounds;          /**< of packing, where the first go is too high (<cebus/pack.h>) */
    cebus_move_terms moves;   /**< rate 0: values stay where they begin */
    cebus_crossing_link link; /**< that values leave by (crossing.h) */
    bool (*go_on)(void *context); /**< asked while it packs; false ends that. NULL: go on */
    void *context;
    const cebus_occupancy *occupancy; /**< of the plan: copies take their time; NULL: none */
    double share; /**< of its copy out that a stay has to the end, from 0 to 1 (hours.h) */
    cebus_tie_order order;
    cebus_tie_bond bond; /**< what crosses has one place in the end and in the beginning */
    bool *tied; /**< set if some have one place, so that the order matters; NULL: nobody asks */
    /** Packings are given up as soon as it is known that they do not fit: where it is FULL,
     * *out_missing is what is missing at the least, and there is no crowd. */
    bool fits_only;
    uint64_t *crowd; /**< by call, zeroed: where it is FULL, or values move, the bytes too many
                          while the call runs, or what runs before it; NULL: nobody asks */
} cebus_site;

/** What became of it. */
typedef enum cebus_site_verdict {
    CEBUS_SITE_PLACED,
    CEBUS_SITE_FULL, /**< it did not fit: *out_missing bytes more would do */
    CEBUS_SITE_NO_HOST_MEMORY,
} cebus_site_verdict;

/**
 * Places all that the plan (linked; no actions: just the program) says is there. `out` is empty and
 * stays so unless PLACED. Cost: that of cebus_pack() for as many blocks as there are runs and
 * outputs.
 */
cebus_site_verdict cebus_placement_make(const cebus_iteration *iteration, const cebus_plan *plan,
                                        const cebus_site *site, cebus_placement *out,
                                        uint64_t *out_missing);

#endif
