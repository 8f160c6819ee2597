/**
 * behind.h: what is there of all that a value is made of. A plan for a list (plan.h) has to keep it
 * until the list has read it. Where that leaves no room, all of it goes first, and the plan says
 * what is made again, and when. Depth first most of it would go, too, one by one.
 *
 *     list     d .... x      reads a, b and c, which are there: no room for d
 *     afresh   a  b  d, drop b .... c .... x
 */
#ifndef CEBUS_EAGER_REBUILD_BEHIND_H
#define CEBUS_EAGER_REBUILD_BEHIND_H

#include "eager/storage.h"

/** Drops what is there behind an absent value and may be dropped for the try at hand; returns how
 * many those were. None without host memory. No list is numbered (lineage/replay.h). O(records
 * behind it). */
size_t cebus_behind_drop(cebus_runtime *rt, const cebus_value *value);

#endif
