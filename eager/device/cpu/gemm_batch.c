#include "eager/device/cpu/gemm_batch.h"

#include "eager/device/cpu/parallel.h"
#include "layout/number.h"

/* Multiplications below which a second thread costs more than it brings (about 3 us). */
#define WORTH_A_THREAD (INT64_C(1) << 18)

/* How the work is cut: `count` matrices of `down` x `across` tiles each, for `workers` threads. */
typedef struct gemm_cut {
    int64_t count, down, across, workers;
    int64_t tile_m, tile_n;
} gemm_cut;

typedef struct gemm_job {
    const cebus_gemm_batch *batch;
    gemm_cut cut;
    char *scratch;
    uint64_t scratch_each;
} gemm_job;

static int64_t divide_up(int64_t n, int64_t parts)
{
    return parts > 0 ? cebus_ceil_div(n, parts) : 0;
}

/* Part lengths are whole register tiles of the engines where that costs no balance. */
static int64_t part_length(int64_t n, int64_t parts)
{
    const int64_t unit = 48;
    int64_t length = divide_up(n, parts);
    return parts > 1 && length >= 8 * unit ? divide_up(length, unit) * unit : length;
}

/* Of all grids of `threads` tiles the one whose tiles have the least border, so the least to
 * pack. */
static void cut_matrix(gemm_cut *cut, int64_t m, int64_t n, int threads)
{
    double best = -1;
    for (int down = 1; down <= threads; down++) {
        const int across = threads / down;
        double border = (double)m / down + (double)n / across;
        if (threads % down != 0 || (best >= 0 && border > best))
            continue;
        best = border;
        cut->tile_m = part_length(m, down);
        cut->tile_n = part_length(n, across);
    }
    cut->down = divide_up(m, cut->tile_m);
    cut->across = divide_up(n, cut->tile_n);
}

static gemm_cut cut_batch(const cebus_gemm_batch *batch, int threads)
{
    const cebus_gemm *g = &batch->one;
    gemm_cut cut = {
        .count = 1, .down = 1, .across = 1, .workers = 1, .tile_m = g->m, .tile_n = g->n};
    for (int i = 0; i < batch->ndim; i++)
        cut.count *= batch->shape[i];
    double work = (double)cut.count * (double)g->m * (double)g->n * (double)g->k;
    if (threads <= 1 || work < 2 * WORTH_A_THREAD)
        return cut;
    if (cut.count < 4 * (int64_t)threads && cut.count % threads != 0)
        cut_matrix(&cut, g->m, g->n, threads);
    cut.workers = cebus_min_i64(threads, cut.count * cut.down * cut.across);
    return cut;
}

static cebus_gemm tile_gemm(const cebus_gemm_batch *batch, const gemm_cut *cut)
{
    cebus_gemm gemm = batch->one;
    gemm.m = cut->tile_m;
    gemm.n = cut->tile_n;
    return gemm;
}

uint64_t cebus_gemm_batch_scratch(const cebus_gemm_batch *batch, int threads)
{
    gemm_cut cut = cut_batch(batch, threads);
    cebus_gemm tile = tile_gemm(batch, &cut);
    return cebus_gemm_scratch(&tile) * (uint64_t)cut.workers;
}

#define DEFINE_FILL(real)                                                                          \
    static void fill_##real(const cebus_gemm *g, const real *bias, int64_t stride)                 \
    {                                                                                              \
        for (int64_t i = 0; i < g->m; i++) {                                                       \
            real *row = (real *)g->c + i * g->ldc;                                                 \
            for (int64_t j = 0; j < g->n; j++)                                                     \
                row[j] = bias[j * stride];                                                         \
        }                                                                                          \
    }
DEFINE_FILL(float)
DEFINE_FILL(double)

/* Every row of C starts as the bias, and the product is added. */
static void start_from_bias(cebus_gemm *g, const cebus_gemm_batch *batch, int64_t column)
{
    int64_t stride = batch->bias_stride;
    if (g->dtype == CEBUS_F64)
        fill_double(g, (const double *)batch->bias + column * stride, stride);
    else
        fill_float(g, (const float *)batch->bias + column * stride, stride);
    g->accumulate = true;
}

/* Nowhere in an operand without elements. */
static const void *forward(const void *data, int64_t bytes)
{
    return data != NULL ? (const char *)data + bytes : NULL;
}

/* Moves the operands to matrix `index` of the batch. */
static void seek(cebus_gemm *g, const cebus_gemm_batch *batch, int64_t index)
{
    const int64_t size = (int64_t)cebus_dtype_size(g->dtype);
    g->c = (char *)g->c + index * g->m * g->n * size;
    for (int i = batch->ndim - 1; i >= 0; i--) {
        int64_t at = index % batch->shape[i];
        index /= batch->shape[i];
        g->a = forward(g->a, at * batch->a_stride[i] * size);
        g->b = forward(g->b, at * batch->b_stride[i] * size);
    }
}

/* Shrinks the product to the tile at (row, column) of C. */
static void crop(cebus_gemm *g, const gemm_cut *cut, int64_t row, int64_t column)
{
    const int64_t size = (int64_t)cebus_dtype_size(g->dtype);
    g->a = forward(g->a, row * (g->trans_a ? 1 : g->lda) * size);
    g->b = forward(g->b, column * (g->trans_b ? g->ldb : 1) * size);
    g->c = (char *)g->c + (row * g->ldc + column) * size;
    g->m = cebus_min_i64(cut->tile_m, g->m - row);
    g->n = cebus_min_i64(cut->tile_n, g->n - column);
}

static void run_task(const gemm_job *job, int64_t task, void *scratch)
{
    const gemm_cut *cut = &job->cut;
    const int64_t tiles = cut->down * cut->across;
    int64_t row = task % tiles / cut->across * cut->tile_m;
    int64_t column = task % cut->across * cut->tile_n;
    cebus_gemm gemm = job->batch->one;
    seek(&gemm, job->batch, task / tiles);
    crop(&gemm, cut, row, column);
    if (job->batch->bias)
        start_from_bias(&gemm, job->batch, column);
    cebus_gemm_run(&gemm, scratch);
}

static void run_workers(void *context, int64_t begin, int64_t end)
{
    const gemm_job *job = context;
    const int64_t tasks = job->cut.count * job->cut.down * job->cut.across;
    for (int64_t worker = begin; worker < end; worker++) {
        int64_t first = worker * tasks / job->cut.workers;
        int64_t last = (worker + 1) * tasks / job->cut.workers;
        char *scratch = job->scratch; /* NULL where none is needed */
        if (job->scratch_each > 0)
            scratch += (uint64_t)worker * job->scratch_each;
        for (int64_t task = first; task < last; task++)
            run_task(job, task, scratch);
    }
}

void cebus_gemm_batch_run(const cebus_gemm_batch *batch, int threads, void *scratch)
{
    gemm_job job = {.batch = batch, .cut = cut_batch(batch, threads), .scratch = scratch};
    cebus_gemm tile = tile_gemm(batch, &job.cut);
    job.scratch_each = cebus_gemm_scratch(&tile);
    cebus_parallel_for((int)job.cut.workers, job.cut.workers, 1, run_workers, &job);
}
