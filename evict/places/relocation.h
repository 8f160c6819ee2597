/**
 * relocation.h: where the shifts between two stages (stages.h) come in a planned iteration, and
 * whose bytes they move: stages know runs and stays, who carries a plan out knows calls, actions
 * and values.
 */
#ifndef CEBUS_EVICT_PLACES_RELOCATION_H
#define CEBUS_EVICT_PLACES_RELOCATION_H

#include "evict/placement.h"
#include "evict/places/shifts.h"
#include "evict/timeline/sojourn.h"

/** A moment between two runs. */
typedef struct cebus_moment {
    uint32_t at, action; /**< as of a relocation */
} cebus_moment;

/** There can be no relocation then. */
#define CEBUS_MOMENT_NONE UINT32_MAX

/** The moment before each run, `at` NONE where it has no name: as many as runs, and two more. NULL
 * without host memory. O(runs + stays). */
cebus_moment *cebus_relocation_moments(const cebus_sojourns *sojourns,
                                       const cebus_iteration *iteration, const cebus_plan *plan);

/** Of shifts that name stays, each where there is a moment; offsets count from `base`. As many as
 * there are shifts; NULL without host memory. O(shifts x heirs). */
cebus_relocation *cebus_relocations_of(const cebus_shifts *shifts, const cebus_sojourns *sojourns,
                                       const cebus_plan *plan, const cebus_moment *moments,
                                       uint64_t base);

#endif
