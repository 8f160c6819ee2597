/**
 * plane.h: two sums over each channel of images whose channels are planes (what lies together in a
 * row of a sample is of one channel) or columns (channels lie side by side). The narrow fold
 * (fold.h) of what batch norm needs: types known when it is compiled, 16 bytes a load, several
 * loads on their way, and no division.
 *
 * The moments are sums of distances d from the channel's first element s, the same for all its
 * slices: sum(d) and sum(d d), in f32 for a few elements about their own mean, then in double. With
 * the count n
 *
 *     mean = s + sum(d) / n,  var = (sum(d d) - sum(d)^2 / n) / n
 *
 * Any element does for s: (s - mean)^2 is n var at the most, so that the difference loses no more
 * than n roundings of double.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_PLANE_H
#define CEBUS_EAGER_DEVICE_CUDA_PLANE_H

#include "eager/device/cuda/fold.h"
#include "eager/device/cuda/vector.h"

/** Elements of a plane that are summed in f32. */
#define CEBUS_PLANE_SOME 16
/** Threads of a block at most. */
#define CEBUS_PLANE_THREADS 256

typedef struct cebus_plane_job {
    cebus_cells x, y, center; /**< y, centers: of the products alone */
    int64_t channel[3];       /**< strides between channels of x, y and the centers */
    int64_t row[2];           /**< strides between rows of x, y */
    cebus_divisor packs_of_row;
    uint32_t packs; /**< of a channel */
    int pack;       /**< elements: 16 bytes, or 1 where shapes and strides have it so */
    bool words;     /**< a pack moves as 16 bytes */
    bool columns;   /**< channels lie side by side; packs are of channels, and rows of one pixel */
    int width;      /**< of columns: packs that neighbouring threads take */
    int64_t channels, count, slices;
    cebus_divisor slices_of_channel;
    uint32_t packs_of_slice; /**< of columns: rows */
    cebus_fold_sums *parts;  /**< of slices: [channels, slices] */
} cebus_plane_job;

/** Cuts `length` packs (rows) of each of `outputs` into slices, `least` packs each, as many as
 * `most` blocks can take. */
static inline void cebus_plane_cut(cebus_plane_job *job, int64_t length, int64_t outputs,
                                   int64_t least, int64_t most)
{
    int64_t worth = length / least, slices = most / (outputs > 0 ? outputs : 1);
    slices = worth < slices ? worth : slices;
    slices = slices < 1 ? 1 : slices;
    job->packs_of_slice = (uint32_t)((length + slices - 1) / slices);
    job->slices = (length + job->packs_of_slice - 1) / job->packs_of_slice;
    job->slices_of_channel = cebus_divisor_of((uint32_t)job->slices);
}

/** Of planes: rows along which elements lie together, at most one dimension of them. */
static inline void cebus_plane_plan_rows(cebus_plane_job *job, const cebus_walk *walk)
{
    int64_t odd = walk->run;
    for (int i = 0; i < 2; i++) {
        job->row[i] = walk->ndim > 0 ? walk->strides[i][0] : 0;
        odd |= job->row[i] | (job->channels > 1 ? job->channel[i] : 0);
    }
    job->pack = (odd & (job->pack - 1)) == 0 ? job->pack : 1;
    job->packs = (uint32_t)(walk->numel / job->pack);
    job->packs_of_row = cebus_divisor_of((uint32_t)(walk->run / job->pack));
    cebus_plane_cut(job, job->packs, job->channels, 8192 / job->pack, 4096);
}

/** Of columns: all pixels are one stride apart. */
static inline void cebus_plane_plan_columns(cebus_plane_job *job, const cebus_walk *walk)
{
    int64_t odd = job->channels;
    for (int i = 0; i < 2; i++) {
        job->row[i] = walk->step[i];
        odd |= job->count > 1 ? walk->step[i] : 0;
    }
    job->columns = true;
    job->pack = (odd & (job->pack - 1)) == 0 ? job->pack : 1;
    int64_t packs = job->channels / job->pack;
    job->width = 1;
    while (job->width < CEBUS_WARP && job->width < packs)
        job->width *= 2;
    cebus_plane_cut(job, job->count, (packs + job->width - 1) / job->width,
                    CEBUS_PLANE_THREADS / job->width * 32, 2048);
}

/** Whether x (and y, unless NULL) are summed this way: all dimensions but the second. How they are
 * summed follows from shapes, strides and types alone, not from addresses. */
