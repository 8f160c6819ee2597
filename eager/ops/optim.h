/**
 * optim.h: the inside of the optimizer steps: attributes, and options made complete.
 */
#ifndef CEBUS_EAGER_OPS_OPTIM_H
#define CEBUS_EAGER_OPS_OPTIM_H

#include <cebus/optim.h>

#include "eager/op.h"

/** Of sgd_step and sgd_momentum_step, plain and scaled. */
typedef struct cebus_sgd_attrs {
    double lr, momentum, dampening, weight_decay;
    int64_t nesterov;
    int64_t first; /**< the momentum buffer holds nothing yet; scaled: `steps` says so */
} cebus_sgd_attrs;

/** Of adam_step, plain and scaled. */
typedef struct cebus_adam_attrs {
    double lr, beta1, beta2, eps, weight_decay;
    int64_t decoupled;
    int64_t step; /**< from 1; scaled: `steps` counts */
} cebus_adam_attrs;

/** Of scale_grad. */
typedef struct cebus_scale_attrs {
    double factor;
} cebus_scale_attrs;

/** Attributes of step number `step`, from 1; of a scaled step 0. */
cebus_sgd_attrs cebus_sgd_attrs_of(const cebus_sgd_options *how, int64_t step);
cebus_adam_attrs cebus_adam_attrs_of(const cebus_adam_options *how, int64_t step);
/** Makes the attributes of an update those of the same one `steps` later. */
void cebus_update_advance(const cebus_op *op, void *attrs, uint64_t steps);

/** Of update_scale. */
typedef struct cebus_update_scale_attrs {
    double growth, backoff;
    int64_t interval;
} cebus_update_scale_attrs;

/** Inputs of the scaled steps, after the arrays of the plain ones: how many steps were taken (i64,
 * written in place), what the gradient is too large by and whether it is not finite (both f32, or
 * absent). */
enum {
    CEBUS_STEP_COUNT,
    CEBUS_STEP_SCALE,
    CEBUS_STEP_FOUND,
    CEBUS_STEP_SCALARS,
};

/** Elements whose squares sum_squares adds up on one thread; it fixes the order of the sum. */
#define CEBUS_SUM_SQUARES_BLOCK 4096

/** Copies what the caller's struct has (NULL: nothing), fills in defaults and checks ranges. */
CEBUS_MUST_CHECK cebus_status cebus_sgd_options_read(const cebus_sgd_options *options,
                                                     const char *function, cebus_sgd_options *out);
CEBUS_MUST_CHECK cebus_status cebus_adam_options_read(const cebus_adam_options *options,
                                                      const char *function,
                                                      cebus_adam_options *out);

/** Input `i`, when there is one, is of this type and of no dimensions. */
CEBUS_MUST_CHECK cebus_status cebus_check_scalar(const cebus_infer *io, uint32_t i,
                                                 const char *name, cebus_dtype dtype);

/** Runs an in-place call of at most 4 outputs outside the graph, and drops the references to what
 * it wrote. */
CEBUS_MUST_CHECK cebus_status cebus_run_in_place(cebus_runtime *rt, const cebus_call_spec *spec);

/** The public steps with options that are complete: a learning rate of 0 means 0. With
 * tensors->steps they are scaled steps, and `step` does not count. */
CEBUS_MUST_CHECK cebus_status cebus_sgd_update(cebus_runtime *rt, const cebus_sgd_tensors *tensors,
                                               int64_t step, const cebus_sgd_options *how);
CEBUS_MUST_CHECK cebus_status cebus_adam_update(cebus_runtime *rt,
                                                const cebus_adam_tensors *tensors, int64_t step,
                                                const cebus_adam_options *how);

/** The sum of the squares of all elements of up to CEBUS_MAX_TRACKED tensors; waits for it. */
CEBUS_MUST_CHECK cebus_status cebus_sum_squares(cebus_runtime *rt, cebus_tensor *const *tensors,
                                                uint32_t n, double *out);
/** Multiplies a gradient in place. */
CEBUS_MUST_CHECK cebus_status cebus_scale_grad(cebus_runtime *rt, cebus_tensor *grad,
                                               double factor);

#endif
