/**
 * elementwise.h: the formulas of the elementwise ops, once, for every device: X-macro lists of
 * expressions over scalars. T is the compute type, S its suffix in scalar.h (f32 or f64).
 *
 * The lists also say what an op's gradient reads, so that descriptors, gradients and kernels are
 * generated from one line and cannot drift apart.
 */
#ifndef CEBUS_EAGER_DEVICE_ELEMENTWISE_H
#define CEBUS_EAGER_DEVICE_ELEMENTWISE_H

#include <stdbool.h>

#include "eager/device/scalar.h"

/** Formulas that take more than one expression. */
#define CEBUS_DEFINE_FORMULAS(T, S)                                                                \
    /* x Phi(x) */                                                                                 \
    CEBUS_INLINE T cebus_gelu_##S(T x)                                                             \
    {                                                                                              \
        T density;                                                                                 \
        return x * cebus_normal_##S(x, &density);                                                  \
    }                                                                                              \
    /* Phi(x) + x phi(x) */                                                                        \
    CEBUS_INLINE T cebus_gelu_slope_##S(T x)                                                       \
    {                                                                                              \
        T density, cdf = cebus_normal_##S(x, &density);                                            \
        return cdf + x * density;                                                                  \
    }                                                                                              \
    /* (1 + tanh u) / 2 = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) */                     \
    CEBUS_INLINE T cebus_gelu_tanh_gate_##S(T x)                                                   \
    {                                                                                              \
        return cebus_sigmoid_##S((T)1.5957691216057307117 * (x + (T)0.044715 * x * x * x));        \
    }                                                                                              \
    CEBUS_INLINE T cebus_gelu_tanh_slope_##S(T x)                                                  \
    {                                                                                              \
        T s = cebus_gelu_tanh_gate_##S(x);                                                         \
        T twice_du = (T)1.5957691216057307117 * ((T)1 + (T)0.134145 * x * x);                      \
        return s + x * s * ((T)1 - s) * twice_du;                                                  \
    }                                                                                              \
    CEBUS_INLINE T cebus_silu_slope_##S(T x)                                                       \
    {                                                                                              \
        T s = cebus_sigmoid_##S(x);                                                                \
        return s * ((T)1 + x * ((T)1 - s));                                                        \
    }                                                                                              \
    CEBUS_INLINE T cebus_sign_##S(T x)                                                             \
    {                                                                                              \
        return (T)(x > (T)0) - (T)(x < (T)0);                                                      \
    }                                                                                              \
    /* d(x^e)/dx and d(x^e)/de, without 0 * inf where the limit is 0 */                            \
    CEBUS_INLINE T cebus_pow_slope_##S(T x, T e)                                                   \
    {                                                                                              \
        return e == (T)0 ? (T)0 : e * cebus_pow_##S(x, e - (T)1);                                  \
    }                                                                                              \
    CEBUS_INLINE T cebus_pow_exponent_slope_##S(T x, T e)                                          \
    {                                                                                              \
        return x == (T)0 && e >= (T)0 ? (T)0 : cebus_pow_##S(x, e) * cebus_log_##S(x);             \
    }                                                                                              \
    CEBUS_INLINE T cebus_remainder_##S(T x, T y)                                                   \
    {                                                                                              \
        T rest = cebus_fmod_##S(x, y);                                                             \
        return rest != (T)0 && (rest < (T)0) != (y < (T)0) ? rest + y : rest;                      \
    }

CEBUS_DEFINE_FORMULAS(float, f32)
CEBUS_DEFINE_FORMULAS(double, f64)

/** Integer power; 1 / x^-e truncated for negative exponents (0, or +-1 for x = +-1). */
CEBUS_INLINE int64_t cebus_pow_i64(int64_t x, int64_t e)
{
    if (e < 0)
        return x == 1 ? 1 : x == -1 ? (e & 1 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)x, result = 1;
    for (; e > 0; e >>= 1) {
        result *= e & 1 ? base : 1;
        base *= base;
    }
    return (int64_t)result;
}

/** Rounded towards zero; 0 where y is 0, for which processors have no common answer or none at all.
 * -2^63 / -1 wraps. */
