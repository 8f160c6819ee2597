/**
 * @file ops/unary.h
 * Functions of each element alone. The result has the shape and type of `x`, and its memory order
 * where `x` is dense (channels-last stays channels-last).
 *
 * Types: f32, f64, f16 and bf16 (the narrow ones are computed in f32 and rounded once); neg, abs,
 * sign, square, relu and clamp also take i64, i32 and u8, and wrap. Other types are
 * #CEBUS_DTYPE_MISMATCH. Domains are those of IEEE: log(-1) is NaN, 1/0 is infinite; a NaN stays a
 * NaN (but sign(NaN) is 0). f32 results of exp, log, tanh, sigmoid and erf are within 2.5 ulp, of
 * gelu within 2e-7 |x|.
 *
 * All have gradients, computed in one pass; each says what it keeps for it.
 */
#ifndef CEBUS_OPS_UNARY_H
#define CEBUS_OPS_UNARY_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** -x. Keeps nothing. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_neg(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** |x|. Keeps x; the slope at 0 is 0. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_abs(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** -1, 0 or 1. The gradient is zero. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sign(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor **out);
/** x x. Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_square(cebus_runtime *rt, cebus_tensor *x,
                                                     cebus_tensor **out);
/** e^x. Keeps the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_exp(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** Natural logarithm. Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_log(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** Square root. Keeps the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sqrt(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor **out);
/** 1 / sqrt(x). Keeps the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_rsqrt(cebus_runtime *rt, cebus_tensor *x,
                                                    cebus_tensor **out);
/** 1 / x. Keeps the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_reciprocal(cebus_runtime *rt, cebus_tensor *x,
                                                         cebus_tensor **out);
/** Sine of radians. Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sin(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** Cosine of radians. Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_cos(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** The error function. Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_erf(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor **out);
/** Hyperbolic tangent. Keeps the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tanh(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor **out);
/** 1 / (1 + e^-x). Keeps the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_sigmoid(cebus_runtime *rt, cebus_tensor *x,
                                                      cebus_tensor **out);
/** max(x, 0). Keeps the result; the slope at 0 is 0. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_relu(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor **out);
/** x where it is above 0, else slope x (Maas et al. 2013). Keeps x; at 0 the slope is `slope`. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_leaky_relu(cebus_runtime *rt, cebus_tensor *x,
                                                         double slope, cebus_tensor **out);
/** x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016). Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gelu(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor **out);
/** The same with Phi approximated by a tanh (section 2 there). Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gelu_tanh(cebus_runtime *rt, cebus_tensor *x,
                                                        cebus_tensor **out);
/** x sigmoid(x). Keeps x. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_silu(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_tensor **out);
/**
 * min(max(x, low), high); -INFINITY or INFINITY leaves an end open. Keeps x; the slope is 1 within
 * the bounds and on them, 0 outside. Integers are clamped to the integers within the bounds.
 * A NaN bound is #CEBUS_INVALID_ARGUMENT.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_clamp(cebus_runtime *rt, cebus_tensor *x, double low,
                                                    double high, cebus_tensor **out);

CEBUS_END_DECLS

#endif
