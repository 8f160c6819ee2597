/**
 * headroom.h: whether a rebuild has enough memory beside what must not go on the way back: leaves,
 * and gradients that wait to be read (lineage/turn.h).
 *
 *     leaves + gradients + the widest step of the forward <= budget
 *
 * The widest step is the most that calls up to the turn hold at once if each of them runs once, in
 * the program's order: what it makes, and what was made before it and is read there or later. Only
 * calls count that lead to something the forward left and somebody still holds, so it shrinks on
 * the way back. Where all of it fits, as far as this way back and the one before tell, gradients
 * can stay and rebuilds still succeed. Where it does not, the two compete, and what is kept for one
 * is missed by the other (tests/bench/thrashing.md).
 */
#ifndef CEBUS_EAGER_REBUILD_HEADROOM_H
#define CEBUS_EAGER_REBUILD_HEADROOM_H

#include "eager/storage.h"

/** Before a rebuild: measures both sides anew from time to time, once rebuilding took half of the
 * program's own time. O(records log records). */
void cebus_headroom_measure(cebus_runtime *rt);
/** Whether it fits, as last measured; false as long as nothing was. O(1). */
bool cebus_headroom_suffices(const cebus_runtime *rt);

#endif
