#include "eager/device/cpu/norm.h"

#include <math.h>
#include <string.h>

#include "eager/device/cpu/dense.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/fold.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/widen.h"
#include "eager/ops/norm.h"
#include "layout/clones.h"

/* Rows are summed in lanes, and weight gradients over rows, in runs of this length before they are
 * added in double (fold.h says why). */
#define LANES 32
#define RUN 64

/* The weight gradient is summed in this many slices of rows at most, each of no fewer than RUN. */
#define SLICES 16
/* Elements the slices hold in all, at most: their workspace stays small beside wide rows. */
#define SLICE_ELEMENTS 262144

/** Layer norm, or RMS norm: not centered. Rows are contiguous. What an op lacks is NULL. */
typedef struct row_job {
    const void *x, *g, *weight, *bias, *mean, *rstd;
    void *out, *out_mean, *out_rstd;
    bool centered;
    int64_t rows, n, slices;
    double eps;
    const cebus_fold *sum, *squares;
    void *parts;    /* [slices, 2, n]: sums over a run of rows; NULL: not wanted */
    double *totals; /* [slices, 2, n] */
} row_job;

#define REAL float
#define TYPED(name) name##_f32
#include "eager/device/cpu/norm_typed.h"

#define REAL double
#define TYPED(name) name##_f64
#include "eager/device/cpu/norm_typed.h"

/* ---- shapes and operands ----------------------------------------------------------------- */

/** The shape of a job over `x`. */
static row_job describe(const cebus_launch *launch, const cebus_view *x, bool centered)
{
    const cebus_norm_attrs *attrs = launch->attrs;
    row_job job = {
        .centered = centered,
        .rows = 1,
        .n = 1,
        .eps = attrs->eps,
        .sum = cebus_fold_find(CEBUS_FOLD_SUM, x->dtype),
        .squares = cebus_fold_find(CEBUS_FOLD_SQUARES, x->dtype),
    };
    for (int d = 0; d < x->ndim; d++)
        *(d < x->ndim - attrs->n_dims ? &job.rows : &job.n) *= x->shape[d];
    int64_t most = job.n > 0 ? SLICE_ELEMENTS / job.n : SLICES;
    most = most < SLICES ? most : SLICES;
    job.slices = job.rows / RUN < most ? job.rows / RUN : most;
    job.slices = job.slices > 1 ? job.slices : 1;
    return job;
}

/** An absent input is 0-d; weight and bias never are. */
static bool is_absent(const cebus_launch *launch, uint32_t i)
{
    return i >= launch->n_in || launch->in[i].view->ndim == 0;
}

static uint64_t affine_bytes(const cebus_launch *launch, uint32_t i, const row_job *job)
{
    if (is_absent(launch, i))
        return cebus_scratch_round((uint64_t)job->n * job->sum->in_bytes);
    return cebus_row_major_bytes(launch->in[i].view);
}

/** weight or bias; where there is none, `value` n times. */
static const void *read_affine(const cebus_launch *launch, uint32_t i, const row_job *job,
                               double value, char **scratch)
{
    if (!is_absent(launch, i))
        return cebus_row_major_read(launch->threads, &launch->in[i], scratch);
    void *filled = *scratch;
    *scratch += affine_bytes(launch, i, job);
    if (launch->out[0].view->dtype == CEBUS_F32)
        fill_f32(filled, (float)value, job->n);
    else
        fill_f64(filled, value, job->n);
    return filled;
}

static int64_t row_grain(const row_job *job)
{
    return CEBUS_GRAIN / 2 / (job->n + 1) + 1;
}

/* ---- forward ----------------------------------------------------------------------------- */

static uint64_t forward_workspace(const cebus_launch *launch)
{
    row_job job = describe(launch, launch->in[0].view, true);
    return cebus_row_major_bytes(launch->in[0].view) + affine_bytes(launch, 1, &job) +
           affine_bytes(launch, 2, &job);
}

static cebus_status run_forward(const cebus_launch *launch, bool centered)
{
    bool single = launch->in[0].view->dtype == CEBUS_F32;
    row_job job = describe(launch, launch->in[0].view, centered);
    char *scratch = launch->workspace;
    job.x = cebus_row_major_read(launch->threads, &launch->in[0], &scratch);
    job.weight = read_affine(launch, 1, &job, 1, &scratch);
    job.bias = read_affine(launch, 2, &job, 0, &scratch);
    job.out = launch->out[0].data;
    job.out_mean = centered ? launch->out[1].data : NULL;
    job.out_rstd = launch->out[centered ? 2 : 1].data;
    cebus_parallel_for(launch->threads, job.rows, row_grain(&job),
                       single ? forward_rows_f32 : forward_rows_f64, &job);
    return CEBUS_OK;
}

