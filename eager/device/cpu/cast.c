#include "eager/device/cpu/convert.h"
#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/sweep.h"
#include "eager/device/cpu/transpose.h"
#include "eager/device/elementwise.h"
#include "eager/view.h"
#include "layout/clones.h"

/* From lane to lane; the sweep converts between lanes and the types in memory. */
#define LOOP(from, F, to, T, formula)                                                              \
    CEBUS_CLONES static void from##_to_##to(int64_t n, void *out, const void *const *in,           \
                                            const void *attrs)                                     \
    {                                                                                              \
        T *t = out;                                                                                \
        const F *s = in[0];                                                                        \
        (void)attrs;                                                                               \
        CEBUS_IVDEP                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            F x = s[i];                                                                            \
            t[i] = formula;                                                                        \
        }                                                                                          \
    }
#define LOOPS(from, F, whole)                                                                      \
    LOOP(from, F, f32, float, (float)x)                                                            \
    LOOP(from, F, f64, double, (double)x)                                                          \
    LOOP(from, F, i64, int64_t, whole)                                                             \
    LOOP(from, F, bool, uint8_t, x != 0)
LOOPS(f32, float, cebus_i64_from_f64((double)x))
LOOPS(f64, double, cebus_i64_from_f64(x))
LOOPS(i64, int64_t, x)

#define SWEEP(lane, to)                                                                            \
    {                                                                                              \
        .fn = {[CEBUS_LANE_F32] = f32_to_##to,                                                     \
               [CEBUS_LANE_F64] = f64_to_##to,                                                     \
               [CEBUS_LANE_I64] = i64_to_##to},                                                    \
        .out_lane = lane                                                                           \
    }
static const cebus_sweep to_lane[CEBUS_LANE_COUNT] = {
    [CEBUS_LANE_F32] = SWEEP(CEBUS_LANE_F32, f32),
    [CEBUS_LANE_F64] = SWEEP(CEBUS_LANE_F64, f64),
    [CEBUS_LANE_I64] = SWEEP(CEBUS_LANE_I64, i64),
    [CEBUS_LANE_U8] = SWEEP(CEBUS_LANE_U8, bool),
};

cebus_status cebus_convert_run(const cebus_launch *launch, uint32_t source)
{
    const cebus_array *from = &launch->in[source], *to = &launch->out[0];
    cebus_dtype dtype = to->view->dtype;
    if (from->view->dtype == dtype) {
        cebus_view expanded;
        cebus_view_expand(from->view, to->view->ndim, to->view->shape, &expanded);
        cebus_array same_shape = {from->data, &expanded};
        if (!cebus_transpose_copy(launch->threads, to, &same_shape))
            cebus_copy_array(launch->threads, to, &same_shape);
        return CEBUS_OK;
    }
    cebus_launch copy = *launch;
    copy.in = from;
    copy.n_in = 1;
    return cebus_sweep_run(&copy,
                           &to_lane[dtype == CEBUS_BOOL ? CEBUS_LANE_U8 : cebus_lane_of(dtype)]);
}

static cebus_status run_cast(const cebus_launch *launch)
{
    return cebus_convert_run(launch, 0);
}

const cebus_kernel cebus_cpu_cast[] = {
    {.op = "cast", .run = run_cast},
    {0},
};
