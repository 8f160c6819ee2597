/* Batch normalization: the statistics of each channel by a fold (fold.h; plane.h where channels are
 * planes or lie side by side), then one pass. Any strides are read as they are. */
#include "eager/device/cuda/channel.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/plane.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/batch_norm.h"
CEBUS_END_DECLS

/** One number a channel: read or written in steps; absent where data is NULL. */
typedef struct channel_values {
    cebus_cells cells;
    int64_t step;
} channel_values;

static channel_values values_of(const cebus_array *array)
{
    return {cebus_cells_of(array), array->view->ndim > 0 ? array->view->strides[0] : 0};
}

template <class T> CEBUS_DEVICE double value_at(channel_values v, int64_t c, double missing)
{
    return v.cells.data != NULL ? (double)cebus_lane<T>::get(v.cells, c * v.step) : missing;
}

template <class T> CEBUS_DEVICE void value_set(channel_values v, int64_t c, double value)
{
    if (v.cells.data != NULL)
        cebus_lane<T>::set(v.cells, c * v.step, (T)value);
}

typedef struct coefficient_job {
    int64_t channels;
    double eps, share;     /* share: of backward, 1 / n, or 0 where the statistics are constants */
    const double *sums[2]; /* what was folded; NULL: taken from mean and var */
    channel_values mean, var, weight, bias;
    channel_values out[2]; /* mean and var, or the gradients of weight and bias */
    void *coefficients;
} coefficient_job;

/* y = (x - mean) scale + shift */
template <class T> struct applied {
    CEBUS_DEVICE T of(T x, T g, cebus_coefficients<T> k)
    {
        (void)g;
        return (x - k.a) * k.b + k.c;
    }
};

/* dx = (grad - shift - (x - mean) slope) scale */
template <class T> struct graded {
    CEBUS_DEVICE T of(T x, T g, cebus_coefficients<T> k)
    {
        return (g - k.c - (x - k.a) * k.d) * k.b;
    }
};

/** Statistics rounded as whoever reads them will see them. */
template <class T>
CEBUS_DEVICE void forward_channel(const coefficient_job *p, int64_t c, double mean, double var)
{
    mean = (double)(T)mean;
    var = (double)(T)var;
    value_set<T>(p->out[0], c, mean);
    value_set<T>(p->out[1], c, var);
    ((cebus_coefficients<T> *)p->coefficients)[c] = {
        (T)mean, (T)(value_at<T>(p->weight, c, 1) / sqrt(var + p->eps)),
        (T)value_at<T>(p->bias, c, 0), 0};
}

template <class T> CEBUS_KERNEL forward_kernel(const coefficient_job p)
{
    for (int64_t c = cebus_grid_first(); c < p.channels; c += cebus_grid_step())
        forward_channel<T>(&p, c, p.sums[0] != NULL ? p.sums[0][c] : value_at<T>(p.mean, c, 0),
                           p.sums[1] != NULL ? p.sums[1][c] : value_at<T>(p.var, c, 1));
}

/*
 * With s = 1 / sqrt(var + eps), d = x - mean, G = sum(grad), P = sum(grad d) over n values:
 * d_bias = G, d_weight = s P, and d_x = weight s (grad - G / n - d s^2 P / n) when mean and var
 * come from x, weight s grad when they do not.
 */
template <class T>
CEBUS_DEVICE void backward_channel(const coefficient_job *p, int64_t c, double sum, double product)
{
    double s = 1 / sqrt(value_at<T>(p->var, c, 1) + p->eps);
    value_set<T>(p->out[0], c, s * product);
    value_set<T>(p->out[1], c, sum);
    ((cebus_coefficients<T> *)p->coefficients)[c] = {
        (T)value_at<T>(p->mean, c, 0), (T)(value_at<T>(p->weight, c, 1) * s), (T)(sum * p->share),
        (T)(s * s * product * p->share)};
}

template <class T> CEBUS_KERNEL backward_kernel(const coefficient_job p)
{
    for (int64_t c = cebus_grid_first(); c < p.channels; c += cebus_grid_step())
        backward_channel<T>(&p, c, p.sums[0][c], p.sums[1][c]);
}

/** A block for each channel merges its slices first. */
typedef struct plane_job {
    cebus_plane_job planes;
    coefficient_job coefficients;
} plane_job;

CEBUS_KERNEL plane_forward_kernel(const plane_job p)
{
    for (int64_t c = cebus_block(); c < p.planes.channels; c += cebus_blocks()) {
        cebus_fold_sums sums = cebus_plane_sums(&p.planes, c);
        if (cebus_thread() != 0)
            continue;
        cebus_fold_sums found = cebus_plane_statistics(&p.planes, c, sums);
        forward_channel<float>(&p.coefficients, c, found.a, found.b);
    }
}

CEBUS_KERNEL plane_backward_kernel(const plane_job p)
{
    for (int64_t c = cebus_block(); c < p.planes.channels; c += cebus_blocks()) {
        cebus_fold_sums sums = cebus_plane_sums(&p.planes, c);
        if (cebus_thread() == 0)
            backward_channel<float>(&p.coefficients, c, sums.a, sums.b);
    }
}

