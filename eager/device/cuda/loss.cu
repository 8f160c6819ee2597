/* Losses over classes, and mean squared error. A loss reduced to one number is made of one for each
 * target in the workspace, which are then folded (fold.h). */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/fold.h"
#include "eager/device/cuda/line.h"
#include "eager/device/cuda/sweep.h"
#include "eager/device/cuda/vector.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/loss.h"
CEBUS_END_DECLS

/* --- over classes -------------------------------------------------------------------------- */

typedef struct class_job {
    cebus_line_job line;
    const void *targets;
    bool narrow; /* they are i32 */
    int64_t ignore;
    double smoothing, divisor;
    const double *count; /* what a mean's gradient is divided by; NULL: `divisor` */
    cebus_cuda_fault *fault;
    uint64_t op;
} class_job;

/** The target at offset `at`; a wrong one is reported and ignored. */
CEBUS_DEVICE int64_t target_at(const class_job *p, int64_t at)
{
    int64_t t = cebus_index_get(p->targets, p->narrow, at);
    if (t == p->ignore || (t >= 0 && t < p->line.n))
        return t;
    cebus_grid_report(p->fault, {p->op, t, at, p->line.n});
    return p->ignore;
}

/** The sum of a line. */
template <class T, bool shared>
CEBUS_DEVICE double line_sum(const cebus_line_job *p, int i, int64_t at)
{
    double total = 0;
    for (int64_t k = cebus_line_begin<shared>(); k < p->n; k += cebus_line_step<shared>()) {
        T x[CEBUS_PACK] = {}, sum = 0;
        cebus_lane<T>::load(x, p->cells[i], at + k * p->step[i], p->step[i],
                            cebus_line_pack(p->n, k));
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++)
            sum += x[j];
        total += (double)sum;
    }
    return cebus_line_fold<shared, cebus_adds>(total);
}

/* Arrays: x, targets, losses, logsumexp; the last two may be absent. */
template <class T, bool shared> CEBUS_KERNEL cross_entropy_kernel(const class_job p)
{
    const cebus_line_job *job = &p.line;
    int64_t at[4];
    for (int64_t l = cebus_line_first<shared>(); l < job->lines.numel;
         l += cebus_line_next<shared>()) {
        cebus_walk_locate<4>(&job->lines, l, at);
        cebus_line_total<T> total = cebus_line_normalizer<T, shared>(job, 0, at[0]);
        double sum = p.smoothing > 0 ? line_sum<T, shared>(job, 0, at[0]) : 0;
        if (!cebus_line_writes<shared>())
            continue;
        int64_t t = target_at(&p, at[1]);
        double logarithm = log(total.sum), largest = (double)total.largest, loss = 0;
        if (t != p.ignore) {
            double x = (double)cebus_lane<T>::get(job->cells[0], at[0] + t * job->step[0]);
            loss = logarithm + (largest - x) * (1 - p.smoothing);
            if (p.smoothing > 0)
                loss += (largest - sum / (double)job->n) * p.smoothing;
        }
        if (job->cells[2].data != NULL)
            cebus_lane<T>::set(job->cells[2], at[2], (T)loss);
        if (job->cells[3].data != NULL)
            cebus_lane<T>::set(job->cells[3], at[3], (T)(largest + logarithm));
    }
}

/* Arrays: x, targets, losses. */
template <class T> CEBUS_KERNEL nll_kernel(const class_job p)
{
    const cebus_line_job *job = &p.line;
    int64_t at[3];
    for (int64_t l = cebus_grid_first(); l < job->lines.numel; l += cebus_grid_step()) {
        cebus_walk_locate<3>(&job->lines, l, at);
        int64_t t = target_at(&p, at[1]);
        T loss = 0;
        if (t != p.ignore)
            loss = -cebus_lane<T>::get(job->cells[0], at[0] + t * job->step[0]);
        if (job->cells[2].data != NULL)
            cebus_lane<T>::set(job->cells[2], at[2], loss);
    }
}

/** How many targets count: the center is the one that does not. */
struct counted {
    typedef int64_t lane;
    typedef int64_t part;
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
            *p += i < n && x[i] != c;
        (void)y;
        (void)first;
    }
    CEBUS_DEVICE void merge(part *into, part later)
    {
        *into += later;
    }
    CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, part p, lane c)
    {
        cebus_lane<double>::set(job->out, out, (double)p);
        (void)c;
    }
};

