/*
 * Adding at indices that are sorted first (index.h). Each row of the table is made by whoever finds
 * its first index, in the order of the indices. A row that LONG of them and more share is cut into
 * slices of about as many rows as there are slices, which are summed side by side and then added in
 * order: how follows from the indices alone.
 */
#include "eager/device/cuda/index.h"

#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/sort.h"
#include "eager/device/cuda/vector.h"

/** Fewer indices are gone through in order. */
#define LEAST 64
/** Rows of a slice at least. */
#define SLICE 64
/** Fewer equal indices are not cut. */
#define LONG (2 * SLICE)

/** Slots [begin, end) of the sorted indices. */
typedef struct slots {
    int64_t begin, end;
} slots;

typedef struct sorted_job {
    cebus_index_job job;
    uint32_t *keys, *places;
    slots *slices; /* of stretch i of SLICE slots, the slice that begins in it, or none */
    char *sums;    /* of the slices: own elements in the lane; NULL: there are none */
    int64_t n, stretches;
    int pack;
    int64_t packs; /* of the own elements */
    bool words;    /* rows are 16 bytes apart, and multiples of it */
} sorted_job;

/** What is left out comes last. */
CEBUS_KERNEL keys_kernel(const sorted_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.n; i += cebus_grid_step()) {
        int64_t at[2];
        cebus_walk_locate<2>(&p.job.depth, i, at);
        int64_t index = cebus_index_at(&p.job, at[1]);
        p.keys[i] = (uint32_t)(index < 0 ? p.job.length : index);
        p.places[i] = (uint32_t)i;
    }
}

/* --- runs of equal keys -------------------------------------------------------------------- */

/** Where the run that `slot` is in ends: in steps that double, then by halves. */
CEBUS_DEVICE int64_t run_end(const sorted_job *p, int64_t slot)
{
    const uint32_t key = p->keys[slot];
    int64_t in = slot, step = 1;
    while (in + step < p->n && p->keys[in + step] == key) {
        in += step;
        step *= 2;
    }
    int64_t out = in + step < p->n ? in + step : p->n;
    while (out - in > 1) {
        int64_t middle = in + (out - in) / 2;
        if (p->keys[middle] == key)
            in = middle;
        else
            out = middle;
    }
    return out;
}

CEBUS_DEVICE int64_t run_begin(const sorted_job *p, int64_t slot)
{
    const uint32_t key = p->keys[slot];
    int64_t in = slot, out = -1;
    while (in - out > 1) {
        int64_t middle = out + (in - out) / 2;
        if (p->keys[middle] == key)
            in = middle;
        else
            out = middle;
    }
    return in;
}

/** Rows of a slice of a run; the last of its length / rows slices takes the rest, too. */
CEBUS_DEVICE int64_t slice_rows(int64_t length)
{
    int64_t rows = SLICE;
    while (rows * rows < length)
        rows *= 2;
    return rows;
}

/** The slice that begins in [from, from + SLICE), looked for in the run that has `slot`. Slices are
 * no shorter than that: there is one at most. */
CEBUS_DEVICE slots slice_in(const sorted_job *p, int64_t from, int64_t slot)
{
    slots run = {run_begin(p, slot), run_end(p, slot)};
    int64_t length = run.end - run.begin, rows = slice_rows(length), count = length / rows;
    int64_t i = run.begin >= from ? 0 : (from - run.begin + rows - 1) / rows;
    int64_t begin = run.begin + i * rows;
    if (length < LONG || p->keys[slot] == (uint32_t)p->job.length)
        return {0, 0};
    if (i >= count || begin >= from + SLICE)
        return {0, 0};
    return {begin, i + 1 == count ? run.end : begin + rows};
}

CEBUS_KERNEL slices_kernel(const sorted_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.stretches; i += cebus_grid_step()) {
        int64_t from = i * SLICE, last = from + SLICE < p.n ? from + SLICE - 1 : p.n - 1;
        slots found = slice_in(&p, from, from);
        p.slices[i] = found.end > 0 ? found : slice_in(&p, from, last);
    }
}

/* --- sums ---------------------------------------------------------------------------------- */

/** Adds CEBUS_PACK elements of the rows of `range`, several rows on their way. */
template <class T, cebus_dtype D>
CEBUS_DEVICE void add_words(const sorted_job *p, slots range, int64_t at, T *sum)
{
    enum {
        length = cebus_vector<D>::length,
        ahead = 4
    };
    for (int64_t i = range.begin; i < range.end; i += ahead) {
        T row[ahead][CEBUS_PACK];
        uint32_t place[ahead];
        CEBUS_UNROLL
        for (int r = 0; r < ahead; r++)
            place[r] = p->places[i + r < range.end ? i + r : i];
        CEBUS_UNROLL
        for (int r = 0; r < ahead; r++) {
            int64_t from[1];
            cebus_walk_locate<1>(&p->job.depth, place[r], from);
            CEBUS_UNROLL
            for (int k = 0; k < CEBUS_PACK; k += length)
                cebus_vector<D>::read(row[r] + k, p->job.rows.data, from[0] + at + k);
        }
        CEBUS_UNROLL
        for (int r = 0; r < ahead; r++)
            CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            sum[k] = i + r < range.end ? sum[k] + row[r][k] : sum[k];
    }
}

