/* Elements of one array as those of another: converted, copied, or made from a number. */
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/sweep.h"
#include "eager/device/elementwise.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/fill.h"
#include "eager/ops/number.h"
CEBUS_END_DECLS

/* --- from lane to lane ---------------------------------------------------------------------- */

#define CAST(from, F, to, T, formula)                                                              \
    CEBUS_SWEEP_FORMULA(from##_to_##to, F, T, 1, 0, F x = v[0], formula)
#define CASTS(from, F, whole)                                                                      \
    CAST(from, F, f32, float, (float)x)                                                            \
    CAST(from, F, f64, double, (double)x)                                                          \
    CAST(from, F, i64, int64_t, whole)                                                             \
    CAST(from, F, bool, uint8_t, x != 0)
CASTS(f32, float, cebus_i64_from_f64((double)x))
CASTS(f64, double, cebus_i64_from_f64(x))
CASTS(i64, int64_t, x)

#define TO(to)                                                                                     \
    {                                                                                              \
        {cebus_sweep_run<f32_to_##to>, cebus_sweep_run<f64_to_##to>,                               \
         cebus_sweep_run<i64_to_##to>},                                                            \
            0                                                                                      \
    }

/** out[0] := in[`source`], which may be broadcast. */
static cebus_status convert(const cebus_launch *launch, uint32_t source, const char *op)
{
    static const cebus_sweep_kernels to_lane[] = {TO(f32), TO(f64), TO(i64)};
    static const cebus_sweep_kernels to_bool = TO(bool);
    const cebus_array *from = &launch->in[source], *to = &launch->out[0];
    cebus_dtype dtype = to->view->dtype;
    if (from->view->dtype == dtype) {
        cebus_view same_shape = cebus_view_as(from->view, to->view);
        cebus_array wide = {from->data, &same_shape};
        cebus_cuda_copy(launch, to, &wide);
        return cebus_cuda_launched(op);
    }
    cebus_launch one = *launch;
    one.in = from;
    one.n_in = 1;
    return cebus_sweep_launch(
        &one, op, dtype == CEBUS_BOOL ? &to_bool : &to_lane[cebus_lane_number(dtype)], {});
}

static cebus_status run_cast(const cebus_launch *launch)
{
    return convert(launch, 0, "cast");
}

static cebus_status run_copy(const cebus_launch *launch)
{
    return convert(launch, 1, "copy_");
}

/* --- from a number ------------------------------------------------------------------------- */

static cebus_status run_full(const cebus_launch *launch)
{
    const cebus_fill_attrs *attrs = (const cebus_fill_attrs *)launch->attrs;
    cebus_cuda_fill(launch, &launch->out[0],
                    cebus_cuda_encode(launch->out[0].view->dtype, attrs->start));
    return cebus_cuda_launched("full");
}

static cebus_status run_fill(const cebus_launch *launch)
{
    const cebus_number_attrs *attrs = (const cebus_number_attrs *)launch->attrs;
    cebus_cuda_fill(launch, &launch->out[0],
                    cebus_cuda_encode(launch->out[0].view->dtype, attrs->value));
    return cebus_cuda_launched("fill_");
}

typedef struct range_job {
    cebus_cells out;
    int64_t n;
    double start, step;
} range_job;

CEBUS_KERNEL range_kernel(const range_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step()) {
        double value = p.start + (double)i * p.step;
        switch (p.out.dtype) {
        case CEBUS_F64:
            cebus_lane<double>::set(p.out, i, value);
            break;
        case CEBUS_F32:
        case CEBUS_F16:
        case CEBUS_BF16:
            cebus_lane<float>::set(p.out, i, (float)value);
            break;
        case CEBUS_BOOL:
            cebus_lane<uint8_t>::set(p.out, i, value != 0.0);
            break;
        default:
            cebus_lane<int64_t>::set(p.out, i, cebus_i64_from_f64(value));
        }
    }
}

static cebus_status run_arange(const cebus_launch *launch)
{
    const cebus_fill_attrs *attrs = (const cebus_fill_attrs *)launch->attrs;
    range_job p = {cebus_cells_of(&launch->out[0]), cebus_view_numel(launch->out[0].view),
                   attrs->start, attrs->step};
    cebus_grid_run(launch, range_kernel, cebus_grid_blocks(p.n), CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched("arange");
}

const cebus_kernel cebus_cuda_cast_kernels[] = {
    {"cast", run_cast, NULL, NULL},     {"copy_", run_copy, NULL, NULL},
    {"full", run_full, NULL, NULL},     {"fill_", run_fill, NULL, NULL},
    {"arange", run_arange, NULL, NULL}, {},
};
