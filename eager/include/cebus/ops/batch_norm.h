/**
 * @file batch_norm.h
 * Normalization of each channel over the batch and the image, with PyTorch's semantics.
 *
 * x is [N, C, ...] with 2 to 5 dimensions, of any float type; the result has its shape and, for
 * images, its memory order (channels-last or row-major). All parameters are [C] and of x's type;
 * where that is f16 or bf16, running statistics must be f32, and weight and bias may be.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL, half of the running statistics, or an option out of
 * range; CEBUS_SHAPE_MISMATCH for a parameter that is not [C], and in training for fewer than two
 * values a channel; CEBUS_DTYPE_MISMATCH for types that do not go together or are not floats.
 */
#ifndef CEBUS_OPS_BATCH_NORM_H
#define CEBUS_OPS_BATCH_NORM_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Statistics and mode. Both moving averages or none; evaluation needs them. Make them persistent,
 * as parameters: a training call writes them in place, once. */
typedef struct cebus_batch_norm_options {
    cebus_tensor *running_mean; /**< moving average of the mean */
    cebus_tensor *running_var;  /**< moving average of the (unbiased) variance */
    bool training;   /**< normalize by this batch's statistics, not by the running ones */
    double momentum; /**< weight of the new value in the moving averages, in (0, 1]; 0 means 0.1 */
    double eps;      /**< added to the variance, > 0; 0 means 1e-5 */
} cebus_batch_norm_options;

/**
 * (x - mean) / sqrt(var + eps) * weight + bias; weight and bias may be NULL (1 and 0). In training
 * mean and var (biased) are those of x, and the running statistics move towards them by a call of
 * its own: rebuilding a result never moves them again. Gradients for x, weight and bias; saves x,
 * weight and two values a channel.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_batch_norm(cebus_runtime *rt, cebus_tensor *x,
                                                         cebus_tensor *weight, cebus_tensor *bias,
                                                         const cebus_batch_norm_options *options,
                                                         cebus_tensor **out);

CEBUS_END_DECLS

#endif
