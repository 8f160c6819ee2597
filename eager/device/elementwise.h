/**
 * elementwise.h: the functions that the formulas of the elementwise ops call
 * (eager/ops/formulas.h), once, for every device.
 */
#ifndef CEBUS_EAGER_DEVICE_ELEMENTWISE_H
#define CEBUS_EAGER_DEVICE_ELEMENTWISE_H

#include <stdbool.h>

#include "eager/device/scalar.h"
#include "eager/ops/formulas.h"

/** Those that take more than one expression. T: the compute type, S: its suffix in scalar.h. */
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

#endif
