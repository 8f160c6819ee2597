/**
 * Pooling on channels-last images, f32 and f64; images in another order are copied into the
 * workspace first. Every pixel written is made by one thread in one order (the backward ops
 * gather), so the bits do not depend on the thread count.
 */
#include "eager/ops/pool.h"

#include <math.h>
#include <string.h>

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/widen.h"
#include "eager/device/span.h"
#include "layout/clones.h"

/** Channels whose maxima are kept on the stack at once. */
#define CHUNK 64

typedef struct pool_kernels pool_kernels;

/** One call. `from` and `to` are the height and width of what is read and written; forward ops
 * read the image, backward ops write it. */
typedef struct pool_job {
    const cebus_pool_attrs *attrs;
    int64_t channels, from[2], to[2];
    int32_t taps;
    bool backward, small_places;
    const void *x; /**< the image, or the result's gradient */
    void *out;     /**< NULL: only the places are wanted */
    void *place;   /**< of the largest pixel in its window; NULL: not wanted */
    void (*rows)(const struct pool_job *job, int64_t begin, int64_t end);
} pool_job;

/** The loops for one element type, over rows of what is written. */
struct pool_kernels {
    void (*max)(const pool_job *job, int64_t begin, int64_t end);
    void (*max_backward)(const pool_job *job, int64_t begin, int64_t end);
    void (*avg)(const pool_job *job, int64_t begin, int64_t end);
    void (*avg_backward)(const pool_job *job, int64_t begin, int64_t end);
};

/** A pixel of what is written. */
typedef struct pool_at {
    int64_t index, n, h, w;
} pool_at;

static inline pool_at place_of(const pool_job *job, int64_t index)
{
    int64_t row = index / job->to[1];
    return (pool_at){index, row / job->to[0], row % job->to[0], index % job->to[1]};
}

/** The index of a pixel of what is read. */
static inline int64_t index_of(const pool_job *job, int64_t n, int64_t h, int64_t w)
{
    return (n * job->from[0] + h) * job->from[1] + w;
}

/** The pixel that a tap of the window `at` reads; -1 in the padding. */
static inline int64_t pixel_under(const pool_job *job, pool_at at, int64_t tap)
{
    const cebus_pool_attrs *a = job->attrs;
    int64_t h = at.h * a->stride[0] - a->padding[0] + tap / a->kernel[1] * a->dilation[0];
    int64_t w = at.w * a->stride[1] - a->padding[1] + tap % a->kernel[1] * a->dilation[1];
    if (h < 0 || h >= job->from[0] || w < 0 || w >= job->from[1])
        return -1;
    return index_of(job, at.n, h, w);
}

/** The tap through which the window (h, w) reads the pixel `at`, within its span; -1 when the
 * pixel lies between two taps. */
static inline int32_t tap_between(const pool_job *job, pool_at at, int64_t h, int64_t w)
{
    const cebus_pool_attrs *a = job->attrs;
    int64_t i = at.h + a->padding[0] - h * a->stride[0];
    int64_t j = at.w + a->padding[1] - w * a->stride[1];
    if (a->dilation[0] == 1 && a->dilation[1] == 1)
        return (int32_t)(i * a->kernel[1] + j);
    if (i % a->dilation[0] != 0 || j % a->dilation[1] != 0)
        return -1;
    return (int32_t)(i / a->dilation[0] * a->kernel[1] + j / a->dilation[1]);
}

/** The pixels of an averaging window along dimension d, inside the image. */
static inline cebus_span window_span(const pool_job *job, int d, int64_t window)
{
    int64_t image = job->backward ? job->to[d] : job->from[d];
    int64_t windows = job->backward ? job->from[d] : job->to[d];
    return cebus_span_of_window(job->attrs, (cebus_span_axis){d, windows, image}, window);
}

