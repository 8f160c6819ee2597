/**
 * @file reduce.h
 * Reductions over any set of dimensions.
 *
 * Every function takes `dims`, a list of `n_dims` dimensions to reduce (negative counts from the
 * end, none twice); `dims` NULL reduces all, an empty list none. With `keepdim` the reduced
 * dimensions stay with length 1, otherwise they are dropped. The result is a new contiguous tensor.
 *
 * Floating-point sums run in blocks whose partial sums are added in double, in an order that
 * depends on the shapes alone: same input, same bits, for any number of threads. Any float type
 * everywhere, f16 and bf16 summed in f32 and rounded once; other types where said.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL, for a dimension out of range or given twice, and for a
 * maximum or minimum of no elements; CEBUS_DTYPE_MISMATCH for an element type that is not taken.
 */
#ifndef CEBUS_OPS_REDUCE_H
#define CEBUS_OPS_REDUCE_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/**
 * Sum of any type: integers and bool as i64, which wraps around; f16 and bf16 in f32, rounded once
 * at the end. The gradient is the output's, expanded.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sum(cebus_runtime *rt, cebus_tensor *x, int n_dims,
                                                  const int *dims, bool keepdim,
                                                  cebus_tensor **out);

/** Arithmetic mean of any floating-point type; NaN over no elements. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_mean(cebus_runtime *rt, cebus_tensor *x, int n_dims,
                                                   const int *dims, bool keepdim,
                                                   cebus_tensor **out);

/**
 * Largest element (PyTorch's amax); NaN wins. Integers and bool too. The gradient is shared
 * evenly among equal maxima; it saves the input and the output.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_max(cebus_runtime *rt, cebus_tensor *x, int n_dims,
                                                  const int *dims, bool keepdim,
                                                  cebus_tensor **out);

/** Smallest element (PyTorch's amin); otherwise as cebus_max(). */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_min(cebus_runtime *rt, cebus_tensor *x, int n_dims,
                                                  const int *dims, bool keepdim,
                                                  cebus_tensor **out);

/**
 * Index of the first largest element, i64; NaN counts as largest. Integers and bool too. Over one
 * dimension it is the index in that dimension; over several it is the row-major index in the block
 * they span. Not differentiable.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_argmax(cebus_runtime *rt, cebus_tensor *x, int n_dims,
                                                     const int *dims, bool keepdim,
                                                     cebus_tensor **out);

/** Index of the first smallest element; otherwise as cebus_argmax(). */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_argmin(cebus_runtime *rt, cebus_tensor *x, int n_dims,
                                                     const int *dims, bool keepdim,
                                                     cebus_tensor **out);

/** What cebus_var() reduces and how. */
typedef struct cebus_var_options {
    const int *dims; /**< NULL: all dimensions */
    int n_dims;      /**< length of dims */
    int correction;  /**< the sum of squares is divided by (elements - correction): 1 unbiased */
    bool keepdim;    /**< reduced dimensions stay, with length 1 */
} cebus_var_options;

/**
 * Variance in two passes: the mean, then the squared distances from it. NaN where no more
 * elements than `correction` are reduced and their spread is zero, as in PyTorch. `options` NULL:
 * all dimensions, correction 1. The gradient saves the input and the mean.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_var(cebus_runtime *rt, cebus_tensor *x,
                                                  const cebus_var_options *options,
                                                  cebus_tensor **out);

/**
 * log(sum(exp(x))), computed from the distance to the maximum so that it does not overflow; -inf
 * over no elements. The gradient saves the input and the output.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_logsumexp(cebus_runtime *rt, cebus_tensor *x,
                                                        int n_dims, const int *dims, bool keepdim,
                                                        cebus_tensor **out);

CEBUS_END_DECLS

#endif
