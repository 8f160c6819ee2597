#include <math.h>
#include <string.h>

#include "eager/device/cpu/dense.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/lines.h"
#include "eager/device/cpu/rows.h"
#include "eager/device/cpu/widen.h"
#include "eager/device/scalar.h"
#include "eager/ops/loss.h"
#include "eager/view.h"
#include "layout/number.h"

/** A loss over classes, or its gradient; what an op does not have is NULL. */
typedef struct class_job {
    cebus_lines lines; /* along the classes */
    const void *x, *target, *grad;
    const void *saved; /* the forward's logsumexp */
    void *losses, *logsumexp, *grad_x;
    bool narrow; /* targets are i32 */
    int64_t reduction, ignore_index, targets;
    double smoothing, divisor;
    const cebus_fold *max, *exponentials, *sum;
} class_job;

static inline int64_t target_at(const class_job *job, int64_t line)
{
    return job->narrow ? ((const int32_t *)job->target)[line]
                       : ((const int64_t *)job->target)[line];
}

/* Elements of a slice, and of the run whose differences are squared before they are summed. */
#define MSE_SLICE 65536
#define MSE_RUN 2048

typedef struct mse_job {
    const void *x, *y, *g;
    void *out;
    int64_t n;
    double factor;
    cebus_rows rows; /* of the gradient */
    cebus_run_fn grad_run;
    const cebus_fold *sum;
    char *blocks; /* one accumulator for each slice, CEBUS_FOLD_BYTES apart */
} mse_job;

#define REAL float
#define TYPED(name) name##_f32
#define EXP(x) cebus_exp_f32(x)
#include "eager/device/cpu/loss_typed.h"

#define REAL double
#define TYPED(name) name##_f64
#define EXP(x) exp(x)
#include "eager/device/cpu/loss_typed.h"

/* ---- over classes ------------------------------------------------------------------------ */

/** `layout` is the memory order of the array of all classes. */
static class_job describe(const cebus_launch *launch, const cebus_view *layout,
                          const cebus_array *target, char **scratch)
{
    const cebus_class_loss_attrs *attrs = launch->attrs;
    return (class_job){
        .lines = cebus_lines_of(layout, cebus_class_dim(layout)),
        .target = cebus_row_major_read(launch->threads, target, scratch),
        .targets = cebus_view_numel(target->view),
        .narrow = target->view->dtype == CEBUS_I32,
        .reduction = attrs->reduction,
        .ignore_index = attrs->ignore_index,
        .smoothing = attrs->smoothing,
        .divisor = 1,
        .max = cebus_fold_find(CEBUS_FOLD_MAX, layout->dtype),
        .exponentials = cebus_fold_find(CEBUS_FOLD_EXPONENTIALS, layout->dtype),
        .sum = cebus_fold_find(CEBUS_FOLD_SUM, layout->dtype),
    };
}

/** Of a mean, the divisor is the number of targets that count. */
static void count_targets(class_job *job)
{
    if (job->reduction != CEBUS_LOSS_MEAN)
        return;
    int64_t count = 0;
    for (int64_t i = 0; i < job->targets; i++)
        count += target_at(job, i) != job->ignore_index;
    job->divisor = (double)count;
}

static cebus_status check_targets(const class_job *job, const char *op, int64_t classes)
{
    for (int64_t i = 0; i < job->targets; i++) {
        int64_t t = target_at(job, i);
        if ((t < 0 || t >= classes) && t != job->ignore_index)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "target %lld at position %lld is out of range: classes lie in "
                              "[0, %lld), and %lld is ignored",
                              (long long)t, (long long)i, (long long)classes,
                              (long long)job->ignore_index);
    }
    return CEBUS_OK;
}

/** Bytes of the losses of a reduction; without one they are the output. */
static uint64_t losses_bytes(const cebus_launch *launch)
{
    const cebus_class_loss_attrs *attrs = launch->attrs;
    if (attrs->reduction == CEBUS_LOSS_NONE)
        return 0;
    return cebus_scratch_round((uint64_t)cebus_view_numel(launch->in[1].view) *
                               cebus_dtype_size(launch->in[0].view->dtype));
}

static uint64_t class_workspace(const cebus_launch *launch)
{
    cebus_view layout;
    cebus_class_layout(launch->in[0].view, &layout);
    return losses_bytes(launch) + cebus_row_major_bytes(launch->in[1].view) +
           cebus_dense_bytes(launch->in[0].view, &layout);
}

