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
 *
 * Prices are remembered: a value keeps its own cost and which classes are next to it. Whatever
 * changes that set makes the value forget (cebus_cost_disturb); what its classes cost by now, and
 * which of them united, is read from their roots each time. So a change costs its neighbourhood,
 * however many values lie around the class it belongs to, and a price costs a few reads.
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
/** They stay away, but nobody is going to read them. */
void cebus_cost_disregard(cebus_lineage *lineage, cebus_value *value);

/** Own cost of a replayable value: one run of its producer, at least 1 ns. 0 for a leaf. */
uint64_t cebus_cost_own(const cebus_value *value);
/** Own cost plus the distinct absent classes around it, worked out anew. O(neighbours). */
uint64_t cebus_cost_neighbourhood(cebus_lineage *lineage, const cebus_value *value);
/** The same number out of the value's memory. O(CEBUS_NEAR_MAX), or O(neighbours) for the first
 * time after something next to it changed, and where more classes meet than can be remembered. */
uint64_t cebus_cost_price(cebus_lineage *lineage, cebus_value *value);

/**
 * Values next to `value` forget their prices: what it adds to them is about to change, or has
 * just changed. For what makes a value absent or present, read, or rebuildable; costs and unions of
 * classes need no call. O(neighbours).
 */
void cebus_cost_disturb(const cebus_value *value);
/** What a run of `call` takes is known better by now: `ns`. */
void cebus_cost_revise(cebus_lineage *lineage, cebus_call *call, uint64_t ns);
/** A run of `call` took `ns`: its cost is the least of all. */
void cebus_cost_lower(cebus_lineage *lineage, cebus_call *call, uint64_t ns);
/** `call` waited `ns` until its inputs were made again. */
void cebus_cost_wait(cebus_lineage *lineage, cebus_call *call, uint64_t ns);

#endif
