/**
 * foresight.h: plans a rebuild together with the rest of the backward, where rebuilds thrash: what
 * one of them made is given up for the next. From when rebuilding has taken four times as long as
 * the program's own calls, each rebuild is planned with what may follow (mirror.h). The plan is
 * carried out up to what is wanted now; the rest of it tells what to keep for later. Between
 * rebuilds gradients that wait are the last to go. They are so from when rebuilding took half of
 * the program's own time on, where rebuilds have room beside them (headroom.h); under a policy that
 * plans anywhere, but no longer once it took twice.
 *
 *     absent value -> mirror -> plan (evict/planner/foresee.h) -> drops and replays up to now
 *
 * When gradients are read is guessed by age. After some plans in a row were not found so, or once
 * rebuilds took eight times the program's own time and as much again as the program up to the first
 * plan, it is told from their bytes, until the program turns back anew.
 *
 * Plans take no more steps in all than a number for each call that the program made. After that,
 * and where there is no plan, rebuilds go on as before. Not where blocks do not move, nor where
 * values go to the host, nor while the plan of a policy that plans guides the program.
 */
#ifndef CEBUS_EAGER_REBUILD_FORESIGHT_H
#define CEBUS_EAGER_REBUILD_FORESIGHT_H

#include "eager/storage.h"

/** What later calls made and somebody holds is to be kept (cebus_chooser.turn); 0: nothing is. */
uint64_t cebus_foresight_turn(const cebus_runtime *rt);
/** The same, for when all else goes: under a policy that plans, and where rebuilds have room beside
 * it; 0: that goes, too. */
uint64_t cebus_foresight_stays(const cebus_runtime *rt);

/** Makes `target`, which is pinned, resident. CEBUS_OUT_OF_MEMORY: it did not, and is to be made in
 * another way; what was made so far may be there. CEBUS_DEVICE_ERROR. */
cebus_status cebus_foresight_rebuild(cebus_runtime *rt, cebus_candidate *target);

#endif
