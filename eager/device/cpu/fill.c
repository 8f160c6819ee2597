#include "eager/ops/fill.h"

#include "eager/device/cpu/convert.h"
#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/sweep.h"
#include "eager/device/elementwise.h"
#include "eager/view.h"

#define BLOCK 256

/* Up to BLOCK doubles as elements of any type. */
static void put(cebus_dtype dtype, void *to, const double *values, int64_t n)
{
    float narrow[BLOCK];
    int64_t whole[BLOCK];
    cebus_lane lane = cebus_lane_of(dtype);
    switch (lane) {
    case CEBUS_LANE_F32:
        for (int64_t i = 0; i < n; i++)
            narrow[i] = (float)values[i];
        cebus_lane_store(lane, narrow, dtype, to, 1, n);
        break;
    case CEBUS_LANE_F64:
        cebus_lane_store(lane, values, dtype, to, 1, n);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            whole[i] = dtype == CEBUS_BOOL ? values[i] != 0.0 : cebus_i64_from_f64(values[i]);
        cebus_lane_store(lane, whole, dtype, to, 1, n);
    }
}

cebus_status cebus_convert_fill(const cebus_launch *launch, double value)
{
    uint64_t element;
    put(launch->out[0].view->dtype, &element, &value, 1);
    cebus_copy_value(launch->threads, &launch->out[0], &element);
    return CEBUS_OK;
}

static cebus_status run_full(const cebus_launch *launch)
{
    return cebus_convert_fill(launch, ((const cebus_fill_attrs *)launch->attrs)->start);
}

static void run_range(void *context, int64_t begin, int64_t end)
{
    const cebus_launch *launch = context;
    const cebus_fill_attrs *attrs = launch->attrs;
    cebus_dtype dtype = launch->out[0].view->dtype;
    int64_t size = (int64_t)cebus_dtype_size(dtype);
    for (int64_t at = begin; at < end; at += BLOCK) {
        double values[BLOCK];
        int64_t n = end - at < BLOCK ? end - at : BLOCK;
        for (int64_t i = 0; i < n; i++)
            values[i] = attrs->start + (double)(at + i) * attrs->step;
        put(dtype, (char *)launch->out[0].data + at * size, values, n);
    }
}

static cebus_status run_arange(const cebus_launch *launch)
{
    int64_t n = cebus_view_numel(launch->out[0].view);
    cebus_parallel_for(launch->threads, n, CEBUS_GRAIN, run_range, (void *)launch);
    return CEBUS_OK;
}

const cebus_kernel cebus_cpu_fill[] = {
    {.op = "full", .run = run_full},
    {.op = "arange", .run = run_arange},
    {0},
};
