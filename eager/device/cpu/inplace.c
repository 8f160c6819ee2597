/* Writes over the first input. Where only that differs, the kernels are those of the binary family.
 */
#include "eager/device/cpu/binary.h"
#include "eager/device/cpu/convert.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/sweep.h"
#include "eager/device/elementwise.h"
#include "eager/ops/entry.h"
#include "layout/clones.h"

#define LOOP(T, S, name, formula)                                                                  \
    CEBUS_CLONES static void name##_##S(int64_t n, void *out, const void *const *in,               \
                                        const void *attrs)                                         \
    {                                                                                              \
        T *to = out;                                                                               \
        const T *a = in[0], *b = in[1];                                                            \
        const T s = (T)((const cebus_number_attrs *)attrs)->value;                                 \
        CEBUS_IVDEP                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = a[i], y = b[i];                                                                  \
            to[i] = formula;                                                                       \
        }                                                                                          \
    }
CEBUS_INPLACE_LIST(LOOP, float, f32)
CEBUS_INPLACE_LIST(LOOP, double, f64)
CEBUS_INPLACE_I64_LIST(LOOP)

static cebus_status run_add(const cebus_launch *launch)
{
    static const cebus_sweep sweep = {
        .fn = {[CEBUS_LANE_F32] = add_f32, [CEBUS_LANE_F64] = add_f64, [CEBUS_LANE_I64] = add_i64}};
    return cebus_sweep_run(launch, &sweep);
}

static cebus_status run_lerp(const cebus_launch *launch)
{
    static const cebus_sweep sweep = {
        .fn = {[CEBUS_LANE_F32] = lerp_f32, [CEBUS_LANE_F64] = lerp_f64}};
    return cebus_sweep_run(launch, &sweep);
}

static cebus_status run_copy(const cebus_launch *launch)
{
    return cebus_convert_run(launch, 1);
}

static cebus_status run_fill(const cebus_launch *launch)
{
    return cebus_convert_fill(launch, ((const cebus_number_attrs *)launch->attrs)->value);
}

const cebus_kernel cebus_cpu_inplace[] = {
    {.op = "add_", .run = run_add},
    {.op = "mul_", .run = cebus_cpu_run_mul},
    {.op = "div_", .run = cebus_cpu_run_div},
    {.op = "lerp_", .run = run_lerp},
    {.op = "copy_", .run = run_copy},
    {.op = "add_scalar_", .run = cebus_cpu_run_add_scalar},
    {.op = "mul_scalar_", .run = cebus_cpu_run_mul_scalar},
    {.op = "fill_", .run = run_fill},
    {0},
};
