/**
 * releases.h: the values of an iteration by when nobody holds them any more.
 */
#ifndef CEBUS_EVICT_TIMELINE_RELEASES_H
#define CEBUS_EVICT_TIMELINE_RELEASES_H

#include "lineage/iteration.h"

/** Room for all values in `out`: those that outlive the iteration come last. False without host
 * memory. O(values + calls). */
bool cebus_releases_sort(const cebus_iteration *iteration, cebus_pool *pool, uint32_t *out);

#endif
