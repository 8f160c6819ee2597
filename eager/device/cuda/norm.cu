/* Layer and RMS norm: a block for each row. Sums over rows, for the gradients of weight and bias,
 * take a thread for each column and slice of the rows. */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/fold.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/norm.h"
CEBUS_END_DECLS

/** Rows of x, g and out are contiguous. What an op lacks is NULL. */
typedef struct row_job {
    cebus_cells x, g, weight, bias, mean, rstd;
    cebus_cells out, out_mean, out_rstd;
    int64_t rows, n;
    double eps;
    double *parts; /* [slices, 2, n]: sums of g xhat and of g */
    int64_t slices;
    cebus_cells dweight, dbias;
} row_job;

/** Elements [k, k + count) of a row of `c`, or `missing` where there is none. */
template <class T>
CEBUS_DEVICE void row_load(T *to, cebus_cells c, int64_t at, int count, T missing)
{
    if (c.data != NULL) {
        cebus_lane<T>::load(to, c, at, 1, count);
        return;
    }
    CEBUS_UNROLL
    for (int j = 0; j < CEBUS_PACK; j++)
        to[j] = missing;
}

CEBUS_DEVICE int row_pack(int64_t n, int64_t k)
{
    return n - k < CEBUS_PACK ? (int)(n - k) : CEBUS_PACK;
}

/* --- forward ------------------------------------------------------------------------------- */

/** Mean and mean squared distance from it; of an RMS norm, from zero. */
template <class T, bool centered>
CEBUS_DEVICE cebus_fold_moment row_moments(const row_job *p, int64_t row)
{
    cebus_fold_moment total = {0, 0, 0};
    double squares = 0;
    for (int64_t k = (int64_t)cebus_thread() * CEBUS_PACK; k < p->n;
         k += (int64_t)cebus_threads() * CEBUS_PACK) {
        T x[CEBUS_PACK] = {}, square = 0;
        int n = row_pack(p->n, k);
        cebus_lane<T>::load(x, p->x, row * p->n + k, 1, n);
        if (centered)
            cebus_fold_moments<T>::add(&total, x, x, 0, n, k);
        CEBUS_UNROLL
        for (int j = 0; !centered && j < CEBUS_PACK; j++)
            square += x[j] * x[j];
        squares += (double)square;
    }
    if (centered)
        total = cebus_block_fold<cebus_fold_moments<T>>(total);
    else
        total.square = cebus_block_fold<cebus_adds>(squares);
    total.square /= (double)p->n;
    return total;
}

template <class T, bool centered> CEBUS_KERNEL forward_kernel(const row_job p)
{
    for (int64_t row = cebus_block(); row < p.rows; row += cebus_blocks()) {
        cebus_fold_moment total = row_moments<T, centered>(&p, row);
        T mean = (T)total.mean, rstd = (T)(1 / sqrt((double)(T)total.square + p.eps));
        if (cebus_thread() == 0 && p.out_mean.data != NULL)
            cebus_lane<T>::set(p.out_mean, row, mean);
        if (cebus_thread() == 0 && p.out_rstd.data != NULL)
            cebus_lane<T>::set(p.out_rstd, row, rstd);
        for (int64_t k = (int64_t)cebus_thread() * CEBUS_PACK; p.out.data != NULL && k < p.n;
             k += (int64_t)cebus_threads() * CEBUS_PACK) {
            T x[CEBUS_PACK] = {}, weight[CEBUS_PACK] = {}, bias[CEBUS_PACK] = {};
            int n = row_pack(p.n, k);
            cebus_lane<T>::load(x, p.x, row * p.n + k, 1, n);
            row_load<T>(weight, p.weight, k, n, 1);
            row_load<T>(bias, p.bias, k, n, 0);
            CEBUS_UNROLL
            for (int j = 0; j < CEBUS_PACK; j++)
                x[j] = (x[j] - mean) * rstd * weight[j] + bias[j];
            cebus_lane<T>::store(x, p.out, row * p.n + k, 1, n);
        }
    }
}

/* --- backward ------------------------------------------------------------------------------ */

/** dx = rstd (h - mean(h) - xhat mean(h xhat)), h = g weight, xhat = (x - mean) rstd; RMS norm has
 * no mean(h). */
