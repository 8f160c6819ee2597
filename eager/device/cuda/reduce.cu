/* Reductions and their gradients. */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/fold.h"
#include "eager/device/cuda/sweep.h"
#include "eager/device/elementwise.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/reduce.h"
CEBUS_END_DECLS

/* --- folds --------------------------------------------------------------------------------- */

struct sum_i64 {
    typedef int64_t lane;
    typedef uint64_t part; /* sums wrap around */
    enum {
        arrays = 1,
        centered = 0
    };
    CEBUS_DEVICE void begin(part *p)
    {
        *p = 0;
    }
    CEBUS_DEVICE void add(part *p, const lane *x, const lane *y, lane c, int n, int64_t first)
    {
        CEBUS_UNROLL
        for (int i = 0; i < CEBUS_PACK; i++)
            *p += i < n ? (part)x[i] : 0;
        (void)y;
        (void)c;
        (void)first;
    }
    CEBUS_DEVICE void merge(part *into, part later)
    {
        *into += later;
    }
    CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, part p, lane c)
    {
        cebus_lane<int64_t>::set(job->out, out, (int64_t)p);
        (void)c;
    }
};

CEBUS_DEVICE float exp_of(float x)
{
    return cebus_exp_f32(x);
}
CEBUS_DEVICE double exp_of(double x)
{
    return cebus_exp_f64(x);
}
CEBUS_FOLD_SUM_OF(exponentials, 1, 1, exp_of(x[i] - c))
CEBUS_FOLD_SUM_OF(equals, 1, 1, x[i] == c)

/** The largest element (the smallest where not `largest`), the first of equals; a NaN before all.
 */
template <class T, bool largest> struct best {
    typedef T lane;
    typedef struct {
        T value;
        int64_t index; /* -1: nothing yet */
    } part;
    enum {
        arrays = 1,
        centered = 0
    };
    CEBUS_DEVICE void begin(part *p)
    {
        *p = {0, -1};
    }
    CEBUS_DEVICE void add(part *p, const T *x, const T *y, T c, int n, int64_t first)
    {
        CEBUS_UNROLL
        for (int i = 0; i < CEBUS_PACK; i++)
            if (i < n)
                merge(p, {x[i], first + i});
        (void)y;
        (void)c;
    }
    CEBUS_DEVICE void merge(part *into, part later)
    {
        bool is_nan = later.value != later.value, was_nan = into->value != into->value;
        bool better = largest ? later.value > into->value : later.value < into->value;
        bool same = later.value == into->value || (is_nan && was_nan);
        better = (better && !was_nan) || (is_nan && !was_nan);
        better = better || (same && later.index < into->index);
        if (later.index >= 0 && (into->index < 0 || better))
            *into = later;
    }
    CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, part p, T c)
    {
        if (job->out.data != NULL)
            cebus_lane<T>::set(job->out, out, p.value);
        if (job->second.data != NULL)
            cebus_lane<int64_t>::set(job->second, out, p.index);
        (void)c;
    }
};

/* --- forward ------------------------------------------------------------------------------- */

/** The fold of input `i`; its workspace comes first. */
static cebus_fold_job plan(const cebus_launch *launch, int i, bool ordered)
{
    const cebus_reduce_attrs *attrs = (const cebus_reduce_attrs *)launch->attrs;
    cebus_fold_job job = cebus_fold_plan(launch->in[i].view, NULL, NULL, attrs->dims, ordered);
    job.x = cebus_cells_of(&launch->in[i]);
    job.parts = (char *)launch->workspace;
    return job;
}

static uint64_t workspace(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 0, false);
    return cebus_fold_workspace(&job);
}

static uint64_t ordered_workspace(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 0, true);
    return cebus_fold_workspace(&job);
}

static cebus_status run_total(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 0, false);
    job.divisor = ((const cebus_reduce_attrs *)launch->attrs)->divisor;
    job.out = cebus_cells_of(&launch->out[0]);
    switch (cebus_lane_number(job.x.dtype)) {
    case CEBUS_IN_F32:
        cebus_fold_run<cebus_fold_sum<float>>(launch, &job);
        break;
    case CEBUS_IN_F64:
        cebus_fold_run<cebus_fold_sum<double>>(launch, &job);
        break;
    default:
        cebus_fold_run<sum_i64>(launch, &job);
    }
    return cebus_cuda_launched("sum");
}

