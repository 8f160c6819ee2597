/**
 * ladder.h: down to a limit that no run of the greedy reaches, rung by rung: a little less each
 * time, and between two rungs a search for less time (improve.h). What the greedy builds up on its
 * way down it cannot take back; the search does, and leaves room for the next rung.
 *
 *     bytes |######                        each rung: run, prune, improve
 *           |######                        stuck: runs that do not mind what their chains
 *           |###### #####                         put over the limit while they run (it is
 *           |###### ##### #### ###                made up for in turn), then a smaller step
 *     limit |- - - - - - - - - - - - - -
 *
 * Near the floor (the most that one call needs) plans cost as much as the program, and a plan is
 * found in seconds, not in one.
 */
#ifndef CEBUS_EVICT_PLANNER_LADDER_H
#define CEBUS_EVICT_PLANNER_LADDER_H

#include "evict/planner/greedy.h"
#include "evict/planner/snapshot.h"

/** Brings the sequence as it stands to the limit, or as near as it gets: within ten times the
 * effort of the terms and what the greedy has left, and with replays of at most most_ns. Leaves it
 * on the lowest rung. False without host memory. */
bool cebus_ladder_descend(cebus_greedy *greedy, const cebus_plan_terms *terms, double limit,
                          uint64_t most_ns);

#endif
