/**
 * Batch normalization, f32 and f64. Statistics are taken block by block (each small enough to be
 * read twice from the nearest cache) and joined in double in an order that depends on the shape
 * alone: the bits do not depend on the thread count.
 */
#include "eager/ops/batch_norm.h"

#include <math.h>
#include <string.h>

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/widen.h"
#include "eager/view.h"
#include "layout/clones.h"
#include "layout/number.h"

/** Elements of a block: 16 KiB of f32. */
#define BLOCK 4096
/** Elements of a part, what one thread reduces at least, and the most parts there are. */
#define PART 32768
#define MOST_PARTS 64

/** A run of rows of all channels, or (channels == 1) of pixels of one plane, with the
 * coefficients of its channels. */
typedef struct bn_block {
    const void *x, *grad;
    const void *mean, *scale, *shift, *slope;
    int64_t rows, channels;
} bn_block;

/** Two running totals for each channel, and of how many values each is. */
typedef struct bn_total {
    double *first, *second;
    double count;
    int64_t channels;
} bn_total;

enum layout {
    ROWS,
    PLANES
};
enum reduction {
    MOMENTS,
    PRODUCTS
};
enum map {
    APPLY,
    GRAD
};

/** The loops for one element type. */
typedef struct bn_kernels {
    size_t size;
    double (*get)(const void *array, int64_t i);
    void (*set)(void *array, int64_t i, double value);
    void (*reduce[2][2])(const bn_block *block, void *first, void *second);
    void (*join[2])(bn_total *total, const void *first, const void *second, double n);
    void (*map[2][2])(const bn_block *block, void *out);
} bn_kernels;

#define REAL float
#define LANES 16
#define NAME(x) x##_f32
#include "eager/device/cpu/batch_norm_typed.h"

#define REAL double
#define LANES 8
#define NAME(x) x##_f64
#include "eager/device/cpu/batch_norm_typed.h"

/** One call: how x lies, the loops, the pieces of the workspace. */
typedef struct bn_job {
    const cebus_launch *launch;
    const bn_kernels *kernels;
    enum layout layout;
    enum reduction reduction;
    enum map map;
    int64_t channels, count; /**< values of each channel */
    int64_t batch, plane;    /**< of PLANES: x is [batch, channels, plane] */
    int64_t parts;           /**< of ROWS: the reduction's */
    cebus_pack pack;
    const char *x, *grad; /**< packed */
    char *out;
    bn_total total;
    double *part_totals; /**< of ROWS: [parts][2][channels] */
    char *block_totals;  /**< of ROWS: [parts][2][channels] of the element type */
    char *coefficients;  /**< [4][channels]: mean, scale, shift, slope */
    uint64_t bytes;      /**< of workspace */
} bn_job;

/** The next `bytes` of the workspace; NULL while it is only measured. */
static void *take(const cebus_launch *launch, uint64_t *end, uint64_t bytes)
{
    uint64_t at = *end;
    *end += cebus_pack_align(bytes);
    return launch->workspace ? (char *)launch->workspace + at : NULL;
}

/** `n_images` of the inputs have the shape of x, the last of them. */
static bn_job job_init(const cebus_launch *launch, int n_images)
{
    const cebus_view *x = launch->in[n_images - 1].view;
    bool channels_last = cebus_view_is_channels_last(x);
    bn_job job = {
        .launch = launch,
        .kernels = x->dtype == CEBUS_F64 ? &kernels_f64 : &kernels_f32,
        .channels = x->shape[1],
        .batch = x->shape[0],
        .plane = 1,
    };
    for (int i = 2; i < x->ndim; i++)
        job.plane *= x->shape[i];
    job.count = job.batch * job.plane;
    job.layout = channels_last || job.plane == 1 ? ROWS : PLANES;
    job.parts = job.count * job.channels / PART;
    job.parts = job.parts < 1 || job.layout == PLANES ? 1 : job.parts;
    job.parts = job.parts > MOST_PARTS ? MOST_PARTS : job.parts;
    cebus_pack_order order = channels_last ? CEBUS_PACK_CHANNELS_LAST : CEBUS_PACK_ROWS;
    cebus_pack_init(&job.pack, launch, n_images, (const cebus_pack_order[]){order, order});

    uint64_t line = (uint64_t)job.channels * sizeof(double);
    uint64_t parts = job.layout == ROWS ? (uint64_t)job.parts : 0;
    job.bytes = job.pack.bytes;
    job.total.channels = job.channels;
    job.total.first = take(launch, &job.bytes, line);
    job.total.second = take(launch, &job.bytes, line);
    job.part_totals = take(launch, &job.bytes, parts * 2 * line);
    job.block_totals = take(launch, &job.bytes, parts * 2 * line);
    job.coefficients = take(launch, &job.bytes, 4 * line);
    return job;
}

/** The inputs' bytes, packed; inputs as in job_init(). */
static void job_begin(bn_job *job, int n_images)
{
    void *data[CEBUS_PACK_MAX];
    cebus_pack_run(&job->pack, job->launch, data);
    job->x = data[n_images - 1];
    job->grad = n_images > 1 ? data[0] : NULL;
    job->out = job->launch->out[0].data;
    memset(job->total.first, 0, (size_t)job->channels * sizeof(double));
    memset(job->total.second, 0, (size_t)job->channels * sizeof(double));
}