/** The windows along dimension d whose span covers a pixel. */
static inline cebus_span windows_over(const pool_job *job, int d, int64_t pixel)
{
    return cebus_span_over_pixel(job->attrs, (cebus_span_axis){d, job->from[d], job->to[d]}, pixel);
}

static inline void places_store(const pool_job *job, int64_t at, int64_t n, const int32_t *place)
{
    if (!job->place)
        return;
    if (job->small_places)
        for (int64_t k = 0; k < n; k++)
            ((uint8_t *)job->place)[at + k] = (uint8_t)place[k];
    else
        memcpy((int32_t *)job->place + at, place, (size_t)n * sizeof *place);
}

#define REAL float
#define NAME(x) x##_f32
#include "eager/device/cpu/pool_typed.h"

#define REAL double
#define NAME(x) x##_f64
#include "eager/device/cpu/pool_typed.h"

static const cebus_pack_order orders[] = {CEBUS_PACK_CHANNELS_LAST, CEBUS_PACK_CHANNELS_LAST};

static uint64_t workspace(const cebus_launch *launch)
{
    cebus_pack pack;
    cebus_pack_init(&pack, launch, (int)launch->n_in, orders);
    return pack.bytes;
}

static pool_job job_init(const cebus_launch *launch)
{
    const cebus_view *from = launch->in[0].view, *to = launch->out[0].view;
    const cebus_pool_attrs *attrs = launch->attrs;
    cebus_pack pack;
    void *data[CEBUS_PACK_MAX];
    cebus_pack_init(&pack, launch, (int)launch->n_in, orders);
    cebus_pack_run(&pack, launch, data);
    return (pool_job){
        .attrs = attrs,
        .channels = from->shape[1],
        .from = {from->shape[2], from->shape[3]},
        .to = {to->shape[2], to->shape[3]},
        .taps = (int32_t)(attrs->kernel[0] * attrs->kernel[1]),
        .small_places = attrs->kernel[0] * attrs->kernel[1] <= 256,
        .x = data[0],
        .place = launch->n_in > 1 ? data[1] : NULL,
        .out = launch->out[0].data,
    };
}

static void run_rows(void *context, int64_t begin, int64_t end)
{
    const pool_job *job = context;
    job->rows(job, begin, end);
}

static cebus_status run(const cebus_launch *launch, pool_job *job)
{
    int64_t row = job->to[1] * job->channels;
    cebus_parallel_for(launch->threads, launch->out[0].view->shape[0] * job->to[0],
                       CEBUS_GRAIN / row, run_rows, job);
    return CEBUS_OK;
}

static const pool_kernels *kernels_of(const cebus_launch *launch)
{
    return launch->in[0].view->dtype == CEBUS_F64 ? &kernels_f64 : &kernels_f32;
}

static cebus_status run_max(const cebus_launch *launch)
{
    pool_job job = job_init(launch);
    job.place = launch->out[1].data;
    job.rows = kernels_of(launch)->max;
    return run(launch, &job);
}

static cebus_status run_max_backward(const cebus_launch *launch)
{
    pool_job job = job_init(launch);
    job.backward = true;
    job.rows = kernels_of(launch)->max_backward;
    return run(launch, &job);
}

static cebus_status run_avg(const cebus_launch *launch)
{
    pool_job job = job_init(launch);
    job.rows = kernels_of(launch)->avg;
    return run(launch, &job);
}

static cebus_status run_avg_backward(const cebus_launch *launch)
{
    pool_job job = job_init(launch);
    job.backward = true;
    job.rows = kernels_of(launch)->avg_backward;
    return run(launch, &job);
}

#define KERNELS(X)                                                                                 \
    X(max_pool2d, run_max, workspace)                                                              \
    X(max_pool2d_backward, run_max_backward, workspace)                                            \
    X(avg_pool2d, run_avg, workspace)                                                              \
    X(adaptive_avg_pool2d, run_avg, workspace)                                                     \
    X(avg_pool2d_backward, run_avg_backward, workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_pool[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
