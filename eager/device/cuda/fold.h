/**
 * fold.h: many elements folded into few accumulators: reductions and the statistics of
 * normalizations. The reduced and the kept dimensions are walked apart (walk.h); where the elements
 * of an output lie close together a block folds them, and where outputs lie side by side each
 * thread folds one. Few outputs are cut into slices, folded apart and merged in order. All of that
 * follows from shapes and strides, and so do the bits.
 *
 * A fold is a struct
 *
 *     struct F {
 *         typedef float lane;                what elements are read as
 *         typedef struct { .. } part;        the accumulator: plain words, at most CEBUS_FOLD_BYTES
 *         enum { arrays = 1, centered = 0 }; arrays that are read; whether a center is
 *         CEBUS_DEVICE void begin(part *p);
 *         CEBUS_DEVICE void add(part *p, const lane *x, const lane *y, lane center, int n,
 *                               int64_t first);     n <= CEBUS_PACK elements, from position `first`
 *         CEBUS_DEVICE void merge(part *into, part later);
 *         CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, part p, lane center);
 *     };
 *
 * Short runs are summed in the lane, and runs in double (or i64).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_FOLD_H
#define CEBUS_EAGER_DEVICE_CUDA_FOLD_H

#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/walk.h"

#define CEBUS_FOLD_BYTES 32

typedef struct cebus_fold_job {
    cebus_walk kept;    /**< of x, y, the output, the centers */
    cebus_walk reduced; /**< of x, y */
    cebus_cells x, y, center;
    cebus_cells out, second; /**< data NULL: not wanted */
    int64_t number;          /**< the center where there is no array of them */
    double divisor;
    const double *divisor_at; /**< on the device; NULL: `divisor` */
    int64_t outputs, count, slices;
    bool by_columns;
    char *parts; /**< of slices: [outputs, slices] */
} cebus_fold_job;

/** Reduces the dimensions `dims` of x. `y` (NULL: none) and `center` (NULL: as the output) are read
 * in the shape of x; the output is row-major in what is kept. */
static inline cebus_fold_job cebus_fold_plan(const cebus_view *x, const cebus_view *y,
                                             const cebus_view *center, uint32_t dims, bool ordered)
{
    cebus_fold_job job = {};
    cebus_view out = *x;
    int64_t outputs = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        out.strides[d] = outputs;
        outputs *= dims >> d & 1 ? 1 : x->shape[d];
    }
    const cebus_view *views[] = {x, y != NULL ? y : x, &out, center != NULL ? center : &out};
    uint32_t all = (1U << x->ndim) - 1;
    job.kept = cebus_walk_over(4, views, all & ~dims, false);
    job.reduced = cebus_walk_over(2, views, all & dims, ordered);
    job.outputs = job.kept.numel;
    job.count = job.reduced.numel;
    job.divisor = 1;
    bool side_by_side = job.outputs >= 32 && job.kept.step[0] < job.reduced.step[0];
    job.by_columns = side_by_side || job.count <= 16;
    int64_t worth = job.count / (job.by_columns ? 32 : 4096);
    int64_t most = job.outputs > 0 ? (job.by_columns ? 131072 : 2048) / job.outputs : 1;
    job.slices = worth < most ? worth : most;
    job.slices = job.slices < 1 ? 1 : job.slices > 512 ? 512 : job.slices;
    return job;
}

/** Bytes of workspace for its slices. */
static inline uint64_t cebus_fold_workspace(const cebus_fold_job *job)
{
    if (job->slices == 1)
        return 0;
    return cebus_cuda_round((uint64_t)(job->outputs * job->slices) * CEBUS_FOLD_BYTES);
}

/** Where output number `i` is: offsets in x, y, the output and the centers. */
CEBUS_DEVICE void cebus_fold_locate(const cebus_fold_job *job, int64_t i, int64_t *at)
{
    cebus_walk_locate<4>(&job->kept, i, at);
}

template <class F>
CEBUS_DEVICE typename F::lane cebus_fold_center(const cebus_fold_job *job, const int64_t *at)
{
    return F::centered ? cebus_lane<typename F::lane>::get(job->center, at[3])
                       : (typename F::lane)job->number;
}

/** Adds the positions [i, i + n) of the output at `at`, n <= CEBUS_PACK. */
template <class F>
CEBUS_DEVICE void cebus_fold_pack(const cebus_fold_job *job, const int64_t *at,
                                  typename F::lane center, int64_t i, int n, typename F::part *part)
{
    typedef typename F::lane T;
    while (n > 0) {
        T x[CEBUS_PACK] = {}, y[CEBUS_PACK] = {};
        int64_t in[2];
        int64_t run = cebus_walk_locate<2>(&job->reduced, i, in);
        int some = run < n ? (int)run : n;
        cebus_lane<T>::load(x, job->x, at[0] + in[0], job->reduced.step[0], some);
        if (F::arrays > 1)
            cebus_lane<T>::load(y, job->y, at[1] + in[1], job->reduced.step[1], some);
        F::add(part, x, y, center, some, i);
        n -= some;
        i += some;
    }
}

