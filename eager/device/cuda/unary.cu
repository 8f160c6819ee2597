/* Functions of one number and their gradients (formulas: eager/ops/formulas.h). */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/sweep.h"
#include "eager/device/elementwise.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/unary.h"
CEBUS_END_DECLS

/* --- formulas ------------------------------------------------------------------------------ */

/* A formula in x. */
#define FORWARD(name, T, formula) CEBUS_SWEEP_FORMULA(name, T, T, 1, 0, T x = v[0], formula)
/* A formula in a gradient g and what was saved: x or y, whichever it reads. */
#define SAVED(T)                                                                                   \
    T g = v[0];                                                                                    \
    [[maybe_unused]] T x = v[1], y = v[1]
#define BACKWARD(name, T, formula) CEBUS_SWEEP_FORMULA(name, T, T, 2, 0, SAVED(T), formula)

#define FORMULAS(T, S, kind, saved, name, forward, backward)                                       \
    FORWARD(name##_##S, T, forward)                                                                \
    BACKWARD(name##_backward_##S, T, backward)
CEBUS_UNARY_LIST(FORMULAS, float, f32)
CEBUS_UNARY_LIST(FORMULAS, double, f64)

#define FORMULA_I64(name, formula) FORWARD(name##_i64, int64_t, formula)
CEBUS_UNARY_I64_LIST(FORMULA_I64)
FORWARD(neg_f32, float, -x)
FORWARD(neg_f64, double, -x)
FORWARD(sign_f32, float, cebus_sign_f32(x))
FORWARD(sign_f64, double, cebus_sign_f64(x))

/* Number a is the slope. */
#define LEAKED(T, v) CEBUS_LEAKED(x, v, (T)numbers.a)
FORWARD(leaky_relu_f32, float, LEAKED(float, x))
FORWARD(leaky_relu_f64, double, LEAKED(double, x))
BACKWARD(leaky_relu_backward_f32, float, LEAKED(float, g))
BACKWARD(leaky_relu_backward_f64, double, LEAKED(double, g))

/* Numbers a and b are the bounds. */
#define LOW(T) ((T)numbers.a)
#define HIGH(T) ((T)numbers.b)
#define OUTSIDE(T) ((x < LOW(T)) | (x > HIGH(T)))
#define LOW_I64 cebus_i64_from_f64(ceil(numbers.a))
#define HIGH_I64 cebus_i64_from_f64(floor(numbers.b))
FORWARD(clamp_f32, float, CEBUS_CLAMPED(x, LOW(float), HIGH(float)))
FORWARD(clamp_f64, double, CEBUS_CLAMPED(x, LOW(double), HIGH(double)))
FORWARD(clamp_i64, int64_t, CEBUS_CLAMPED(x, LOW_I64, HIGH_I64))
BACKWARD(clamp_backward_f32, float, OUTSIDE(float) ? 0.0F : g)
BACKWARD(clamp_backward_f64, double, OUTSIDE(double) ? 0.0 : g)

/* --- table --------------------------------------------------------------------------------- */

#define FLOAT_KERNELS(name) cebus_sweep_run<name##_f32>, cebus_sweep_run<name##_f64>
#define NUMBER_KERNELS(name) FLOAT_KERNELS(name), cebus_sweep_run<name##_i64>

#define RUN(kind, name, numbers)                                                                   \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        static const cebus_sweep_kernels kernels = {{kind##_KERNELS(name)}, 0};                    \
        return cebus_sweep_launch(launch, #name, &kernels, numbers);                               \
    }
#define NOTHING (cebus_sweep_numbers{0, 0})
#define RUNS(T, S, kind, saved, name, forward, backward)                                           \
    RUN(kind, name, NOTHING)                                                                       \
    RUN(FLOAT, name##_backward, NOTHING)
CEBUS_UNARY_LIST(RUNS, , )
RUN(NUMBER, neg, NOTHING)
RUN(NUMBER, sign, NOTHING)

static cebus_sweep_numbers slope_of(const cebus_launch *launch)
{
    const cebus_leaky_relu_attrs *attrs = (const cebus_leaky_relu_attrs *)launch->attrs;
    return {attrs->slope, 0};
}
RUN(FLOAT, leaky_relu, slope_of(launch))
RUN(FLOAT, leaky_relu_backward, slope_of(launch))

static cebus_sweep_numbers bounds_of(const cebus_launch *launch)
{
    const cebus_clamp_attrs *attrs = (const cebus_clamp_attrs *)launch->attrs;
    return {attrs->low, attrs->high};
}
RUN(NUMBER, clamp, bounds_of(launch))
RUN(FLOAT, clamp_backward, bounds_of(launch))

#define ENTRIES(T, S, kind, saved, name, forward, backward)                                        \
    {#name, run_##name, NULL, NULL}, {#name "_backward", run_##name##_backward, NULL, NULL},
const cebus_kernel cebus_cuda_unary_kernels[] = {
    CEBUS_UNARY_LIST(ENTRIES, , ) /* */
    {"neg", run_neg, NULL, NULL},
    {"sign", run_sign, NULL, NULL},
    {"leaky_relu", run_leaky_relu, NULL, NULL},
    {"leaky_relu_backward", run_leaky_relu_backward, NULL, NULL},
    {"clamp", run_clamp, NULL, NULL},
    {"clamp_backward", run_clamp_backward, NULL, NULL},
    {},
};
