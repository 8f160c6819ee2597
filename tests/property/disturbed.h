/**
 * disturbed.h: a subject run while everything around it changes and fails: budgets, policies,
 * trims, traces, watches, plans and marks between its steps; host memory, launches, copies, slab
 * memory and disk I/O inside them. Stretches of its steps are captured and launched again.
 */
#ifndef CEBUS_TESTS_PROPERTY_DISTURBED_H
#define CEBUS_TESTS_PROPERTY_DISTURBED_H

#include "tests/property/failure.h"
#include "tests/property/subject.h"

typedef struct cebus_disturbed {
    const cebus_subject *subject;
    const char *name; /**< of the subject */
    uint64_t seed;    /**< of the subject, and of what is captured */
    uint64_t draw;    /**< of what disturbs it; 0: nothing does, and memory has no limit */
    size_t steps;
    uint64_t peak; /**< bytes of the undisturbed run; budgets are parts of it */
} cebus_disturbed;

typedef struct cebus_disturbed_outcome {
    cebus_record record;
    uint64_t peak;
    uint64_t faults;    /**< failures that a step, a launch or a change told */
    uint64_t ooms;      /**< of these, for want of memory */
    uint64_t captures;  /**< recorded whole */
    uint64_t launches;  /**< of them, to the end */
    uint64_t reordered; /**< times launches were given another order */
    uint64_t advised;   /**< times they were given a plan */
    uint64_t evictions;
    uint64_t guided; /**< iterations that followed a plan of the policy from end to end */
    uint64_t loaded; /**< times a plan from a file took the place of a search */
    cebus_failure failure;
} cebus_disturbed_outcome;

/** Runs it. The caller compares records and frees out->record. */
void cebus_disturbed_run(const cebus_disturbed *what, cebus_disturbed_outcome *out);
/** Plans that runs have saved for later ones are gone. */
void cebus_disturbed_forget(void);

#endif