/** The positions of a slice. */
typedef struct cebus_fold_range {
    int64_t begin, end;
} cebus_fold_range;

CEBUS_DEVICE cebus_fold_range cebus_fold_slice(const cebus_fold_job *job, int64_t slice)
{
    int64_t packs = (job->count + CEBUS_PACK - 1) / CEBUS_PACK;
    cebus_fold_range r = {packs * slice / job->slices * CEBUS_PACK,
                          packs * (slice + 1) / job->slices * CEBUS_PACK};
    r.end = r.end < job->count ? r.end : job->count;
    return r;
}

template <class F>
CEBUS_DEVICE void cebus_fold_end(const cebus_fold_job *job, const int64_t *at, int64_t output,
                                 int64_t slice, typename F::part part, typename F::lane center)
{
    if (job->slices > 1)
        ((typename F::part *)job->parts)[output * job->slices + slice] = part;
    else
        F::finish(job, at[2], part, center);
}

/** A block for each slice of each output. */
template <class F> CEBUS_KERNEL cebus_fold_rows(const cebus_fold_job job)
{
    int64_t at[4];
    for (int64_t b = cebus_block(); b < job.outputs * job.slices; b += cebus_blocks()) {
        int64_t output = b / job.slices, slice = b % job.slices;
        cebus_fold_range range = cebus_fold_slice(&job, slice);
        typename F::part part;
        F::begin(&part);
        cebus_fold_locate(&job, output, at);
        typename F::lane center = cebus_fold_center<F>(&job, at);
        for (int64_t i = range.begin + (int64_t)cebus_thread() * CEBUS_PACK; i < range.end;
             i += (int64_t)cebus_threads() * CEBUS_PACK) {
            int64_t left = range.end - i;
            cebus_fold_pack<F>(&job, at, center, i, left < CEBUS_PACK ? (int)left : CEBUS_PACK,
                               &part);
        }
        part = cebus_block_fold<F>(part);
        if (cebus_thread() == 0)
            cebus_fold_end<F>(&job, at, output, slice, part, center);
    }
}

/** A thread for each slice of each output; neighbours take neighbouring outputs. */
template <class F> CEBUS_KERNEL cebus_fold_columns(const cebus_fold_job job)
{
    int64_t at[4];
    for (int64_t t = cebus_grid_first(); t < job.outputs * job.slices; t += cebus_grid_step()) {
        int64_t output = t % job.outputs, slice = t / job.outputs;
        cebus_fold_range range = cebus_fold_slice(&job, slice);
        typename F::part part;
        F::begin(&part);
        cebus_fold_locate(&job, output, at);
        typename F::lane center = cebus_fold_center<F>(&job, at);
        for (int64_t i = range.begin; i < range.end; i += CEBUS_PACK) {
            int64_t left = range.end - i;
            cebus_fold_pack<F>(&job, at, center, i, left < CEBUS_PACK ? (int)left : CEBUS_PACK,
                               &part);
        }
        cebus_fold_end<F>(&job, at, output, slice, part, center);
    }
}

/** A block for each output: merges its slices. */
template <class F> CEBUS_KERNEL cebus_fold_merge(const cebus_fold_job job)
{
    int64_t at[4];
    for (int64_t b = cebus_block(); b < job.outputs; b += cebus_blocks()) {
        const typename F::part *parts = (const typename F::part *)job.parts + b * job.slices;
        typename F::part part;
        F::begin(&part);
        for (int64_t s = cebus_thread(); s < job.slices; s += cebus_threads())
            F::merge(&part, parts[s]);
        part = cebus_block_fold<F>(part);
        cebus_fold_locate(&job, b, at);
        if (cebus_thread() == 0)
            F::finish(&job, at[2], part, cebus_fold_center<F>(&job, at));
    }
}

/** Runs the fold; `job->parts` has cebus_fold_workspace() bytes. */
template <class F> static void cebus_fold_run(const cebus_launch *launch, const cebus_fold_job *job)
{
    static_assert(sizeof(typename F::part) <= CEBUS_FOLD_BYTES, "room in the workspace");
    int64_t pieces = job->outputs * job->slices;
    if (job->by_columns)
        cebus_grid_run(launch, cebus_fold_columns<F>, cebus_grid_blocks(pieces), CEBUS_GRID_THREADS,
                       *job);
    else
        cebus_grid_run(launch, cebus_fold_rows<F>, cebus_grid_teams(pieces),
                       cebus_grid_team(job->count / job->slices), *job);
    if (job->slices > 1)
        cebus_grid_run(launch, cebus_fold_merge<F>, cebus_grid_teams(job->outputs), CEBUS_WARP,
                       *job);
}

/** Writes one result, rounded to the output's type. */
CEBUS_DEVICE void cebus_fold_set(cebus_cells out, int64_t at, double value)
{
    if (out.data == NULL)
        return;
    if (out.dtype == CEBUS_F64)
        cebus_lane<double>::set(out, at, value);
    else
        cebus_lane<float>::set(out, at, (float)value);
}

