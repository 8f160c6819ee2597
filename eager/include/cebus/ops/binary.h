/**
 * @file ops/binary.h
 * Functions of two operands, element by element, broadcast to a common shape by PyTorch's rules:
 * aligned at the last dimension, lengths must be equal or 1.
 *
 * Both tensors must be of one type (#CEBUS_DTYPE_MISMATCH otherwise; nothing is promoted). All take
 * floats (f16 and bf16 are computed in f32 and rounded once); all but div take i64, i32 and u8,
 * which wrap; add, mul, maximum, minimum and the comparisons also take bool (as or, and, or, and).
 * The result lies in memory as the first operand that has the common shape. Shapes that do not go
 * together are #CEBUS_SHAPE_MISMATCH.
 *
 * Gradients are summed over the broadcast dimensions; each function says what it keeps, and it
 * keeps an operand only when the *other* one needs a gradient.
 */
#ifndef CEBUS_OPS_BINARY_H
#define CEBUS_OPS_BINARY_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** a + b. Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_add(cebus_runtime *rt, cebus_tensor *a,
                                                  cebus_tensor *b, cebus_tensor **out);
/** a - b. Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sub(cebus_runtime *rt, cebus_tensor *a,
                                                  cebus_tensor *b, cebus_tensor **out);
/** a b. Keeps b for a, a for b. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_mul(cebus_runtime *rt, cebus_tensor *a,
                                                  cebus_tensor *b, cebus_tensor **out);
/** a / b, floats only. Keeps b, and the result when b needs a gradient. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_div(cebus_runtime *rt, cebus_tensor *a,
                                                  cebus_tensor *b, cebus_tensor **out);
/** a to the power b. Keeps both. Integers: a negative exponent gives 0 but for a = 1 and -1. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_pow(cebus_runtime *rt, cebus_tensor *a,
                                                  cebus_tensor *b, cebus_tensor **out);
/** The larger; a NaN if either is one. Keeps both; where they are equal each gets half. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_maximum(cebus_runtime *rt, cebus_tensor *a,
                                                      cebus_tensor *b, cebus_tensor **out);
/** The smaller; as maximum. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_minimum(cebus_runtime *rt, cebus_tensor *a,
                                                      cebus_tensor *b, cebus_tensor **out);
/** What a / b leaves when it is rounded towards zero, of the sign of a: exact, whatever the
 * quotient. No gradient. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_fmod(cebus_runtime *rt, cebus_tensor *a,
                                                   cebus_tensor *b, cebus_tensor **out);
/** What a / b leaves when it is rounded down, of the sign of b: fmod, and b more where their signs
 * differ. No gradient. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_remainder(cebus_runtime *rt, cebus_tensor *a,
                                                        cebus_tensor *b, cebus_tensor **out);
/** a where `condition` (bool) holds, else b; all three broadcast. Any type. Keeps the condition. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_where(cebus_runtime *rt, cebus_tensor *condition,
                                                    cebus_tensor *a, cebus_tensor *b,
                                                    cebus_tensor **out);

/** @name With a number: converted to the type of x; integers take whole numbers only
 * (#CEBUS_DTYPE_MISMATCH otherwise). */
/** @{ */
/** x + value. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_add_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                         double value, cebus_tensor **out);
/** x value. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_mul_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                         double value, cebus_tensor **out);
/** x / value, floats only. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_div_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                         double value, cebus_tensor **out);
/** value - x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_rsub_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                          double value, cebus_tensor **out);
/** x to the power value; 2, 1/2, -1/2 and -1 are square, sqrt, rsqrt and reciprocal. Keeps x (or
 * what those keep). Integers to a negative power are #CEBUS_INVALID_ARGUMENT. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_pow_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                         double value, cebus_tensor **out);
/** @} */

/**
 * @name Integers: i64, i32 and u8; no gradients
 * A zero among divisors is #CEBUS_INVALID_ARGUMENT on the CPU. On a GPU, where finding it would
 * take a wait, the quotient is 0.
 */
/** @{ */
/** The bits that both have; also of bool. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_bitwise_and(cebus_runtime *rt, cebus_tensor *a,
                                                          cebus_tensor *b, cebus_tensor **out);
/** The bits that either has; also of bool. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_bitwise_or(cebus_runtime *rt, cebus_tensor *a,
                                                         cebus_tensor *b, cebus_tensor **out);
/** The bits that just one has; also of bool. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_bitwise_xor(cebus_runtime *rt, cebus_tensor *a,
                                                          cebus_tensor *b, cebus_tensor **out);
/** a 2^b, without the bits that the type does not have. 0 for b below 0 or above its bits. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_shift_left(cebus_runtime *rt, cebus_tensor *a,
                                                         cebus_tensor *b, cebus_tensor **out);
/** a / 2^b rounded down. For b below 0 or above its bits what is left of that: 0, or -1 for a < 0.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_shift_right(cebus_runtime *rt, cebus_tensor *a,
                                                          cebus_tensor *b, cebus_tensor **out);
/** a / b rounded down. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_div_floor(cebus_runtime *rt, cebus_tensor *a,
                                                        cebus_tensor *b, cebus_tensor **out);
/** a / b rounded towards zero. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_div_trunc(cebus_runtime *rt, cebus_tensor *a,
                                                        cebus_tensor *b, cebus_tensor **out);
/** @} */

/** @name Comparisons: bool results, no gradients. A NaN is unequal to everything. */
/** @{ */
/** a == b */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_eq(cebus_runtime *rt, cebus_tensor *a,
                                                 cebus_tensor *b, cebus_tensor **out);
/** a != b */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_ne(cebus_runtime *rt, cebus_tensor *a,
                                                 cebus_tensor *b, cebus_tensor **out);
/** a < b */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_lt(cebus_runtime *rt, cebus_tensor *a,
                                                 cebus_tensor *b, cebus_tensor **out);
/** a <= b */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_le(cebus_runtime *rt, cebus_tensor *a,
                                                 cebus_tensor *b, cebus_tensor **out);
/** a > b */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gt(cebus_runtime *rt, cebus_tensor *a,
                                                 cebus_tensor *b, cebus_tensor **out);
/** a >= b */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_ge(cebus_runtime *rt, cebus_tensor *a,
                                                 cebus_tensor *b, cebus_tensor **out);
/** x == value; here and below the number is rounded to the type of a floating-point x first. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_eq_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** x != value */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_ne_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** x < value */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_lt_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** x <= value */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_le_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** x > value */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gt_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** x >= value */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_ge_scalar(cebus_runtime *rt, cebus_tensor *x,
                                                        double value, cebus_tensor **out);
/** @} */

CEBUS_END_DECLS

#endif
