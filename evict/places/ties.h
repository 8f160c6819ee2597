/**
 * ties.h: persistent values that are there as an iteration ends, and away for some of it
 * (timeline/presence.h). Their last stay in it and their first in the next are one, so both have to
 * have one place. As all of these are there at once where iterations meet, each gets a place of its
 * own at the bottom, those that are there for longest lowest, and all others come around them:
 *
 *     place     beginning ............................ end | beginning of the next ...
 *     high      [m1 ==|                            |== m1 == | == m1 ==|
 *               [w1 ======|                   |======= w1 == | == w1 ======|
 *     low       [w0 (stays) ================================ | ===============
 */
#ifndef CEBUS_EVICT_PLACES_TIES_H
#define CEBUS_EVICT_PLACES_TIES_H

#include "evict/places/sojourn.h"

typedef struct cebus_tie {
    uint32_t first, last; /**< stays, by index; the same: the value never leaves */
    uint32_t runs;        /**< that both take */
} cebus_tie;

typedef struct cebus_ties {
    cebus_pool *pool; /**< borrowed */
    cebus_tie *items; /**< by how long they are there, those that are for longest first */
    size_t count, capacity;
} cebus_ties;

/** Of a plan that is linked. None where no value comes and goes that is there as the iteration
 * ends. False without host memory: then there is nothing to free. O(stays + values + n log n). */
bool cebus_ties_init(cebus_ties *ties, const cebus_sojourns *sojourns,
                     const cebus_iteration *iteration, const cebus_plan *plan);
void cebus_ties_deinit(cebus_ties *ties);

#endif