static void add_losses(const class_job *job, void *out)
{
    _Alignas(8) char block[CEBUS_FOLD_BYTES];
    job->sum->begin(block, 1, NULL, 0);
    job->sum->row(block, job->losses, job->targets, 0);
    job->sum->finish(block, 1, out, 1, job->divisor);
}

static cebus_status run_class_loss(const cebus_launch *launch, cebus_range_fn tiles, const char *op)
{
    const cebus_class_loss_attrs *attrs = launch->attrs;
    cebus_view layout;
    cebus_class_layout(launch->in[0].view, &layout);
    char *scratch = cebus_scratch_at(launch->workspace, losses_bytes(launch));
    class_job job = describe(launch, &layout, &launch->in[1], &scratch);
    cebus_status status = check_targets(&job, op, attrs->classes);
    if (status != CEBUS_OK)
        return status;
    job.x = cebus_dense_read(launch->threads, &launch->in[0], &layout, &scratch);
    bool reduces = attrs->reduction != CEBUS_LOSS_NONE;
    job.losses = reduces ? launch->workspace : launch->out[0].data;
    job.logsumexp = launch->n_out > 1 ? launch->out[1].data : NULL;
    cebus_lines_run(&job.lines, launch->threads, tiles, &job);
    if (reduces && launch->out[0].data != NULL) {
        count_targets(&job);
        add_losses(&job, launch->out[0].data);
    }
    return CEBUS_OK;
}

static cebus_status run_cross_entropy(const cebus_launch *launch)
{
    bool single = launch->in[0].view->dtype == CEBUS_F32;
    return run_class_loss(launch, single ? cross_entropy_tiles_f32 : cross_entropy_tiles_f64,
                          "cross_entropy");
}

static cebus_status run_nll_loss(const cebus_launch *launch)
{
    bool single = launch->in[0].view->dtype == CEBUS_F32;
    return run_class_loss(launch, single ? nll_tiles_f32 : nll_tiles_f64, "nll_loss");
}

static uint64_t cross_entropy_backward_workspace(const cebus_launch *launch)
{
    uint64_t bytes = cebus_dense_bytes(launch->in[1].view, launch->out[0].view);
    const int others[] = {0, 2, 3};
    for (int i = 0; i < 3; i++)
        bytes += cebus_row_major_bytes(launch->in[others[i]].view);
    return bytes;
}

static cebus_status run_cross_entropy_backward(const cebus_launch *launch)
{
    const cebus_view *layout = launch->out[0].view;
    char *scratch = launch->workspace;
    class_job job = describe(launch, layout, &launch->in[2], &scratch);
    job.grad = cebus_row_major_read(launch->threads, &launch->in[0], &scratch);
    job.x = cebus_dense_read(launch->threads, &launch->in[1], layout, &scratch);
    job.saved = cebus_row_major_read(launch->threads, &launch->in[3], &scratch);
    job.grad_x = launch->out[0].data;
    count_targets(&job);
    cebus_lines_run(&job.lines, launch->threads,
                    layout->dtype == CEBUS_F32 ? cross_entropy_grad_tiles_f32
                                               : cross_entropy_grad_tiles_f64,
                    &job);
    return CEBUS_OK;
}

static uint64_t nll_loss_backward_workspace(const cebus_launch *launch)
{
    return cebus_row_major_bytes(launch->in[0].view) + cebus_row_major_bytes(launch->in[1].view);
}

static cebus_status run_nll_loss_backward(const cebus_launch *launch)
{
    const cebus_view *layout = launch->out[0].view;
    char *scratch = launch->workspace;
    class_job job = describe(launch, layout, &launch->in[1], &scratch);
    job.grad = cebus_row_major_read(launch->threads, &launch->in[0], &scratch);
    job.grad_x = launch->out[0].data;
    count_targets(&job);
    cebus_lines_run(&job.lines, launch->threads,
                    layout->dtype == CEBUS_F32 ? nll_grad_tiles_f32 : nll_grad_tiles_f64, &job);
    return CEBUS_OK;
}

/* ---- mean squared error ------------------------------------------------------------------ */

static int64_t mse_slices(const cebus_view *x)
{
    return cebus_ceil_div(cebus_view_numel(x), MSE_SLICE);
}