/** The count of a mean's divisor, on the device, in `at`. The fold's workspace follows it. */
static cebus_fold_job count_plan(const cebus_array *targets)
{
    return cebus_fold_plan(targets->view, NULL, NULL, CEBUS_WALK_ALL, false);
}

static const double *count_targets(const cebus_launch *launch, const cebus_array *targets, char *at)
{
    const cebus_class_loss_attrs *attrs = (const cebus_class_loss_attrs *)launch->attrs;
    if (attrs->reduction != CEBUS_LOSS_MEAN)
        return NULL;
    cebus_fold_job job = count_plan(targets);
    job.x = cebus_cells_of(targets);
    job.out = {at, CEBUS_F64};
    job.parts = at + cebus_cuda_round(sizeof(double));
    job.number = attrs->ignore_index;
    cebus_fold_run<counted>(launch, &job);
    return (const double *)at;
}

static uint64_t count_bytes(const cebus_array *targets)
{
    cebus_fold_job job = count_plan(targets);
    return cebus_cuda_round(sizeof(double)) + cebus_fold_workspace(&job);
}

/** Losses lie row-major in the targets' shape; without a reduction they are the output. */
static cebus_view losses_view(const cebus_launch *launch)
{
    const cebus_view *targets = launch->in[1].view;
    cebus_view view;
    cebus_view_contiguous(&view, launch->in[0].view->dtype, targets->ndim, targets->shape);
    return view;
}

/** Workspace: the losses, the count, slices of the fold of the losses. */
static uint64_t losses_bytes(const cebus_launch *launch)
{
    cebus_view view = losses_view(launch);
    return cebus_cuda_round((uint64_t)cebus_view_numel(&view) * cebus_dtype_size(view.dtype));
}

static uint64_t class_workspace(const cebus_launch *launch)
{
    const cebus_class_loss_attrs *attrs = (const cebus_class_loss_attrs *)launch->attrs;
    cebus_view view = losses_view(launch);
    if (attrs->reduction == CEBUS_LOSS_NONE)
        return 0;
    cebus_fold_job total = cebus_fold_plan(&view, NULL, NULL, CEBUS_WALK_ALL, false);
    return losses_bytes(launch) + count_bytes(&launch->in[1]) + cebus_fold_workspace(&total);
}

static class_job class_plan(const cebus_launch *launch, const cebus_array *const *arrays, int n,
                            const char *op)
{
    const cebus_class_loss_attrs *attrs = (const cebus_class_loss_attrs *)launch->attrs;
    class_job p = {};
    p.line = cebus_line_plan(n, arrays, 1, cebus_class_dim(arrays[0]->view));
    p.targets = arrays[1]->data;
    p.narrow = arrays[1]->view->dtype == CEBUS_I32;
    p.ignore = attrs->ignore_index;
    p.smoothing = attrs->smoothing;
    p.divisor = 1;
    p.fault = cebus_cuda_of(launch)->fault;
    p.op = (uint64_t)(uintptr_t)op;
    return p;
}

/** Folds the losses into the output, where there is a reduction. */
static void reduce_losses(const cebus_launch *launch, const cebus_array *losses)
{
    const cebus_class_loss_attrs *attrs = (const cebus_class_loss_attrs *)launch->attrs;
    if (attrs->reduction == CEBUS_LOSS_NONE || launch->out[0].data == NULL)
        return;
    char *count = (char *)launch->workspace + losses_bytes(launch);
    cebus_fold_job total = cebus_fold_plan(losses->view, NULL, NULL, CEBUS_WALK_ALL, false);
    total.x = cebus_cells_of(losses);
    total.out = cebus_cells_of(&launch->out[0]);
    total.divisor_at = count_targets(launch, &launch->in[1], count);
    total.parts = count + count_bytes(&launch->in[1]);
    if (losses->view->dtype == CEBUS_F64)
        cebus_fold_run<cebus_fold_sum<double>>(launch, &total);
    else
        cebus_fold_run<cebus_fold_sum<float>>(launch, &total);
}

