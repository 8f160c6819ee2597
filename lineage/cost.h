/**
 * cost.h: what it would cost to rebuild a value, own run plus absent neighbourhood (DTR, Kirisame
 * et al., ICLR'21, section 4: h_DTR-eq).
 *
 * Absent values that touch in the program (a record's inputs, its outputs, readers of either) form
 * classes in a union-find forest; a class carries the summed cost of its members. The price of
 * a resident value is its own cost plus the distinct classes next to it, ancestors and consumers
 * alike. Each giving-up makes a fresh forest node, so that a value which came back leaves no stale
 * root behind (a defect of two published implementations); coming back subtracts its cost and
 * keeps the class together, as in DTR: splits are not undone. Versions that are only parked
 * (value.h) are in no class: nobody is going to read them, and in a backward they would tie all
 * that is absent into one class that makes every price the same.
 */
#ifndef CEBUS_LINEAGE_COST_H
#define CEBUS_LINEAGE_COST_H

#include "lineage/call.h"

typedef struct cebus_class {
    struct cebus_class *parent; /**< NULL: a root */
    uint64_t cost;              /**< of a root: sum over its members */
    uint32_t refs;              /**< members + children */
    uint32_t rank;
    uint64_t mark;
} cebus_class;

/** The value's bytes are gone. Never fails: without host memory the class is not merged. */
void cebus_cost_leave(cebus_lineage *lineage, cebus_value *value);
/** The value's bytes are back, or it died. */
void cebus_cost_return(cebus_lineage *lineage, cebus_value *value);

/** Own cost of a replayable value: one run of its producer, at least 1 ns. 0 for a leaf. */
uint64_t cebus_cost_own(const cebus_value *value);
/** Own cost plus the distinct absent classes around it. O(neighbours). */
uint64_t cebus_cost_neighbourhood(cebus_lineage *lineage, const cebus_value *value);

#endif
