/**
 * optim.c: optimizer steps, and the two halves of gradient clipping. Steps are one pass over the
 * elements, each computed alone. The sum of squares is made of blocks of
 * CEBUS_SUM_SQUARES_BLOCK elements in the memory order of each tensor, whose sums are added in
 * order: neither depends on the number of threads.
 */
#include "eager/ops/optim.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/rows.h"
#include "eager/device/half.h"
#include "eager/device/step.h"
#include "eager/view.h"
#include "layout/clones.h"
#include "layout/number.h"

/* Inlined so that constant steps reach the loop. */
#define CEBUS_ALWAYS_INLINE inline __attribute__((always_inline))

/* A loop, for arrays that all step by 1 and for others. */
typedef struct step_body {
    cebus_run_fn dense, strided;
} step_body;

/* One in-place update. */
typedef struct step_job {
    cebus_rows rows;
    char *data[CEBUS_ROWS_ARRAYS];
    const void *how;
    double unscale;
    bool first;           /* of SGD */
    cebus_adam_bias bias; /* of Adam */
    cebus_run_fn body;
} step_job;

#define REAL float
#define NAME(x) x##_f32
#include "eager/device/cpu/optim_typed.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "eager/device/cpu/optim_typed.h"
#undef REAL
#undef NAME

#define DEFINE_SCALE_HALF(name)                                                                    \
    static void scale_any_##name(void *context, const int64_t *at, int64_t n)                      \
    {                                                                                              \
        const step_job *job = context;                                                             \
        const float factor = (float)job->unscale;                                                  \
        uint16_t *grad = (uint16_t *)job->data[0] + at[0];                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            uint16_t *g = &grad[i * job->rows.step[0]];                                            \
            *g = cebus_##name##_from_f32(cebus_##name##_to_f32(*g) * factor);                      \
        }                                                                                          \
    }                                                                                              \
    static const step_body scale_##name = {scale_any_##name, scale_any_##name};

DEFINE_SCALE_HALF(f16)
DEFINE_SCALE_HALF(bf16)

static void step_part(void *context, int64_t begin, int64_t end)
{
    const step_job *job = context;
    cebus_rows_walk(&job->rows, begin, end, job->body, context);
}

/* Runs `body` over the first `n` inputs; the caller set what else the loop reads of `job`. */
static cebus_status walk_step(const cebus_launch *launch, step_job *job, const step_body *body,
                              uint32_t n)
{
    const cebus_view *views[CEBUS_ROWS_ARRAYS] = {NULL};
    bool dense = true;
    for (uint32_t i = 0; i < n; i++) {
        views[i] = launch->in[i].view;
        job->data[i] = launch->in[i].data;
    }
    cebus_rows_init(&job->rows, (int)n, views);
    for (uint32_t i = 0; i < n; i++)
        dense = dense && job->rows.step[i] == 1;
    job->how = launch->attrs;
    job->body = dense ? body->dense : body->strided;
    cebus_parallel_for(launch->threads, job->rows.numel, CEBUS_GRAIN, step_part, job);
    return CEBUS_OK;
}

static const step_body *body_for(const cebus_launch *launch, const step_body *single,
                                 const step_body *wide)
{
    return launch->in[0].view->dtype == CEBUS_F64 ? wide : single;
}

static cebus_status run_sgd(const cebus_launch *launch)
{
    step_job job = {.unscale = 1};
    return walk_step(launch, &job, body_for(launch, &sgd_f32, &sgd_f64), 2);
}

static cebus_status run_momentum(const cebus_launch *launch)
{
    const cebus_sgd_attrs *how = launch->attrs;
    step_job job = {.unscale = 1, .first = how->first != 0};
    return walk_step(launch, &job, body_for(launch, &momentum_f32, &momentum_f64), 3);
}

static cebus_status run_adam(const cebus_launch *launch)
{
    const cebus_adam_attrs *how = launch->attrs;
    step_job job = {.unscale = 1, .bias = cebus_adam_bias_of(how, how->step)};
    return walk_step(launch, &job, body_for(launch, &adam_f32, &adam_f64), 4);
}

/* ---- steps of scaled gradients ------------------------------------------------------------ */

static float scalar_or(const cebus_array *x, float otherwise)
{
    return x->data != NULL ? *(const float *)x->data : otherwise;
}

/* What the scalars behind the `n` arrays say; counts the step. False: it is not taken. */
static bool begin_scaled(const cebus_launch *launch, uint32_t n, step_job *job, int64_t *out_step)
{
    int64_t *count = launch->in[n + CEBUS_STEP_COUNT].data;
    if (scalar_or(&launch->in[n + CEBUS_STEP_FOUND], 0) != 0)
        return false;
    *job = (step_job){
        .unscale = cebus_unscale_of(scalar_or(&launch->in[n + CEBUS_STEP_SCALE], 1)),
        .first = *count == 0,
    };
    *out_step = *count += 1;
    return true;
}

static cebus_status run_scaled_sgd(const cebus_launch *launch)
{
    step_job job;
    int64_t step;
    if (!begin_scaled(launch, 2, &job, &step))
        return CEBUS_OK;
    return walk_step(launch, &job, body_for(launch, &sgd_f32, &sgd_f64), 2);
}

static cebus_status run_scaled_momentum(const cebus_launch *launch)
{
    step_job job;
    int64_t step;
    if (!begin_scaled(launch, 3, &job, &step))
        return CEBUS_OK;
    return walk_step(launch, &job, body_for(launch, &momentum_f32, &momentum_f64), 3);
}