static inline bool cebus_plane_plan(const cebus_array *x, const cebus_array *y,
                                    cebus_plane_job *out_job)
{
    const cebus_view *views[] = {x->view, y != NULL ? y->view : x->view};
    cebus_walk walk = cebus_walk_over(2, views, CEBUS_WALK_ALL & ~2U, false);
    cebus_plane_job job = {};
    job.x = cebus_cells_of(x);
    job.y = cebus_cells_of(y != NULL ? y : x);
    if (cebus_vector_number(job.x.dtype) < 0 || job.y.dtype != job.x.dtype)
        return false;
    if (walk.wide || x->view->shape[1] > 1 << 20 || walk.numel == 0)
        return false;
    job.pack = (int)(sizeof(cebus_word) / cebus_dtype_size(job.x.dtype));
    job.channels = x->view->shape[1];
    job.count = walk.numel;
    for (int i = 0; i < 2; i++)
        job.channel[i] = views[i]->strides[1];
    if (walk.ndim <= 1 && walk.step[0] == 1 && walk.step[1] == 1)
        cebus_plane_plan_rows(&job, &walk);
    else if (walk.ndim == 0 && job.channel[0] == 1 && job.channel[1] == 1)
        cebus_plane_plan_columns(&job, &walk);
    else
        return false;
    job.words = job.pack > 1 && cebus_vector_fits(job.x) && cebus_vector_fits(job.y);
    *out_job = job;
    return true;
}

static inline uint64_t cebus_plane_workspace(const cebus_plane_job *job)
{
    return cebus_cuda_round((uint64_t)(job->channels * job->slices) * sizeof(cebus_fold_sums));
}

/** What the distances of a channel are measured from: its first element, or its center. */
template <class F, cebus_dtype D>
CEBUS_DEVICE float cebus_plane_origin(const cebus_plane_job *p, int64_t c)
{
    return F::arrays > 1 ? cebus_lane<float>::get(p->center, c * p->channel[2])
                         : cebus_vector<D>::get(p->x.data, c * p->channel[0]);
}

