/* Functions of one number and their gradients (formulas: eager/ops/formulas.h). */
#include "eager/ops/unary.h"

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/sweep.h"
#include "eager/device/elementwise.h"
#include "layout/clones.h"

/* A loop `name` over one input: out = formula in x and attributes `p`. */
#define LOOP(name, T, attributes, formula)                                                         \
    CEBUS_CLONES static void name(int64_t n, void *out, const void *const *in, const void *attrs)  \
    {                                                                                              \
        T *to = out;                                                                               \
        const T *from = in[0];                                                                     \
        attributes;                                                                                \
        CEBUS_IVDEP                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = from[i];                                                                         \
            to[i] = formula;                                                                       \
        }                                                                                          \
    }
#define NO_ATTRIBUTES (void)attrs

/* A loop over a gradient g and what was saved: x or y, whichever the formula reads. */
#define BACKWARD_LOOP(name, T, attributes, formula)                                                \
    CEBUS_CLONES static void name(int64_t n, void *out, const void *const *in, const void *attrs)  \
    {                                                                                              \
        T *to = out;                                                                               \
        const T *grad = in[0], *saved = in[1];                                                     \
        attributes;                                                                                \
        CEBUS_IVDEP                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T g = grad[i], x = saved[i], y = x;                                                    \
            (void)y;                                                                               \
            to[i] = formula;                                                                       \
        }                                                                                          \
    }

#define LOOPS(T, S, kind, saved, name, forward, backward)                                          \
    LOOP(name##_##S, T, NO_ATTRIBUTES, forward)                                                    \
    BACKWARD_LOOP(name##_backward_##S, T, NO_ATTRIBUTES, backward)
CEBUS_UNARY_LIST(LOOPS, float, f32)
CEBUS_UNARY_LIST(LOOPS, double, f64)

#define LOOP_I64(name, formula) LOOP(name##_i64, int64_t, NO_ATTRIBUTES, formula)
CEBUS_UNARY_I64_LIST(LOOP_I64)
LOOP(neg_f32, float, NO_ATTRIBUTES, -x)
LOOP(neg_f64, double, NO_ATTRIBUTES, -x)
LOOP(sign_f32, float, NO_ATTRIBUTES, cebus_sign_f32(x))
LOOP(sign_f64, double, NO_ATTRIBUTES, cebus_sign_f64(x))

/* --- leaky_relu: one side has a slope of its own ------------------------------------------- */

#define SLOPE(T) const T slope = (T)((const cebus_leaky_relu_attrs *)attrs)->slope
LOOP(leaky_relu_f32, float, SLOPE(float), CEBUS_LEAKED(x, x, slope))
LOOP(leaky_relu_f64, double, SLOPE(double), CEBUS_LEAKED(x, x, slope))
BACKWARD_LOOP(leaky_relu_backward_f32, float, SLOPE(float), CEBUS_LEAKED(x, g, slope))
BACKWARD_LOOP(leaky_relu_backward_f64, double, SLOPE(double), CEBUS_LEAKED(x, g, slope))

/* --- clamp: to [low, high]; a NaN stays one ------------------------------------------------ */

#define BOUNDS(T)                                                                                  \
    const cebus_clamp_attrs *bounds = attrs;                                                       \
    const T low = (T)bounds->low, high = (T)bounds->high
#define BOUNDS_I64                                                                                 \
    const cebus_clamp_attrs *bounds = attrs;                                                       \
    const int64_t low = cebus_i64_from_f64(ceil(bounds->low));                                     \
    const int64_t high = cebus_i64_from_f64(floor(bounds->high))
#define CLAMPED CEBUS_CLAMPED(x, low, high)
LOOP(clamp_f32, float, BOUNDS(float), CLAMPED)
LOOP(clamp_f64, double, BOUNDS(double), CLAMPED)
LOOP(clamp_i64, int64_t, BOUNDS_I64, CLAMPED)
BACKWARD_LOOP(clamp_backward_f32, float, BOUNDS(float), ((x < low) | (x > high)) ? 0.0F : g)
BACKWARD_LOOP(clamp_backward_f64, double, BOUNDS(double), ((x < low) | (x > high)) ? 0.0 : g)

/* --- table --------------------------------------------------------------------------------- */

#define FLOAT_LOOPS(name) [CEBUS_LANE_F32] = name##_f32, [CEBUS_LANE_F64] = name##_f64
#define NUMBER_LOOPS(name) FLOAT_LOOPS(name), [CEBUS_LANE_I64] = name##_i64

#define RUN(kind, name)                                                                            \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        static const cebus_sweep sweep = {.fn = {kind##_LOOPS(name)}};                             \
        return cebus_sweep_run(launch, &sweep);                                                    \
    }
#define RUNS(T, S, kind, saved, name, forward, backward)                                           \
    RUN(kind, name)                                                                                \
    RUN(FLOAT, name##_backward)
CEBUS_UNARY_LIST(RUNS, , )
RUN(NUMBER, neg)
RUN(NUMBER, sign)
RUN(FLOAT, leaky_relu)
RUN(FLOAT, leaky_relu_backward)
RUN(NUMBER, clamp)
RUN(FLOAT, clamp_backward)

#define ENTRIES(T, S, kind, saved, name, forward, backward)                                        \
    {.op = #name, .run = run_##name}, {.op = #name "_backward", .run = run_##name##_backward},
const cebus_kernel cebus_cpu_unary[] = {
    CEBUS_UNARY_LIST(ENTRIES, , ) /* */
    {.op = "neg", .run = run_neg},
    {.op = "sign", .run = run_sign},
    {.op = "leaky_relu", .run = run_leaky_relu},
    {.op = "leaky_relu_backward", .run = run_leaky_relu_backward},
    {.op = "clamp", .run = run_clamp},
    {.op = "clamp_backward", .run = run_clamp_backward},
    {0},
};