static void *coefficient(const bn_job *job, int i, int64_t channel)
{
    return job->coefficients + (size_t)(i * job->channels + channel) * job->kernels->size;
}

/** The block of `rows` rows, or pixels of one plane, that begins at element `at`. */
static bn_block block_at(const bn_job *job, int64_t at, int64_t rows, int64_t channel)
{
    size_t offset = (size_t)at * job->kernels->size;
    return (bn_block){
        .x = job->x + offset,
        .grad = job->grad ? job->grad + offset : NULL,
        .mean = coefficient(job, 0, channel),
        .scale = coefficient(job, 1, channel),
        .shift = coefficient(job, 2, channel),
        .slope = coefficient(job, 3, channel),
        .rows = rows,
        .channels = job->layout == ROWS ? job->channels : 1,
    };
}

/** ROWS: each part reduces its rows to its own totals. */
static void reduce_rows(void *context, int64_t begin, int64_t end)
{
    const bn_job *job = context;
    int64_t channels = job->channels, most = BLOCK / channels;
    most = most < 16 ? 16 : most > 128 ? 128 : most;
    for (int64_t part = begin; part < end; part++) {
        bn_total total = {
            .first = job->part_totals + part * 2 * channels,
            .second = job->part_totals + (part * 2 + 1) * channels,
            .channels = channels,
        };
        char *first = job->block_totals + (size_t)(part * 2 * channels) * sizeof(double);
        char *second = first + (size_t)channels * sizeof(double);
        memset(total.first, 0, (size_t)(2 * channels) * sizeof(double));
        int64_t row = job->count * part / job->parts, stop = job->count * (part + 1) / job->parts;
        for (int64_t rows; row < stop; row += rows) {
            rows = cebus_min_i64(most, stop - row);
            bn_block block = block_at(job, row * channels, rows, 0);
            job->kernels->reduce[ROWS][job->reduction](&block, first, second);
            job->kernels->join[job->reduction](&total, first, second, (double)rows);
        }
    }
}

/** PLANES: each channel is reduced by one thread, plane after plane. */
static void reduce_planes(void *context, int64_t begin, int64_t end)
{
    const bn_job *job = context;
    for (int64_t c = begin; c < end; c++) {
        bn_total total = {
            .first = job->total.first + c, .second = job->total.second + c, .channels = 1};
        for (int64_t n = 0; n < job->batch; n++)
            for (int64_t i = 0, rows; i < job->plane; i += rows) {
                double first, second; /* room for either element type */
                rows = cebus_min_i64(BLOCK, job->plane - i);
                bn_block block = block_at(job, (n * job->channels + c) * job->plane + i, rows, c);
                job->kernels->reduce[PLANES][job->reduction](&block, &first, &second);
                job->kernels->join[job->reduction](&total, &first, &second, (double)rows);
            }
    }
}

/** Fills job->total. */
static void reduce(bn_job *job, enum reduction reduction)
{
    job->reduction = reduction;
    if (job->layout == PLANES) {
        int64_t grain = job->count > 0 ? CEBUS_GRAIN / job->count : job->channels;
        cebus_parallel_for(job->launch->threads, job->channels, grain, reduce_planes, job);
        return;
    }
    cebus_parallel_for(job->launch->threads, job->parts, 1, reduce_rows, job);
    for (int64_t part = 0; part < job->parts; part++) {
        const double *first = job->part_totals + part * 2 * job->channels;
        int64_t rows = job->count * (part + 1) / job->parts - job->count * part / job->parts;
        if (rows > 0)
            kernels_f64.join[reduction](&job->total, first, first + job->channels, (double)rows);
    }
}

static void map_rows(void *context, int64_t begin, int64_t end)
{
    const bn_job *job = context;
    bn_block block = block_at(job, begin * job->channels, end - begin, 0);
    job->kernels->map[ROWS][job->map](&block, job->out + (size_t)(begin * job->channels) *
                                                             job->kernels->size);
}

static void map_planes(void *context, int64_t begin, int64_t end)
{
    const bn_job *job = context;
    for (int64_t p = begin; p < end; p++) {
        bn_block block = block_at(job, p * job->plane, job->plane, p % job->channels);
        job->kernels->map[PLANES][job->map](&block, job->out + (size_t)(p * job->plane) *
                                                                   job->kernels->size);
    }
}

/** Writes the image-shaped output, if it is wanted. */
static void map(bn_job *job, enum map which)
{
    job->map = which;
    if (!job->out || job->count * job->channels == 0)
        return;
    int threads = job->launch->threads;
    if (job->layout == ROWS)
        cebus_parallel_for(threads, job->count, CEBUS_GRAIN / job->channels, map_rows, job);
    else
        cebus_parallel_for(threads, job->batch * job->channels, CEBUS_GRAIN / job->plane,
                           map_planes, job);
}