template <bool largest>
static cebus_status run_best(const cebus_launch *launch, bool indices, const char *op)
{
    cebus_fold_job job = plan(launch, 0, indices);
    if (indices)
        job.second = cebus_cells_of(&launch->out[0]);
    else
        job.out = cebus_cells_of(&launch->out[0]);
    switch (cebus_lane_number(job.x.dtype)) {
    case CEBUS_IN_F32:
        cebus_fold_run<best<float, largest>>(launch, &job);
        break;
    case CEBUS_IN_F64:
        cebus_fold_run<best<double, largest>>(launch, &job);
        break;
    default:
        cebus_fold_run<best<int64_t, largest>>(launch, &job);
    }
    return cebus_cuda_launched(op);
}

static cebus_status run_max(const cebus_launch *launch)
{
    return run_best<true>(launch, false, "max");
}

static cebus_status run_min(const cebus_launch *launch)
{
    return run_best<false>(launch, false, "min");
}

static cebus_status run_argmax(const cebus_launch *launch)
{
    return run_best<true>(launch, true, "argmax");
}

static cebus_status run_argmin(const cebus_launch *launch)
{
    return run_best<false>(launch, true, "argmin");
}

/** Variance and, where it is wanted, the mean, in one pass. */
static cebus_status run_var(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 0, false);
    job.divisor = ((const cebus_reduce_attrs *)launch->attrs)->divisor;
    job.out = cebus_cells_of(&launch->out[1]);
    job.second = cebus_cells_of(&launch->out[0]);
    if (job.x.dtype == CEBUS_F64)
        cebus_fold_run<cebus_fold_moments<double>>(launch, &job);
    else
        cebus_fold_run<cebus_fold_moments<float>>(launch, &job);
    return cebus_cuda_launched("var");
}

/** A number for each output, in the type that they are computed in. */
static uint64_t wide_bytes(const cebus_fold_job *job)
{
    return cebus_cuda_round((uint64_t)job->outputs *
                            cebus_dtype_size(cebus_dtype_wide(job->x.dtype)));
}

/** The largest elements, from which logsumexp measures, and the sums lie behind the slices. */
static uint64_t logsumexp_workspace(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 0, false);
    return cebus_fold_workspace(&job) + 2 * wide_bytes(&job);
}

typedef struct log_job {
    void *sums, *maxima;
    cebus_cells out;
    int64_t n;
} log_job;

/** An infinite maximum is no center: infinity - infinity is NaN. Zero gives the right limit. */
template <class T> CEBUS_KERNEL bound_kernel(const log_job p)
{
    T *maxima = (T *)p.maxima;
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step())
        if (maxima[i] - maxima[i] != 0 && maxima[i] == maxima[i])
            maxima[i] = 0;
}

template <class T> CEBUS_KERNEL log_kernel(const log_job p)
{
    const T *sums = (const T *)p.sums;
    const T *maxima = (const T *)p.maxima;
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step())
        cebus_lane<T>::set(p.out, i, (T)(log((double)sums[i]) + (double)maxima[i]));
}

template <class T> static cebus_status logsumexp(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 0, false);
    const cebus_dtype wide = cebus_dtype_wide(job.x.dtype);
    char *behind = job.parts + cebus_fold_workspace(&job);
    cebus_cells maxima = {behind, wide}, sums = {behind + wide_bytes(&job), wide};
    const log_job logs = {sums.data, maxima.data, cebus_cells_of(&launch->out[0]), job.outputs};
    job.out = maxima;
    cebus_fold_run<best<T, true>>(launch, &job);
    cebus_grid_run(launch, bound_kernel<T>, cebus_grid_blocks(logs.n), CEBUS_GRID_THREADS, logs);
    job.center = maxima;
    job.out = sums;
    cebus_fold_run<exponentials<T>>(launch, &job);
    cebus_grid_run(launch, log_kernel<T>, cebus_grid_blocks(logs.n), CEBUS_GRID_THREADS, logs);
    return cebus_cuda_launched("logsumexp");
}

static cebus_status run_logsumexp(const cebus_launch *launch)
{
    return launch->in[0].view->dtype == CEBUS_F64 ? logsumexp<double>(launch)
                                                  : logsumexp<float>(launch);
}

