/**
 * formulas.h: the elementwise ops as X-macro lists: each with the formula of its result, and what
 * its gradient reads. Descriptors, gradients and the kernels of every device are generated from the
 * same line, so they cannot differ.
 *
 * Formulas are expressions over scalars. T is the compute type, S its suffix in the functions that
 * they call (f32 or f64, eager/device/elementwise.h): who names ops alone leaves both empty.
 */
#ifndef CEBUS_EAGER_OPS_FORMULAS_H
#define CEBUS_EAGER_OPS_FORMULAS_H

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
