/**
 * shuttle.h: plans for iterations whose persistent values, parameters and optimizer state, leave
 * too little memory for what the calls need, or are more than there is. They are the most
 * predictable values of all: read in the forward, in the backward, written in the step, idle in
 * between and until the next iteration reads them again. So they shuttle between host and device.
 *
 * What activations need is planned first, for a part of the memory (planner/planner.h). Then what
 * is left over each run (runs.h) is shared out: some persistent values stay, others are there when
 * they are used (presence.h). Of several parts and shares the one that takes least time
 * (timeline.h) is taken. None of those that shuttle is there at one moment, where activations take
 * most. Where iterations meet much of the memory is free: what the step wrote may wait there for
 * the next forward, and for its copy out. Each iteration begins as the last one ended.
 *
 *     w0     stay  ============================================   SWAP_IN at 0: it is there
 *     w1     ====== f1 == out           in == b1 ===== s1 =====   SWAP_IN at 0, SWAP_OUT after f1
 *     m1 v1  == out                              in === s1 ====   SWAP_IN at 0: until it is copied
 *     m2 v2  out  |                    in === s2 == out           SWAP_OUT at 0
 *
 * What crosses has one place on both sides (places/ties.h).
 *
 * Where the planner's own plan fits with all of them on the device, that is the plan.
 * Beyond Capuchin (Peng et al., ASPLOS'20), which has parameters stay.
 */
#ifndef CEBUS_EVICT_PLANNER_SHUTTLE_H
#define CEBUS_EVICT_PLANNER_SHUTTLE_H

#include "evict/plan.h"

/** As cebus_policy.plan. Persistent values shuttle only where the planner's own plan does not fit
 * beside them, or the terms say so: then there may be none. */
bool cebus_shuttle_plan(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out);

#endif
