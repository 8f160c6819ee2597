/**
 * @file loss.h
 * Losses of any float type; fused, so that a training step keeps no log-probabilities and no
 * differences alive between forward and backward.
 *
 * Errors of all: CEBUS_INVALID_ARGUMENT for NULL, a bad option, or a class index out of range
 * (found by the kernel, before anything is written); CEBUS_SHAPE_MISMATCH; CEBUS_DTYPE_MISMATCH.
 */
#ifndef CEBUS_OPS_LOSS_H
#define CEBUS_OPS_LOSS_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** What becomes of the losses of the single elements. */
typedef enum cebus_loss_reduction {
    CEBUS_LOSS_MEAN = 0, /**< 0-d: sum / count; of classes, only those not ignored are counted */
    CEBUS_LOSS_SUM,      /**< 0-d */
    CEBUS_LOSS_NONE,     /**< one loss for each target */
} cebus_loss_reduction;

/** Options of the losses over class indices; all zero: the defaults. */
typedef struct cebus_class_loss_options {
    cebus_loss_reduction reduction; /**< default: the mean */
    bool has_ignore_index;          /**< false: ignore_index is -100, as in PyTorch */
    int64_t ignore_index;           /**< targets of this value add nothing, also no gradient */
    double label_smoothing;         /**< in [0, 1]: the share spread evenly over all classes */
} cebus_class_loss_options;

/**
 * -log(softmax(x)[target]). `x` holds logits: [N, C], [N, C, d1, ...] or [C]; `target` (i64 or i32)
 * is x's shape without C. The gradient (of x) saves x, the target and one number for each target.
 * `options` may be NULL. The mean over nothing but ignored targets is NaN.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_cross_entropy(cebus_runtime *rt, cebus_tensor *x,
                                                            cebus_tensor *target,
                                                            const cebus_class_loss_options *options,
                                                            cebus_tensor **out);

/**
 * -x[target], `x` holding log-probabilities; otherwise as cebus_cross_entropy(). The gradient
 * saves the target alone. Takes no label smoothing.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_nll_loss(cebus_runtime *rt, cebus_tensor *x,
                                                       cebus_tensor *target,
                                                       const cebus_class_loss_options *options,
                                                       cebus_tensor **out);

/**
 * (x - target)^2 for tensors of one shape and type. Both have a gradient. Unlike PyTorch, which
 * warns, shapes that only broadcast are refused.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_mse_loss(cebus_runtime *rt, cebus_tensor *x,
                                                       cebus_tensor *target,
                                                       cebus_loss_reduction reduction,
                                                       cebus_tensor **out);

CEBUS_END_DECLS

#endif
