/* Layer and RMS norm: a block for each row, which its threads hold in registers where it is not too
 * long. Sums over rows, for the gradients of weight and bias, take a thread for each column and
 * slice of the rows. */
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

/** Packs of a row that a thread takes at a time, and holds between passes where that is all. */
#define ROW_PACKS 4

/** `plain`: all is f32, known to the compiler. */
template <bool plain> CEBUS_DEVICE cebus_cells known(cebus_cells c)
{
    if (plain)
        c.dtype = CEBUS_F32;
    return c;
}

/** A thread's packs of a row from `from` on. */
template <class T> struct row_part {
    T at[ROW_PACKS][CEBUS_PACK];
};

CEBUS_DEVICE int64_t row_first(int64_t from, int pack)
{
    return from + ((int64_t)pack * cebus_threads() + cebus_thread()) * CEBUS_PACK;
}

CEBUS_DEVICE int64_t row_span(void)
{
    return (int64_t)ROW_PACKS * cebus_threads() * CEBUS_PACK;
}

/** Whether the block's threads hold a whole row: then it is read once. */
CEBUS_DEVICE bool row_is_held(int64_t n)
{
    return n <= row_span();
}

/** Of the pack that begins at element `k`, those that there are. */
CEBUS_DEVICE int row_pack(int64_t n, int64_t k)
{
    return n - k < CEBUS_PACK ? (n > k ? (int)(n - k) : 0) : CEBUS_PACK;
}

/** `base`: the row's first element; `missing`: what stands beyond its end, or for all of it. */
template <class T>
CEBUS_DEVICE void row_load(row_part<T> *to, cebus_cells c, int64_t base, int64_t n, int64_t from,
                           T missing)
{
    CEBUS_UNROLL
    for (int p = 0; p < ROW_PACKS; p++) {
        int64_t k = row_first(from, p);
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++)
            to->at[p][j] = missing;
        if (c.data != NULL && k < n)
            cebus_lane<T>::load(to->at[p], c, base + k, 1, row_pack(n, k));
    }
}

template <class T>
CEBUS_DEVICE void row_store(const row_part<T> *from_part, cebus_cells c, int64_t base, int64_t n,
                            int64_t from)
{
    CEBUS_UNROLL
    for (int p = 0; p < ROW_PACKS; p++) {
        int64_t k = row_first(from, p);
        if (k < n)
            cebus_lane<T>::store(from_part->at[p], c, base + k, 1, row_pack(n, k));
    }
}

/* --- forward ------------------------------------------------------------------------------- */

/** The sum of a thread's elements, or of their squared distances from `mean`. */
template <class T, bool squared>
CEBUS_DEVICE double row_add(const row_part<T> *x, int64_t n, int64_t from, T mean)
{
    double sum = 0;
    CEBUS_UNROLL
    for (int p = 0; p < ROW_PACKS; p++) {
        int there = row_pack(n, row_first(from, p));
        T part = 0;
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++) {
            T d = x->at[p][j] - mean;
            part += j < there ? (squared ? d * d : d) : (T)0;
        }
        sum += (double)part;
    }
    return sum;
}

/** A mean over the row: of elements, or of squared distances. Reads the row unless it is held. */
template <class T, bool squared>
CEBUS_DEVICE double row_mean(row_part<T> *x, cebus_cells cells, int64_t base, int64_t n, T mean)
{
    double sum = 0;
    for (int64_t from = 0; from < n; from += row_span()) {
        if (!row_is_held(n))
            row_load<T>(x, cells, base, n, from, 0);
        sum += row_add<T, squared>(x, n, from, mean);
    }
    return cebus_block_fold<cebus_adds>(sum) / (double)n;
}

