/**
 * @file optim.h
 * Optimizers: SGD (momentum, Nesterov, weight decay), Adam and AdamW, and gradient clipping.
 *
 * Formulas and their order of operations are PyTorch's (torch.optim.SGD, Adam and AdamW without
 * amsgrad; torch.nn.utils.clip_grad_norm_ with the 2-norm). Each parameter is updated by one
 * fused in-place call, element by element, so results do not depend on the number of threads.
 *
 * Thread-safety: an optimizer is used by one thread at a time; the step functions, like all ops,
 * by any.
 */
#ifndef CEBUS_OPTIM_H
#define CEBUS_OPTIM_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Zero means default everywhere. Initialize with CEBUS_SGD_OPTIONS_INIT. */
typedef struct cebus_sgd_options {
    size_t struct_size;  /**< sizeof this struct, as the caller was compiled */
    double lr;           /**< learning rate; default 1e-3. cebus_optimizer_set_lr() can make it 0 */
    double momentum;     /**< default 0: none, and no buffer is kept */
    double dampening;    /**< of the gradient that enters the momentum; default 0 */
    double weight_decay; /**< times the parameter is added to the gradient; default 0 */
    bool nesterov;       /**< needs momentum and no dampening */
} cebus_sgd_options;

/** All defaults. */
#define CEBUS_SGD_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .struct_size = sizeof(cebus_sgd_options)                                                   \
    }

/** Zero means default everywhere. Initialize with CEBUS_ADAM_OPTIONS_INIT. */
typedef struct cebus_adam_options {
    size_t struct_size;  /**< sizeof this struct, as the caller was compiled */
    double lr;           /**< learning rate; default 1e-3. cebus_optimizer_set_lr() can make it 0 */
    double beta1;        /**< decay of the mean; default 0.9 */
    double beta2;        /**< decay of the mean square; default 0.999 */
    double eps;          /**< added to the root; default 1e-8 */
    double weight_decay; /**< default 0, also for AdamW (PyTorch's AdamW: 0.01) */
    bool decoupled;      /**< AdamW: shrinks the parameter and leaves the gradient alone */
} cebus_adam_options;

/** All defaults. */
#define CEBUS_ADAM_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .struct_size = sizeof(cebus_adam_options)                                                  \
    }

/** @name The steps as ops, for programs that keep their own state */
/** @{ */

/** Of a step with scaled losses (amp.h): tensors of no dimensions. */
typedef struct cebus_step_scaling {
    cebus_tensor *steps;     /**< i64: steps taken so far, counted in place */
    cebus_tensor *scale;     /**< f32: the gradient is multiplied by 1 / scale; NULL: by 1 */
    cebus_tensor *found_inf; /**< f32: where it is not 0 nothing is written; NULL: 0 */
} cebus_step_scaling;

/** What one SGD step reads and writes: tensors of one shape and of one type, f32 or f64. */
typedef struct cebus_sgd_tensors {
    cebus_tensor *param;        /**< written in place */
    cebus_tensor *grad;         /**< read */
    cebus_tensor *momentum;     /**< written in place; NULL when options->momentum is 0 */
    cebus_step_scaling scaling; /**< all NULL: gradients are as they are */
} cebus_sgd_tensors;

/**
 * One step of SGD on one parameter; `step` counts from 1 (the first sets the momentum to the
 * gradient), unless scaling.steps counts. `options` NULL: all defaults. The graph is not extended.
 *
 * Errors: CEBUS_INVALID_ARGUMENT (NULL, step < 1, options out of range, momentum given or missing
 * against the options, two tensors to be written that share a storage), CEBUS_SHAPE_MISMATCH,
 * CEBUS_DTYPE_MISMATCH.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sgd_step(cebus_runtime *rt,
                                                       const cebus_sgd_tensors *tensors,
                                                       int64_t step,
                                                       const cebus_sgd_options *options);

/** What one Adam step reads and writes: tensors of one shape and of one type, f32 or f64. */
typedef struct cebus_adam_tensors {
    cebus_tensor *param;        /**< written in place */
    cebus_tensor *grad;         /**< read */
    cebus_tensor *exp_avg;      /**< running mean of the gradient, written in place */
    cebus_tensor *exp_avg_sq;   /**< running mean of its square, written in place */
    cebus_step_scaling scaling; /**< all NULL: gradients are as they are */
} cebus_adam_tensors;

