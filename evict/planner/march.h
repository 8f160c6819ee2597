/**
 * march.h: a plan from the first call to the last, at the limit from the start. Where the next
 * instance is over it, what idles there goes, the best first (greedy.h), until it fits. What has to
 * run again for that is put in further on, fits or not, and met in its turn: then something else
 * goes for it, what it has just made, too. So rebuilds nest as deep as they must, which no single
 * chain that a greedy may take does.
 *
 *     done  | not yet
 *     ______|__####__          goes: x, which makes room here and up to its next use
 *     ...g  h  i   j  x' k     x', its chain, runs before that use; room for it is made later
 *
 * Each step gains at the instance that it is for, so a march comes past it if anything can. It
 * comes to an end where what it puts in takes longer than it may: below that, rebuilds undo each
 * other.
 */
#ifndef CEBUS_EVICT_PLANNER_MARCH_H
#define CEBUS_EVICT_PLANNER_MARCH_H

#include "evict/planner/detour.h"
#include "evict/planner/greedy.h"

typedef struct cebus_march {
    double price;    /**< times what an area costs on the average: theta, to begin with */
    double link;     /**< part of a copy's time that it costs: where that is less than a chain takes
                          a value goes by way of the host (detour.h); 0: none does */
    bool merges;     /**< what a chain makes is kept for whom it is made again later, until that has
                          to go as well */
    uint32_t noise;  /**< 0: none, as cebus_greedy.noise */
    uint64_t middle; /**< what may have been spent before it comes past the middle; 0: all */
} cebus_march;

/** What came of a march. */
typedef struct cebus_march_course {
    uint32_t calls; /**< of the program that it came past */
    bool meets;     /**< chains made what others make again further on: else `merges` makes no
                         difference */
} cebus_march_course;

/** Brings the sequence to the limit by replays of at most most_ns. STUCK: it costs too much, or
 * takes too long; HOPELESS: somewhere nothing can go. */
cebus_greedy_end cebus_march_run(cebus_greedy *greedy, const cebus_march *how, double limit,
                                 uint64_t most_ns, cebus_march_course *out_course);

#endif