typedef void (*class_kernel)(class_job);

static cebus_status run_class(const cebus_launch *launch, const class_kernel *kernels,
                              const char *op)
{
    const cebus_class_loss_attrs *attrs = (const cebus_class_loss_attrs *)launch->attrs;
    cebus_view view = losses_view(launch);
    bool reduces = attrs->reduction != CEBUS_LOSS_NONE;
    cebus_array losses = {reduces ? launch->workspace : launch->out[0].data, &view};
    cebus_array none = {NULL, &view};
    const cebus_array *arrays[] = {&launch->in[0], &launch->in[1], &losses,
                                   launch->n_out > 1 ? &launch->out[1] : &none};
    class_job p = class_plan(launch, arrays, 4, op);
    p.line.shared = p.line.shared && kernels[0] != kernels[1];
    cebus_line_run(launch, kernels + (view.dtype == CEBUS_F64 ? 2 : 0), &p.line, p);
    reduce_losses(launch, &losses);
    return cebus_cuda_launched(op);
}

static cebus_status run_cross_entropy(const cebus_launch *launch)
{
    static const class_kernel kernels[] = {
        cross_entropy_kernel<float, false>, cross_entropy_kernel<float, true>,
        cross_entropy_kernel<double, false>, cross_entropy_kernel<double, true>};
    return run_class(launch, kernels, "cross_entropy");
}

/* One thread a target, also where a block could share it. */
static cebus_status run_nll_loss(const cebus_launch *launch)
{
    static const class_kernel kernels[] = {nll_kernel<float>, nll_kernel<float>, nll_kernel<double>,
                                           nll_kernel<double>};
    return run_class(launch, kernels, "nll_loss");
}

/* Gradients. Arrays: grad_x, targets, g, and x with its logsumexp, which negative log likelihood
 * does not read. */
typedef struct class_grad_job {
    class_job loss;
    cebus_cells x, saved;
    cebus_walk image_lines; /* of grad_x, x, the logsumexp: in the order of the lines */
    int64_t x_step;
} class_grad_job;

template <class T, bool softmax, bool shared> CEBUS_KERNEL class_grad_kernel(const class_grad_job p)
{
    const cebus_line_job *job = &p.loss.line;
    int64_t at[3], from[3] = {0, 0, 0};
    double divisor = p.loss.count != NULL ? *p.loss.count : p.loss.divisor;
    T even = (T)(p.loss.smoothing / (double)job->n), whole = (T)(1 - p.loss.smoothing);
    for (int64_t l = cebus_line_first<shared>(); l < job->lines.numel;
         l += cebus_line_next<shared>()) {
        cebus_walk_locate<3>(&job->lines, l, at);
        int64_t t = cebus_index_get(p.loss.targets, p.loss.narrow, at[1]);
        T weight = (T)((double)cebus_lane<T>::get(job->cells[2], at[2]) / divisor), saved = 0;
        weight = t == p.loss.ignore ? (T)0 : weight;
        if (softmax) {
            cebus_walk_locate<3>(&p.image_lines, l, from);
            saved = cebus_lane<T>::get(p.saved, from[2]);
        }
        for (int64_t k = cebus_line_begin<shared>(); k < job->n; k += cebus_line_step<shared>()) {
            T x[CEBUS_PACK] = {};
            int n = cebus_line_pack(job->n, k);
            if (softmax)
                cebus_lane<T>::load(x, p.x, from[1] + k * p.x_step, p.x_step, n);
            CEBUS_UNROLL
            for (int j = 0; j < CEBUS_PACK; j++) {
                T grad = softmax ? weight * (cebus_line_exp(x[j] - saved) - even) : (T)0;
                x[j] = k + j == t ? grad - weight * whole : grad;
            }
            cebus_lane<T>::store(x, job->cells[0], at[0] + k * job->step[0], job->step[0], n);
        }
    }
}

/** Elements of a line on their way to a thread. */
#define AHEAD 4

/** The same of cross entropy where lines lie together, in one type: neighbouring threads take
 * neighbouring elements, since lines of any length begin anywhere. */
