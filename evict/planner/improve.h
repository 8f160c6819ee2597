/**
 * improve.h: local search on a plan that fits. One step changes it, repairs it and keeps the result
 * if it takes no longer, waits for copies included (links.h), or, by simulated annealing, a little
 * longer at first. The best plan seen is what remains. Changes are:
 *
 *     ruin    (Schrimpf et al., 2000) take out some replays that lie together, cost much or make
 *             the same kind of value; the greedy fills the gap with noisy scores, some of what was
 *             there forbidden
 *     stir    put in replays that are not needed, and prune what they make superfluous
 *     swaps   put in, in place of replays or of other swaps; take out; move (exchange.h)
 *
 * Where there is effort enough, several searches begin from other random numbers, one of four with
 * shared prices (greedy.h), and the better half goes on, twice.
 */
#ifndef CEBUS_EVICT_PLANNER_IMPROVE_H
#define CEBUS_EVICT_PLANNER_IMPROVE_H

#include "evict/planner/greedy.h"

/** Improves a sequence that fits until the greedy's closure has spent so much, and leaves the best
 * there was. theta: of the run that made the sequence. False without host memory. */
bool cebus_improve_run(cebus_greedy *greedy, const cebus_plan_terms *terms, double limit,
                       double theta, uint64_t spent);

/** One try to bring a sequence below a limit that the greedy does not reach. Some replays are taken
 * out, or none, and chains are taken for what they free even where they put bytes over the limit
 * while they run; that is repaired in turn, which finds plans that no sequence of single chains
 * leads to. The sequence is as before unless the result fits. Within the greedy's `most_spent`.
 * False without host memory. */
bool cebus_improve_lower(cebus_greedy *greedy, double limit, double theta, uint64_t most_ns,
                         uint32_t seed, bool *out_fits);

#endif
