/**
 * subject.h: something that runs under a budget: a model that trains, or a random program.
 *
 * A subject is a pure function of (name, seed): what it records does not depend on the runtime it
 * is given. Its steps are atomic: one that fails for want of memory has changed nothing and can be
 * taken again.
 */
#ifndef CEBUS_TESTS_PROPERTY_SUBJECT_H
#define CEBUS_TESTS_PROPERTY_SUBJECT_H

#include "tests/property/record.h"

typedef struct cebus_subject {
    /** NULL on failure (cebus_last_error()). */
    void *(*create)(cebus_runtime *rt, const char *name, uint64_t seed);
    /** Step number `i`. Only a failure the program did not ask for is answered. */
    cebus_status (*step)(void *self, size_t i, cebus_record *record);
    /** Records everything that is left. */
    cebus_status (*finish)(void *self, cebus_record *record);
    /** Tensors that collect gradients; NULL past the last. Borrowed. */
    cebus_tensor *(*leaf)(void *self, size_t i);
    /** Whether step number `i` is; NULL: all are. One that is not fails for want of memory alone
     * before it changed anything. */
    bool (*is_atomic)(void *self, size_t i);
    void (*destroy)(void *self);
} cebus_subject;

/** The models of tests/support/models.h; a step is a training step. "NAME+drawn": with parameters
 * and batches drawn on the device. */
extern const cebus_subject cebus_subject_model;
/** Training loops that repeat themselves, or not quite; a step is an iteration. */
extern const cebus_subject cebus_subject_loop;
/** Random programs (program.h); a step is an operation. */
extern const cebus_subject cebus_subject_program;
/** Random programs that do the same over and over, or nearly ("rounds", "rounds+unmarked": with no
 * mark between two passes, "rounds+turns": two programs, turn by turn, "rounds+drift": another in
 * each pass); a step is an operation, or the beginning of a pass. */
extern const cebus_subject cebus_subject_rounds;
enum {
    CEBUS_ROUND_STEPS = 41 /**< of a pass */
};
/** Thousands of small tensors beside a few large ones; a step is some dozens of operations. */
extern const cebus_subject cebus_subject_crowd;

#endif