template <class T, bool centered> CEBUS_KERNEL dx_kernel(const row_job p)
{
    for (int64_t row = cebus_block(); row < p.rows; row += cebus_blocks()) {
        T mean = centered ? cebus_lane<T>::get(p.mean, row) : 0;
        T rstd = cebus_lane<T>::get(p.rstd, row);
        cebus_fold_sums sums = {0, 0};
        for (int pass = 0; pass < 2; pass++) {
            T shift = centered ? (T)(sums.a / (double)p.n) : 0;
            T slope = (T)(sums.b * (double)rstd * (double)rstd / (double)p.n);
            for (int64_t k = (int64_t)cebus_thread() * CEBUS_PACK; k < p.n;
                 k += (int64_t)cebus_threads() * CEBUS_PACK) {
                T x[CEBUS_PACK] = {}, g[CEBUS_PACK] = {}, weight[CEBUS_PACK] = {};
                T plain = 0, product = 0;
                int n = row_pack(p.n, k);
                cebus_lane<T>::load(x, p.x, row * p.n + k, 1, n);
                cebus_lane<T>::load(g, p.g, row * p.n + k, 1, n);
                row_load<T>(weight, p.weight, k, n, 1);
                CEBUS_UNROLL
                for (int j = 0; j < CEBUS_PACK; j++) {
                    T h = g[j] * weight[j], d = x[j] - mean; /* h is 0 beyond n */
                    plain += h;
                    product += h * d;
                    g[j] = rstd * (h - shift - d * slope);
                }
                if (pass == 0) {
                    sums.a += (double)plain;
                    sums.b += (double)product;
                } else {
                    cebus_lane<T>::store(g, p.out, row * p.n + k, 1, n);
                }
            }
            if (pass == 0)
                sums = cebus_block_fold<cebus_fold_products<T>>(sums);
        }
    }
}

/** Sums of a column over a slice of the rows. */
template <class T, bool centered> CEBUS_KERNEL columns_kernel(const row_job p)
{
    for (int64_t t = cebus_grid_first(); t < p.slices * p.n; t += cebus_grid_step()) {
        int64_t column = t % p.n, slice = t / p.n;
        int64_t row = p.rows * slice / p.slices, end = p.rows * (slice + 1) / p.slices;
        double weight = 0, bias = 0;
        while (row < end) {
            T part[2] = {0, 0};
            int64_t pause = row + CEBUS_PACK < end ? row + CEBUS_PACK : end;
            for (; row < pause; row++) {
                T x = cebus_lane<T>::get(p.x, row * p.n + column);
                T g = cebus_lane<T>::get(p.g, row * p.n + column);
                T mean = centered ? cebus_lane<T>::get(p.mean, row) : 0;
                part[0] += g * ((x - mean) * cebus_lane<T>::get(p.rstd, row));
                part[1] += g;
            }
            weight += (double)part[0];
            bias += (double)part[1];
        }
        p.parts[slice * 2 * p.n + column] = weight;
        p.parts[(slice * 2 + 1) * p.n + column] = bias;
    }
}

/** Adds the slices, in order. */
template <class T> CEBUS_KERNEL slices_kernel(const row_job p)
{
    for (int64_t t = cebus_grid_first(); t < 2 * p.n; t += cebus_grid_step()) {
        cebus_cells out = t < p.n ? p.dweight : p.dbias;
        double sum = 0;
        for (int64_t s = 0; s < p.slices; s++)
            sum += p.parts[s * 2 * p.n + t];
        if (out.data != NULL)
            cebus_lane<T>::set(out, t % p.n, (T)sum);
    }
}

/* --- entries ------------------------------------------------------------------------------- */

static cebus_cells cells_at(const void *data, cebus_dtype dtype)
{
    return {(char *)(uintptr_t)data, dtype};
}

/** Row-major: bytes it takes in the workspace to have input `i` so, and the input. An absent one is
 * 0-d. */
static cebus_view row_major(const cebus_launch *launch, uint32_t i)
{
    const cebus_view *view = launch->in[i].view;
    cebus_view layout;
    cebus_view_contiguous(&layout, view->dtype, view->ndim, view->shape);
    return layout;
}

static uint64_t row_major_bytes(const cebus_launch *launch, uint32_t i)
{
    if (i >= launch->n_in)
        return 0;
    cebus_view layout = row_major(launch, i);
    return cebus_cuda_dense_bytes(launch->in[i].view, &layout);
}

static cebus_cells row_major_read(const cebus_launch *launch, uint32_t i, char **scratch)
{
    if (i >= launch->n_in || launch->in[i].data == NULL)
        return cells_at(NULL, launch->in[0].view->dtype);
    cebus_view layout = row_major(launch, i);
    return cells_at(cebus_cuda_dense(launch, &launch->in[i], &layout, scratch), layout.dtype);
}

static row_job describe(const cebus_launch *launch, const cebus_view *x)
{
    const cebus_norm_attrs *attrs = (const cebus_norm_attrs *)launch->attrs;
    row_job p = {};
    p.rows = p.n = 1;
    p.eps = attrs->eps;
    for (int d = 0; d < x->ndim; d++)
        *(d < x->ndim - attrs->n_dims ? &p.rows : &p.n) *= x->shape[d];
    int64_t most = p.n > 0 ? 131072 / p.n + 1 : 1;
    p.slices = p.rows / 32 < most ? p.rows / 32 : most;
    p.slices = p.slices < 1 ? 1 : p.slices > 256 ? 256 : p.slices;
    return p;
}

