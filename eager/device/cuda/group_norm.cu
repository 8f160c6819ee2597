/* Group norm: images as [samples, groups, channels of a group, pixels], whose last two dimensions
 * are folded (fold.h); then one pass. */
#include "eager/device/cuda/channel.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/fold.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/norm.h"
CEBUS_END_DECLS

/** One call. Numbers of a group lie as [samples, groups], of a channel as [samples, channels]. */
typedef struct group_job {
    int64_t samples, channels, groups, per_group, pixels;
    double eps;
    cebus_cells mean, rstd;   /* of a group; forward: written, rstd maybe absent */
    cebus_cells weight, bias; /* of a channel of any sample, 1 and 0 where absent */
    cebus_cells dweight, dbias;
    const double *variance;        /* forward: of a group */
    const double *plain, *product; /* backward: sums of g and of g (x - mean) of a channel */
    void *coefficients;
} group_job;

template <class T> CEBUS_DEVICE double weight_of(const group_job *p, int64_t channel)
{
    return p->weight.data != NULL ? (double)cebus_lane<T>::get(p->weight, channel) : 1;
}

/* y = (x - mean) scale + shift */
template <class T> struct applied {
    CEBUS_DEVICE T of(T x, T g, cebus_coefficients<T> k)
    {
        (void)g;
        return (x - k.a) * k.b + k.c;
    }
};

/* dx = g p + x q + r */
template <class T> struct combined {
    CEBUS_DEVICE T of(T x, T g, cebus_coefficients<T> k)
    {
        return g * k.a + x * k.b + k.c;
    }
};

template <class T> CEBUS_KERNEL forward_kernel(const group_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.samples * p.channels; i += cebus_grid_step()) {
        int64_t channel = i % p.channels, group = i / p.per_group;
        T rstd = (T)(1 / sqrt(p.variance[group] + p.eps));
        T bias = p.bias.data != NULL ? cebus_lane<T>::get(p.bias, channel) : 0;
        ((cebus_coefficients<T> *)p.coefficients)[i] = {
            cebus_lane<T>::get(p.mean, group), rstd * (T)weight_of<T>(&p, channel), bias, 0};
        if (p.rstd.data != NULL && i % p.per_group == 0)
            cebus_lane<T>::set(p.rstd, group, rstd);
    }
}

/** dx = rstd (h - mean(h) - xhat mean(h xhat)), h = g weight, xhat = (x - mean) rstd. A thread
 * makes the coefficients of one group. */
template <class T> CEBUS_KERNEL factors_kernel(const group_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.samples * p.groups; i += cebus_grid_step()) {
        int64_t channel = i % p.groups * p.per_group, first = i * p.per_group;
        double mean = (double)cebus_lane<T>::get(p.mean, i);
        double rstd = (double)cebus_lane<T>::get(p.rstd, i);
        double sum = 0, product = 0, n = (double)(p.per_group * p.pixels);
        for (int64_t c = 0; c < p.per_group; c++) {
            sum += weight_of<T>(&p, channel + c) * p.plain[first + c];
            product += weight_of<T>(&p, channel + c) * p.product[first + c];
        }
        double slope = rstd * rstd * rstd * product / n;
        for (int64_t c = 0; c < p.per_group; c++)
            ((cebus_coefficients<T> *)p.coefficients)[first + c] = {
                (T)(rstd * weight_of<T>(&p, channel + c)), (T)-slope,
                (T)(slope * mean - rstd * sum / n), 0};
    }
}

/** The gradients of weight and bias: sums over the samples, in order. */
template <class T> CEBUS_KERNEL samples_kernel(const group_job p)
{
    for (int64_t c = cebus_grid_first(); c < p.channels; c += cebus_grid_step()) {
        double weight = 0, bias = 0;
        for (int64_t s = 0; s < p.samples; s++) {
            int64_t at = s * p.channels + c;
            weight += p.product[at] * (double)cebus_lane<T>::get(p.rstd, at / p.per_group);
            bias += p.plain[at];
        }
        if (p.dweight.data != NULL)
            cebus_lane<T>::set(p.dweight, c, (T)weight);
        if (p.dbias.data != NULL)
            cebus_lane<T>::set(p.dbias, c, (T)bias);
    }
}

/* --- plans --------------------------------------------------------------------------------- */

/** A dense image, row-major or channels-last, as [samples, groups, per group, pixels]. */
static cebus_view grouped(const cebus_view *layout, const group_job *p)
{
    cebus_view view = {};
    bool last = p->pixels > 1 && layout->strides[1] == 1;
    int64_t channel = last ? 1 : p->pixels, pixel = last ? p->channels : 1;
    const int64_t shape[] = {p->samples, p->groups, p->per_group, p->pixels};
    const int64_t strides[] = {p->channels * p->pixels, p->per_group * channel, channel, pixel};
    view.dtype = layout->dtype;
    view.ndim = 4;
    for (int d = 0; d < 4; d++) {
        view.shape[d] = shape[d];
        view.strides[d] = strides[d];
    }
    return view;
}