/** The order both inputs are read in: that of x when it is dense. */
static cebus_view mse_layout(const cebus_launch *launch)
{
    cebus_view layout;
    cebus_view_like(&layout, launch->in[0].view, launch->in[0].view->dtype);
    return layout;
}

static uint64_t mse_workspace(const cebus_launch *launch)
{
    cebus_view layout = mse_layout(launch);
    return cebus_scratch_round((uint64_t)mse_slices(&layout) * CEBUS_FOLD_BYTES) +
           cebus_dense_bytes(launch->in[0].view, &layout) +
           cebus_dense_bytes(launch->in[1].view, &layout);
}

/** Adds the slices in order. */
static void finish_mse(const mse_job *job, int64_t slices, double divisor)
{
    _Alignas(8) char block[CEBUS_FOLD_BYTES];
    job->sum->begin(block, 1, NULL, 0);
    for (int64_t s = 0; s < slices; s++)
        job->sum->merge(block, 1, job->blocks + s * CEBUS_FOLD_BYTES);
    job->sum->finish(block, 1, job->out, 1, divisor);
}

static cebus_status run_mse_loss(const cebus_launch *launch)
{
    const cebus_mse_attrs *attrs = launch->attrs;
    cebus_view layout = mse_layout(launch);
    int64_t slices = mse_slices(&layout);
    bool single = layout.dtype == CEBUS_F32;
    char *scratch = cebus_scratch_at(launch->workspace,
                                     cebus_scratch_round((uint64_t)slices * CEBUS_FOLD_BYTES));
    mse_job job = {
        .x = cebus_dense_read(launch->threads, &launch->in[0], &layout, &scratch),
        .y = cebus_dense_read(launch->threads, &launch->in[1], &layout, &scratch),
        .out = launch->out[0].data,
        .n = cebus_view_numel(&layout),
        .sum = cebus_fold_find(CEBUS_FOLD_SUM, layout.dtype),
        .blocks = launch->workspace,
    };
    if (attrs->reduction == CEBUS_LOSS_NONE) {
        cebus_parallel_for(launch->threads, job.n, CEBUS_GRAIN,
                           single ? mse_each_f32 : mse_each_f64, &job);
        return CEBUS_OK;
    }
    cebus_parallel_for(launch->threads, slices, 1, single ? mse_slices_f32 : mse_slices_f64, &job);
    finish_mse(&job, slices, attrs->reduction == CEBUS_LOSS_MEAN ? (double)job.n : 1);
    return CEBUS_OK;
}

static void walk_mse_grad(void *context, int64_t begin, int64_t end)
{
    const mse_job *job = context;
    cebus_rows_walk(&job->rows, begin, end, job->grad_run, context);
}

static cebus_status run_mse_loss_backward(const cebus_launch *launch)
{
    const cebus_mse_attrs *attrs = launch->attrs;
    const cebus_array *x = &launch->in[1], *y = &launch->in[2], *out = &launch->out[0];
    double n = (double)cebus_view_numel(x->view);
    mse_job job = {
        .x = x->data,
        .y = y->data,
        .g = launch->in[0].data,
        .out = out->data,
        .factor = attrs->reduction == CEBUS_LOSS_MEAN ? 2 / n : 2,
        .grad_run = x->view->dtype == CEBUS_F32 ? mse_grad_run_f32 : mse_grad_run_f64,
    };
    cebus_view g;
    cebus_view_expand(launch->in[0].view, x->view->ndim, x->view->shape, &g);
    cebus_rows_init(&job.rows, 4, (const cebus_view *const[]){out->view, x->view, y->view, &g});
    cebus_parallel_for(launch->threads, job.rows.numel, CEBUS_GRAIN, walk_mse_grad, &job);
    return CEBUS_OK;
}

#define KERNELS(X)                                                                                 \
    X(cross_entropy, run_cross_entropy, class_workspace)                                           \
    X(nll_loss, run_nll_loss, class_workspace)                                                     \
    X(mse_loss, run_mse_loss, mse_workspace)                                                       \
    X(cross_entropy_backward, run_cross_entropy_backward, cross_entropy_backward_workspace)        \
    X(nll_loss_backward, run_nll_loss_backward, nll_loss_backward_workspace)                       \
    X(mse_loss_backward, run_mse_loss_backward, NULL)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_loss[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
