/**
 * away.h: lists the values whose only copy is off the device, in the order in which they left it.
 * For each place they may be in, host memory and the spill file, there are two lists:
 *
 *     held        x1 x2 x3 x4     somebody may read them: the coldest goes on to the file
 *              coldest warmest    (demotion.h) when the host is short
 *     abandoned   y3 y7           nobody holds them any more
 *
 * Only records read what was abandoned, for replays that nobody may ever ask for, and records can
 * make it again. Its room counts as spare, and goes before anything else does. Leaves that nobody
 * holds are not among them, since no record makes those; they go with their readers, when the
 * device has no other way (ladder.h).
 */
#ifndef CEBUS_EAGER_SWAP_AWAY_H
#define CEBUS_EAGER_SWAP_AWAY_H

#include "eager/runtime.h"

/** From now on the only copy of its bytes is where candidate->tier says. */
void cebus_away_add(cebus_runtime *rt, cebus_candidate *candidate);
/** Not any more, or not there. Nothing happens if it is in no list. */
void cebus_away_remove(cebus_runtime *rt, cebus_candidate *candidate);
/** Somebody holds it again, or nobody any more: it belongs in the other list, if it is in one. */
void cebus_away_sort(cebus_runtime *rt, cebus_candidate *candidate);

/** The held one on the host that has been away for longest; NULL: there is none. */
cebus_candidate *cebus_away_coldest(const cebus_runtime *rt);

/** Its copy goes once no stream is at it, and it is absent: a record has to make it again. */
void cebus_away_lose(cebus_runtime *rt, cebus_candidate *candidate);
/** Loses an abandoned one. False: there is none that no running call or plan wants. O(those that
 * are wanted). */
bool cebus_away_give_up(cebus_runtime *rt, bool spill);

/** Frees leaves that only records keep (cebus_candidate_cut()), the last of what holds room for
 * nobody. Values that were denied a copy may be offered again. False: there is none. */
bool cebus_away_cut(cebus_runtime *rt);

#endif