static group_job describe(const cebus_launch *launch, const cebus_view *x)
{
    const cebus_norm_attrs *attrs = (const cebus_norm_attrs *)launch->attrs;
    group_job p = {};
    p.samples = x->shape[0];
    p.channels = x->shape[1];
    p.groups = attrs->groups;
    p.per_group = p.channels / p.groups;
    p.pixels = 1;
    for (int d = 2; d < x->ndim; d++)
        p.pixels *= x->shape[d];
    p.eps = attrs->eps;
    return p;
}

/** Of numbers of a channel (of a group): one for each, `step` apart. */
static cebus_view numbers(const cebus_view *x, const group_job *p, bool of_groups)
{
    cebus_view view = *x;
    view.strides[0] = of_groups ? p->groups : p->channels;
    view.strides[1] = of_groups ? 1 : p->per_group;
    view.strides[2] = of_groups ? 0 : 1;
    view.strides[3] = 0;
    return view;
}

/** Pieces of the workspace. */
typedef struct pieces {
    uint64_t second, third, coefficients, slices, dense; /* where they begin; the first at 0 */
} pieces;

/** `fold` is the one with slices in it. */
static pieces pieces_of(const group_job *p, const cebus_fold_job *fold)
{
    uint64_t line = cebus_cuda_round((uint64_t)(p->samples * p->channels) * sizeof(double));
    pieces at = {line, 2 * line, 3 * line, 7 * line, 7 * line + cebus_fold_workspace(fold)};
    return at;
}

static cebus_view row_major(const cebus_view *view)
{
    cebus_view layout;
    cebus_view_contiguous(&layout, view->dtype, view->ndim, view->shape);
    return layout;
}

static cebus_cells row_major_read(const cebus_launch *launch, const cebus_array *array,
                                  char **scratch)
{
    cebus_view layout = row_major(array->view);
    if (array->data == NULL)
        return {NULL, layout.dtype};
    return {(char *)(uintptr_t)cebus_cuda_dense(launch, array, &layout, scratch), layout.dtype};
}

static uint64_t row_major_bytes(const cebus_array *array)
{
    cebus_view layout = row_major(array->view);
    return cebus_cuda_dense_bytes(array->view, &layout);
}

static cebus_cells image_read(const cebus_launch *launch, const cebus_array *array,
                              const cebus_view *layout, char **scratch)
{
    return {(char *)(uintptr_t)cebus_cuda_dense(launch, array, layout, scratch), layout->dtype};
}

template <class F, class T>
static void map(const cebus_launch *launch, const group_job *p, const cebus_view *view, void *out,
                cebus_cells x, cebus_cells g)
{
    cebus_view channels = numbers(view, p, false);
    cebus_array to = {out, view}, from = {x.data, view}, grad = {g.data, view};
    cebus_array coefficients = {p->coefficients, &channels};
    if (out != NULL)
        cebus_channel_run<F, T>(launch, &to, &from, g.data != NULL ? &grad : NULL, &coefficients);
}

/* --- forward ------------------------------------------------------------------------------- */

static cebus_fold_job forward_plan(const group_job *p, const cebus_view *layout)
{
    cebus_view view = grouped(layout, p);
    return cebus_fold_plan(&view, NULL, NULL, 12, false);
}

static uint64_t forward_workspace(const cebus_launch *launch)
{
    const cebus_view *layout = launch->out[0].view;
    group_job p = describe(launch, layout);
    cebus_fold_job fold = forward_plan(&p, layout);
    return pieces_of(&p, &fold).dense + cebus_cuda_dense_bytes(launch->in[0].view, layout) +
           row_major_bytes(&launch->in[1]) + row_major_bytes(&launch->in[2]);
}

template <class T> static cebus_status forward(const cebus_launch *launch)
{
    const cebus_view *layout = launch->out[0].view;
    group_job p = describe(launch, layout);
    cebus_fold_job fold = forward_plan(&p, layout);
    pieces at = pieces_of(&p, &fold);
    char *base = (char *)launch->workspace, *scratch = base + at.dense;
    cebus_view view = grouped(layout, &p);
    cebus_cells x = image_read(launch, &launch->in[0], layout, &scratch);
    p.weight = row_major_read(launch, &launch->in[1], &scratch);
    p.bias = row_major_read(launch, &launch->in[2], &scratch);
    p.mean = cebus_cells_of(&launch->out[1]);
    if (p.mean.data == NULL)
        p.mean.data = base + at.second;
    p.rstd = cebus_cells_of(&launch->out[2]);
    p.variance = (const double *)base;
    p.coefficients = base + at.coefficients;
    fold.x = x;
    fold.out = p.mean;
    fold.second = {base, CEBUS_F64};
    fold.divisor = (double)fold.count;
    fold.parts = base + at.slices;
    cebus_fold_run<cebus_fold_moments<T>>(launch, &fold);
    cebus_grid_run(launch, forward_kernel<T>, cebus_grid_blocks(p.samples * p.channels),
                   CEBUS_GRID_THREADS, p);
    map<applied<T>, T>(launch, &p, &view, launch->out[0].data, x, {NULL, x.dtype});
    return cebus_cuda_launched("group_norm");
}

