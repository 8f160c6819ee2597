/**
 * behind.h: drops the resident values that an absent one is made of, before its rebuild is planned
 * afresh. A plan for a list (plan.h) keeps such values until the list has read them. Where that
 * leaves no room they all go first, and the plan says what is made again, and when. A rebuild depth
 * first would evict most of them, too, one by one.
 *
 *     list     d .... x      reads a, b and c, which are there: no room for d
 *     afresh   a  b  d, drop b .... c .... x
 */
#ifndef CEBUS_EAGER_REBUILD_BEHIND_H
#define CEBUS_EAGER_REBUILD_BEHIND_H

#include "eager/storage.h"

/** Drops them, as far as they may be dropped for the try at hand; returns how many those were. None
 * without host memory. No list is numbered (lineage/replay.h). O(records behind it). */
size_t cebus_behind_drop(cebus_runtime *rt, const cebus_value *value);

#endif
