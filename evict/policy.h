/**
 * policy.h: the interface of an eviction policy. A policy only prices; choose.h searches, the
 * runtime acts. One file a policy (policy_<name>.c), its head naming the paper and every liberty
 * taken.
 */
#ifndef CEBUS_EVICT_POLICY_H
#define CEBUS_EVICT_POLICY_H

#include "evict/candidate.h"
#include "lineage/call.h"

/** What one choice gives up. */
typedef enum cebus_unit {
    CEBUS_UNIT_NONE,   /**< nothing: a full arena is an error */
    CEBUS_UNIT_ONE,    /**< the candidate of the lowest score, again until the request fits */
    CEBUS_UNIT_WINDOW, /**< the address-contiguous window of the lowest summed price */
} cebus_unit;

/** What a score may depend on beside the candidate's cost. Never zero, so always finite. */
typedef struct cebus_situation {
    uint64_t age;           /**< ns since the last use, at least 1 */
    uint64_t bytes;         /**< of its block */
    uint64_t adjacent_free; /**< bytes of the free neighbours of its block */
} cebus_situation;

typedef struct cebus_policy {
    const char *name;
    cebus_unit unit;
    /** Price numerator in ns; the window search divides it by the age. */
    uint64_t (*weight)(cebus_lineage *lineage, const cebus_candidate *candidate);
    /** UNIT_ONE: lower goes first. */
    double (*score)(uint64_t weight, const cebus_situation *situation);
    bool swaps; /**< published with swapping: to the host whatever fits there, not where cheaper */
} cebus_policy;

extern const cebus_policy cebus_policy_none;
extern const cebus_policy cebus_policy_lru;
extern const cebus_policy cebus_policy_dtr;
extern const cebus_policy cebus_policy_dtr_local;
extern const cebus_policy cebus_policy_dte;
extern const cebus_policy cebus_policy_coop;

/** By name, NULL when there is none such. */
const cebus_policy *cebus_policy_find(const char *name);
/** Policy number i, NULL past the end: for lists and sweeps. */
const cebus_policy *cebus_policy_at(size_t i);

/** The two weights the shipped policies share. */
uint64_t cebus_policy_weight_own(cebus_lineage *lineage, const cebus_candidate *candidate);
uint64_t cebus_policy_weight_neighbourhood(cebus_lineage *lineage,
                                           const cebus_candidate *candidate);

#endif
