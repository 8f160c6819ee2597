/**
 * trigger.h: when copies back start, corrected by how late they came (Capuchin, ASPLOS'20, section
 * 4.4): each time that a value is read while its copy is under way its in-trigger moves earlier by
 * 5% of what the copy takes. Triggers are calls, and a call may take longer than that: what was not
 * moved by yet is remembered.
 *
 *     calls     ... c5 | c6 | c7 | c8 reads x
 *     copy                   [== x ==|=]          late: from the next time on it starts before c6
 */
#ifndef CEBUS_EVICT_TRIGGER_H
#define CEBUS_EVICT_TRIGGER_H

#include "evict/plan.h"

/** Of a value, in an iteration. */
typedef struct cebus_trigger {
    uint64_t arrives; /**< ns, on the device's clock: end of the copy back under way; 0: none is */
    uint64_t lead;    /**< ns by which it is to start earlier */
} cebus_trigger;

/** Moves the triggers of all values with a lead that reaches back to an earlier call, but not
 * before the value left. The plan is sorted and linked again if any was. *out_moved: so many were.
 * False without host memory: then the plan may be used no more. O(actions + calls). */
bool cebus_trigger_advance(cebus_plan *plan, const cebus_iteration *iteration,
                           cebus_trigger *triggers, uint32_t *out_moved);

#endif