template <class T, bool centered, bool plain> CEBUS_KERNEL forward_kernel(const row_job p)
{
    row_part<T> x, weight, bias;
    const cebus_cells cells = known<plain>(p.x);
    for (int64_t row = cebus_block(); row < p.rows; row += cebus_blocks()) {
        const int64_t base = row * p.n;
        if (row_is_held(p.n))
            row_load<T>(&x, cells, base, p.n, 0, 0);
        T mean = centered ? (T)row_mean<T, false>(&x, cells, base, p.n, 0) : (T)0;
        T square = (T)row_mean<T, true>(&x, cells, base, p.n, mean);
        T rstd = (T)(1 / sqrt((double)square + p.eps));
        if (cebus_thread() == 0 && p.out_mean.data != NULL)
            cebus_lane<T>::set(p.out_mean, row, mean);
        if (cebus_thread() == 0 && p.out_rstd.data != NULL)
            cebus_lane<T>::set(p.out_rstd, row, rstd);
        for (int64_t from = 0; p.out.data != NULL && from < p.n; from += row_span()) {
            if (!row_is_held(p.n))
                row_load<T>(&x, cells, base, p.n, from, 0);
            row_load<T>(&weight, known<plain>(p.weight), 0, p.n, from, 1);
            row_load<T>(&bias, known<plain>(p.bias), 0, p.n, from, 0);
            CEBUS_UNROLL
            for (int i = 0; i < ROW_PACKS * CEBUS_PACK; i++)
                (&x.at[0][0])[i] =
                    ((&x.at[0][0])[i] - mean) * rstd * (&weight.at[0][0])[i] + (&bias.at[0][0])[i];
            row_store<T>(&x, known<plain>(p.out), base, p.n, from);
        }
    }
}

/* --- backward ------------------------------------------------------------------------------ */

/** h = g weight, 0 beyond the row, and d = x - mean. */
template <class T, bool plain>
CEBUS_DEVICE void row_terms(const row_job *p, int64_t base, int64_t from, T mean, row_part<T> *h,
                            row_part<T> *d)
{
    row_part<T> weight;
    row_load<T>(h, known<plain>(p->g), base, p->n, from, 0);
    row_load<T>(d, known<plain>(p->x), base, p->n, from, 0);
    row_load<T>(&weight, known<plain>(p->weight), 0, p->n, from, 1);
    CEBUS_UNROLL
    for (int i = 0; i < ROW_PACKS; i++) {
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++) {
            h->at[i][j] *= weight.at[i][j];
            d->at[i][j] -= mean;
        }
    }
}

template <class T>
CEBUS_DEVICE void row_products(const row_part<T> *h, const row_part<T> *d, cebus_fold_sums *sums)
{
    CEBUS_UNROLL
    for (int i = 0; i < ROW_PACKS; i++) {
        T plain = 0, product = 0;
        CEBUS_UNROLL
        for (int j = 0; j < CEBUS_PACK; j++) {
            plain += h->at[i][j];
            product += h->at[i][j] * d->at[i][j];
        }
        sums->a += (double)plain;
        sums->b += (double)product;
    }
}

/** dx = rstd (h - mean(h) - xhat mean(h xhat)), xhat = (x - mean) rstd; RMS norm has no mean(h). */
template <class T, bool centered, bool plain> CEBUS_KERNEL dx_kernel(const row_job p)
{
    row_part<T> h, d;
    for (int64_t row = cebus_block(); row < p.rows; row += cebus_blocks()) {
        T mean = centered ? cebus_lane<T>::get(p.mean, row) : 0;
        T rstd = cebus_lane<T>::get(p.rstd, row);
        cebus_fold_sums sums = {0, 0};
        for (int64_t from = 0; from < p.n; from += row_span()) {
            row_terms<T, plain>(&p, row * p.n, from, mean, &h, &d);
            row_products<T>(&h, &d, &sums);
        }
        sums = cebus_block_fold<cebus_fold_products<T>>(sums);
        T shift = centered ? (T)(sums.a / (double)p.n) : 0;
        T slope = (T)(sums.b * (double)rstd * (double)rstd / (double)p.n);
        for (int64_t from = 0; from < p.n; from += row_span()) {
            if (!row_is_held(p.n))
                row_terms<T, plain>(&p, row * p.n, from, mean, &h, &d);
            CEBUS_UNROLL
            for (int i = 0; i < ROW_PACKS; i++) {
                CEBUS_UNROLL
                for (int j = 0; j < CEBUS_PACK; j++)
                    h.at[i][j] = rstd * (h.at[i][j] - shift - d.at[i][j] * slope);
            }
            row_store<T>(&h, known<plain>(p.out), row * p.n, p.n, from);
        }
    }
}

