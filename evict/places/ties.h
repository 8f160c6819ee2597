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

#include <cebus/pack.h>

#include "evict/timeline/occupancy.h"
#include "evict/timeline/sojourn.h"

typedef struct cebus_tie {
    uint32_t first, last; /**< blocks, by index: stays; the same: the value never leaves */
    uint64_t from, to;    /**< when the last begins, and the first ends */
    uint64_t length;      /**< of both together */
    uint8_t bond;         /**< cebus_tie_bond: the loosest by which it is tied */
} cebus_tie;

/** Who lies at the bottom; all others may lie elsewhere as the next iteration begins, and move. */
typedef enum cebus_tie_bond {
    CEBUS_TIES_OF_ALL,    /**< nothing moves */
    CEBUS_TIES_OF_FIRM,   /**< what moves waits for nothing */
    CEBUS_TIES_OF_COPIES, /**< what leaves behind the end alone: what moves may wait for copies */
    CEBUS_TIE_BONDS,
} cebus_tie_bond;

/** Who lies lowest. */
typedef enum cebus_tie_order {
    CEBUS_TIES_BY_LENGTH, /**< who is there for longest */
    CEBUS_TIES_BY_END,    /**< who leaves last */
    CEBUS_TIES_BY_BEGIN,  /**< who came first */
    CEBUS_TIE_ORDERS,
} cebus_tie_order;

typedef struct cebus_ties {
    cebus_pool *pool; /**< borrowed */
    cebus_tie *items;
    size_t count, capacity;
} cebus_ties;

/** Of a plan that is linked. None where no value comes and goes that is there as the iteration
 * ends. False without host memory: then there is nothing to free. O(stays + values + n log n). */
bool cebus_ties_init(cebus_ties *ties, const cebus_sojourns *sojourns,
                     const cebus_iteration *iteration, const cebus_plan *plan);
/** Those are firm of which a copy, to the host or back, goes on as the iteration ends. False
 * without host memory. O(values + actions). */
bool cebus_ties_find_firm(cebus_ties *ties, const cebus_sojourns *sojourns, const cebus_plan *plan,
                          const cebus_occupancy *occupancy);
/** One more, of a stay that goes on behind the end, and a block for what it then takes. False
 * without host memory. */
bool cebus_ties_add(cebus_ties *ties, uint32_t block, uint32_t stay);
/** Sets when they begin and end, on a clock on which that is known of all blocks, and sorts them.
 * O(n log n). */
void cebus_ties_sort(cebus_ties *ties, const cebus_pack_block *blocks, cebus_tie_order order);
void cebus_ties_deinit(cebus_ties *ties);

#endif
