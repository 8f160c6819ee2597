/**
 * trial.h: one run of a subject under one setting, with everything that can be wrong about it.
 */
#ifndef CEBUS_TESTS_PROPERTY_TRIAL_H
#define CEBUS_TESTS_PROPERTY_TRIAL_H

#include "evict/choice/choose.h"
#include "tests/property/failure.h"
#include "tests/property/subject.h"

typedef struct cebus_trial {
    const cebus_subject *subject;
    const char *name; /**< of the subject */
    uint64_t seed;    /**< of the subject */
    size_t steps;
    const char *policy;
    const char *device; /**< NULL: the CPU */
    const char *layout; /**< NULL: the default */
    cebus_swap swap;
    uint64_t host_budget;   /**< 0: the default */
    uint64_t spill_budget;  /**< 0: no spill file */
    uint64_t pinned_budget; /**< 0: the default */
    uint64_t budget;        /**< 0: unlimited */
    uint64_t memory;        /**< what is plenty; 0: the default budget */
    uint64_t relief;        /**< the budget after an out-of-memory error; 0: unlimited */
    cebus_cost_model cost_model;
    uint32_t debug;
    const char *load_plan; /**< a file of plans, whatever is in it; NULL: none */
    const char *save_plan; /**< where the plans go in the end; NULL: nowhere */
    bool late;             /**< the subject is made before the budget is set */
    bool relapse; /**< after an out-of-memory error the first budget comes back, if it can */
    bool wiggle;  /**< the budget shrinks and grows on the way, and memory is trimmed */
    bool reload;  /**< plans are saved on the way, and loaded again */
} cebus_trial;

typedef struct cebus_outcome {
    cebus_record record;
    uint64_t ooms; /**< out-of-memory errors it recovered from; 0: the budget was feasible */
    uint64_t peak; /**< max_memory_allocated */
    uint64_t floor, least;
    const char *floor_op;
    uint64_t ways[CEBUS_WAY_COUNT]; /**< how requests were met (evict/choice/contest.h) */
    uint64_t stood; /**< choices by prices of former ones (evict/choice/lowest.h), not less */
    uint64_t recomputes, swap_ins, prefetches, plans_used, plans_refused;
    uint64_t guided; /**< iterations that followed a plan from end to end */
    cebus_failure failure;
} cebus_outcome;

/** Runs it. The caller compares records and frees out->record. */
void cebus_trial_run(const cebus_trial *trial, cebus_outcome *out);

#endif