/* --- plans --------------------------------------------------------------------------------- */

/** Workspace: two doubles a channel, the coefficients, slices of the fold. */
typedef struct places {
    uint64_t second, coefficients, slices;
} places;

static places places_of(const cebus_view *x)
{
    uint64_t line = cebus_cuda_round((uint64_t)x->shape[1] * sizeof(double));
    return {line, 2 * line, 6 * line};
}

/** `values` of the channels in the shape of x. */
static cebus_view by_channel(const cebus_view *x, int64_t step)
{
    cebus_view view = *x;
    for (int d = 0; d < view.ndim; d++)
        view.strides[d] = 0;
    view.strides[1] = step;
    return view;
}

/** Folds all dimensions but the channels'; `grad` and `mean` NULL: moments. */
static cebus_fold_job plan(const cebus_array *x, const cebus_array *grad, const cebus_array *mean)
{
    cebus_view centers = by_channel(x->view, mean != NULL ? values_of(mean).step : 0);
    return cebus_fold_plan(x->view, grad != NULL ? grad->view : NULL, &centers,
                           CEBUS_WALK_ALL & ~2U, false);
}

/** The same with its arrays, and its places in the workspace. */
static cebus_fold_job fold_of(const cebus_launch *launch, const cebus_array *x,
                              const cebus_array *grad, const cebus_array *mean)
{
    places at = places_of(x->view);
    char *base = (char *)launch->workspace;
    cebus_fold_job job = plan(x, grad, mean);
    job.x = cebus_cells_of(x);
    if (grad != NULL)
        job.y = cebus_cells_of(grad);
    if (mean != NULL)
        job.center = cebus_cells_of(mean);
    job.out = {base, CEBUS_F64};
    job.second = {base + at.second, CEBUS_F64};
    job.parts = base + at.slices;
    return job;
}

/** Sums planes if the images are of those, and makes the coefficients; `grad` and `mean` NULL:
 * moments. */
static bool run_planes(const cebus_launch *launch, const cebus_array *x, const cebus_array *grad,
                       const cebus_array *mean, const coefficient_job *coefficients)
{
    plane_job p = {{}, *coefficients};
    if (!cebus_plane_plan(x, grad, &p.planes))
        return false;
    p.planes.parts =
        (cebus_fold_sums *)(void *)((char *)launch->workspace + places_of(x->view).slices);
    int64_t blocks = cebus_grid_teams(p.planes.channels);
    int threads = cebus_plane_merging(&p.planes);
    if (grad == NULL) {
        cebus_plane_run<cebus_plane_moments>(launch, &p.planes);
        cebus_grid_run(launch, plane_forward_kernel, blocks, threads, p);
        return true;
    }
    p.planes.center = cebus_cells_of(mean);
    p.planes.channel[2] = values_of(mean).step;
    cebus_plane_run<cebus_plane_products>(launch, &p.planes);
    cebus_grid_run(launch, plane_backward_kernel, blocks, threads, p);
    return true;
}

/** Bytes of workspace for slices, whichever way they are summed. */
static uint64_t slices_bytes(const cebus_array *x, const cebus_array *grad, const cebus_array *mean)
{
    cebus_plane_job planes;
    if (cebus_plane_plan(x, grad, &planes))
        return cebus_plane_workspace(&planes);
    cebus_fold_job job = plan(x, grad, mean);
    return cebus_fold_workspace(&job);
}

static coefficient_job coefficients_of(const cebus_launch *launch, const cebus_view *x)
{
    places at = places_of(x);
    coefficient_job p = {};
    p.channels = x->shape[1];
    p.eps = ((const cebus_batch_norm_attrs *)launch->attrs)->eps;
    p.coefficients = (char *)launch->workspace + at.coefficients;
    return p;
}

template <class F, class T>
static void map(const cebus_launch *launch, const cebus_array *x, const cebus_array *grad,
                const coefficient_job *p)
{
    cebus_view channels = by_channel(x->view, 1);
    cebus_array coefficients = {p->coefficients, &channels};
    if (launch->out[0].data != NULL)
        cebus_channel_run<F, T>(launch, &launch->out[0], x, grad, &coefficients);
}

/* --- entries ------------------------------------------------------------------------------- */

/** The same by folds of any images. */
template <class T> static void train_fold(const cebus_launch *launch, coefficient_job p)
{
    cebus_fold_job job = fold_of(launch, &launch->in[0], NULL, NULL);
    job.divisor = (double)job.count;
    cebus_fold_run<cebus_fold_moments<T>>(launch, &job);
    p.sums[0] = (const double *)job.out.data;
    p.sums[1] = (const double *)job.second.data;
    cebus_grid_run(launch, forward_kernel<T>, cebus_grid_blocks(p.channels), CEBUS_GRID_THREADS, p);
}

