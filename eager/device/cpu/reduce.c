#include <math.h>

#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/dense.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/reduction.h"
#include "eager/device/cpu/rows.h"
#include "eager/device/cpu/widen.h"
#include "eager/device/scalar.h"
#include "eager/ops/reduce.h"
#include "eager/view.h"
#include "layout/clones.h"

/* ---- forward ----------------------------------------------------------------------------- */

static cebus_reduction plan(const cebus_launch *launch, int input, bool ordered)
{
    const cebus_reduce_attrs *attrs = launch->attrs;
    cebus_reduction r;
    cebus_reduction_plan(&r, launch->in[input].view, attrs->dims, ordered);
    return r;
}

/** A pass of fold `kind` over an input, divided by 1, without centers. */
static cebus_reduction_pass pass_over(const cebus_launch *launch, int input, cebus_fold_kind kind)
{
    return (cebus_reduction_pass){
        .fold = cebus_fold_find(kind, launch->in[input].view->dtype),
        .x = launch->in[input].data,
        .out = launch->out[0].data,
        .divisor = 1,
        .threads = launch->threads,
        .workspace = launch->workspace,
    };
}

static uint64_t workspace(const cebus_launch *launch)
{
    cebus_reduction r = plan(launch, 0, false);
    return cebus_reduction_workspace(&r);
}

static uint64_t ordered_workspace(const cebus_launch *launch)
{
    cebus_reduction r = plan(launch, 0, true);
    return cebus_reduction_workspace(&r);
}

static cebus_status run_total(const cebus_launch *launch)
{
    const cebus_reduce_attrs *attrs = launch->attrs;
    cebus_reduction r = plan(launch, 0, false);
    cebus_reduction_pass pass = pass_over(launch, 0, CEBUS_FOLD_SUM);
    pass.divisor = attrs->divisor;
    cebus_reduction_run(&r, &pass);
    return CEBUS_OK;
}

static cebus_status run_extremum(const cebus_launch *launch, cebus_fold_kind kind, bool ordered)
{
    cebus_reduction r = plan(launch, 0, ordered);
    cebus_reduction_pass pass = pass_over(launch, 0, kind);
    cebus_reduction_run(&r, &pass);
    return CEBUS_OK;
}

static cebus_status run_max(const cebus_launch *launch)
{
    return run_extremum(launch, CEBUS_FOLD_MAX, false);
}

static cebus_status run_min(const cebus_launch *launch)
{
    return run_extremum(launch, CEBUS_FOLD_MIN, false);
}

static cebus_status run_argmax(const cebus_launch *launch)
{
    return run_extremum(launch, CEBUS_FOLD_ARGMAX, true);
}

static cebus_status run_argmin(const cebus_launch *launch)
{
    return run_extremum(launch, CEBUS_FOLD_ARGMIN, true);
}

/** Bytes of one value for each output. */
static uint64_t output_bytes(const cebus_launch *launch, const cebus_reduction *r)
{
    return (uint64_t)r->outputs * cebus_dtype_size(launch->in[0].view->dtype);
}

/** Two passes: the first one's results lie behind the slices, as centers of the second. */
static uint64_t centered_workspace(const cebus_launch *launch)
{
    cebus_reduction r = plan(launch, 0, false);
    return cebus_reduction_workspace(&r) + output_bytes(launch, &r);
}

static void *centers_of(const cebus_launch *launch, const cebus_reduction *r)
{
    return cebus_scratch_at(launch->workspace, cebus_reduction_workspace(r));
}

/** The mean is the second output, where it is wanted. */
static cebus_status run_var(const cebus_launch *launch)
{
    const cebus_reduce_attrs *attrs = launch->attrs;
    cebus_reduction r = plan(launch, 0, false);
    void *mean = launch->out[1].data != NULL ? launch->out[1].data : centers_of(launch, &r);
    cebus_reduction_pass pass = pass_over(launch, 0, CEBUS_FOLD_SUM);
    pass.out = mean;
    pass.divisor = (double)r.count;
    cebus_reduction_run(&r, &pass);
    if (launch->out[0].data == NULL)
        return CEBUS_OK;
    pass = pass_over(launch, 0, CEBUS_FOLD_SQUARES);
    pass.centers = mean;
    pass.divisor = attrs->divisor;
    cebus_reduction_run(&r, &pass);
    return CEBUS_OK;
}