static cebus_status run_layer_norm(const cebus_launch *launch)
{
    return run_forward(launch, true);
}

static cebus_status run_rms_norm(const cebus_launch *launch)
{
    return run_forward(launch, false);
}

/* ---- backward ---------------------------------------------------------------------------- */

void *cebus_norm_output(const cebus_launch *launch, int64_t which)
{
    const cebus_norm_attrs *attrs = launch->attrs;
    if (!(attrs->wanted & which))
        return NULL;
    int before = __builtin_popcountll((uint64_t)attrs->wanted & ((uint64_t)which - 1));
    return launch->out[before].data;
}

static bool wants_sums(const cebus_launch *launch)
{
    const cebus_norm_attrs *attrs = launch->attrs;
    return (attrs->wanted & (CEBUS_NORM_DWEIGHT | CEBUS_NORM_DBIAS)) != 0;
}

static uint64_t totals_bytes(const row_job *job)
{
    return cebus_scratch_round((uint64_t)(job->slices * 2 * job->n) * sizeof(double));
}

static uint64_t backward_workspace(const cebus_launch *launch)
{
    row_job job = describe(launch, launch->in[1].view, true);
    uint64_t bytes = cebus_row_major_bytes(launch->in[0].view) +
                     cebus_row_major_bytes(launch->in[1].view) + affine_bytes(launch, 2, &job);
    if (wants_sums(launch))
        bytes += totals_bytes(&job) + (uint64_t)(job.slices * 2 * job.n) * job.sum->in_bytes;
    return bytes;
}

/** The gradients of weight and bias from the slices' totals. */
static void write_sums(const cebus_launch *launch, const row_job *job, bool single)
{
    void *outs[] = {
        cebus_norm_output(launch, CEBUS_NORM_DWEIGHT),
        cebus_norm_output(launch, CEBUS_NORM_DBIAS),
    };
    for (int i = 0; i < 2; i++) {
        const double *total = job->totals + i * job->n;
        if (outs[i] != NULL && single)
            add_slices_f32(job, total, outs[i]);
        else if (outs[i] != NULL)
            add_slices_f64(job, total, outs[i]);
    }
}

static cebus_status run_backward(const cebus_launch *launch, bool centered)
{
    bool single = launch->in[1].view->dtype == CEBUS_F32;
    row_job job = describe(launch, launch->in[1].view, centered);
    char *scratch = launch->workspace;
    if (wants_sums(launch)) {
        job.totals = (double *)scratch;
        scratch += totals_bytes(&job);
    }
    job.g = cebus_row_major_read(launch->threads, &launch->in[0], &scratch);
    job.x = cebus_row_major_read(launch->threads, &launch->in[1], &scratch);
    job.weight = read_affine(launch, 2, &job, 1, &scratch);
    job.mean = centered ? launch->in[3].data : NULL;
    job.rstd = launch->in[4].data;
    job.out = cebus_norm_output(launch, CEBUS_NORM_DX);
    job.parts = wants_sums(launch) ? scratch : NULL;
    int64_t grain = row_grain(&job) * job.slices / (job.rows + 1) + 1;
    cebus_parallel_for(launch->threads, job.slices, grain,
                       single ? backward_slices_f32 : backward_slices_f64, &job);
    if (wants_sums(launch))
        write_sums(launch, &job, single);
    return CEBUS_OK;
}

static cebus_status run_layer_norm_backward(const cebus_launch *launch)
{
    return run_backward(launch, true);
}

static cebus_status run_rms_norm_backward(const cebus_launch *launch)
{
    return run_backward(launch, false);
}

#define KERNELS(X)                                                                                 \
    X(layer_norm, run_layer_norm, forward_workspace)                                               \
    X(rms_norm, run_rms_norm, forward_workspace)                                                   \
    X(layer_norm_backward, run_layer_norm_backward, backward_workspace)                            \
    X(rms_norm_backward, run_rms_norm_backward, backward_workspace)                                \
    X(group_norm, cebus_group_norm_run, cebus_group_norm_workspace)                                \
    X(group_norm_backward, cebus_group_norm_backward_run, cebus_group_norm_backward_workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_norm[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
