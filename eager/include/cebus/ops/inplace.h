/**
 * @file ops/inplace.h
 * Writes into an existing tensor `x` (a new version of its storage, seen by all its views). The
 * other operand is broadcast to the shape of `x`, which never changes; types must be equal
 * (#CEBUS_DTYPE_MISMATCH), but for copy_, which converts.
 *
 * Gradients follow PyTorch: `x` afterwards stands for the result of the write. A leaf that requires
 * a gradient can only be written with gradients disabled. A value that a gradient has saved and
 * that is overwritten is still found: the runtime rebuilds its old version where it can.
 */
#ifndef CEBUS_OPS_INPLACE_H
#define CEBUS_OPS_INPLACE_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** x += alpha y. Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_add_(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor *y, double alpha);
/** x -= alpha y. Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sub_(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor *y, double alpha);
/** x *= y. Keeps y, and the old x when y needs a gradient. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_mul_(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor *y);
/** x /= y, floats only. Keeps y, and the result when y needs a gradient. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_div_(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor *y);
/** x += weight (y - x), floats only. Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_lerp_(cebus_runtime *rt, cebus_tensor *x,
                                                    cebus_tensor *y, double weight);
/** x := y, converted as by cebus_cast(). Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_copy_(cebus_runtime *rt, cebus_tensor *x,
                                                    cebus_tensor *y);
/** x += value. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_add_scalar_(cebus_runtime *rt, cebus_tensor *x,
                                                          double value);
/** x *= value. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_mul_scalar_(cebus_runtime *rt, cebus_tensor *x,
                                                          double value);
/** All elements := value, converted as by cebus_full(). */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_fill_(cebus_runtime *rt, cebus_tensor *x,
                                                    double value);
/** All elements := 0. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_zero_(cebus_runtime *rt, cebus_tensor *x);

CEBUS_END_DECLS

#endif
