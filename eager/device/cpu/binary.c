/* Functions of two operands (formulas: eager/ops/formulas.h). */
#include "eager/device/cpu/binary.h"

#include <stdatomic.h>

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/sweep.h"
#include "eager/device/elementwise.h"
#include "eager/ops/binary.h"
#include "eager/ops/entry.h"
#include "layout/clones.h"

/* --- loops --------------------------------------------------------------------------------- */

/* A loop `name`: out[i] = formula, after `setup` once and `each` for every i. */
#define LOOP(name, T_out, setup, each, formula)                                                    \
    CEBUS_CLONES static void name(int64_t n, void *out, const void *const *in, const void *attrs)  \
    {                                                                                              \
        T_out *to = out;                                                                           \
        (void)attrs;                                                                               \
        setup;                                                                                     \
        CEBUS_IVDEP                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            each;                                                                                  \
            to[i] = formula;                                                                       \
        }                                                                                          \
    }

#define PAIR(T) const T *a = in[0], *b = in[1]
#define TWO(T) T x = a[i], y = b[i]
#define NUMBER(T)                                                                                  \
    const T *a = in[0];                                                                            \
    const T s = (T)((const cebus_number_attrs *)attrs)->value
#define ONE(T) T x = a[i]

#define PAIR_LOOP(T, S, name, formula) LOOP(name##_##S, T, PAIR(T), TWO(T), formula)
CEBUS_BINARY_LIST(PAIR_LOOP, float, f32)
CEBUS_BINARY_LIST(PAIR_LOOP, double, f64)
CEBUS_BINARY_I64_LIST(PAIR_LOOP)
CEBUS_REST_LIST(PAIR_LOOP, float, f32)
CEBUS_REST_LIST(PAIR_LOOP, double, f64)
CEBUS_INTEGER_LIST(PAIR_LOOP)

/** Where a loop leaves word that it met a divisor of 0; other threads may be at other elements. */
typedef struct division {
    atomic_bool *by_zero;
} division;

#define DIVISION_LOOP(T, S, name, formula)                                                         \
    static void name##_##S(int64_t n, void *out, const void *const *in, const void *attrs)         \
    {                                                                                              \
        PAIR(T);                                                                                   \
        T *to = out;                                                                               \
        bool by_zero = false;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            TWO(T);                                                                                \
            by_zero |= y == 0;                                                                     \
            to[i] = formula;                                                                       \
        }                                                                                          \
        if (by_zero)                                                                               \
            *((const division *)attrs)->by_zero = true;                                            \
    }
CEBUS_DIVISION_LIST(DIVISION_LOOP)

#define SCALAR_LOOP(T, S, name, formula) LOOP(name##_##S, T, NUMBER(T), ONE(T), formula)
CEBUS_SCALAR_LIST(SCALAR_LOOP, float, f32)
CEBUS_SCALAR_LIST(SCALAR_LOOP, double, f64)
CEBUS_SCALAR_I64_LIST(SCALAR_LOOP)
LOOP(pow_scalar_f32, float, NUMBER(float), ONE(float), cebus_pow_f32(x, s))
LOOP(pow_scalar_f64, double, NUMBER(double), ONE(double), cebus_pow_f64(x, s))

/* A number may lie between integers, or beyond them: those compare as doubles. */
#define NUMBER_F64(T)                                                                              \
    const T *a = in[0];                                                                            \
    const double s = ((const cebus_number_attrs *)attrs)->value
