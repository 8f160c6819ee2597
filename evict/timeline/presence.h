/**
 * presence.h: when persistent values that do not stay are there: each of their presences begins
 * with a copy in and ends where they are not used for long. None of them is there at the turn: one
 * moment of the iteration, which goes around. Where that is its end, nothing crosses from one
 * iteration to the next. Where it is in its midst, because most of the memory is needed for other
 * things there, what a step wrote may wait on the device for the next forward:
 *
 *     runs        f0   f1   f2 | b2   b1   b0   s0   s1   s2 / f0   f1   f2 |
 *     w0                       turn        ===[use]=[use]=======[use]       turn    crosses
 *
 * Where room is short, what is used next farthest in the future leaves (Belady), which brings the
 * fewest bytes over the link. Its room is free from its last use on. Then each copy in begins
 * earlier, as early as it must for all copies to be in time, or as early as there is room: what is
 * brought does not change by that (Cao et al., SIGMETRICS'95: never let anything go for what is
 * needed later). Two presences that meet are one. Where there is room left, what was written keeps
 * its own until its copy out should be done: who comes there earlier would wait for it.
 *
 *     runs        f0   f1   f2   b2   b1   b0   s0   s1   s2
 *     w1          ===[use]           ===[use]==     ===[use]        since, from, to, gone
 *     room left  |     over what calls and their values take      |
 */
#ifndef CEBUS_EVICT_TIMELINE_PRESENCE_H
#define CEBUS_EVICT_TIMELINE_PRESENCE_H

#include "evict/timeline/runs.h"

typedef struct cebus_presence {
    uint32_t value;
    uint32_t since; /**< its copy in may begin before this run */
    uint32_t from;  /**< its first use: a run */
    uint32_t to;    /**< the run after its last use */
    uint32_t gone;  /**< the run before which its room is somebody else's */
    uint32_t done;  /**< it was written: the run after that, at which its copy out starts */
    bool writes;    /**< it leaves with a copy */
} cebus_presence;

typedef struct cebus_presences {
    cebus_pool *pool;      /**< borrowed */
    cebus_presence *items; /**< by `from` */
    size_t count, capacity;
} cebus_presences;

typedef struct cebus_presence_terms {
    const bool *streams;        /**< of values: does not stay */
    uint64_t room;              /**< bytes for them and for all that the runs have */
    uint64_t spared;            /**< bytes of it that nothing fills before it must, or after */
    uint64_t ahead;             /**< bytes of it kept for what is on its way, where that can be */
    uint64_t out_rate, in_rate; /**< bytes/s, above 0 */
    uint64_t latency_ns;        /**< of each copy */
    uint32_t turn;              /**< the run before which none is there; 0: that is the end */
} cebus_presence_terms;

typedef enum cebus_presence_verdict {
    CEBUS_PRESENCE_FITS,
    CEBUS_PRESENCE_FULL, /**< some run finds no room for what it uses */
    CEBUS_PRESENCE_NO_HOST_MEMORY,
} cebus_presence_verdict;

/** `out` is empty unless it FITS. O(uses + copies x (values that stream + runs they are ahead)). */
cebus_presence_verdict cebus_presences_find(const cebus_runs *runs,
                                            const cebus_presence_terms *terms,
                                            cebus_presences *out);
/** Whether it goes on from one iteration to the next. */
static inline bool cebus_presence_crosses(const cebus_presence *presence)
{
    return presence->gone <= presence->since;
}

void cebus_presences_deinit(cebus_presences *presences);

#endif
