/**
 * program.h: random programs over the public interface: what a user might do, in an order
 * that nobody would think of.
 *
 * A program holds a few dozen tensors; each step draws an operation and its arguments from the
 * program's own generator, runs it, and puts results in the place of others, whose handles go.
 * What is drawn depends on shapes, types and statuses alone, never on values or residency.
 */
#ifndef CEBUS_TESTS_PROPERTY_PROGRAM_H
#define CEBUS_TESTS_PROPERTY_PROGRAM_H

#include "tests/property/subject.h"

enum {
    CEBUS_PROGRAM_SLOTS = 24,
    CEBUS_PROGRAM_PARAMETERS = 6,
    CEBUS_PROGRAM_SIDE = 32 /**< the longest dimension */
};

typedef struct cebus_program {
    cebus_runtime *rt;
    uint64_t random; /**< restored before a step is taken again */
    cebus_record *record;
    cebus_tensor *slots[CEBUS_PROGRAM_SLOTS];
    cebus_tensor *parameters[CEBUS_PROGRAM_PARAMETERS];
    cebus_tensor *running_mean, *running_var;
    cebus_optimizer *optimizer;
    bool updated;         /**< by a step that then failed, and is to be taken again */
    cebus_tensor *mapped; /**< NULL: nothing is mapped */
    const void *mapped_bytes;
} cebus_program;

/** One kind of step. */
typedef struct cebus_program_op {
    const char *name;
    int weight; /**< how often, among the weights of all */
    cebus_status (*run)(cebus_program *program);
} cebus_program_op;

/** Prints each step as a TAP comment: to compare two runs. */
extern bool cebus_program_trace;

/** Tables that end with a NULL name. */
extern const cebus_program_op cebus_program_compute[]; /**< new values from old ones */
extern const cebus_program_op cebus_program_change[];  /**< in place, views, parameters, graph */

/** Name of the step that comes next; it stays that. */
const char *cebus_program_next(void *self);
/** In [0, bound). */
uint64_t cebus_program_draw(cebus_program *program, uint64_t bound);
/** True once in `n`. */
bool cebus_program_once_in(cebus_program *program, uint64_t n);
/** Some tensor of a slot, borrowed; there is always one. */
cebus_tensor *cebus_program_any(cebus_program *program);
/** The same, of f32. */
cebus_tensor *cebus_program_float(cebus_program *program);
/** An f32 tensor whose shape `fits` accepts; NULL when a few draws found none. */
typedef bool (*cebus_program_fits)(const cebus_view *view, const cebus_view *like);
cebus_tensor *cebus_program_find(cebus_program *program, cebus_program_fits fits,
                                 const cebus_view *like);
/** Puts a result (taken over; NULL allowed) in the place of some other tensor. */
void cebus_program_keep(cebus_program *program, cebus_tensor *tensor);
/** Keeps the result when the call worked; answers its status. */
cebus_status cebus_program_done(cebus_program *program, cebus_status status, cebus_tensor **out);
/** An f32 leaf of noise. */
cebus_status cebus_program_upload(cebus_program *program, int ndim, const int64_t *shape,
                                  cebus_tensor **out);

#endif