#define COMPARISON_LOOPS(name, operator)                                                           \
    LOOP(name##_f32, uint8_t, PAIR(float), TWO(float), x operator y)                               \
    LOOP(name##_f64, uint8_t, PAIR(double), TWO(double), x operator y)                             \
    LOOP(name##_i64, uint8_t, PAIR(int64_t), TWO(int64_t), x operator y)                           \
    LOOP(name##_scalar_f32, uint8_t, NUMBER(float), ONE(float), x operator s)                      \
    LOOP(name##_scalar_f64, uint8_t, NUMBER(double), ONE(double), x operator s)                    \
    LOOP(name##_scalar_i64, uint8_t, NUMBER_F64(int64_t), ONE(int64_t), (double)x operator s)
CEBUS_COMPARISON_LIST(COMPARISON_LOOPS)

#define CHOICE(T)                                                                                  \
    const uint8_t *c = in[0];                                                                      \
    const T *a = in[1], *b = in[2]
LOOP(where_f32, float, CHOICE(float), TWO(float), c[i] ? x : y)
LOOP(where_f64, double, CHOICE(double), TWO(double), c[i] ? x : y)
LOOP(where_i64, int64_t, CHOICE(int64_t), TWO(int64_t), c[i] ? x : y)

#define MASKED(T)                                                                                  \
    const T *a = in[0];                                                                            \
    const uint8_t *mask = in[1];                                                                   \
    const T s = (T)((const cebus_mask_attrs *)attrs)->scale;                                       \
    const bool drop = ((const cebus_mask_attrs *)attrs)->inverted
LOOP(mask_scale_f32, float, MASKED(float), ONE(float), (mask[i] != 0) == drop ? 0.0F : x * s)
LOOP(mask_scale_f64, double, MASKED(double), ONE(double), (mask[i] != 0) == drop ? 0.0 : x * s)

#define BACKWARD(T) const T *grad = in[0], *a = in[1], *b = in[2]
#define G_TWO(T) T g = grad[i], x = a[i], y = b[i]
#define BACKWARD_NUMBER(T)                                                                         \
    const T *grad = in[0], *a = in[1];                                                             \
    const T s = (T)((const cebus_number_attrs *)attrs)->value
#define G_ONE(T) T g = grad[i], x = a[i]
#define BACKWARD_LOOP(T, S, name, formula) LOOP(name##_##S, T, BACKWARD(T), G_TWO(T), formula)
CEBUS_BINARY_BACKWARD_LIST(BACKWARD_LOOP, float, f32)
CEBUS_BINARY_BACKWARD_LIST(BACKWARD_LOOP, double, f64)
#define NUMBER_LOOP(T, S, name, formula) LOOP(name##_##S, T, BACKWARD_NUMBER(T), G_ONE(T), formula)
CEBUS_SCALAR_BACKWARD_LIST(NUMBER_LOOP, float, f32)
CEBUS_SCALAR_BACKWARD_LIST(NUMBER_LOOP, double, f64)

/* --- kernels ------------------------------------------------------------------------------- */

#define FLOATS(name) .fn[CEBUS_LANE_F32] = name##_f32, .fn[CEBUS_LANE_F64] = name##_f64
#define NUMBERS(name) FLOATS(name), .fn[CEBUS_LANE_I64] = name##_i64

/* A kernel of a device table: `linkage` is static, or extern for what other files run, too. */
#define RUN(linkage, function, ...)                                                                \
    linkage cebus_status function(const cebus_launch *launch)                                      \
    {                                                                                              \
        static const cebus_sweep sweep = {__VA_ARGS__};                                            \
        return cebus_sweep_run(launch, &sweep);                                                    \
    }
RUN(static, run_add, NUMBERS(add))
RUN(static, run_sub, NUMBERS(sub))
RUN(extern, cebus_cpu_run_mul, NUMBERS(mul))
RUN(extern, cebus_cpu_run_div, FLOATS(div))
RUN(static, run_pow, NUMBERS(pow))
RUN(static, run_maximum, NUMBERS(maximum))
RUN(static, run_minimum, NUMBERS(minimum))
RUN(extern, cebus_cpu_run_add_scalar, NUMBERS(add_scalar))
RUN(extern, cebus_cpu_run_mul_scalar, NUMBERS(mul_scalar))
RUN(static, run_div_scalar, FLOATS(div_scalar))
RUN(static, run_rsub_scalar, NUMBERS(rsub_scalar))
RUN(static, run_pow_scalar, NUMBERS(pow_scalar))
RUN(static, run_where, NUMBERS(where), .byte_inputs = 1)
RUN(static, run_mask_scale, FLOATS(mask_scale), .byte_inputs = 2)
RUN(static, run_pow_base_backward, FLOATS(pow_base_backward))
RUN(static, run_pow_exponent_backward, FLOATS(pow_exponent_backward))
RUN(static, run_larger_share, FLOATS(larger_share))
RUN(static, run_pow_scalar_backward, FLOATS(pow_scalar_backward))

#define REST_RUNS(T, S, name, formula) RUN(static, run_##name, FLOATS(name))
CEBUS_REST_LIST(REST_RUNS, , )

#define INTEGER_RUNS(T, S, name, formula) RUN(static, run_##name, .fn[CEBUS_LANE_I64] = name##_##S)
CEBUS_INTEGER_LIST(INTEGER_RUNS)

/* Writes what it can all the same: nobody sees it. */
static cebus_status run_division(const cebus_launch *launch, const char *op,
                                 const cebus_sweep *sweep)
{
    atomic_bool by_zero = false;
    const division attrs = {&by_zero};
    cebus_launch watched = *launch;
    watched.attrs = &attrs;
    cebus_status status = cebus_sweep_run(&watched, sweep);
    if (status == CEBUS_OK && by_zero)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                            "integer division by zero: compare the divisor with 0, or "
                            "cebus_cast() to a floating-point type");
    return status;
}

#define DIVISION_RUNS(T, S, name, formula)                                                         \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        static const cebus_sweep sweep = {.fn[CEBUS_LANE_I64] = name##_##S};                       \
        return run_division(launch, #name, &sweep);                                                \
    }
CEBUS_DIVISION_LIST(DIVISION_RUNS)

#define COMPARISON_RUNS(name, operator)                                                            \
    RUN(static, run_##name, NUMBERS(name), .out_lane = CEBUS_LANE_U8)                              \
    RUN(static, run_##name##_scalar, NUMBERS(name##_scalar), .out_lane = CEBUS_LANE_U8)
CEBUS_COMPARISON_LIST(COMPARISON_RUNS)

#define ENTRIES(T, S, name, formula) {.op = #name, .run = run_##name},
#define COMPARISON_ENTRIES(name, operator)                                                         \
    {.op = #name, .run = run_##name}, {.op = #name "_scalar", .run = run_##name##_scalar},
const cebus_kernel cebus_cpu_binary[] = {
    {.op = "add", .run = run_add},
    {.op = "sub", .run = run_sub},
    {.op = "mul", .run = cebus_cpu_run_mul},
    {.op = "div", .run = cebus_cpu_run_div},
    {.op = "pow", .run = run_pow},
    {.op = "maximum", .run = run_maximum},
    {.op = "minimum", .run = run_minimum},
    {.op = "add_scalar", .run = cebus_cpu_run_add_scalar},
    {.op = "mul_scalar", .run = cebus_cpu_run_mul_scalar},
    {.op = "div_scalar", .run = run_div_scalar},
    {.op = "rsub_scalar", .run = run_rsub_scalar},
    {.op = "pow_scalar", .run = run_pow_scalar},
    {.op = "where", .run = run_where},
    {.op = "mask_scale", .run = run_mask_scale},
    {.op = "pow_base_backward", .run = run_pow_base_backward},
    {.op = "pow_exponent_backward", .run = run_pow_exponent_backward},
    {.op = "larger_share", .run = run_larger_share},
    {.op = "pow_scalar_backward", .run = run_pow_scalar_backward},
    CEBUS_REST_LIST(ENTRIES, , )                             /* */
    CEBUS_INTEGER_LIST(ENTRIES) CEBUS_DIVISION_LIST(ENTRIES) /* */
    CEBUS_COMPARISON_LIST(COMPARISON_ENTRIES)                /* */
    {0},
};
