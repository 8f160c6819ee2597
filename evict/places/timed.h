/**
 * timed.h: places for a plan whose copies take their time. Packed by runs a value that comes has
 * the place of one that still leaves, and waits for it though enough is free elsewhere. So the
 * timeline says first when bytes are taken if any place will do (timeline/occupancy.h), and packers
 * find places for that: where they do nothing waits for more than for room. Where they do not,
 * copies out may have but part of their time.
 */
#ifndef CEBUS_EVICT_PLACES_TIMED_H
#define CEBUS_EVICT_PLACES_TIMED_H

#include "evict/places/site.h"
#include "evict/timeline/timeline.h"

/** Finds places for a plan (linked), and the plan that has them, which asks for copies in later. If
 * *out_found is false neither is there. *out_ns: how long an iteration takes. `terms`: of the
 * timeline, without a placement. False without host memory. Cost: some packings, of fewer
 * rounds the more blocks there are. */
bool cebus_timed_make(const cebus_iteration *iteration, const cebus_timeline_terms *terms,
                      const cebus_site *site, const cebus_plan *plan, cebus_plan *out_plan,
                      cebus_placement *out, bool *out_found, uint64_t *out_ns);

#endif