/** Sums of a column over rows [row, row + n), n <= CEBUS_PACK: of g xhat and of g. */
template <class T, bool centered, bool plain>
CEBUS_DEVICE void column_add(const row_job *p, int64_t column, int64_t row, int n, double *sums)
{
    T x[CEBUS_PACK], g[CEBUS_PACK], scaled = 0, alone = 0;
    CEBUS_UNROLL
    for (int i = 0; i < CEBUS_PACK; i++) {
        const int64_t at = (row + (i < n ? i : 0)) * p->n + column;
        x[i] = cebus_lane<T>::get(known<plain>(p->x), at);
        g[i] = i < n ? cebus_lane<T>::get(known<plain>(p->g), at) : (T)0;
    }
    CEBUS_UNROLL
    for (int i = 0; i < CEBUS_PACK; i++) {
        const int64_t at = row + (i < n ? i : 0);
        T mean = centered ? cebus_lane<T>::get(known<plain>(p->mean), at) : 0;
        scaled += g[i] * ((x[i] - mean) * cebus_lane<T>::get(known<plain>(p->rstd), at));
        alone += g[i];
    }
    sums[0] += (double)scaled;
    sums[1] += (double)alone;
}

/** Sums of a column over a slice of the rows. */
template <class T, bool centered, bool plain> CEBUS_KERNEL columns_kernel(const row_job p)
{
    for (int64_t t = cebus_grid_first(); t < p.slices * p.n; t += cebus_grid_step()) {
        int64_t column = t % p.n, slice = t / p.n;
        int64_t row = p.rows * slice / p.slices, end = p.rows * (slice + 1) / p.slices;
        double sums[2] = {0, 0};
        for (; row + CEBUS_PACK <= end; row += CEBUS_PACK)
            column_add<T, centered, plain>(&p, column, row, CEBUS_PACK, sums);
        if (row < end)
            column_add<T, centered, plain>(&p, column, row, (int)(end - row), sums);
        p.parts[slice * 2 * p.n + column] = sums[0];
        p.parts[(slice * 2 + 1) * p.n + column] = sums[1];
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
    int64_t most = p.n > 0 ? 65536 / p.n + 1 : 1;
    p.slices = p.rows / 32 < most ? p.rows / 32 : most;
    p.slices = p.slices < 1 ? 1 : p.slices > 256 ? 256 : p.slices;
    return p;
}

/** The threads of a row: few, so that each holds as much as it can and little is folded. */
static int row_team(int64_t n)
{
    int threads = CEBUS_WARP;
    while (threads < 512 && threads * (int64_t)(ROW_PACKS * CEBUS_PACK) < n)
        threads *= 2;
    return threads;
}

/** Whether what there is of them is f32. */
static bool are_plain(const cebus_cells *cells, int n)
{
    bool plain = true;
    for (int i = 0; i < n; i++)
        plain = plain && (cells[i].data == NULL || cells[i].dtype == CEBUS_F32);
    return plain;
}

/** f64 is never plain. */
template <class T> constexpr bool is_f32 = sizeof(T) == sizeof(float);

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
    const cebus_cells cells[] = {p.x, p.weight, p.bias, p.out};
    cebus_grid_run(launch,
                   is_f32<T> && are_plain(cells, 4) ? forward_kernel<T, centered, is_f32<T>>
                                                    : forward_kernel<T, centered, false>,
                   cebus_grid_teams(p.rows), row_team(p.n), p);
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

template <class T, bool centered> static void run_dx(const cebus_launch *launch, const row_job &p)
{
    const cebus_cells cells[] = {p.x, p.g, p.weight, p.out};
    cebus_grid_run(launch,
                   is_f32<T> && are_plain(cells, 4) ? dx_kernel<T, centered, is_f32<T>>
                                                    : dx_kernel<T, centered, false>,
                   cebus_grid_teams(p.rows), row_team(p.n), p);
}

template <class T, bool centered>
static void run_columns(const cebus_launch *launch, const row_job &p)
{
    const cebus_cells cells[] = {p.x, p.g, p.mean, p.rstd};
    cebus_grid_run(launch,
                   is_f32<T> && are_plain(cells, 4) ? columns_kernel<T, centered, is_f32<T>>
                                                    : columns_kernel<T, centered, false>,
                   cebus_grid_blocks(p.slices * p.n), CEBUS_GRID_THREADS, p);
    cebus_grid_run(launch, slices_kernel<T>, cebus_grid_blocks(2 * p.n), CEBUS_GRID_THREADS, p);
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
        run_dx<T, centered>(launch, p);
    if (bytes > 0)
        run_columns<T, centered>(launch, p);
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