template <class T>
CEBUS_DEVICE void add_any(const sorted_job *p, slots range, int64_t at, int64_t step, int n, T *sum)
{
    for (int64_t i = range.begin; i < range.end; i++) {
        int64_t from[1];
        T row[CEBUS_PACK] = {};
        cebus_walk_locate<1>(&p->job.depth, p->places[i], from);
        cebus_lane<T>::load(row, p->job.rows, from[0] + at, step, n);
        CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            sum[k] += row[k];
    }
}

CEBUS_DEVICE bool add_in_words(const sorted_job *p, slots range, int64_t at, float *sum)
{
    if (p->job.rows.dtype == CEBUS_F32 && at % 4 == 0)
        add_words<float, CEBUS_F32>(p, range, at, sum);
    else if (p->job.rows.dtype == CEBUS_F16 && at % 8 == 0)
        add_words<float, CEBUS_F16>(p, range, at, sum);
    else if (p->job.rows.dtype == CEBUS_BF16 && at % 8 == 0)
        add_words<float, CEBUS_BF16>(p, range, at, sum);
    else
        return false;
    return true;
}
CEBUS_DEVICE bool add_in_words(const sorted_job *p, slots range, int64_t at, double *sum)
{
    if (at % 2 == 0)
        add_words<double, CEBUS_F64>(p, range, at, sum);
    return at % 2 == 0;
}
CEBUS_DEVICE bool add_in_words(const sorted_job *p, slots range, int64_t at, int64_t *sum)
{
    (void)p;
    (void)range;
    (void)at;
    (void)sum;
    return false;
}

/** Adds `n` elements, at offset `at` in each, of the rows of `range` one after another. */
template <class T>
CEBUS_DEVICE void add_rows(const sorted_job *p, slots range, int64_t at, int64_t step, int n,
                           T *sum)
{
    if (!p->words || n != CEBUS_PACK || !add_in_words(p, range, at, sum))
        add_any(p, range, at, step, n, sum);
}

/** Own elements [own, own + n) of each slice's sum. */
template <class T> CEBUS_KERNEL sums_kernel(const sorted_job p)
{
    const cebus_walk *w = &p.job.own;
    for (int64_t t = cebus_grid_first(); t < p.stretches * p.packs; t += cebus_grid_step()) {
        int64_t stretch = t / p.packs, own = t % p.packs * p.pack;
        int64_t end = own + p.pack < w->numel ? own + p.pack : w->numel;
        slots range = p.slices[stretch];
        T *to = (T *)(void *)p.sums + stretch * w->numel;
        while (range.end > 0 && own < end) {
            int64_t at[2], run = cebus_walk_locate<2>(w, own, at);
            int some = run < end - own ? (int)run : (int)(end - own);
            T sum[CEBUS_PACK] = {};
            add_rows(&p, range, at[1], w->step[1], some, sum);
            CEBUS_UNROLL
            for (int k = 0; k < CEBUS_PACK; k++)
                if (k < some)
                    to[own + k] = sum[k];
            own += some;
        }
    }
}

/** Adds the sums of the slices of a long run. */
template <class T>
CEBUS_DEVICE void add_slices(const sorted_job *p, slots range, int64_t own, int n, T *sum)
{
    int64_t rows = slice_rows(range.end - range.begin), count = (range.end - range.begin) / rows;
    const T *sums = (const T *)(const void *)p->sums + own;
    for (int64_t i = 0; i < count; i++) {
        const T *from = sums + (range.begin + i * rows) / SLICE * p->job.own.numel;
        CEBUS_UNROLL
        for (int k = 0; k < CEBUS_PACK; k++)
            sum[k] += k < n ? from[k] : (T)0;
    }
}

/** Own elements [own, own + n) of the table's row `key`: adds all its rows. */
template <class T>
CEBUS_DEVICE void add_segment(const sorted_job *p, slots range, uint32_t key, int64_t own, int n)
{
    const cebus_walk *w = &p->job.own;
    while (n > 0) {
        int64_t at[2];
        T sum[CEBUS_PACK] = {};
        int64_t run = cebus_walk_locate<2>(w, own, at);
        int some = run < n ? (int)run : n;
        int64_t to = at[0] + (int64_t)key * p->job.pick;
        cebus_lane<T>::load(sum, p->job.table, to, w->step[0], some);
        if (range.end - range.begin < LONG)
            add_rows(p, range, at[1], w->step[1], some, sum);
        else
            add_slices(p, range, own, some, sum);
        cebus_lane<T>::store(sum, p->job.table, to, w->step[0], some);
        own += some;
        n -= some;
    }
}