/* --- backward ------------------------------------------------------------------------------ */

/** The sums of each channel over its pixels; centers are the groups' means. */
static cebus_fold_job backward_plan(const group_job *p, const cebus_view *layout)
{
    cebus_view view = grouped(layout, p), centers = numbers(&view, p, true);
    return cebus_fold_plan(&view, &view, &centers, 8, false);
}

static uint64_t backward_workspace(const cebus_launch *launch)
{
    cebus_view layout;
    cebus_group_norm_layout(launch->in[1].view, &layout);
    group_job p = describe(launch, &layout);
    cebus_fold_job fold = backward_plan(&p, &layout);
    return pieces_of(&p, &fold).dense + cebus_cuda_dense_bytes(launch->in[0].view, &layout) +
           cebus_cuda_dense_bytes(launch->in[1].view, &layout) + row_major_bytes(&launch->in[2]);
}

/** The backward op's output `which`; data NULL when it is not wanted. */
static cebus_cells wanted(const cebus_launch *launch, int64_t which)
{
    const cebus_norm_attrs *attrs = (const cebus_norm_attrs *)launch->attrs;
    int before = __builtin_popcountll((uint64_t)attrs->wanted & ((uint64_t)which - 1));
    if (!(attrs->wanted & which))
        return {NULL, CEBUS_F32};
    return cebus_cells_of(&launch->out[before]);
}

template <class T> static cebus_status backward(const cebus_launch *launch)
{
    cebus_view layout;
    cebus_group_norm_layout(launch->in[1].view, &layout);
    group_job p = describe(launch, &layout);
    cebus_fold_job fold = backward_plan(&p, &layout);
    pieces at = pieces_of(&p, &fold);
    char *base = (char *)launch->workspace, *scratch = base + at.dense;
    cebus_view view = grouped(&layout, &p);
    cebus_cells g = image_read(launch, &launch->in[0], &layout, &scratch);
    cebus_cells x = image_read(launch, &launch->in[1], &layout, &scratch);
    p.weight = row_major_read(launch, &launch->in[2], &scratch);
    p.mean = cebus_cells_of(&launch->in[3]);
    p.rstd = cebus_cells_of(&launch->in[4]);
    p.plain = (const double *)base;
    p.product = (const double *)(base + at.second);
    p.coefficients = base + at.coefficients;
    fold.x = x;
    fold.y = g;
    fold.center = p.mean;
    fold.out = {base, CEBUS_F64};
    fold.second = {base + at.second, CEBUS_F64};
    fold.parts = base + at.slices;
    cebus_fold_run<cebus_fold_products<T>>(launch, &fold);
    p.dweight = wanted(launch, CEBUS_NORM_DWEIGHT);
    p.dbias = wanted(launch, CEBUS_NORM_DBIAS);
    if (p.dweight.data != NULL || p.dbias.data != NULL)
        cebus_grid_run(launch, samples_kernel<T>, cebus_grid_blocks(p.channels), CEBUS_GRID_THREADS,
                       p);
    cebus_cells dx = wanted(launch, CEBUS_NORM_DX);
    if (dx.data != NULL)
        cebus_grid_run(launch, factors_kernel<T>, cebus_grid_blocks(p.samples * p.groups),
                       CEBUS_GRID_THREADS, p);
    map<combined<T>, T>(launch, &p, &view, dx.data, x, g);
    return cebus_cuda_launched("group_norm_backward");
}

static cebus_status run_forward(const cebus_launch *launch)
{
    return launch->in[0].view->dtype == CEBUS_F64 ? forward<double>(launch)
                                                  : forward<float>(launch);
}

static cebus_status run_backward(const cebus_launch *launch)
{
    return launch->in[1].view->dtype == CEBUS_F64 ? backward<double>(launch)
                                                  : backward<float>(launch);
}

const cebus_kernel cebus_cuda_group_norm_kernels[] = {
    {"group_norm", run_forward, forward_workspace, NULL},
    {"group_norm_backward", run_backward, backward_workspace, NULL},
    {},
};
