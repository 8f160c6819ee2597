/**
 * @file ops/fill.h
 * Tensors made from a number. They are contiguous, and cost nothing to give up: a fill is
 * recomputed faster than it is read.
 *
 * Common errors: #CEBUS_INVALID_ARGUMENT for an unknown type, more than #CEBUS_MAX_DIMS
 * dimensions, a negative length, a size of 2^62 bytes or more, or a number that an integer type
 * cannot hold. No gradients: they depend on no tensor.
 */
#ifndef CEBUS_OPS_FILL_H
#define CEBUS_OPS_FILL_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** All elements `value`, rounded to the type (integers drop the fraction); for bool "not zero". */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_full(cebus_runtime *rt, double value,
                                                   cebus_dtype dtype, int ndim,
                                                   const int64_t *shape, cebus_tensor **out);
/** All zero. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_zeros(cebus_runtime *rt, cebus_dtype dtype, int ndim,
                                                    const int64_t *shape, cebus_tensor **out);
/** All one. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_ones(cebus_runtime *rt, cebus_dtype dtype, int ndim,
                                                   const int64_t *shape, cebus_tensor **out);
/**
 * A tensor to be overwritten. Its elements are zero, not undefined as in PyTorch: a value that
 * may be given up must be the same when it is rebuilt.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_empty(cebus_runtime *rt, cebus_dtype dtype, int ndim,
                                                    const int64_t *shape, cebus_tensor **out);
/** The shape, type and, where `x` is dense, memory order of `x`, all `value`. Only what `x` looks
 * like is read: it may be of another runtime. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_full_like(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** cebus_full_like() of zero. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_zeros_like(cebus_runtime *rt, cebus_tensor *x,
                                                         cebus_tensor **out);
/**
 * start, start + step, ... below `stop` (above it when step < 0), ceil((stop - start) / step)
 * elements; each is computed as start + i step in double, then converted as by full. Zero elements
 * when the range is empty. Refuses a step of zero, numbers that are not finite and bool.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_arange(cebus_runtime *rt, double start, double stop,
                                                     double step, cebus_dtype dtype,
                                                     cebus_tensor **out);

CEBUS_END_DECLS

#endif
