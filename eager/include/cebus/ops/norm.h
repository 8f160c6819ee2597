/**
 * @file norm.h
 * Normalization within each sample: layer, group and RMS norm. (Over the batch: batch_norm.h.)
 *
 * All take any float type, with weight and bias of the same type, or of f32 beside an f16 or bf16
 * x; both are optional (NULL: 1 and 0). The gradients of x, weight and bias come from one fused op;
 * it saves x, the weight and one or two numbers for each normalized group, in f32 where x is f16 or
 * bf16.
 *
 * Errors of all: CEBUS_INVALID_ARGUMENT for NULL, a bad count, or an eps that is negative or not
 * finite; CEBUS_SHAPE_MISMATCH; CEBUS_DTYPE_MISMATCH.
 */
#ifndef CEBUS_OPS_NORM_H
#define CEBUS_OPS_NORM_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Options of layer and RMS norm; all zero, or NULL: the defaults. */
typedef struct cebus_layer_norm_options {
    int n_dims; /**< trailing dimensions to normalize over; 0: 1 */
    double eps; /**< 0: 1e-5 */
} cebus_layer_norm_options;

/**
 * (x - mean) / sqrt(variance + eps) * weight + bias over the last n_dims dimensions, whose lengths
 * are the shape of weight and bias. The variance is the biased one. The result is row-major.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_layer_norm(cebus_runtime *rt, cebus_tensor *x,
                                                         cebus_tensor *weight, cebus_tensor *bias,
                                                         const cebus_layer_norm_options *options,
                                                         cebus_tensor **out);

/** x / sqrt(mean(x^2) + eps) * weight over the last n_dims dimensions; row-major. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_rms_norm(cebus_runtime *rt, cebus_tensor *x,
                                                       cebus_tensor *weight,
                                                       const cebus_layer_norm_options *options,
                                                       cebus_tensor **out);

/** Options of group norm. */
typedef struct cebus_group_norm_options {
    int64_t groups; /**< of consecutive channels; must divide their number */
    double eps;     /**< 0: 1e-5 */
} cebus_group_norm_options;

/**
 * Normalizes x [N, C, d1, ...] over each sample's groups of channels and all of d1, ..., then
 * scales and shifts each channel by weight [C] and bias [C]. The result is channels-last where x
 * is, else row-major.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_group_norm(cebus_runtime *rt, cebus_tensor *x,
                                                         cebus_tensor *weight, cebus_tensor *bias,
                                                         const cebus_group_norm_options *options,
                                                         cebus_tensor **out);

CEBUS_END_DECLS

#endif
