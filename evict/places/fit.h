/**
 * fit.h: a plan whose values find places side by side. Planners count bytes; what is left between
 * other values may be of no use, although it is enough. So a plan is placed (site.h) as soon
 * as it is made. Where that fails, a planner that searches leaves bytes free where they were too
 * many and tries again from what it has; the others plan for less.
 * Where the plan swaps and is dear another is made by which parameters shuttle; and others beside
 * one by which they do, if it takes much longer than the first would without places.
 */
#ifndef CEBUS_EVICT_PLACES_FIT_H
#define CEBUS_EVICT_PLACES_FIT_H

#include "evict/places/site.h"
#include "evict/planner/stock.h"
#include "evict/policy.h"

typedef struct cebus_fit {
    const cebus_policy *policy;
    const cebus_iteration *iteration; /**< sealed */
    cebus_site site;                  /**< crowd and go_on are not looked at */
    cebus_plan_terms
        terms; /**< go_on ends packing, too. budget: what there is, then what it was planned for */
    uint64_t holes; /**< bytes that a plan without places has to leave free; 0: there is no use for
                       one */
    cebus_plan *plan;           /**< empty; then the plan, to be followed as it is */
    cebus_placement *placement; /**< empty; then the places */
    /* No one else's business. */
    cebus_placement found; /**< those found last */
    cebus_plan loose;      /**< one that leaves as much free as one without places has to */
    cebus_stock stock;     /**< parts of plans, which may do for others */
    uint64_t memory;       /**< the budget that there is */
    uint64_t waited;       /**< steps of all attempts so far */
    uint64_t crowded;      /**< what persists had to come and go in so much; 0: nothing did */
    /* Answers. */
    bool none_fits; /**< false; then whether no plan was found that fits by its bytes alone */
} cebus_fit;

/** False: nothing was found that can be placed, or host memory is short; the placement is empty
 * then, and the plan, too, but where none fits: then it is the one that comes nearest; or where one
 * was searched for, for so much less, that leaves the holes free: then it is that. It is ready.
 * Costs some plans and some packings. */
bool cebus_fit_make(cebus_fit *fit);

/** Places for the plan that is there, as it would have found them when it was made; it may ask for
 * copies in later then. False: there are none, or host memory is short. Costs some packings. */
bool cebus_fit_place(cebus_fit *fit);

#endif
