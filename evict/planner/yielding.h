/**
 * yielding.h: copies out that give way. The link takes what is wanted first of what may leave when
 * it is free; what is wanted even earlier, but made while that copy runs, waits for it:
 *
 *     calls   made c | made x ....... | OUT x | wait |         held, c starts behind x:
 *     out            [= c =========][= x =========]               [= x =========][= c =====]
 *
 * So where calls wait, copies that run before, though their room is wanted later, are held until
 * what is waited for may leave, if calls wait less then.
 */
#ifndef CEBUS_EVICT_PLANNER_YIELDING_H
#define CEBUS_EVICT_PLANNER_YIELDING_H

#include "evict/planner/links.h"

/** Of links that were run: holds copies while that helps, the longest wait first; they are run by
 * that then. False without host memory. O(64 runs). */
bool cebus_yielding_settle(cebus_links *links);
/** Nothing is held any more. */
void cebus_yielding_clear(cebus_links *links);

#endif