template <cebus_dtype D> CEBUS_KERNEL class_grad_together_kernel(const class_grad_job p)
{
    const cebus_line_job *job = &p.loss.line;
    const int n = (int)job->n, threads = cebus_threads();
    int64_t at[3], from[3];
    double divisor = p.loss.count != NULL ? *p.loss.count : p.loss.divisor;
    float even = (float)(p.loss.smoothing / (double)job->n), whole = (float)(1 - p.loss.smoothing);
    for (int64_t l = cebus_block(); l < job->lines.numel; l += cebus_blocks()) {
        cebus_walk_locate<3>(&job->lines, l, at);
        cebus_walk_locate<3>(&p.image_lines, l, from);
        int64_t t = cebus_index_get(p.loss.targets, p.loss.narrow, at[1]);
        float weight = (float)((double)cebus_lane<float>::get(job->cells[2], at[2]) / divisor);
        float saved = cebus_lane<float>::get(p.saved, from[2]);
        weight = t == p.loss.ignore ? 0.0F : weight;
        for (int k = cebus_thread(); k < n; k += AHEAD * threads) {
            float x[AHEAD];
            CEBUS_UNROLL
            for (int j = 0; j < AHEAD; j++)
                x[j] = cebus_vector<D>::get(p.x.data,
                                            from[1] + (k + j * threads < n ? k + j * threads : k));
            CEBUS_UNROLL
            for (int j = 0; j < AHEAD; j++) {
                int i = k + j * threads;
                float grad = weight * (cebus_line_exp(x[j] - saved) - even);
                grad = i == t ? grad - weight * whole : grad;
                if (i < n)
                    cebus_vector<D>::set(job->cells[0].data, at[0] + i, grad);
            }
        }
    }
}

typedef void (*class_grad_fn)(class_grad_job);

/** Runs that kernel if the job is one for it; the bits are the same. */
static bool run_together(const cebus_launch *launch, const class_grad_job *p)
{
    static const class_grad_fn kernels[] = {class_grad_together_kernel<CEBUS_F32>,
                                            class_grad_together_kernel<CEBUS_F16>,
                                            class_grad_together_kernel<CEBUS_BF16>};
    const cebus_line_job *job = &p->loss.line;
    int number = cebus_vector_number(p->x.dtype);
    if (number < 0 || !job->shared || job->step[0] != 1 || p->x_step != 1 || job->n > 1 << 28 ||
        job->cells[0].dtype != p->x.dtype)
        return false;
    cebus_grid_run(launch, kernels[number], cebus_grid_teams(job->lines.numel),
                   cebus_grid_team(job->n), *p);
    return true;
}

/** `target` is the input of that number, `x` that of the image; -1: not read. */
static cebus_status run_class_backward(const cebus_launch *launch, const class_grad_fn *kernels,
                                       int target, int x, const char *op)
{
    const cebus_array *arrays[] = {&launch->out[0], &launch->in[target], &launch->in[0]};
    class_grad_job p = {};
    p.loss = class_plan(launch, arrays, 3, op);
    p.loss.count = count_targets(launch, &launch->in[target], (char *)launch->workspace);
    if (x >= 0) {
        const cebus_array *saved = &launch->in[target + 1];
        int dim = cebus_class_dim(launch->out[0].view);
        cebus_view grad_lines = cebus_view_drop(launch->out[0].view, dim);
        cebus_view x_lines = cebus_view_drop(launch->in[x].view, dim);
        cebus_view saved_lines = cebus_view_as(saved->view, &grad_lines);
        const cebus_view *order[] = {&grad_lines, &x_lines, &saved_lines};
        p.image_lines = cebus_walk_of(3, order);
        p.x = cebus_cells_of(&launch->in[x]);
        p.saved = cebus_cells_of(saved);
        p.x_step = p.loss.line.n > 1 ? launch->in[x].view->strides[dim] : 1;
    }
    bool wide = launch->out[0].view->dtype == CEBUS_F64;
    if (x < 0 || !run_together(launch, &p))
        cebus_line_run(launch, kernels + (wide ? 2 : 0), &p.loss.line, p);
    return cebus_cuda_launched(op);
}

#define GRAD_KERNELS(softmax)                                                                      \
    {                                                                                              \
        class_grad_kernel<float, softmax, false>, class_grad_kernel<float, softmax, true>,         \
            class_grad_kernel<double, softmax, false>, class_grad_kernel<double, softmax, true>    \
    }
