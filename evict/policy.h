/**
 * policy.h: the interface of an eviction policy. A policy only prices; choose.h searches, the
 * runtime acts. Some also plan ahead, from a recorded iteration; what their plans do not foresee is
 * left to their prices. One file a policy (policy_<name>.c), its head naming the paper and every
 * liberty taken.
 */
#ifndef CEBUS_EVICT_POLICY_H
#define CEBUS_EVICT_POLICY_H

#include "evict/candidate.h"
#include "evict/plan.h"
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
    /** UNIT_ONE: lower goes first. Age alone (cebus_policy_score_age), or never less than weight /
     * ((bytes + adjacent_free) x age). */
    double (*score)(uint64_t weight, const cebus_situation *situation);
    bool swaps; /**< published with swapping: to the host whatever fits there, not where cheaper */
    bool moves_persistent; /**< on simulated machines, too, where they stay at first otherwise */
    /**
     * Fills `out`, empty and with a pool for whatever memory the planner needs, with what to do in
     * the next iteration, sorted; nothing when the iteration fits. False without host memory, or
     * where the terms rule the policy out: `out` is not used, then. NULL: it does not plan.
     */
    bool (*plan)(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out);
    bool feeds_back;    /**< copies back that come late start earlier the next time (trigger.h) */
    bool searches;      /**< more effort makes better plans */
    const char *layout; /**< it does best with, where the user names none; NULL: the default */
} cebus_policy;

extern const cebus_policy cebus_policy_none;
extern const cebus_policy cebus_policy_lru;
extern const cebus_policy cebus_policy_dtr;
extern const cebus_policy cebus_policy_dtr_local;
extern const cebus_policy cebus_policy_dte;
extern const cebus_policy cebus_policy_coop;
extern const cebus_policy cebus_policy_sublinear;
extern const cebus_policy cebus_policy_vdnn;
extern const cebus_policy cebus_policy_vdnn_all;
extern const cebus_policy cebus_policy_superneurons;
extern const cebus_policy cebus_policy_tflms;
extern const cebus_policy cebus_policy_odswap;
extern const cebus_policy cebus_policy_capuchin;
extern const cebus_policy cebus_policy_cebus;

/** By name, NULL when there is none such. */
const cebus_policy *cebus_policy_find(const char *name);
/** Policy number i, NULL past the end: for lists and sweeps. */
const cebus_policy *cebus_policy_at(size_t i);

/** What the shipped policies share. */
uint64_t cebus_policy_weight_own(cebus_lineage *lineage, const cebus_candidate *candidate);
uint64_t cebus_policy_weight_neighbourhood(cebus_lineage *lineage,
                                           const cebus_candidate *candidate);
/** The least recently used goes first, whatever it costs. */
double cebus_policy_score_age(uint64_t weight, const cebus_situation *situation);

#endif