/** The first slot of each key makes its row of the table. */
template <class T> CEBUS_KERNEL segments_kernel(const sorted_job p)
{
    for (int64_t t = cebus_grid_first(); t < p.n * p.packs; t += cebus_grid_step()) {
        int64_t slot = t / p.packs, own = t % p.packs * p.pack;
        uint32_t key = p.keys[slot];
        if (key == (uint32_t)p.job.length || (slot > 0 && p.keys[slot - 1] == key))
            continue;
        int64_t left = p.job.own.numel - own;
        add_segment<T>(&p, {slot, run_end(&p, slot)}, key, own, left < p.pack ? (int)left : p.pack);
    }
}

/* --- jobs ---------------------------------------------------------------------------------- */

/** Where slices are in the workspace behind the sort, and the bytes up to their end. */
typedef struct slice_places {
    uint64_t slices, sums, end;
} slice_places;

static slice_places places_of(const cebus_index_job *job, uint64_t sort_bytes)
{
    uint64_t stretches = (uint64_t)(job->depth.numel + SLICE - 1) / SLICE;
    uint64_t lane = cebus_lane_number(job->table.dtype) == CEBUS_IN_F32 ? 4 : 8;
    slice_places at = {cebus_cuda_round(sort_bytes), 0, 0};
    at.sums = at.slices + cebus_cuda_round(stretches * sizeof(slots));
    at.end = at.sums + cebus_cuda_round(stretches * (uint64_t)job->own.numel * lane);
    if (job->depth.numel < LONG)
        at.end = sort_bytes;
    return at;
}

/** Whether all rows begin at multiples of 16 bytes where their first does. */
static bool rows_are_words(const cebus_index_job *job)
{
    int64_t odd = 0, length = 16 / (int64_t)cebus_dtype_size(job->rows.dtype);
    if (job->own.step[1] != 1 || !cebus_vector_fits(job->rows))
        return false;
    for (int d = 0; d < job->depth.ndim; d++)
        odd |= job->depth.strides[0][d];
    return ((odd | job->depth.step[0]) & (length - 1)) == 0;
}

bool cebus_index_sorts(const cebus_index_job *job, uint64_t *out_bytes)
{
    int64_t n = job->depth.numel;
    *out_bytes = 0;
    if (n < LEAST || n >= INT32_MAX || job->length >= INT32_MAX)
        return false;
    if (job->own.numel != 1) {
        if (job->own.step[2] != 0)
            return false;
        for (int d = 0; d < job->own.ndim; d++)
            if (job->own.strides[2][d] != 0)
                return false;
    }
    cebus_sort_plan(n, NULL, out_bytes);
    *out_bytes = places_of(job, *out_bytes).end;
    return true;
}

/** The sums of all slices. */
static void run_sums(const cebus_launch *launch, sorted_job *p, char *workspace, uint64_t used)
{
    static void (*const kernels[])(sorted_job) = {sums_kernel<float>, sums_kernel<double>,
                                                  sums_kernel<int64_t>};
    slice_places at = places_of(&p->job, used);
    if (p->n < LONG)
        return;
    p->slices = (slots *)(void *)(workspace + at.slices);
    p->sums = workspace + at.sums;
    cebus_grid_run(launch, slices_kernel, cebus_grid_blocks(p->stretches), CEBUS_GRID_THREADS, *p);
    cebus_grid_run(launch, kernels[cebus_lane_number(p->job.table.dtype)],
                   cebus_grid_blocks(p->stretches * p->packs), CEBUS_GRID_THREADS, *p);
}

void cebus_index_add_sorted(const cebus_launch *launch, const cebus_index_job *job, char *workspace)
{
    uint64_t bytes;
    cebus_sort sort = cebus_sort_plan(job->depth.numel, workspace, &bytes);
    sorted_job p = {};
    p.job = *job;
    p.keys = sort.keys;
    p.places = sort.places;
    p.n = sort.n;
    p.pack = job->own.numel >= CEBUS_PACK ? CEBUS_PACK : 1;
    p.packs = (job->own.numel + p.pack - 1) / p.pack;
    p.stretches = (p.n + SLICE - 1) / SLICE;
    p.words = rows_are_words(job);
    cebus_grid_run(launch, keys_kernel, cebus_grid_blocks(p.n), CEBUS_GRID_THREADS, p);
    cebus_sort_run(launch, &sort, (uint32_t)job->length);
    p.keys = sort.keys;
    p.places = sort.places;
    run_sums(launch, &p, workspace, bytes);
    static void (*const kernels[])(sorted_job) = {segments_kernel<float>, segments_kernel<double>,
                                                  segments_kernel<int64_t>};
    cebus_grid_run(launch, kernels[cebus_lane_number(job->table.dtype)],
                   cebus_grid_blocks(p.n * p.packs), CEBUS_GRID_THREADS, p);
}