/**
 * One step of Adam or AdamW on one parameter; `step` counts from 1, unless scaling.steps counts,
 * and corrects the means' bias. Otherwise as cebus_sgd_step().
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_adam_step(cebus_runtime *rt,
                                                        const cebus_adam_tensors *tensors,
                                                        int64_t step,
                                                        const cebus_adam_options *options);
/** @} */

/**
 * The 2-norm of the gradients of all `n` parameters together, accumulated in f64 in a fixed
 * order; when it exceeds `max_norm`, every gradient is multiplied in place by
 * max_norm / (norm + 1e-6). Parameters without a gradient are passed over. `max_norm` INFINITY
 * only measures. `out_norm` (the norm before scaling) may be NULL.
 *
 * All gradients are made resident before the first is written: when they do not fit in the budget
 * together, CEBUS_OUT_OF_MEMORY, and nothing has changed. Where values are swapped, gradients that
 * do not fit together are measured in groups and scaled one after the other: an error in the middle
 * (of the spill file, say) then tells how many were scaled, and by what.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_clip_grad_norm(cebus_runtime *rt,
                                                             cebus_tensor *const *params, size_t n,
                                                             double max_norm, double *out_norm);

/** @name Optimizer objects */
/** @{ */

/** Parameters, their state, and how they learn. One owner. */
typedef struct cebus_optimizer cebus_optimizer;

/** The tensors of state a parameter has besides its step count. */
typedef enum cebus_optimizer_buffer {
    CEBUS_SGD_MOMENTUM = 1,
    CEBUS_ADAM_EXP_AVG = 2,
    CEBUS_ADAM_EXP_AVG_SQ = 3,
} cebus_optimizer_buffer;

/** An optimizer without parameters. `options` is copied; NULL: all defaults. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_create_sgd(cebus_runtime *rt,
                                                                   const cebus_sgd_options *options,
                                                                   cebus_optimizer **out);
/** The same for Adam and AdamW. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_create_adam(
    cebus_runtime *rt, const cebus_adam_options *options, cebus_optimizer **out);
/** Releases its references; parameters live on. NULL is allowed. */
CEBUS_API void cebus_optimizer_destroy(cebus_optimizer *optimizer);

/**
 * Adds a parameter: f32 or f64, persistent, requiring a gradient, not added before. Takes a
 * reference, and makes its state: persistent zeros of its shape. Parameters are numbered from 0
 * in the order they were added.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_add(cebus_optimizer *optimizer,
                                                            cebus_tensor *param);
/** How many parameters were added. */
CEBUS_API size_t cebus_optimizer_count(const cebus_optimizer *optimizer);

/**
 * Updates every parameter that has a gradient, in the order they were added. All that is read or
 * written is made resident before the first write, so CEBUS_OUT_OF_MEMORY changes nothing.
 *
 * Where values are swapped, and parameters, gradients and state do not fit in the budget together,
 * or a plan guides the step, one parameter is updated after the other, each with its gradient and
 * state held; that the largest of them finds room is made sure before the first write.
 *
 * After a failure in the middle (of the device, of the spill file) the step counts say which
 * parameters moved. A gradient is applied once: the next call goes on with those that are left,
 * unless gradients have changed meanwhile.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_step(cebus_optimizer *optimizer);
/** Drops the gradients of all parameters. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_zero_grad(cebus_optimizer *optimizer);

/** A learning rate for the steps from now on: finite and >= 0. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_set_lr(cebus_optimizer *optimizer,
                                                               double lr);
/** The learning rate in force. */
CEBUS_API double cebus_optimizer_lr(const cebus_optimizer *optimizer);

/**
 * A state tensor of parameter `index`, a new reference: to save it (cebus_tensor_to_host()) or to
 * load it (cebus_tensor_set_from_host(), with cebus_optimizer_set_step_count()).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_state(cebus_optimizer *optimizer,
                                                              size_t index,
                                                              cebus_optimizer_buffer buffer,
                                                              cebus_tensor **out);
/** Steps that parameter `index` has taken. After a step with a scaler (amp.h) the device counts,
 * and this waits for it. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_step_count(const cebus_optimizer *optimizer,
                                                                   size_t index, int64_t *out);
/** Goes on from a saved count, >= 0. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_optimizer_set_step_count(cebus_optimizer *optimizer,
                                                                       size_t index, int64_t count);
/** @} */

CEBUS_END_DECLS

#endif
