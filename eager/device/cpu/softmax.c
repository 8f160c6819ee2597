#include <math.h>

#include "eager/device/cpu/dense.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/lines.h"
#include "eager/device/cpu/widen.h"
#include "eager/device/scalar.h"
#include "eager/ops/softmax.h"
#include "layout/clones.h"

#define EXP_F32(y, a, b, p, q, r, c) cebus_exp_f32((a) - (p))
#define EXP_F64(y, a, b, p, q, r, c) exp((a) - (p))
#define SCALED(y, a, b, p, q, r, c) ((y) * (q))
#define LOGARITHM(y, a, b, p, q, r, c) (((a) - (p)) - (q))
#define PRODUCT(y, a, b, p, q, r, c) ((a) * (b))
#define SOFTMAX_GRAD(y, a, b, p, q, r, c) ((b) * ((a) - (p)))
#define LOG_GRAD_F32(y, a, b, p, q, r, c) ((a)-cebus_exp_f32(b) * (p))
#define LOG_GRAD_F64(y, a, b, p, q, r, c) ((a)-exp(b) * (p))

CEBUS_LINE_MAP(exp_f32, float, EXP_F32)
CEBUS_LINE_MAP(exp_f64, double, EXP_F64)
CEBUS_LINE_MAP(scaled_f32, float, SCALED)
CEBUS_LINE_MAP(scaled_f64, double, SCALED)
CEBUS_LINE_MAP(logarithm_f32, float, LOGARITHM)
CEBUS_LINE_MAP(logarithm_f64, double, LOGARITHM)
CEBUS_LINE_MAP(product_f32, float, PRODUCT)
CEBUS_LINE_MAP(product_f64, double, PRODUCT)
CEBUS_LINE_MAP(softmax_grad_f32, float, SOFTMAX_GRAD)
CEBUS_LINE_MAP(softmax_grad_f64, double, SOFTMAX_GRAD)
CEBUS_LINE_MAP(log_grad_f32, float, LOG_GRAD_F32)
CEBUS_LINE_MAP(log_grad_f64, double, LOG_GRAD_F64)

/** Forward: x -> out. Backward: g and y (the forward's output) -> out. */
typedef struct softmax_job {
    cebus_lines lines;
    const void *x, *g, *y;
    void *out;
    bool single, logarithm; /**< single precision, else double */
    const cebus_fold *max, *sum;
} softmax_job;

/** The sums of the exponentials become what the last pass takes: 1 / sum, or log(sum). */
static void prepare_sums(const softmax_job *job, cebus_line_values *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = job->single ? sums->f32[i] : sums->f64[i];
        double value = job->logarithm ? log(sum) : 1 / sum;
        if (job->single)
            sums->f32[i] = (float)value;
        else
            sums->f64[i] = value;
    }
}

static void forward_tiles(void *context, int64_t begin, int64_t end)
{
    const softmax_job *job = context;
    cebus_line_values maxima, sums;
    for (int64_t i = begin; i < end; i++) {
        cebus_tile tile = cebus_lines_tile(&job->lines, i);
        cebus_line_map m = {&job->lines, &tile, job->out, job->x, NULL, &maxima, &sums, NULL, 0};
        cebus_lines_fold(&job->lines, &tile, job->max, job->x, NULL, &maxima);
        (job->single ? exp_f32 : exp_f64)(&m);
        cebus_lines_fold(&job->lines, &tile, job->sum, job->out, NULL, &sums);
        prepare_sums(job, &sums, tile.width);
        if (job->logarithm)
            (job->single ? logarithm_f32 : logarithm_f64)(&m);
        else
            (job->single ? scaled_f32 : scaled_f64)(&m);
    }
}

static void backward_tiles(void *context, int64_t begin, int64_t end)
{
    const softmax_job *job = context;
    cebus_line_values sums;
    for (int64_t i = begin; i < end; i++) {
        cebus_tile tile = cebus_lines_tile(&job->lines, i);
        cebus_line_map m = {&job->lines, &tile, job->out, job->g, job->y, &sums, NULL, NULL, 0};
        if (job->logarithm) {
            cebus_lines_fold(&job->lines, &tile, job->sum, job->g, NULL, &sums);
            (job->single ? log_grad_f32 : log_grad_f64)(&m);
        } else {
            (job->single ? product_f32 : product_f64)(&m);
            cebus_lines_fold(&job->lines, &tile, job->sum, job->out, NULL, &sums);
            (job->single ? softmax_grad_f32 : softmax_grad_f64)(&m);
        }
    }
}

static softmax_job describe(const cebus_launch *launch, bool logarithm)
{
    const cebus_softmax_attrs *attrs = launch->attrs;
    const cebus_view *out = launch->out[0].view;
    return (softmax_job){
        .lines = cebus_lines_of(out, attrs->dim),
        .out = launch->out[0].data,
        .single = out->dtype == CEBUS_F32,
        .logarithm = logarithm,
        .max = cebus_fold_find(CEBUS_FOLD_MAX, out->dtype),
        .sum = cebus_fold_find(CEBUS_FOLD_SUM, out->dtype),
    };
}

/** Forward and backward: every input that does not lie like the output is copied first. */
static uint64_t workspace(const cebus_launch *launch)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < launch->n_in; i++)
        bytes += cebus_dense_bytes(launch->in[i].view, launch->out[0].view);
    return bytes;
}

static cebus_status run_forward(const cebus_launch *launch, bool logarithm)
{
    softmax_job job = describe(launch, logarithm);
    char *scratch = launch->workspace;
    job.x = cebus_dense_read(launch->threads, &launch->in[0], launch->out[0].view, &scratch);
    cebus_lines_run(&job.lines, launch->threads, forward_tiles, &job);
    return CEBUS_OK;
}

static cebus_status run_backward(const cebus_launch *launch, bool logarithm)
{
    softmax_job job = describe(launch, logarithm);
    char *scratch = launch->workspace;
    job.g = cebus_dense_read(launch->threads, &launch->in[0], launch->out[0].view, &scratch);
    job.y = cebus_dense_read(launch->threads, &launch->in[1], launch->out[0].view, &scratch);
    cebus_lines_run(&job.lines, launch->threads, backward_tiles, &job);
    return CEBUS_OK;
}

static cebus_status run_softmax(const cebus_launch *launch)
{
    return run_forward(launch, false);
}

static cebus_status run_log_softmax(const cebus_launch *launch)
{
    return run_forward(launch, true);
}

static cebus_status run_softmax_backward(const cebus_launch *launch)
{
    return run_backward(launch, false);
}

static cebus_status run_log_softmax_backward(const cebus_launch *launch)
{
    return run_backward(launch, true);
}

#define KERNELS(X)                                                                                 \
    X(softmax, run_softmax, workspace)                                                             \
    X(log_softmax, run_log_softmax, workspace)                                                     \
    X(softmax_backward, run_softmax_backward, workspace)                                           \
    X(log_softmax_backward, run_log_softmax_backward, workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_softmax[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