CEBUS_INLINE int64_t cebus_div_trunc_i64(int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

/** The same rounded down. */
CEBUS_INLINE int64_t cebus_div_floor_i64(int64_t x, int64_t y)
{
    int64_t quotient = cebus_div_trunc_i64(x, y);
    bool inexact = (uint64_t)quotient * (uint64_t)y != (uint64_t)x;
    return quotient - (y != 0 && inexact && (x < 0) != (y < 0));
}

/** Shifts of x by y bits. A shift by less than none, or by all of them or more, leaves none of x's
 * own; those that come in are 0 from the right, x's sign from the left. */
CEBUS_INLINE int64_t cebus_shift_left_i64(int64_t x, int64_t y)
{
    return y < 0 || y > 63 ? 0 : (int64_t)((uint64_t)x << y);
}
CEBUS_INLINE int64_t cebus_shift_right_i64(int64_t x, int64_t y)
{
    return x >> (y < 0 || y > 63 ? 63 : y);
}

/** Doubles beyond the range of i64 become its ends, NaN 0: a plain conversion would be undefined.
 */
CEBUS_INLINE int64_t cebus_i64_from_f64(double x)
{
    if (!(x >= -0x1p63))
        return x < 0.0 ? INT64_MIN : 0;
    return x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

CEBUS_INLINE int64_t cebus_sign_i64(int64_t x)
{
    return (x > 0) - (x < 0);
}

/* clang-format off */

/**
 * Differentiable functions of one number: X(T, S, kind, saved, name, forward, backward).
 * kind: FLOAT, or NUMBER when integers have it too (CEBUS_UNARY_I64_LIST); saved: what the gradient
 * reads, IN or OUT. Forward is in x, backward in g and in x or y = f(x).
 */
#define CEBUS_UNARY_LIST(X, T, S)                                                                  \
    X(T, S, FLOAT, OUT, exp, cebus_exp_##S(x), g * y)                                              \
    X(T, S, FLOAT, IN, log, cebus_log_##S(x), g / x)                                               \
    X(T, S, FLOAT, OUT, sqrt, cebus_sqrt_##S(x), g / (y + y))                                      \
    X(T, S, FLOAT, OUT, rsqrt, (T)1 / cebus_sqrt_##S(x), (T)-0.5 * g * (y * y * y))                \
    X(T, S, FLOAT, OUT, reciprocal, (T)1 / x, -g * (y * y))                                        \
    X(T, S, FLOAT, OUT, tanh, cebus_tanh_##S(x), g * ((T)1 - y * y))                               \
    X(T, S, FLOAT, OUT, sigmoid, cebus_sigmoid_##S(x), g * ((T)1 - y) * y)                         \
    X(T, S, NUMBER, OUT, relu, x <= (T)0 ? (T)0 : x, y <= (T)0 ? (T)0 : g)                         \
    X(T, S, FLOAT, IN, gelu, cebus_gelu_##S(x), g * cebus_gelu_slope_##S(x))                       \
    X(T, S, FLOAT, IN, gelu_tanh, x * cebus_gelu_tanh_gate_##S(x),                                 \
      g * cebus_gelu_tanh_slope_##S(x))                                                            \
    X(T, S, FLOAT, IN, silu, x * cebus_sigmoid_##S(x), g * cebus_silu_slope_##S(x))                \
    X(T, S, NUMBER, IN, abs, cebus_abs_##S(x), g * cebus_sign_##S(x))                              \
    X(T, S, FLOAT, IN, sin, cebus_sin_##S(x), g * cebus_cos_##S(x))                                \
    X(T, S, FLOAT, IN, cos, cebus_cos_##S(x), -g * cebus_sin_##S(x))                               \
    X(T, S, FLOAT, IN, erf, cebus_erf_##S(x),                                                      \
      g * ((T)1.12837916709551257390 * cebus_exp_##S(-x * x)))                                     \
    X(T, S, NUMBER, IN, square, x * x, g * (x + x))

/** Signed overflow wraps, as it does in PyTorch; unsigned arithmetic says so. */
#define CEBUS_UNARY_I64_LIST(X)                                                                    \
    X(relu, x <= 0 ? 0 : x)                                                                        \
    X(abs, x < 0 ? (int64_t)-(uint64_t)x : x)                                                      \
    X(square, (int64_t)((uint64_t)x * (uint64_t)x))                                                \
    X(neg, (int64_t)-(uint64_t)x)                                                                  \
    X(sign, cebus_sign_i64(x))

/** Functions of two numbers of one type, and what they are for integers: X(T, S, name, formula).
 * A NaN in either argument of maximum and minimum is the result. */
#define CEBUS_BINARY_LIST(X, T, S)                                                                 \
    X(T, S, add, x + y)                                                                            \
    X(T, S, sub, x - y)                                                                            \
    X(T, S, mul, x * y)                                                                            \
    X(T, S, div, x / y)                                                                            \
    X(T, S, pow, cebus_pow_##S(x, y))                                                              \
    X(T, S, maximum, ((x > y) | (x != x)) ? x : y)                                                 \
    X(T, S, minimum, ((x < y) | (x != x)) ? x : y)
#define CEBUS_BINARY_I64_LIST(X)                                                                   \
    X(int64_t, i64, add, (int64_t)((uint64_t)x + (uint64_t)y))                                     \
    X(int64_t, i64, sub, (int64_t)((uint64_t)x - (uint64_t)y))                                     \
    X(int64_t, i64, mul, (int64_t)((uint64_t)x * (uint64_t)y))                                     \
    X(int64_t, i64, pow, cebus_pow_i64(x, y))                                                      \
    X(int64_t, i64, maximum, x > y ? x : y)                                                        \
    X(int64_t, i64, minimum, x < y ? x : y)

/** What divisions leave, exactly, without gradients: X(T, S, name, formula). */
#define CEBUS_REST_LIST(X, T, S)                                                                   \
    X(T, S, fmod, cebus_fmod_##S(x, y))                                                            \
    X(T, S, remainder, cebus_remainder_##S(x, y))

/** Functions of two integers, without gradients: X(T, S, name, formula). */
#define CEBUS_INTEGER_LIST(X)                                                                      \
    X(int64_t, i64, bitwise_and, x & y)                                                            \
    X(int64_t, i64, bitwise_or, x | y)                                                             \
    X(int64_t, i64, bitwise_xor, x ^ y)                                                            \
    X(int64_t, i64, shift_left, cebus_shift_left_i64(x, y))                                        \
    X(int64_t, i64, shift_right, cebus_shift_right_i64(x, y))
/** Divisions: a device that can tell at once refuses a y of 0. */
#define CEBUS_DIVISION_LIST(X)                                                                     \
    X(int64_t, i64, div_floor, cebus_div_floor_i64(x, y))                                          \
    X(int64_t, i64, div_trunc, cebus_div_trunc_i64(x, y))

/** Functions of an element x and a number s of the call: X(T, S, name, formula). */
#define CEBUS_SCALAR_LIST(X, T, S)                                                                 \
    X(T, S, add_scalar, x + s)                                                                     \
    X(T, S, mul_scalar, x * s)                                                                     \
    X(T, S, div_scalar, x / s)                                                                     \
    X(T, S, rsub_scalar, s - x)
#define CEBUS_SCALAR_I64_LIST(X)                                                                   \
    X(int64_t, i64, add_scalar, (int64_t)((uint64_t)x + (uint64_t)s))                              \
    X(int64_t, i64, mul_scalar, (int64_t)((uint64_t)x * (uint64_t)s))                              \
    X(int64_t, i64, rsub_scalar, (int64_t)((uint64_t)s - (uint64_t)x))                             \
    X(int64_t, i64, pow_scalar, cebus_pow_i64(x, s))

/** Gradients of functions of two numbers, from g, x and y or the call's number s. */
#define CEBUS_BINARY_BACKWARD_LIST(X, T, S)                                                        \
    X(T, S, pow_base_backward, g * (cebus_pow_slope_##S(x, y)))                                    \
    X(T, S, pow_exponent_backward, g * (cebus_pow_exponent_slope_##S(x, y)))                       \
    X(T, S, larger_share, x > y ? g : (x == y ? (T)0.5 * g : (T)0))
#define CEBUS_SCALAR_BACKWARD_LIST(X, T, S)                                                        \
    X(T, S, pow_scalar_backward, g * (cebus_pow_slope_##S(x, s)))

/** What becomes of x in place, given y and the call's number s. */
#define CEBUS_INPLACE_LIST(X, T, S)                                                                \
    X(T, S, add, x + s * y)                                                                        \
    X(T, S, lerp, x + s * (y - x))
#define CEBUS_INPLACE_I64_LIST(X)                                                                  \
    X(int64_t, i64, add, (int64_t)((uint64_t)x + (uint64_t)s * (uint64_t)y))

/** v where x is above 0, else v times the slope: x itself, or its gradient. */
#define CEBUS_LEAKED(x, v, slope) ((x) > 0 ? (v) : (v) * (slope))

/** x in [low, high]; a NaN stays one. */
#define CEBUS_CLAMPED(x, low, high)                                                                \
    (((x) < (low) ? (low) : (x)) > (high) ? (high) : ((x) < (low) ? (low) : (x)))

/** Comparisons, between tensors and with a number: X(name, operator). */
#define CEBUS_COMPARISON_LIST(X)                                                                   \
    X(eq, ==) X(ne, !=) X(lt, <) X(le, <=) X(gt, >) X(ge, >=)

/* clang-format on */

#endif
