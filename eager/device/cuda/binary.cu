/* Functions of two operands, also written over the first (formulas: eager/ops/formulas.h). */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/sweep.h"
#include "eager/device/elementwise.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/binary.h"
#include "eager/ops/number.h"
CEBUS_END_DECLS

/* --- formulas ------------------------------------------------------------------------------ */

#define FORMULA CEBUS_SWEEP_FORMULA

#define PAIR(T) T x = v[0], y = v[1]
#define NUMBER(T)                                                                                  \
    T x = v[0];                                                                                    \
    const T s = (T)numbers.a
#define PAIR_FORMULA(T, S, name, formula) FORMULA(name##_##S, T, T, 2, 0, PAIR(T), formula)
CEBUS_BINARY_LIST(PAIR_FORMULA, float, f32)
CEBUS_BINARY_LIST(PAIR_FORMULA, double, f64)
CEBUS_BINARY_I64_LIST(PAIR_FORMULA)
CEBUS_REST_LIST(PAIR_FORMULA, float, f32)
CEBUS_REST_LIST(PAIR_FORMULA, double, f64)
CEBUS_INTEGER_LIST(PAIR_FORMULA)
CEBUS_DIVISION_LIST(PAIR_FORMULA)

#define SCALAR_FORMULA(T, S, name, formula) FORMULA(name##_##S, T, T, 1, 0, NUMBER(T), formula)
CEBUS_SCALAR_LIST(SCALAR_FORMULA, float, f32)
CEBUS_SCALAR_LIST(SCALAR_FORMULA, double, f64)
CEBUS_SCALAR_I64_LIST(SCALAR_FORMULA)
SCALAR_FORMULA(float, f32, pow_scalar, cebus_pow_f32(x, s))
SCALAR_FORMULA(double, f64, pow_scalar, cebus_pow_f64(x, s))

/* A number may lie between integers, or beyond them: those compare as doubles. */
#define NUMBER_F64                                                                                 \
    int64_t x = v[0];                                                                              \
    const double s = numbers.a