/** An infinite maximum is no center: infinity - infinity is NaN. Zero gives the right limit. */
#define DEFINE_LOGSUMEXP(name, T)                                                                  \
    static void zero_infinite_##name(T *maxima, int64_t n)                                         \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            maxima[i] = isinf(maxima[i]) ? 0 : maxima[i];                                          \
    }                                                                                              \
    static void add_logarithm_##name(T *sums, const T *maxima, int64_t n)                          \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            sums[i] = (T)(log((double)sums[i]) + (double)maxima[i]);                               \
    }

DEFINE_LOGSUMEXP(f32, float)
DEFINE_LOGSUMEXP(f64, double)

static cebus_status run_logsumexp(const cebus_launch *launch)
{
    bool single = launch->in[0].view->dtype == CEBUS_F32;
    cebus_reduction r = plan(launch, 0, false);
    void *maxima = centers_of(launch, &r), *sums = launch->out[0].data;
    cebus_reduction_pass pass = pass_over(launch, 0, CEBUS_FOLD_MAX);
    pass.out = maxima;
    cebus_reduction_run(&r, &pass);
    if (single)
        zero_infinite_f32(maxima, r.outputs);
    else
        zero_infinite_f64(maxima, r.outputs);

    pass = pass_over(launch, 0, CEBUS_FOLD_EXPONENTIALS);
    pass.centers = maxima;
    cebus_reduction_run(&r, &pass);
    if (single)
        add_logarithm_f32(sums, maxima, r.outputs);
    else
        add_logarithm_f64(sums, maxima, r.outputs);
    return CEBUS_OK;
}

/* ---- backward ---------------------------------------------------------------------------- */

/** One element: gradient g, input x, statistic s, and f, the op's factor. */
#define VAR_ELEMENT(g, x, s, f) ((g) * ((x) - (s)) * (f))
#define LOGSUMEXP_F32(g, x, s, f) ((g)*cebus_exp_f32((x) - (s)))
#define LOGSUMEXP_F64(g, x, s, f) ((g)*exp((x) - (s)))
#define EXTREMUM_ELEMENT(g, x, s, f) ((x) == (s) ? (g) : 0)

/** Arrays of the walk, in this order: out, x, g, s, the latter two read as if expanded to x. */
typedef struct backward_job {
    cebus_rows rows;
    void *out;
    const void *x, *g, *s;
    double factor;
    cebus_run_fn body;
} backward_job;

#define DEFINE_BACKWARD(name, T, ELEMENT)                                                          \
    CEBUS_CLONES                                                                                   \
    static void name(void *context, const int64_t *offsets, int64_t n)                             \
    {                                                                                              \
        const backward_job *job = context;                                                         \
        T *restrict out = (T *)job->out + offsets[0];                                              \
        const T *restrict x = (const T *)job->x + offsets[1];                                      \
        const T *restrict g = (const T *)job->g + offsets[2];                                      \
        const T *restrict s = (const T *)job->s + offsets[3];                                      \
        int64_t x_step = job->rows.step[1], g_step = job->rows.step[2];                            \
        int64_t s_step = job->rows.step[3];                                                        \
        T factor = (T)job->factor;                                                                 \
        if (x_step == 1 && g_step == 0 && s_step == 0) {                                           \
            T g0 = *g, s0 = *s;                                                                    \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = ELEMENT(g0, x[i], s0, factor);                                            \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = ELEMENT(g[i * g_step], x[i * x_step], s[i * s_step], factor);             \
        }                                                                                          \
        (void)factor;                                                                              \
    }

DEFINE_BACKWARD(var_f32, float, VAR_ELEMENT)
DEFINE_BACKWARD(var_f64, double, VAR_ELEMENT)
DEFINE_BACKWARD(logsumexp_f32, float, LOGSUMEXP_F32)
DEFINE_BACKWARD(logsumexp_f64, double, LOGSUMEXP_F64)
DEFINE_BACKWARD(extremum_f32, float, EXTREMUM_ELEMENT)
DEFINE_BACKWARD(extremum_f64, double, EXTREMUM_ELEMENT)