static cebus_status run_cross_entropy_backward(const cebus_launch *launch)
{
    static const class_grad_fn kernels[] = GRAD_KERNELS(true);
    return run_class_backward(launch, kernels, 2, 1, "cross_entropy_backward");
}

static cebus_status run_nll_loss_backward(const cebus_launch *launch)
{
    static const class_grad_fn kernels[] = GRAD_KERNELS(false);
    return run_class_backward(launch, kernels, 1, -1, "nll_loss_backward");
}

static uint64_t cross_entropy_backward_workspace(const cebus_launch *launch)
{
    return count_bytes(&launch->in[2]);
}

static uint64_t nll_loss_backward_workspace(const cebus_launch *launch)
{
    return count_bytes(&launch->in[1]);
}

/* --- mean squared error -------------------------------------------------------------------- */

CEBUS_FOLD_SUM_OF(squared_error, 2, 0, (x[i] - y[i]) * (x[i] - y[i]))

#define MSE(S, T)                                                                                  \
    CEBUS_SWEEP_FORMULA(mse_##S, T, T, 2, 0, T error = v[0] - v[1], error * error)                 \
    CEBUS_SWEEP_FORMULA(mse_backward_##S, T, T, 3, 0, (void)0, (T)numbers.a *v[0] * (v[1] - v[2]))
MSE(f32, float)
MSE(f64, double)

static cebus_fold_job mse_plan(const cebus_launch *launch)
{
    return cebus_fold_plan(launch->in[0].view, launch->in[1].view, NULL, CEBUS_WALK_ALL, false);
}

static uint64_t mse_workspace(const cebus_launch *launch)
{
    cebus_fold_job job = mse_plan(launch);
    return cebus_fold_workspace(&job);
}

static cebus_status run_mse_loss(const cebus_launch *launch)
{
    static const cebus_sweep_kernels kernels = {
        {cebus_sweep_run<mse_f32>, cebus_sweep_run<mse_f64>, NULL}, 0};
    const cebus_mse_attrs *attrs = (const cebus_mse_attrs *)launch->attrs;
    if (attrs->reduction == CEBUS_LOSS_NONE)
        return cebus_sweep_launch(launch, "mse_loss", &kernels, {0, 0});
    cebus_fold_job job = mse_plan(launch);
    job.x = cebus_cells_of(&launch->in[0]);
    job.y = cebus_cells_of(&launch->in[1]);
    job.out = cebus_cells_of(&launch->out[0]);
    job.parts = (char *)launch->workspace;
    job.divisor = attrs->reduction == CEBUS_LOSS_MEAN ? (double)job.count : 1;
    if (job.x.dtype == CEBUS_F64)
        cebus_fold_run<squared_error<double>>(launch, &job);
    else
        cebus_fold_run<squared_error<float>>(launch, &job);
    return cebus_cuda_launched("mse_loss");
}

static cebus_status run_mse_loss_backward(const cebus_launch *launch)
{
    static const cebus_sweep_kernels kernels = {
        {cebus_sweep_run<mse_backward_f32>, cebus_sweep_run<mse_backward_f64>, NULL}, 0};
    const cebus_mse_attrs *attrs = (const cebus_mse_attrs *)launch->attrs;
    double n = (double)cebus_view_numel(launch->in[1].view);
    double factor = attrs->reduction == CEBUS_LOSS_MEAN ? 2 / n : 2;
    return cebus_sweep_launch(launch, "mse_loss_backward", &kernels, {factor, 0});
}

const cebus_kernel cebus_cuda_loss_kernels[] = {
    {"cross_entropy", run_cross_entropy, class_workspace, NULL},
    {"nll_loss", run_nll_loss, class_workspace, NULL},
    {"mse_loss", run_mse_loss, mse_workspace, NULL},
    {"cross_entropy_backward", run_cross_entropy_backward, cross_entropy_backward_workspace, NULL},
    {"nll_loss_backward", run_nll_loss_backward, nll_loss_backward_workspace, NULL},
    {"mse_loss_backward", run_mse_loss_backward, NULL, NULL},
    {},
};