CEBUS_DEVICE double cebus_fold_divisor(const cebus_fold_job *job)
{
    return job->divisor_at != NULL ? *job->divisor_at : job->divisor;
}

/* --- folds of several families --------------------------------------------------------------- */

/** Two running sums. */
typedef struct cebus_fold_sums {
    double a, b;
} cebus_fold_sums;

/* A fold NAME that sums WHAT, an expression in x[i], y[i] and c, into one double. */
#define CEBUS_FOLD_SUM_OF(NAME, ARRAYS, CENTERED, WHAT)                                            \
    template <class T> struct NAME {                                                               \
        typedef T lane;                                                                            \
        typedef double part;                                                                       \
        enum {                                                                                     \
            arrays = ARRAYS,                                                                       \
            centered = CENTERED                                                                    \
        };                                                                                         \
        CEBUS_DEVICE void begin(double *p)                                                         \
        {                                                                                          \
            *p = 0;                                                                                \
        }                                                                                          \
        CEBUS_DEVICE void add(double *p, const T *x, const T *y, T c, int n, int64_t first)        \
        {                                                                                          \
            T sum = 0;                                                                             \
            CEBUS_UNROLL                                                                           \
            for (int i = 0; i < CEBUS_PACK; i++)                                                   \
                sum += i < n ? (T)(WHAT) : (T)0;                                                   \
            *p += (double)sum;                                                                     \
            (void)y;                                                                               \
            (void)c;                                                                               \
            (void)first;                                                                           \
        }                                                                                          \
        CEBUS_DEVICE void merge(double *into, double later)                                        \
        {                                                                                          \
            *into += later;                                                                        \
        }                                                                                          \
        CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, double p, T c)            \
        {                                                                                          \
            cebus_fold_set(job->out, out, p / cebus_fold_divisor(job));                            \
            (void)c;                                                                               \
        }                                                                                          \
    };
CEBUS_FOLD_SUM_OF(cebus_fold_sum, 1, 0, x[i])
CEBUS_FOLD_SUM_OF(cebus_fold_squares, 1, 1, (x[i] - c) * (x[i] - c))

/**
 * Mean (out) and sum of squared distances over the divisor (second), joined as Chan, Golub and
 * LeVeque do (Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
 */
typedef struct cebus_fold_moment {
    double count, mean, square;
} cebus_fold_moment;

CEBUS_DEVICE void cebus_fold_join(cebus_fold_moment *into, cebus_fold_moment later)
{
    double count = into->count + later.count, d = later.mean - into->mean;
    if (later.count == 0)
        return;
    double share = later.count / count;
    into->mean += d * share;
    into->square += later.square + d * d * into->count * share;
    into->count = count;
}

template <class T> struct cebus_fold_moments {
    typedef T lane;
    typedef cebus_fold_moment part;
    enum {
        arrays = 1,
        centered = 0
    };
    CEBUS_DEVICE void begin(part *p)
    {
        *p = {0, 0, 0};
    }
    CEBUS_DEVICE void add(part *p, const T *x, const T *y, T c, int n, int64_t first)
    {
        T sum = 0, square = 0;
        CEBUS_UNROLL
        for (int i = 0; i < CEBUS_PACK; i++)
            sum += x[i]; /* 0 beyond n */
        T mean = sum / (T)n;
        CEBUS_UNROLL
        for (int i = 0; i < CEBUS_PACK; i++)
            square += i < n ? (x[i] - mean) * (x[i] - mean) : (T)0;
        cebus_fold_join(p, {(double)n, (double)mean, (double)square});
        (void)y;
        (void)c;
        (void)first;
    }
    CEBUS_DEVICE void merge(part *into, part later)
    {
        cebus_fold_join(into, later);
    }
    CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, part p, T c)
    {
        cebus_fold_set(job->out, out, p.count > 0 ? p.mean : (double)NAN);
        cebus_fold_set(job->second, out, p.square / cebus_fold_divisor(job));
        (void)c;
    }
};

/** The sum of y (out) and of y times x's distance from the center (second). */
template <class T> struct cebus_fold_products {
    typedef T lane;
    typedef cebus_fold_sums part;
    enum {
        arrays = 2,
        centered = 1
    };
    CEBUS_DEVICE void begin(part *p)
    {
        *p = {0, 0};
    }
    CEBUS_DEVICE void add(part *p, const T *x, const T *y, T c, int n, int64_t first)
    {
        T sum = 0, product = 0;
        CEBUS_UNROLL
        for (int i = 0; i < CEBUS_PACK; i++) {
            sum += i < n ? y[i] : (T)0;
            product += i < n ? y[i] * (x[i] - c) : (T)0;
        }
        p->a += (double)sum;
        p->b += (double)product;
        (void)first;
    }
    CEBUS_DEVICE void merge(part *into, part later)
    {
        into->a += later.a;
        into->b += later.b;
    }
    CEBUS_DEVICE void finish(const cebus_fold_job *job, int64_t out, part p, T c)
    {
        cebus_fold_set(job->out, out, p.a);
        cebus_fold_set(job->second, out, p.b);
        (void)c;
    }
};

#endif
