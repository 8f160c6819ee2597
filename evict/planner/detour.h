/**
 * detour.h: swaps that a march (march.h) puts in whether the link hides them or not. Where an
 * instance is over the limit a value that idles there may go by way of the host instead of being
 * made again: it is away from there to its next use.
 *
 *     instances  f0  f1  OUT x  f2  ...  b2  IN x  b1     x: made by f0, read by b1
 *                        | f2 is over the limit   | as late as can be: all between is free
 *
 * Once everything fits, copies back are started earlier, as far as there is room and the link is to
 * be busy with them.
 */
#ifndef CEBUS_EVICT_PLANNER_DETOUR_H
#define CEBUS_EVICT_PLANNER_DETOUR_H

#include "evict/planner/links.h"
#include "evict/planner/picks.h"

typedef struct cebus_detours {
    cebus_sequence *sequence;      /**< borrowed */
    const cebus_plan_terms *terms; /**< borrowed */
    double limit;                  /**< bytes */
    double price;       /**< of the link's time: what of it calls wait for, as far as is reckoned */
    uint64_t host;      /**< bytes there */
    cebus_picks offers; /**< by what they were worth when they were looked at last; to: instances */
} cebus_detours;

/** One that could be put in. */
typedef struct cebus_detour {
    uint32_t value; /**< NONE: there is none */
    uint32_t to;    /**< the instance that reads it next */
    bool leaves;    /**< it is not on the host yet */
    double score;   /**< ns for a unit of area, as that of a chain (greedy.h) */
} cebus_detour;

/** Of a sequence without swaps. */
void cebus_detours_init(cebus_detours *detours, cebus_sequence *sequence,
                        const cebus_plan_terms *terms, double limit, double price);
void cebus_detours_deinit(cebus_detours *detours);

/** A value may idle behind an event with that key: to be said of all that instances read and make,
 * one after the other. False without host memory. */
bool cebus_detours_note_behind(cebus_detours *detours, uint32_t value, uint64_t key);
/** The best over an instance: the least time of the link for what it frees over the limit from
 * there on. False without host memory. */
bool cebus_detours_find(cebus_detours *detours, uint32_t instance, cebus_detour *out);
/** Puts it in. False without host memory: then only deinit of both is left. */
bool cebus_detours_put(cebus_detours *detours, const cebus_detour *detour, uint32_t instance);

/** Of a sequence that fits: has values come back earlier. False without host memory. O(swaps x
 * instances that each passes). */
bool cebus_detours_hasten(cebus_links *links, cebus_sequence *sequence, double limit);

#endif
