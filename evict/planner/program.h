/**
 * program.h: a sequence as it begins: each call of the program once, no replays. Of each value when
 * it is made, used, and held by the program where it could not be made again (evict/cuts.h).
 */
#ifndef CEBUS_EVICT_PLANNER_PROGRAM_H
#define CEBUS_EVICT_PLANNER_PROGRAM_H

#include "evict/planner/sequence.h"

/** Of a sequence that has no calls yet. False without host memory: what there is is the caller's to
 * free. O(refs + calls log calls). */
bool cebus_program_lay_out(cebus_sequence *sequence);

#endif