static uint64_t forward_workspace(const cebus_launch *launch)
{
    return row_major_bytes(launch, 0) + row_major_bytes(launch, 1) + row_major_bytes(launch, 2);
}

template <class T, bool centered> static cebus_status forward(const cebus_launch *launch)
{
    row_job p = describe(launch, launch->in[0].view);
    char *scratch = (char *)launch->workspace;
    p.x = row_major_read(launch, 0, &scratch);
    p.weight = row_major_read(launch, 1, &scratch);
    p.bias = row_major_read(launch, 2, &scratch);
    p.out = cebus_cells_of(&launch->out[0]);
    if (centered)
        p.out_mean = cebus_cells_of(&launch->out[1]);
    p.out_rstd = cebus_cells_of(&launch->out[centered ? 2 : 1]);
    cebus_grid_run(launch, forward_kernel<T, centered>, cebus_grid_teams(p.rows),
                   cebus_grid_team(p.n), p);
    return cebus_cuda_launched(centered ? "layer_norm" : "rms_norm");
}

/** The backward op's output `which`; data NULL when it is not wanted. */
static cebus_cells wanted(const cebus_launch *launch, int64_t which)
{
    const cebus_norm_attrs *attrs = (const cebus_norm_attrs *)launch->attrs;
    int before = __builtin_popcountll((uint64_t)attrs->wanted & ((uint64_t)which - 1));
    if (!(attrs->wanted & which))
        return cells_at(NULL, CEBUS_F32);
    return cebus_cells_of(&launch->out[before]);
}

static uint64_t parts_bytes(const cebus_launch *launch, const row_job *p)
{
    const cebus_norm_attrs *attrs = (const cebus_norm_attrs *)launch->attrs;
    if (!(attrs->wanted & (CEBUS_NORM_DWEIGHT | CEBUS_NORM_DBIAS)))
        return 0;
    return cebus_cuda_round((uint64_t)(p->slices * 2 * p->n) * sizeof(double));
}

static uint64_t backward_workspace(const cebus_launch *launch)
{
    row_job p = describe(launch, launch->in[1].view);
    return parts_bytes(launch, &p) + row_major_bytes(launch, 0) + row_major_bytes(launch, 1) +
           row_major_bytes(launch, 2);
}

template <class T, bool centered> static cebus_status backward(const cebus_launch *launch)
{
    row_job p = describe(launch, launch->in[1].view);
    uint64_t bytes = parts_bytes(launch, &p);
    char *scratch = (char *)launch->workspace + bytes;
    p.parts = (double *)launch->workspace;
    p.g = row_major_read(launch, 0, &scratch);
    p.x = row_major_read(launch, 1, &scratch);
    p.weight = row_major_read(launch, 2, &scratch);
    if (centered)
        p.mean = cebus_cells_of(&launch->in[3]);
    p.rstd = cebus_cells_of(&launch->in[4]);
    p.out = wanted(launch, CEBUS_NORM_DX);
    p.dweight = wanted(launch, CEBUS_NORM_DWEIGHT);
    p.dbias = wanted(launch, CEBUS_NORM_DBIAS);
    if (p.out.data != NULL)
        cebus_grid_run(launch, dx_kernel<T, centered>, cebus_grid_teams(p.rows),
                       cebus_grid_team(p.n), p);
    if (bytes > 0) {
        cebus_grid_run(launch, columns_kernel<T, centered>, cebus_grid_blocks(p.slices * p.n),
                       CEBUS_GRID_THREADS, p);
        cebus_grid_run(launch, slices_kernel<T>, cebus_grid_blocks(2 * p.n), CEBUS_GRID_THREADS, p);
    }
    return cebus_cuda_launched(centered ? "layer_norm_backward" : "rms_norm_backward");
}

#define RUN(name, function, centered, input)                                                       \
    static cebus_status name(const cebus_launch *launch)                                           \
    {                                                                                              \
        return launch->in[input].view->dtype == CEBUS_F64 ? function<double, centered>(launch)     \
                                                          : function<float, centered>(launch);     \
    }
RUN(run_layer_norm, forward, true, 0)
RUN(run_rms_norm, forward, false, 0)
RUN(run_layer_norm_backward, backward, true, 1)
RUN(run_rms_norm_backward, backward, false, 1)

const cebus_kernel cebus_cuda_norm_kernels[] = {
    {"layer_norm", run_layer_norm, forward_workspace, NULL},
    {"rms_norm", run_rms_norm, forward_workspace, NULL},
    {"layer_norm_backward", run_layer_norm_backward, backward_workspace, NULL},
    {"rms_norm_backward", run_rms_norm_backward, backward_workspace, NULL},
    {},
};
