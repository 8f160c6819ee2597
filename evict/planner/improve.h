/**
 * improve.h: a plan made better by ruin and recreate (Schrimpf et al., 2000): some replays are
 * taken out, those that lie together, cost much or make the same kind of thing; the greedy fills
 * the gap again with noisy scores and some of what was there forbidden. Or the other way round:
 * some replays are put in where none are needed, and what they make superfluous goes. Where values
 * may be swapped, swaps take the place of replays or of other swaps, go, or move (exchange.h); what
 * idles where most is resident goes rather. What takes no longer, waiting included (links.h),
 * stays, and at first what takes a little longer; the best is kept. Where there is effort enough,
 * several searches begin, and half of them go on, twice.
 */
#ifndef CEBUS_EVICT_PLANNER_IMPROVE_H
#define CEBUS_EVICT_PLANNER_IMPROVE_H

#include "evict/planner/greedy.h"

/** Of a sequence that fits, until the greedy's closure has spent so much. Leaves the best sequence
 * there was. theta: that of the run that made it. False without host memory. */
bool cebus_improve_run(cebus_greedy *greedy, const cebus_plan_terms *terms, double limit,
                       double theta, uint64_t spent);

/** One try to get a sequence below a limit that the greedy does not reach: some replays go, or none
 * do, and it is brought down by chains for what they take off alone, whatever they put over the
 * limit where they run. That is repaired in turn, which opens ways that no single chain does. What
 * stands stays unless that fits. Within the greedy's `most_spent`. False without host memory. */
bool cebus_improve_lower(cebus_greedy *greedy, double limit, double theta, uint64_t most_ns,
                         uint32_t seed, bool *out_fits);

#endif