/* --- backward: one element from its gradient g, itself (x) and the statistic s --------------- */

#define STATISTIC(T) T g = v[0], x = v[1], s = v[2]
#define BACKWARD(name, T, formula) CEBUS_SWEEP_FORMULA(name, T, T, 3, 0, STATISTIC(T), formula)
BACKWARD(var_f32, float, g *(x - s) * (float)numbers.a)
BACKWARD(var_f64, double, g *(x - s) * numbers.a)
BACKWARD(logsumexp_f32, float, g *cebus_exp_f32(x - s))
BACKWARD(logsumexp_f64, double, g *cebus_exp_f64(x - s))
BACKWARD(extremum_f32, float, x == s ? g : 0.0F)
BACKWARD(extremum_f64, double, x == s ? g : 0.0)

#define RUNS(name)                                                                                 \
    {                                                                                              \
        {cebus_sweep_run<name##_f32>, cebus_sweep_run<name##_f64>, NULL}, 0                        \
    }

static cebus_status run_var_backward(const cebus_launch *launch)
{
    static const cebus_sweep_kernels kernels = RUNS(var);
    const cebus_reduce_attrs *attrs = (const cebus_reduce_attrs *)launch->attrs;
    return cebus_sweep_launch(launch, "var_backward", &kernels, {2 / attrs->divisor, 0});
}

static cebus_status run_logsumexp_backward(const cebus_launch *launch)
{
    static const cebus_sweep_kernels kernels = RUNS(logsumexp);
    return cebus_sweep_launch(launch, "logsumexp_backward", &kernels, {0, 0});
}

/** Behind the slices: how many share each output, and their share. */
static uint64_t extremum_backward_workspace(const cebus_launch *launch)
{
    cebus_fold_job job = plan(launch, 1, false);
    return cebus_fold_workspace(&job) + 2 * wide_bytes(&job);
}

CEBUS_SWEEP_FORMULA(divide_f32, float, float, 2, 0, (void)0, v[0] / v[1])
CEBUS_SWEEP_FORMULA(divide_f64, double, double, 2, 0, (void)0, v[0] / v[1])

/** Equal elements share the gradient. */
static cebus_status run_extremum_backward(const cebus_launch *launch)
{
    static const cebus_sweep_kernels divide = RUNS(divide), kernels = RUNS(extremum);
    const cebus_view *g = launch->in[0].view;
    cebus_fold_job job = plan(launch, 1, false);
    char *counts = job.parts + cebus_fold_workspace(&job);
    char *shares = counts + wide_bytes(&job);
    const cebus_dtype wide = cebus_dtype_wide(job.x.dtype);
    job.center = cebus_cells_of(&launch->in[2]);
    job.out = {counts, wide};
    if (job.x.dtype == CEBUS_F64)
        cebus_fold_run<equals<double>>(launch, &job);
    else
        cebus_fold_run<equals<float>>(launch, &job);

    cebus_view dense;
    cebus_view_contiguous(&dense, wide, g->ndim, g->shape);
    cebus_array pair[] = {launch->in[0], {counts, &dense}}, share = {shares, &dense};
    cebus_launch division = *launch;
    division.in = pair;
    division.n_in = 2;
    division.out = &share;
    cebus_status status = cebus_sweep_launch(&division, "extremum_backward", &divide, {0, 0});
    if (status != CEBUS_OK)
        return status;
    cebus_array in[] = {share, launch->in[1], launch->in[2]};
    cebus_launch backward = *launch;
    backward.in = in;
    return cebus_sweep_launch(&backward, "extremum_backward", &kernels, {0, 0});
}

const cebus_kernel cebus_cuda_reduce_kernels[] = {
    {"sum", run_total, workspace, NULL},
    {"mean", run_total, workspace, NULL},
    {"max", run_max, workspace, NULL},
    {"min", run_min, workspace, NULL},
    {"argmax", run_argmax, ordered_workspace, NULL},
    {"argmin", run_argmin, ordered_workspace, NULL},
    {"var", run_var, workspace, NULL},
    {"logsumexp", run_logsumexp, logsumexp_workspace, NULL},
    {"extremum_backward", run_extremum_backward, extremum_backward_workspace, NULL},
    {"var_backward", run_var_backward, NULL, NULL},
    {"logsumexp_backward", run_logsumexp_backward, NULL, NULL},
    {},
};