#define COMPARISON(name, operator)                                                                 \
    FORMULA(name##_f32, float, uint8_t, 2, 0, PAIR(float), x operator y)                           \
    FORMULA(name##_f64, double, uint8_t, 2, 0, PAIR(double), x operator y)                         \
    FORMULA(name##_i64, int64_t, uint8_t, 2, 0, PAIR(int64_t), x operator y)                       \
    FORMULA(name##_scalar_f32, float, uint8_t, 1, 0, NUMBER(float), x operator s)                  \
    FORMULA(name##_scalar_f64, double, uint8_t, 1, 0, NUMBER(double), x operator s)                \
    FORMULA(name##_scalar_i64, int64_t, uint8_t, 1, 0, NUMBER_F64, (double)x operator s)
CEBUS_COMPARISON_LIST(COMPARISON)

#define CHOICE(T) T x = v[1], y = v[2]
FORMULA(where_f32, float, float, 3, 1, CHOICE(float), v[0] != 0.0F ? x : y)
FORMULA(where_f64, double, double, 3, 1, CHOICE(double), v[0] != 0.0 ? x : y)
FORMULA(where_i64, int64_t, int64_t, 3, 1, CHOICE(int64_t), v[0] != 0 ? x : y)

/* Number a is the scale, b whether the mask is inverted. */
#define MASKED(T)                                                                                  \
    NUMBER(T);                                                                                     \
    const bool drop = numbers.b != 0.0
FORMULA(mask_scale_f32, float, float, 2, 2, MASKED(float), (v[1] != 0.0F) == drop ? 0.0F : x * s)
FORMULA(mask_scale_f64, double, double, 2, 2, MASKED(double), (v[1] != 0.0) == drop ? 0.0 : x * s)

#define SLOPE(T) T g = v[0], x = v[1], y = v[2]
#define SLOPE_NUMBER(T)                                                                            \
    T g = v[0], x = v[1];                                                                          \
    const T s = (T)numbers.a
#define SLOPE_FORMULA(T, S, name, formula) FORMULA(name##_##S, T, T, 3, 0, SLOPE(T), formula)
#define SCALAR_SLOPE_FORMULA(T, S, name, formula)                                                  \
    FORMULA(name##_##S, T, T, 2, 0, SLOPE_NUMBER(T), formula)
CEBUS_BINARY_BACKWARD_LIST(SLOPE_FORMULA, float, f32)
CEBUS_BINARY_BACKWARD_LIST(SLOPE_FORMULA, double, f64)
CEBUS_SCALAR_BACKWARD_LIST(SCALAR_SLOPE_FORMULA, float, f32)
CEBUS_SCALAR_BACKWARD_LIST(SCALAR_SLOPE_FORMULA, double, f64)

/* In place: op add_ is not add, its second operand is scaled. */
#define PAIR_NUMBER(T)                                                                             \
    PAIR(T);                                                                                       \
    const T s = (T)numbers.a
#define INPLACE_FORMULA(T, S, name, formula)                                                       \
    FORMULA(name##_inplace_##S, T, T, 2, 0, PAIR_NUMBER(T), formula)
CEBUS_INPLACE_LIST(INPLACE_FORMULA, float, f32)
CEBUS_INPLACE_LIST(INPLACE_FORMULA, double, f64)
CEBUS_INPLACE_I64_LIST(INPLACE_FORMULA)

/* --- table --------------------------------------------------------------------------------- */

static cebus_sweep_numbers number_of(const cebus_launch *launch)
{
    return {((const cebus_number_attrs *)launch->attrs)->value, 0};
}

static cebus_sweep_numbers mask_of(const cebus_launch *launch)
{
    const cebus_mask_attrs *attrs = (const cebus_mask_attrs *)launch->attrs;
    return {attrs->scale, attrs->inverted ? 1.0 : 0.0};
}

#define NOTHING (cebus_sweep_numbers{0, 0})
#define NAMED number_of(launch)
#define FLOATS(name) cebus_sweep_run<name##_f32>, cebus_sweep_run<name##_f64>
#define NUMBERS(name) FLOATS(name), cebus_sweep_run<name##_i64>
#define FLOATS_ONLY(name) FLOATS(name), NULL

#define RUN(name, numbers, masks, ...)                                                             \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        static const cebus_sweep_kernels kernels = {{__VA_ARGS__}, masks};                         \
        return cebus_sweep_launch(launch, #name, &kernels, numbers);                               \
    }
RUN(add, NOTHING, 0, NUMBERS(add))
RUN(sub, NOTHING, 0, NUMBERS(sub))
RUN(mul, NOTHING, 0, NUMBERS(mul))
RUN(div, NOTHING, 0, FLOATS_ONLY(div))
RUN(pow, NOTHING, 0, NUMBERS(pow))
RUN(fmod, NOTHING, 0, FLOATS_ONLY(fmod))
RUN(remainder, NOTHING, 0, FLOATS_ONLY(remainder))
RUN(maximum, NOTHING, 0, NUMBERS(maximum))
RUN(minimum, NOTHING, 0, NUMBERS(minimum))
RUN(add_scalar, NAMED, 0, NUMBERS(add_scalar))
RUN(mul_scalar, NAMED, 0, NUMBERS(mul_scalar))
RUN(div_scalar, NAMED, 0, FLOATS_ONLY(div_scalar))
RUN(rsub_scalar, NAMED, 0, NUMBERS(rsub_scalar))
RUN(pow_scalar, NAMED, 0, NUMBERS(pow_scalar))
RUN(where, NOTHING, 1, NUMBERS(where))
RUN(mask_scale, mask_of(launch), 2, FLOATS_ONLY(mask_scale))
RUN(pow_base_backward, NOTHING, 0, FLOATS_ONLY(pow_base_backward))
RUN(pow_exponent_backward, NOTHING, 0, FLOATS_ONLY(pow_exponent_backward))
RUN(larger_share, NOTHING, 0, FLOATS_ONLY(larger_share))
RUN(pow_scalar_backward, NAMED, 0, FLOATS_ONLY(pow_scalar_backward))
RUN(add_, NAMED, 0, NUMBERS(add_inplace))
RUN(lerp_, NAMED, 0, FLOATS_ONLY(lerp_inplace))

#define INTEGER_RUNS(T, S, name, formula)                                                          \
    RUN(name, NOTHING, 0, NULL, NULL, cebus_sweep_run<name##_##S>)
CEBUS_INTEGER_LIST(INTEGER_RUNS)
CEBUS_DIVISION_LIST(INTEGER_RUNS)

#define COMPARISON_RUNS(name, operator)                                                            \
    RUN(name, NOTHING, 0, NUMBERS(name)) RUN(name##_scalar, NAMED, 0, NUMBERS(name##_scalar))
CEBUS_COMPARISON_LIST(COMPARISON_RUNS)

#define ENTRY(name)                                                                                \
    {                                                                                              \
#name, run_##name, NULL, NULL                                                              \
    }
#define INTEGER_ENTRIES(T, S, name, formula) ENTRY(name),
#define COMPARISON_ENTRIES(name, operator) ENTRY(name), ENTRY(name##_scalar),
const cebus_kernel cebus_cuda_binary_kernels[] = {
    ENTRY(add),
    ENTRY(sub),
    ENTRY(mul),
    ENTRY(div),
    ENTRY(pow),
    ENTRY(fmod),
    ENTRY(remainder),
    ENTRY(maximum),
    ENTRY(minimum),
    ENTRY(add_scalar),
    ENTRY(mul_scalar),
    ENTRY(div_scalar),
    ENTRY(rsub_scalar),
    ENTRY(pow_scalar),
    ENTRY(where),
    ENTRY(mask_scale),
    ENTRY(pow_base_backward),
    ENTRY(pow_exponent_backward),
    ENTRY(larger_share),
    ENTRY(pow_scalar_backward),
    ENTRY(add_),
    ENTRY(lerp_),
    {"mul_", run_mul, NULL, NULL},
    {"div_", run_div, NULL, NULL},
    {"add_scalar_", run_add_scalar, NULL, NULL},
    {"mul_scalar_", run_mul_scalar, NULL, NULL},
    CEBUS_INTEGER_LIST(INTEGER_ENTRIES) /* */
    CEBUS_DIVISION_LIST(INTEGER_ENTRIES) /* */
    CEBUS_COMPARISON_LIST(COMPARISON_ENTRIES) /* */
    {},
};
