#include <math.h>
#include <string.h>

#include "eager/device/cpu/dense.h"
#include "eager/device/cpu/lines.h"
#include "eager/device/cpu/norm.h"
#include "eager/ops/norm.h"
#include "eager/view.h"
#include "layout/number.h"

/* Values kept for each line (a channel of a sample) while a kernel runs. */
#define FORWARD_VALUES 3
#define BACKWARD_VALUES 5

/**
 * Each sample is a set of lines, one for each channel, over all other dimensions; both row-major
 * and channels-last images are (lines.h). A sample is small enough to stay in cache from one pass
 * to the next, and samples are what threads share out.
 */
typedef struct group_job {
    const void *x, *g, *weight, *bias, *mean, *rstd;
    void *out, *out_mean, *out_rstd;
    void *values[BACKWARD_VALUES];
    cebus_lines lines;
    int64_t samples, channels, groups, per_group;
    int64_t tiles; /* of one sample */
    double eps;
    const cebus_fold *sum, *squares;
} group_job;

#define REAL float
#define TYPED(name) name##_f32
#include "eager/device/cpu/group_norm_typed.h"

#define REAL double
#define TYPED(name) name##_f64
#include "eager/device/cpu/group_norm_typed.h"

static cebus_lines channel_lines(const cebus_view *layout)
{
    int64_t numel = cebus_view_numel(layout), channels = layout->shape[1];
    if (numel == 0)
        return (cebus_lines){0};
    int64_t n = numel / layout->shape[0] / channels;
    cebus_lines lines = {.outer = layout->shape[0] * channels, .n = n, .inner = 1};
    if (n == 1 || layout->strides[1] == 1)
        lines = (cebus_lines){.outer = layout->shape[0], .n = n, .inner = channels};
    lines.tiles = lines.outer * cebus_ceil_div(lines.inner, CEBUS_FOLD_WIDTH);
    return lines;
}

static group_job describe(const cebus_launch *launch, const cebus_view *layout)
{
    const cebus_norm_attrs *attrs = launch->attrs;
    group_job job = {
        .lines = channel_lines(layout),
        .samples = layout->shape[0],
        .channels = layout->shape[1],
        .groups = attrs->groups,
        .per_group = layout->shape[1] / attrs->groups,
        .eps = attrs->eps,
        .sum = cebus_fold_find(CEBUS_FOLD_SUM, layout->dtype),
        .squares = cebus_fold_find(CEBUS_FOLD_SQUARES, layout->dtype),
    };
    job.tiles = job.samples > 0 ? job.lines.tiles / job.samples : 0;
    return job;
}

static uint64_t values_bytes(const cebus_view *layout, int count)
{
    uint64_t lines = (uint64_t)(layout->shape[0] * layout->shape[1]);
    return (uint64_t)count * cebus_scratch_round(lines * cebus_dtype_size(layout->dtype));
}

/** A value for each line; zero where lines are empty, as no fold reaches them. */
static void place_values(group_job *job, const cebus_view *layout, int count, char **scratch)
{
    uint64_t bytes = values_bytes(layout, 1);
    for (int i = 0; i < count; i++) {
        job->values[i] = *scratch;
        if (job->lines.n == 0 && bytes > 0) /* without lines there is no scratch */
            memset(*scratch, 0, bytes);
        *scratch = cebus_scratch_at(*scratch, bytes);
    }
}

static void run_samples(const cebus_launch *launch, const group_job *job, cebus_range_fn body)
{
    int64_t elements = job->channels * job->lines.n;
    cebus_parallel_for(launch->threads, job->samples, CEBUS_GRAIN / (elements + 1) + 1, body,
                       (void *)job);
}

/* ---- forward ----------------------------------------------------------------------------- */

uint64_t cebus_group_norm_workspace(const cebus_launch *launch)
{
    const cebus_view *layout = launch->out[0].view;
    return values_bytes(layout, FORWARD_VALUES) + cebus_dense_bytes(launch->in[0].view, layout) +
           cebus_row_major_bytes(launch->in[1].view) + cebus_row_major_bytes(launch->in[2].view);
}

cebus_status cebus_group_norm_run(const cebus_launch *launch)
{
    const cebus_view *layout = launch->out[0].view;
    group_job job = describe(launch, layout);
    char *scratch = launch->workspace;
    place_values(&job, layout, FORWARD_VALUES, &scratch);
    job.x = cebus_dense_read(launch->threads, &launch->in[0], layout, &scratch);
    job.weight = cebus_row_major_read(launch->threads, &launch->in[1], &scratch);
    job.bias = cebus_row_major_read(launch->threads, &launch->in[2], &scratch);
    job.out = launch->out[0].data;
    job.out_mean = launch->out[1].data;
    job.out_rstd = launch->out[2].data;
    run_samples(launch, &job,
                layout->dtype == CEBUS_F32 ? forward_samples_f32 : forward_samples_f64);
    return CEBUS_OK;
}

/* ---- backward ---------------------------------------------------------------------------- */

/** The layout of x in the kernel; dx, when wanted, has it too. */
static cebus_view backward_layout(const cebus_launch *launch)
{
    cebus_view layout;
    cebus_group_norm_layout(launch->in[1].view, &layout);
    return layout;
}

uint64_t cebus_group_norm_backward_workspace(const cebus_launch *launch)
{
    cebus_view layout = backward_layout(launch);
    return values_bytes(&layout, BACKWARD_VALUES) + cebus_dense_bytes(launch->in[0].view, &layout) +
           cebus_dense_bytes(launch->in[1].view, &layout) +
           cebus_row_major_bytes(launch->in[2].view);
}

cebus_status cebus_group_norm_backward_run(const cebus_launch *launch)
{
    cebus_view layout = backward_layout(launch);
    group_job job = describe(launch, &layout);
    char *scratch = launch->workspace;
    place_values(&job, &layout, BACKWARD_VALUES, &scratch);
    job.g = cebus_dense_read(launch->threads, &launch->in[0], &layout, &scratch);
    job.x = cebus_dense_read(launch->threads, &launch->in[1], &layout, &scratch);
    job.weight = cebus_row_major_read(launch->threads, &launch->in[2], &scratch);
    job.mean = launch->in[3].data;
    job.rstd = launch->in[4].data;
    job.out = cebus_norm_output(launch, CEBUS_NORM_DX);
    bool single = layout.dtype == CEBUS_F32;
    run_samples(launch, &job, single ? backward_samples_f32 : backward_samples_f64);
    if (job.lines.n == 0)
        job.rstd = job.values[0]; /* of nothing it is NaN, which times 0 would be */
    void *dweight = cebus_norm_output(launch, CEBUS_NORM_DWEIGHT);
    void *dbias = cebus_norm_output(launch, CEBUS_NORM_DBIAS);
    if (single)
        sum_samples_f32(&job, dweight, dbias);
    else
        sum_samples_f64(&job, dweight, dbias);
    return CEBUS_OK;
}