/** Element c of a [C] input; `missing` when it is absent. */
static double parameter(const bn_job *job, int input, int64_t c, double missing)
{
    const cebus_array *a = &job->launch->in[input];
    return a->data ? job->kernels->get(a->data, c * a->view->strides[0]) : missing;
}

static void output_set(const bn_job *job, int output, int64_t c, double value)
{
    if (job->launch->out[output].data)
        job->kernels->set(job->launch->out[output].data, c, value);
}

/** The element type's nearest to `value`: what whoever reads a stored statistic will see. */
static double rounded(const bn_job *job, double value)
{
    double store;
    job->kernels->set(&store, 0, value);
    return job->kernels->get(&store, 0);
}

static void forward_coefficients(const bn_job *job, int64_t c, double mean, double var)
{
    const cebus_batch_norm_attrs *attrs = job->launch->attrs;
    job->kernels->set(coefficient(job, 0, c), 0, mean);
    job->kernels->set(coefficient(job, 1, c), 0, parameter(job, 1, c, 1) / sqrt(var + attrs->eps));
    job->kernels->set(coefficient(job, 2, c), 0, parameter(job, 2, c, 0));
}

static cebus_status run_train(const cebus_launch *launch)
{
    bn_job job = job_init(launch, 1);
    if (job.channels == 0)
        return CEBUS_OK;
    job_begin(&job, 1);
    reduce(&job, MOMENTS);
    for (int64_t c = 0; c < job.channels; c++) {
        double mean = rounded(&job, job.total.first[c]);
        double var = rounded(&job, job.total.second[c] / (double)job.count);
        output_set(&job, 1, c, mean);
        output_set(&job, 2, c, var);
        forward_coefficients(&job, c, mean, var);
    }
    map(&job, APPLY);
    return CEBUS_OK;
}

static cebus_status run_eval(const cebus_launch *launch)
{
    bn_job job = job_init(launch, 1);
    if (job.channels == 0)
        return CEBUS_OK;
    job_begin(&job, 1);
    for (int64_t c = 0; c < job.channels; c++)
        forward_coefficients(&job, c, parameter(&job, 3, c, 0), parameter(&job, 4, c, 1));
    map(&job, APPLY);
    return CEBUS_OK;
}

/*
 * With s = 1 / sqrt(var + eps), d = x - mean, G = sum(grad), P = sum(grad d) over n values:
 * d_bias = G, d_weight = s P, and d_x = weight s (grad - G / n - d s^2 P / n) when mean and var
 * come from x, weight s grad when they do not.
 */
static cebus_status run_backward(const cebus_launch *launch)
{
    const cebus_batch_norm_attrs *attrs = launch->attrs;
    bn_job job = job_init(launch, 2);
    if (job.channels == 0)
        return CEBUS_OK;
    job_begin(&job, 2);
    for (int64_t c = 0; c < job.channels; c++)
        job.kernels->set(coefficient(&job, 0, c), 0, parameter(&job, 2, c, 0));
    reduce(&job, PRODUCTS);
    for (int64_t c = 0; c < job.channels; c++) {
        double s = 1 / sqrt(parameter(&job, 3, c, 1) + attrs->eps);
        double sum = job.total.first[c], product = job.total.second[c];
        double share = attrs->training ? 1 / (double)job.count : 0;
        job.kernels->set(coefficient(&job, 1, c), 0, parameter(&job, 4, c, 1) * s);
        job.kernels->set(coefficient(&job, 2, c), 0, sum * share);
        job.kernels->set(coefficient(&job, 3, c), 0, s * s * product * share);
        output_set(&job, 1, c, s * product);
        output_set(&job, 2, c, sum);
    }
    map(&job, GRAD);
    return CEBUS_OK;
}

static uint64_t forward_workspace(const cebus_launch *launch)
{
    return job_init(launch, 1).bytes;
}

static uint64_t backward_workspace(const cebus_launch *launch)
{
    return job_init(launch, 2).bytes;
}

/** running = (1 - momentum) running + momentum new; the variance's new value is unbiased. */
static cebus_status run_running(const cebus_launch *launch)
{
    const cebus_batch_norm_running_attrs *attrs = launch->attrs;
    const bn_kernels *k = launch->out[0].view->dtype == CEBUS_F64 ? &kernels_f64 : &kernels_f32;
    for (int i = 0; i < 2; i++) {
        const cebus_array *to = &launch->out[i], *from = &launch->in[2 + i];
        double weight = attrs->momentum * (i == 1 ? attrs->correction : 1);
        for (int64_t c = 0; c < to->view->shape[0]; c++) {
            int64_t at = c * to->view->strides[0];
            double value = k->get(from->data, c * from->view->strides[0]);
            k->set(to->data, at, (1 - attrs->momentum) * k->get(to->data, at) + weight * value);
        }
    }
    return CEBUS_OK;
}

#define KERNELS(X)                                                                                 \
    X(batch_norm, run_train, forward_workspace)                                                    \
    X(batch_norm_eval, run_eval, forward_workspace)                                                \
    X(batch_norm_backward, run_backward, backward_workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_batch_norm[] = {
    {"batch_norm_running", run_running, NULL},
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