static cebus_status run_scaled_adam(const cebus_launch *launch)
{
    step_job job;
    int64_t step;
    if (!begin_scaled(launch, 4, &job, &step))
        return CEBUS_OK;
    job.bias = cebus_adam_bias_of(launch->attrs, step);
    return walk_step(launch, &job, body_for(launch, &adam_f32, &adam_f64), 4);
}

/* ---- gradients multiplied in place -------------------------------------------------------- */

static cebus_status multiply_grad(const cebus_launch *launch, double factor)
{
    step_job job = {.unscale = factor};
    switch (launch->in[0].view->dtype) {
    case CEBUS_F64:
        return walk_step(launch, &job, &scale_f64, 1);
    case CEBUS_F16:
        return walk_step(launch, &job, &scale_f16, 1);
    case CEBUS_BF16:
        return walk_step(launch, &job, &scale_bf16, 1);
    default:
        return walk_step(launch, &job, &scale_f32, 1);
    }
}

static cebus_status run_scale(const cebus_launch *launch)
{
    return multiply_grad(launch, ((const cebus_scale_attrs *)launch->attrs)->factor);
}

static cebus_status run_unscale(const cebus_launch *launch)
{
    return multiply_grad(launch, cebus_unscale_of(scalar_or(&launch->in[1], 1)));
}

/* One tensor whose squares are summed, block by block. */
typedef struct square_job {
    cebus_rows rows;
    const char *data;
    double *sums; /* of the blocks */
    cebus_run_fn body;
} square_job;

/* The block that a thread is in. */
typedef struct square_block {
    const square_job *job;
    double sum;
} square_block;

/* Eight partial sums hide the latency of an addition; they are folded in a fixed order. */
#define DEFINE_SQUARES(type, name, LOAD)                                                           \
    CEBUS_CLONES static void square_run_##name(void *context, const int64_t *at, int64_t n)        \
    {                                                                                              \
        square_block *block = context;                                                             \
        const type *x = (const type *)block->job->data + at[0];                                    \
        const int64_t step = block->job->rows.step[0];                                             \
        double part[8] = {0};                                                                      \
        int64_t whole = n & ~INT64_C(7);                                                           \
        for (int64_t i = 0; i < whole; i += 8) {                                                   \
            for (int j = 0; j < 8; j++) {                                                          \
                double value = LOAD(x[(i + j) * step]);                                            \
                part[j] += value * value;                                                          \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = whole; i < n; i++) {                                                      \
            double value = LOAD(x[i * step]);                                                      \
            part[i - whole] += value * value;                                                      \
        }                                                                                          \
        block->sum += ((part[0] + part[4]) + (part[1] + part[5])) +                                \
                      ((part[2] + part[6]) + (part[3] + part[7]));                                 \
    }

#define PLAIN(x) (x)
DEFINE_SQUARES(float, f32, PLAIN)
DEFINE_SQUARES(double, f64, PLAIN)
DEFINE_SQUARES(uint16_t, f16, cebus_f16_to_f32)
DEFINE_SQUARES(uint16_t, bf16, cebus_bf16_to_f32)

static cebus_run_fn square_body(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F64:
        return square_run_f64;
    case CEBUS_F16:
        return square_run_f16;
    case CEBUS_BF16:
        return square_run_bf16;
    default:
        return square_run_f32;
    }
}

static void square_part(void *context, int64_t begin, int64_t end)
{
    const square_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        square_block block = {.job = job};
        int64_t first = i * CEBUS_SUM_SQUARES_BLOCK, past = first + CEBUS_SUM_SQUARES_BLOCK;
        cebus_rows_walk(&job->rows, first, past < job->rows.numel ? past : job->rows.numel,
                        job->body, &block);
        job->sums[i] = block.sum;
    }
}

static int64_t square_blocks(int64_t numel)
{
    return cebus_ceil_div(numel, CEBUS_SUM_SQUARES_BLOCK);
}

/* Room for the block sums of the largest tensor. */
static uint64_t sum_squares_workspace(const cebus_launch *launch)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < launch->n_in; i++) {
        int64_t blocks = square_blocks(cebus_view_numel(launch->in[i].view));
        most = blocks > most ? blocks : most;
    }
    return (uint64_t)most * sizeof(double);
}

static cebus_status run_sum_squares(const cebus_launch *launch)
{
    double total = 0;
    for (uint32_t i = 0; i < launch->n_in; i++) {
        const cebus_view *view = launch->in[i].view;
        square_job job = {.data = launch->in[i].data, .sums = launch->workspace};
        cebus_rows_init(&job.rows, 1, &view);
        job.body = square_body(view->dtype);
        int64_t blocks = square_blocks(job.rows.numel);
        cebus_parallel_for(launch->threads, blocks, CEBUS_GRAIN / CEBUS_SUM_SQUARES_BLOCK,
                           square_part, &job);
        for (int64_t b = 0; b < blocks; b++)
            total += job.sums[b];
    }
    *(double *)launch->out[0].data = total;
    return CEBUS_OK;
}

const cebus_kernel cebus_cpu_optim[] = {
    {"sgd_step", run_sgd, NULL},
    {"sgd_momentum_step", run_momentum, NULL},
    {"adam_step", run_adam, NULL},
    {"sgd_scaled_step", run_scaled_sgd, NULL},
    {"sgd_momentum_scaled_step", run_scaled_momentum, NULL},
    {"adam_scaled_step", run_scaled_adam, NULL},
    {"scale_grad", run_scale, NULL},
    {"unscale_grad", run_unscale, NULL},
    {"sum_squares", run_sum_squares, sum_squares_workspace},
    {NULL, NULL, NULL},
};
