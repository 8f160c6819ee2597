/**
 * finalists.h: plans by which parameters shuttle (shuttle.h), by how long the timeline says that
 * they take, until places are found for the best of them. Some are made of one plan for the
 * activations: where two of these find no places, the others of that one hardly will.
 */
#ifndef CEBUS_EVICT_PLANNER_FINALISTS_H
#define CEBUS_EVICT_PLANNER_FINALISTS_H

#include "evict/plan.h"

#define CEBUS_FINALISTS 24

/** A plan that may be the best: where it is placed it may take longer than it seems to. */
typedef struct cebus_finalist {
    cebus_plan plan;
    uint64_t ns;
    uint32_t origin; /**< the number of the plan for the activations it is made of */
} cebus_finalist;

typedef struct cebus_finalists {
    cebus_finalist items[CEBUS_FINALISTS]; /**< by time */
    size_t count;
} cebus_finalists;

/** Keeps the plan if it is among those that take least; it is empty then. Of plans that take as
 * long one is kept. */
void cebus_finalists_enter(cebus_finalists *finalists, cebus_plan *plan, uint64_t ns,
                           uint32_t origin);
/** Hands out the plan that takes least with what it waits for its places; the first if none of
 * those that were placed has any, or the terms ask for none. There is one. False without host
 * memory. */
bool cebus_finalists_choose(cebus_finalists *finalists, const cebus_iteration *iteration,
                            const cebus_plan_terms *terms, cebus_plan *out);
void cebus_finalists_clear(cebus_finalists *finalists);

#endif
