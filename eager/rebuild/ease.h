/**
 * ease.h: whether rebuilds have room beside what waits: leaves, and gradients on their way
 * (lineage/turn.h).
 *
 *     leaves + gradients + the widest step of the forward <= budget
 *
 * That step is what calls up to the turn have to hold at once where each runs once, in the order of
 * the program: what it makes, and what was made before and is read there or later. Of those calls
 * alone of which something is made that the forward left and is still held: it gets less on the way
 * back. Where all of it fits, as far as this way back and the one before tell, gradients can stay
 * and rebuilds get through all the same. Where it does not, they compete, and what stays for one is
 * missed by the other (tests/bench/logs.md).
 */
#ifndef CEBUS_EAGER_REBUILD_EASE_H
#define CEBUS_EAGER_REBUILD_EASE_H

#include "eager/storage.h"

/** Measures that from time to time, once rebuilding took half of the program's own time. O(records
 * log records). */
void cebus_ease_measure(cebus_runtime *rt);
bool cebus_ease_has_room(const cebus_runtime *rt);

#endif