/** A few chains of additions side by side. */
template <int most> CEBUS_DEVICE float cebus_plane_add(const float *v)
{
    float sum[4] = {v[0], v[1], v[2], v[3]};
    CEBUS_UNROLL
    for (int i = 4; i < most; i++)
        sum[i % 4] += v[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Sums of the first n elements of `most`, all of them where it is `full`; `origin`: the channel's
 * origin or center. What is beyond n is 0 in x and y. */
struct cebus_plane_moments {
    enum {
        arrays = 1
    };
    template <bool full, int most>
    CEBUS_DEVICE void add(cebus_fold_sums *p, float *x, const float *y, float origin, int n)
    {
        CEBUS_UNROLL
        for (int i = 0; i < most; i++)
            x[i] = full || i < n ? x[i] - origin : 0.0F;
        float sum = cebus_plane_add<most>(x);
        float mean = full ? sum * (1.0F / most) : sum / (float)n;
        CEBUS_UNROLL
        for (int i = 0; i < most; i++) {
            float d = full || i < n ? x[i] - mean : 0.0F;
            x[i] = d * d;
        }
        double many = full ? most : n, total = (double)sum, middle = (double)mean;
        p->a += total;
        p->b += (double)cebus_plane_add<most>(x) + middle * (2 * total - many * middle);
        (void)y;
    }
};

/** The sums of y and of y (x - center). */
struct cebus_plane_products {
    enum {
        arrays = 2
    };
    template <bool full, int most>
    CEBUS_DEVICE void add(cebus_fold_sums *p, float *x, const float *y, float origin, int n)
    {
        CEBUS_UNROLL
        for (int i = 0; i < most; i++)
            x[i] = full || i < n ? y[i] * (x[i] - origin) : 0.0F;
        p->a += (double)cebus_plane_add<most>(y);
        p->b += (double)cebus_plane_add<most>(x);
    }
};

/** Elements of a pack, moved as 16 bytes where they are `words`. */
template <cebus_dtype D, int pack, bool words>
CEBUS_DEVICE void cebus_plane_read(float *to, const char *data, int64_t at)
{
    if constexpr (words) {
        cebus_vector<D>::read(to, data, at);
    } else {
        CEBUS_UNROLL
        for (int i = 0; i < pack; i++)
            to[i] = cebus_vector<D>::get(data, at + i);
    }
}

/** Adds the packs q, q + step, .. below `end` of channel c, as many as are summed at a time; all of
 * them are there where it is `full`. */
template <class F, cebus_dtype D, int pack, bool words, bool full>
CEBUS_DEVICE void cebus_plane_some(const cebus_plane_job *p, const int64_t *base, float origin,
                                   uint32_t q, uint32_t step, uint32_t end, cebus_fold_sums *part)
{
    float x[CEBUS_PLANE_SOME], y[CEBUS_PLANE_SOME];
    int n = 0;
    CEBUS_UNROLL
    for (int i = 0; i < CEBUS_PLANE_SOME; i += pack, q += step) {
        CEBUS_UNROLL
        for (int k = 0; !full && k < pack; k++)
            x[i + k] = y[i + k] = 0;
        if (!full && q >= end)
            continue;
        uint32_t row = cebus_divide(q, p->packs_of_row);
        int64_t at = (int64_t)(q - row * p->packs_of_row.value) * pack;
        cebus_plane_read<D, pack, words>(x + i, p->x.data, base[0] + row * p->row[0] + at);
        if (F::arrays > 1)
            cebus_plane_read<D, pack, words>(y + i, p->y.data, base[1] + row * p->row[1] + at);
        n += pack;
    }
    F::template add<full, CEBUS_PLANE_SOME>(part, x, y, origin, n);
}

/** A block for each slice of each channel. */
template <class F, cebus_dtype D, int pack, bool words>
CEBUS_KERNEL cebus_plane_kernel(const cebus_plane_job p)
{
    const uint32_t step = (uint32_t)cebus_threads(), stride = step * (CEBUS_PLANE_SOME / pack);
    for (int64_t b = cebus_block(); b < p.channels * p.slices; b += cebus_blocks()) {
        uint32_t c = cebus_divide((uint32_t)b, p.slices_of_channel);
        uint32_t q = ((uint32_t)b - c * p.slices_of_channel.value) * p.packs_of_slice;
        uint32_t end = p.packs - q < p.packs_of_slice ? p.packs : q + p.packs_of_slice;
        q += (uint32_t)cebus_thread();
        const int64_t base[] = {c * p.channel[0], c * p.channel[1]};
        float origin = cebus_plane_origin<F, D>(&p, c);
        cebus_fold_sums part = {0, 0};
        for (; q + (stride - step) < end; q += stride)
            cebus_plane_some<F, D, pack, words, true>(&p, base, origin, q, step, end, &part);
        if (q < end)
            cebus_plane_some<F, D, pack, words, false>(&p, base, origin, q, step, end, &part);
        part = cebus_block_fold<cebus_fold_products<float>>(part);
        if (cebus_thread() == 0)
            p.parts[b] = part;
    }
}

/** Rows of columns that are summed in f32, so that as many bytes are on their way. */
template <class F, int pack> CEBUS_DEVICE constexpr int cebus_plane_rows(void)
{
    return pack == 4 && F::arrays == 1 ? 8 : pack > 1 ? 4 : 8;
}

/** Adds rows q, q + step, .. below `end` of the channels from c on. */
template <class F, cebus_dtype D, int pack, bool words, bool full>
CEBUS_DEVICE void cebus_plane_pixels(const cebus_plane_job *p, int64_t c, const float *origin,
                                     uint32_t q, uint32_t step, uint32_t end, cebus_fold_sums *part)
{
    constexpr int rows = cebus_plane_rows<F, pack>();
    float x[rows][pack], y[rows][pack];
    int n = 0;
    CEBUS_UNROLL
    for (int r = 0; r < rows; r++, q += step) {
        CEBUS_UNROLL
        for (int k = 0; !full && k < pack; k++)
            x[r][k] = y[r][k] = 0;
        if (!full && q >= end)
            continue;
        cebus_plane_read<D, pack, words>(x[r], p->x.data, c + q * p->row[0]);
        if (F::arrays > 1)
            cebus_plane_read<D, pack, words>(y[r], p->y.data, c + q * p->row[1]);
        n++;
    }
    CEBUS_UNROLL
    for (int k = 0; k < pack; k++) {
        float u[rows], v[rows];
        CEBUS_UNROLL
        for (int r = 0; r < rows; r++) {
            u[r] = x[r][k];
            v[r] = F::arrays > 1 ? y[r][k] : 0;
        }
        F::template add<full, rows>(part + k, u, v, origin[k], n);
    }
}

/** The rows of a slice, from `first` on in steps, of the channels from c on. */
template <class F, cebus_dtype D, int pack, bool words>
CEBUS_DEVICE void cebus_plane_column(const cebus_plane_job *p, int64_t c, uint32_t slice,
                                     uint32_t first, uint32_t step, cebus_fold_sums *part)
{
    const uint32_t count = (uint32_t)p->count, stride = step * cebus_plane_rows<F, pack>();
    uint32_t q = slice * p->packs_of_slice;
    uint32_t end = count - q < p->packs_of_slice ? count : q + p->packs_of_slice;
    float origin[pack];
    CEBUS_UNROLL
    for (int k = 0; k < pack; k++)
        origin[k] = cebus_plane_origin<F, D>(p, c + k);
    for (q += first; q + (stride - step) < end; q += stride)
        cebus_plane_pixels<F, D, pack, words, true>(p, c, origin, q, step, end, part);
    if (q < end)
        cebus_plane_pixels<F, D, pack, words, false>(p, c, origin, q, step, end, part);
}

/** A block for each slice of a tile of columns. */
template <class F, cebus_dtype D, int pack, bool words>
CEBUS_KERNEL cebus_plane_columns(const cebus_plane_job p)
{
    CEBUS_SHARED(cebus_fold_sums, parts, CEBUS_PLANE_THREADS * pack);
    const int threads = cebus_threads(), width = p.width < threads ? p.width : threads;
    const int column = cebus_thread() % width, row = cebus_thread() / width;
    const int64_t across = width * pack, tiles = (p.channels + across - 1) / across;
    for (int64_t b = cebus_block(); b < tiles * p.slices; b += cebus_blocks()) {
        uint32_t tile = cebus_divide((uint32_t)b, p.slices_of_channel);
        uint32_t slice = (uint32_t)b - tile * p.slices_of_channel.value;
        int64_t c = tile * across + column * pack;
        cebus_fold_sums part[pack] = {};
        if (c < p.channels)
            cebus_plane_column<F, D, pack, words>(&p, c, slice, (uint32_t)row,
                                                  (uint32_t)(threads / width), part);
        CEBUS_UNROLL
        for (int k = 0; k < pack; k++)
            parts[cebus_thread() * pack + k] = part[k];
        cebus_sync();
        for (int k = cebus_thread(); k < across && tile * across + k < p.channels; k += threads) {
            cebus_fold_sums sum = parts[k];
            for (int r = 1; r < threads / width; r++)
                cebus_fold_products<float>::merge(&sum, parts[r * across + k]);
            p.parts[(tile * across + k) * p.slices + slice] = sum;
        }
        cebus_sync();
    }
}

/** The sums of channel c from those of its slices, to all threads of the block. */
CEBUS_DEVICE cebus_fold_sums cebus_plane_sums(const cebus_plane_job *p, int64_t c)
{
    cebus_fold_sums part = {0, 0};
    for (int64_t s = cebus_thread(); s < p->slices; s += cebus_threads())
        cebus_fold_products<float>::merge(&part, p->parts[c * p->slices + s]);
    return cebus_block_fold<cebus_fold_products<double>>(part);
}

/** Mean (a) and variance (b) of the moments' sums. */
CEBUS_DEVICE cebus_fold_sums cebus_plane_statistics(const cebus_plane_job *p, int64_t c,
                                                    cebus_fold_sums sums)
{
    double origin = (double)cebus_lane<float>::get(p->x, c * p->channel[0]);
    double n = (double)p->count, away = sums.a / n, var = sums.b / n - away * away;
    return {origin + away, var < 0 ? 0 : var};
}

/** Threads of a block that shares `n` elements. */
static inline int cebus_plane_team(int64_t n)
{
    int threads = cebus_grid_team(n);
    return threads < CEBUS_PLANE_THREADS ? threads : CEBUS_PLANE_THREADS;
}

/** Threads of a block that merges a channel's slices. */
static inline int cebus_plane_merging(const cebus_plane_job *job)
{
    return cebus_plane_team(job->slices);
}

template <class F, cebus_dtype D>
static void cebus_plane_launch(const cebus_launch *launch, const cebus_plane_job *job)
{
    typedef void (*const kernels[3])(cebus_plane_job);
    enum {
        pack = cebus_vector<D>::length
    };
    static kernels planes = {cebus_plane_kernel<F, D, 1, false>,
                             cebus_plane_kernel<F, D, pack, false>,
                             cebus_plane_kernel<F, D, pack, true>};
    static kernels columns = {cebus_plane_columns<F, D, 1, false>,
                              cebus_plane_columns<F, D, pack, false>,
                              cebus_plane_columns<F, D, pack, true>};
    int which = job->words ? 2 : job->pack > 1 ? 1 : 0;
    if (job->columns) {
        int64_t across = job->width * job->pack;
        int64_t tiles = (job->channels + across - 1) / across;
        cebus_grid_run(launch, columns[which], cebus_grid_teams(tiles * job->slices),
                       CEBUS_PLANE_THREADS, *job);
        return;
    }
    cebus_grid_run(launch, planes[which], cebus_grid_teams(job->channels * job->slices),
                   cebus_plane_team(job->count / job->slices / 2), *job);
}

/** Sums the slices of all channels into `job->parts`, cebus_plane_workspace() bytes. */
template <class F>
static void cebus_plane_run(const cebus_launch *launch, const cebus_plane_job *job)
{
    static void (*const runs[])(const cebus_launch *, const cebus_plane_job *) = {
        cebus_plane_launch<F, CEBUS_F32>, cebus_plane_launch<F, CEBUS_F16>,
        cebus_plane_launch<F, CEBUS_BF16>};
    runs[cebus_vector_number(job->x.dtype)](launch, job);
}

#endif
