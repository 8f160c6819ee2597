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
    CEBUS_PROGRAM_SIDE = 32, /**< the longest dimension */
    CEBUS_PROGRAM_MAPS = 3,  /**< handed out at once, at most */
    CEBUS_PROGRAM_HOOKS = 8  /**< of parameters, at most */
};

/** Bytes that were handed out. */
typedef struct cebus_program_map {
    cebus_tensor *tensor; /**< NULL: none are */
    const void *bytes;
} cebus_program_map;

/** A hook of a parameter. */
typedef struct cebus_program_hook {
    cebus_tensor *parameter;
    uint64_t id;
} cebus_program_hook;

typedef struct cebus_program {
    cebus_runtime *rt;
    uint64_t random; /**< restored before a step is taken again */
    cebus_record *record;
    cebus_tensor *slots[CEBUS_PROGRAM_SLOTS];
    cebus_tensor *parameters[CEBUS_PROGRAM_PARAMETERS];
    cebus_tensor *running_mean, *running_var;
    cebus_optimizer *optimizer;
    cebus_grad_scaler *scaler;
    bool careful; /**< no kernel is made to refuse, which is told late on some devices */
    int stage;    /**< stages done of a step that failed on its way, and is to be taken again */
    cebus_program_map maps[CEBUS_PROGRAM_MAPS];
    cebus_program_hook hooks[CEBUS_PROGRAM_HOOKS];
    size_t n_hooks;
} cebus_program;

/** One kind of step. */
typedef struct cebus_program_op {
    const char *name;
    int weight; /**< how often, among the weights of all */
    cebus_status (*run)(cebus_program *program);
} cebus_program_op;

/** Prints each step as a TAP comment: to compare two runs. */
extern bool cebus_program_trace;

/** Kernels run late, in memory that the host does not see: no custom ops, no mappings, and none is
 * made to refuse. Set before programs are made. */
extern bool cebus_program_far;

/** Tables that end with a NULL name. */
extern const cebus_program_op cebus_program_compute[]; /**< new values from old ones */
extern const cebus_program_op cebus_program_change[];  /**< in place, views, parameters, graph */
extern const cebus_program_op cebus_program_train[];   /**< mixed precision, gradients */
extern const cebus_program_op cebus_program_share[];   /**< bytes with several names */

/** Name of the step that comes next; it stays that. */
const char *cebus_program_next(void *self);
/** Lets go of all that the program made but its parameters, and fills its slots anew: what comes
 * then depends on `random`, and random numbers of the runtime on `seed`. What fails can be done
 * again. */
cebus_status cebus_program_begin(cebus_program *program, uint64_t random, uint64_t seed);
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
/** Of the same shape. */
bool cebus_program_is_like(const cebus_view *view, const cebus_view *like);
/** Some parameter, borrowed. */
cebus_tensor *cebus_program_parameter(cebus_program *program);
/** Of f32, and requires a gradient, where a few draws find it. */
cebus_tensor *cebus_program_differentiable(cebus_program *program);
/** Whether bytes of this very tensor are handed out. */
bool cebus_program_is_mapped(const cebus_program *program, const cebus_tensor *tensor);
/** Puts a result (taken over; NULL allowed) in the place of some other tensor. */
void cebus_program_keep(cebus_program *program, cebus_tensor *tensor);
/** Keeps the result when the call worked; answers its status. */
cebus_status cebus_program_done(cebus_program *program, cebus_status status, cebus_tensor **out);
/** An f32 leaf of noise. */
cebus_status cebus_program_upload(cebus_program *program, int ndim, const int64_t *shape,
                                  cebus_tensor **out);

#endif