static void walk_backward(void *context, int64_t begin, int64_t end)
{
    const backward_job *job = context;
    cebus_rows_walk(&job->rows, begin, end, job->body, context);
}

/** out[i] = body(g, x, s) with `g` and `s` broadcast to x. The output is dense. */
static void run_backward(const cebus_launch *launch, const cebus_array *g, cebus_run_fn body_f32,
                         cebus_run_fn body_f64, double factor)
{
    const cebus_array *x = &launch->in[1], *s = &launch->in[2], *out = &launch->out[0];
    cebus_view wide_g, wide_s;
    cebus_view_expand(g->view, x->view->ndim, x->view->shape, &wide_g);
    cebus_view_expand(s->view, x->view->ndim, x->view->shape, &wide_s);
    backward_job job = {
        .out = out->data,
        .x = x->data,
        .g = g->data,
        .s = s->data,
        .factor = factor,
        .body = x->view->dtype == CEBUS_F32 ? body_f32 : body_f64,
    };
    cebus_rows_init(&job.rows, 4,
                    (const cebus_view *const[]){out->view, x->view, &wide_g, &wide_s});
    cebus_parallel_for(launch->threads, job.rows.numel, CEBUS_GRAIN, walk_backward, &job);
}

static cebus_status run_var_backward(const cebus_launch *launch)
{
    const cebus_reduce_attrs *attrs = launch->attrs;
    run_backward(launch, &launch->in[0], var_f32, var_f64, 2 / attrs->divisor);
    return CEBUS_OK;
}

static cebus_status run_logsumexp_backward(const cebus_launch *launch)
{
    run_backward(launch, &launch->in[0], logsumexp_f32, logsumexp_f64, 1);
    return CEBUS_OK;
}

/** Two values for each output, rounded up: its gradient's share, and how many share it. */
static uint64_t share_bytes(const cebus_launch *launch, const cebus_reduction *r)
{
    return (2 * output_bytes(launch, r) + 63) / 64 * 64;
}

static uint64_t extremum_backward_workspace(const cebus_launch *launch)
{
    cebus_reduction r = plan(launch, 1, false);
    return share_bytes(launch, &r) + cebus_reduction_workspace(&r);
}

static void divide(cebus_dtype dtype, void *values, const void *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (dtype == CEBUS_F32)
            ((float *)values)[i] /= ((const float *)counts)[i];
        else
            ((double *)values)[i] /= ((const double *)counts)[i];
    }
}

static cebus_status run_extremum_backward(const cebus_launch *launch)
{
    cebus_dtype dtype = launch->in[1].view->dtype;
    cebus_reduction r = plan(launch, 1, false);
    void *counts = cebus_scratch_at(launch->workspace, output_bytes(launch, &r));
    cebus_reduction_pass pass = pass_over(launch, 1, CEBUS_FOLD_EQUALS);
    pass.centers = launch->in[2].data;
    pass.out = counts;
    pass.workspace = cebus_scratch_at(launch->workspace, share_bytes(launch, &r));
    cebus_reduction_run(&r, &pass);

    const cebus_view *g = launch->in[0].view;
    cebus_view dense;
    cebus_view_contiguous(&dense, dtype, g->ndim, g->shape);
    cebus_array share = {launch->workspace, &dense};
    cebus_copy_array(launch->threads, &share, &launch->in[0]);
    divide(dtype, share.data, counts, r.outputs);
    run_backward(launch, &share, extremum_f32, extremum_f64, 1);
    return CEBUS_OK;
}

#define KERNELS(X)                                                                                 \
    X(max, run_max, workspace)                                                                     \
    X(min, run_min, workspace)                                                                     \
    X(argmax, run_argmax, ordered_workspace)                                                       \
    X(argmin, run_argmin, ordered_workspace)                                                       \
    X(var, run_var, centered_workspace)                                                            \
    X(logsumexp, run_logsumexp, centered_workspace)                                                \
    X(extremum_backward, run_extremum_backward, extremum_backward_workspace)                       \
    X(var_backward, run_var_backward, NULL)                                                        \
    X(logsumexp_backward, run_logsumexp_backward, NULL)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_reduce[] = {
    {"sum", run_total, workspace},
    {"mean", run_total, workspace},
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