template <class T> static cebus_status train(const cebus_launch *launch)
{
    const cebus_array *x = &launch->in[0];
    coefficient_job p = coefficients_of(launch, x->view);
    p.weight = values_of(&launch->in[1]);
    p.bias = values_of(&launch->in[2]);
    p.out[0] = values_of(&launch->out[1]);
    p.out[1] = values_of(&launch->out[2]);
    if (!run_planes(launch, x, NULL, NULL, &p))
        train_fold<T>(launch, p);
    map<applied<T>, T>(launch, x, NULL, &p);
    return cebus_cuda_launched("batch_norm");
}

template <class T> static cebus_status eval(const cebus_launch *launch)
{
    const cebus_array *x = &launch->in[0];
    coefficient_job p = coefficients_of(launch, x->view);
    p.weight = values_of(&launch->in[1]);
    p.bias = values_of(&launch->in[2]);
    p.mean = values_of(&launch->in[3]);
    p.var = values_of(&launch->in[4]);
    cebus_grid_run(launch, forward_kernel<T>, cebus_grid_blocks(p.channels), CEBUS_GRID_THREADS, p);
    map<applied<T>, T>(launch, x, NULL, &p);
    return cebus_cuda_launched("batch_norm_eval");
}

template <class T> static void backward_fold(const cebus_launch *launch, coefficient_job p)
{
    cebus_fold_job job = fold_of(launch, &launch->in[1], &launch->in[0], &launch->in[2]);
    cebus_fold_run<cebus_fold_products<T>>(launch, &job);
    p.sums[0] = (const double *)job.out.data;
    p.sums[1] = (const double *)job.second.data;
    cebus_grid_run(launch, backward_kernel<T>, cebus_grid_blocks(p.channels), CEBUS_GRID_THREADS,
                   p);
}

template <class T> static cebus_status backward(const cebus_launch *launch)
{
    const cebus_batch_norm_attrs *attrs = (const cebus_batch_norm_attrs *)launch->attrs;
    const cebus_array *grad = &launch->in[0], *x = &launch->in[1];
    coefficient_job p = coefficients_of(launch, x->view);
    double count = (double)(cebus_view_numel(x->view) / (p.channels > 0 ? p.channels : 1));
    p.mean = values_of(&launch->in[2]);
    p.var = values_of(&launch->in[3]);
    p.weight = values_of(&launch->in[4]);
    p.share = attrs->training ? 1 / count : 0;
    p.out[0] = values_of(&launch->out[1]);
    p.out[1] = values_of(&launch->out[2]);
    if (!run_planes(launch, x, grad, &launch->in[2], &p))
        backward_fold<T>(launch, p);
    map<graded<T>, T>(launch, x, grad, &p);
    return cebus_cuda_launched("batch_norm_backward");
}

typedef struct running_job {
    channel_values to, from;
    int64_t channels;
    double keep, weight;
} running_job;

/** running = (1 - momentum) running + momentum new; the variance's new value is unbiased. */
template <class T> CEBUS_KERNEL running_kernel(const running_job p)
{
    for (int64_t c = cebus_grid_first(); c < p.channels; c += cebus_grid_step())
        value_set<T>(p.to, c,
                     p.keep * value_at<T>(p.to, c, 0) + p.weight * value_at<T>(p.from, c, 0));
}

template <class T> static cebus_status running(const cebus_launch *launch)
{
    const cebus_batch_norm_running_attrs *attrs =
        (const cebus_batch_norm_running_attrs *)launch->attrs;
    for (int i = 0; i < 2; i++) {
        running_job p = {values_of(&launch->out[i]), values_of(&launch->in[2 + i]),
                         launch->out[i].view->shape[0], 1 - attrs->momentum,
                         attrs->momentum * (i == 1 ? attrs->correction : 1)};
        cebus_grid_run(launch, running_kernel<T>, cebus_grid_blocks(p.channels), CEBUS_GRID_THREADS,
                       p);
    }
    return cebus_cuda_launched("batch_norm_running");
}

#define RUN(function)                                                                              \
    static cebus_status run_##function(const cebus_launch *launch)                                 \
    {                                                                                              \
        return launch->out[0].view->dtype == CEBUS_F64 ? function<double>(launch)                  \
                                                       : function<float>(launch);                  \
    }
RUN(train)
RUN(eval)
RUN(backward)
RUN(running)

static uint64_t train_workspace(const cebus_launch *launch)
{
    const cebus_array *x = &launch->in[0];
    return places_of(x->view).slices + slices_bytes(x, NULL, NULL);
}

static uint64_t eval_workspace(const cebus_launch *launch)
{
    return places_of(launch->in[0].view).slices;
}

static uint64_t backward_workspace(const cebus_launch *launch)
{
    const cebus_array *x = &launch->in[1];
    return places_of(x->view).slices + slices_bytes(x, &launch->in[0], &launch->in[2]);
}

const cebus_kernel cebus_cuda_batch_norm_kernels[] = {
    {"batch_norm", run_train, train_workspace, NULL},
    {"batch_norm_eval", run_eval, eval_workspace, NULL},
    {"batch_norm_backward", run_backward, backward_workspace, NULL},
    {"batch_norm_running", run_running, NULL, NULL},
    {},
};
