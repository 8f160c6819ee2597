/**
 * Convolutions as matrix products (im2col): with the image's patches as rows [pixels, C KH KW],
 * for each group
 *
 *   output  = patches x weightT      weight = outputT x patches      patches = output x weight
 *
 * and the image is the sum of its patches. The weight is used in its own plain order. f32 and f64,
 * in blocks of pixels that bound the patches. This serves where oneDNN is absent or has nothing
 * good, and for the gradient of a large weight from few pixels (the last stage of a ResNet):
 * there a direct kernel spends its time loading and storing the weight once per image and turning
 * it at the end, while here each element is written once.
 */
#include <string.h>

#include "eager/device/cpu/conv.h"
#include "eager/device/cpu/gemm.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"
#include "layout/number.h"

/** A weight's gradient is preferred as a product up to so many pixels (512 x 512 x 3 x 3 from 16
 * images of 2 x 2: 2.0 ms instead of 7.5 by oneDNN on one thread; from 4 x 4 they are even) and
 * from so many elements of the weight on (below, either way takes microseconds). */
#define FEW_PIXELS 128
#define LARGE_WEIGHT 65536

/** Pixels of one block: enough rows for a product, few enough for the patches to stay in cache. */
#define LEAST_BLOCK 16
#define MOST_BLOCK 256
/** Elements of the patches a weight's gradient is made from at a time (no more than the image has:
 * workspace counts against the budget), and pixels at least. */
#define PATCHES (INT64_C(1) << 20)
#define LEAST_PATCHES 128

/** A job in this engine's words. */
typedef struct product {
    const cebus_conv_job *job;
    const cebus_conv_shape *s;
    cebus_dtype dtype;
    int64_t size;                /**< of an element */
    int64_t taps, length;        /**< of a patch: of all groups */
    int64_t in_group, out_group; /**< channels */
    int64_t pixels;              /**< of the output, of all images */
    int64_t block;               /**< pixels at a time */
    int64_t items, parts;        /**< what is shared out among the threads, and among how many */
    int64_t done;                /**< of a weight's gradient: pixels added so far */
    uint64_t patches, scratch;   /**< bytes of a block's patches and of a product's scratch */
} product;

/** Where tap `tap` of pixel `p` of the output lies in the image; -1 in the padding. */
static inline int64_t pixel_under(const cebus_conv_shape *s, int64_t p, int64_t tap)
{
    int64_t row = p / s->output[1], x = p % s->output[1];
    int64_t n = row / s->output[0], y = row % s->output[0];
    int64_t h = y * s->stride[0] - s->padding[0] + tap / s->kernel[1] * s->dilation[0];
    int64_t w = x * s->stride[1] - s->padding[1] + tap % s->kernel[1] * s->dilation[1];
    if (h < 0 || h >= s->image[0] || w < 0 || w >= s->image[1])
        return -1;
    return (n * s->image[0] + h) * s->image[1] + w;
}

#define REAL float
#define NAME(x) x##_f32
#include "eager/device/cpu/conv_product_typed.h"

#define REAL double
#define NAME(x) x##_f64
#include "eager/device/cpu/conv_product_typed.h"

static void *shifted(void *base, int64_t bytes)
{
    return base ? (char *)base + bytes : NULL;
}

/** The product for group g of `pixels` pixels from `pixel` on; of a weight's gradient for the
 * output channels [first, first + channels) of the group. */
static cebus_gemm group_product(const product *d, int64_t g, int64_t pixel, int64_t pixels)
{
    const cebus_conv_job *job = d->job;
    int64_t patch = d->in_group * d->taps;
    return (cebus_gemm){
        .dtype = d->dtype,
        .m = pixels,
        .n = patch,
        .k = d->out_group,
        .lda = d->s->output_channels,
        .ldb = patch,
        .ldc = d->length,
        .alpha = 1,
        .a =
            shifted(job->output.data, (pixel * d->s->output_channels + g * d->out_group) * d->size),
        .b = shifted(job->weight.data, g * d->out_group * patch * d->size),
        .c = NULL,
    };
}

static cebus_gemm output_product(const product *d, int64_t g, int64_t pixel, int64_t pixels)
{
    cebus_gemm p = group_product(d, g, pixel, pixels);
    p.trans_b = true;
    p.accumulate = true;
    p.n = d->out_group;
    p.k = d->in_group * d->taps;
    p.lda = d->length;
    p.ldc = d->s->output_channels;
    p.c = (void *)p.a;
    p.a = NULL;
    return p;
}

/** Rows [first, first + rows) of group g's weight from the patches of `pixels` pixels. */
static cebus_gemm weight_product(const product *d, int64_t g, int64_t first, int64_t rows,
                                 int64_t pixels)
{
    cebus_gemm p = group_product(d, g, d->done, pixels);
    p.trans_a = true;
    p.accumulate = d->done > 0;
    p.m = rows;
    p.k = pixels;
    p.ldb = d->length;
    p.ldc = p.n;
    p.a = shifted((void *)p.a, first * d->size);
    p.c = shifted((void *)p.b, first * p.n * d->size);
    p.b = NULL;
    return p;
}

static product product_init(const cebus_conv_job *job)
{
    const cebus_conv_shape *s = &job->shape;
    product d = {
        .job = job,
        .s = s,
        .dtype = job->weight.view->dtype,
        .size = (int64_t)cebus_dtype_size(job->weight.view->dtype),
        .taps = s->kernel[0] * s->kernel[1],
        .in_group = s->image_channels / s->groups,
        .out_group = s->output_channels / s->groups,
        .pixels = s->batch * s->output[0] * s->output[1],
    };
    int64_t threads = job->launch->threads;
    d.length = s->image_channels * d.taps;
    cebus_gemm largest;
    if (job->way == CEBUS_CONV_WEIGHT) {
        int64_t image = s->batch * s->image_channels * s->image[0] * s->image[1];
        d.block = cebus_min_i64(
            cebus_max_i64(cebus_min_i64(PATCHES, image) / d.length, LEAST_PATCHES), d.pixels);
        d.items = s->output_channels;
        largest = weight_product(&d, 0, 0, d.out_group, d.block);
    } else if (job->way == CEBUS_CONV_OUTPUT) {
        d.block = cebus_min_i64(cebus_max_i64(cebus_ceil_div(d.pixels, threads), LEAST_BLOCK),
                                MOST_BLOCK);
        d.items = cebus_ceil_div(d.pixels, d.block);
        largest = output_product(&d, 0, 0, d.block);
    } else {
        d.block = cebus_min_i64(d.pixels / s->batch, MOST_BLOCK);
        d.items = s->batch;
        largest = group_product(&d, 0, 0, d.block);
    }
    d.parts = cebus_min_i64(d.items, threads);
    d.patches = cebus_pack_align((uint64_t)(d.block * d.length * d.size));
    d.scratch = cebus_pack_align(cebus_gemm_scratch(&largest));
    return d;
}

bool cebus_conv_product_is_best(const cebus_conv_job *job)
{
    const cebus_conv_shape *s = &job->shape;
    int64_t weight = s->output_channels * s->image_channels * s->kernel[0] * s->kernel[1];
    return job->way == CEBUS_CONV_WEIGHT && s->groups == 1 && weight >= LARGE_WEIGHT &&
           s->batch * s->output[0] * s->output[1] <= FEW_PIXELS;
}

uint64_t cebus_conv_product_scratch(const cebus_conv_job *job)
{
    product d = product_init(job);
    uint64_t blocks = job->way == CEBUS_CONV_WEIGHT ? 1 : (uint64_t)d.parts;
    return blocks * d.patches + (uint64_t)d.parts * d.scratch;
}

/** A part's own patches, and its products' scratch behind all patches. */
static char *part_patches(const product *d, int64_t part)
{
    return (char *)d->job->scratch + (uint64_t)part * d->patches;
}

static void *part_scratch(const product *d, int64_t part)
{
    uint64_t blocks = d->job->way == CEBUS_CONV_WEIGHT ? 1 : (uint64_t)d->parts;
    return (char *)d->job->scratch + blocks * d->patches + (uint64_t)part * d->scratch;
}

static void gather(const product *d, int64_t p, void *patch)
{
    (d->dtype == CEBUS_F64 ? gather_f64 : gather_f32)(d, p, patch);
}

static void fill(const product *d, void *pixels, int64_t n, int64_t channels)
{
    (d->dtype == CEBUS_F64 ? fill_f64 : fill_f32)(d, pixels, n, channels);
}

/** One block of pixels of the output. */
static void output_block(const product *d, int64_t block, int64_t part)
{
    int64_t first = block * d->block, n = cebus_min_i64(d->block, d->pixels - first);
    int64_t channels = d->s->output_channels;
    char *patches = part_patches(d, part);
    for (int64_t p = 0; p < n; p++)
        gather(d, first + p, patches + p * d->length * d->size);
    fill(d, shifted(d->job->output.data, first * channels * d->size), n, channels);
    for (int64_t g = 0; g < d->s->groups; g++) {
        cebus_gemm gemm = output_product(d, g, first, n);
        gemm.a = patches + g * d->in_group * d->taps * d->size;
        cebus_gemm_run(&gemm, part_scratch(d, part));
    }
}

/** One image as the sum of its patches. */
static void image_whole(const product *d, int64_t image, int64_t part)
{
    int64_t pixels = d->pixels / d->s->batch, area = d->s->image[0] * d->s->image[1];
    int64_t channels = d->s->image_channels;
    char *patches = part_patches(d, part);
    fill(d, shifted(d->job->image.data, image * area * channels * d->size), area, channels);
    for (int64_t done = 0, n; done < pixels; done += n) {
        int64_t first = image * pixels + done;
        n = cebus_min_i64(d->block, pixels - done);
        for (int64_t g = 0; g < d->s->groups; g++) {
            cebus_gemm gemm = group_product(d, g, first, n);
            gemm.c = patches + g * d->in_group * d->taps * d->size;
            cebus_gemm_run(&gemm, part_scratch(d, part));
        }
        for (int64_t p = 0; p < n; p++)
            (d->dtype == CEBUS_F64 ? scatter_f64 : scatter_f32)(d, first + p,
                                                                patches + p * d->length * d->size);
    }
}

/** Adds the block's patches to the rows of the weight that belong to `part`. */
static void weight_rows(const product *d, int64_t part)
{
    int64_t n = cebus_min_i64(d->block, d->pixels - d->done);
    int64_t row = d->items * part / d->parts, end = d->items * (part + 1) / d->parts;
    for (int64_t rows; row < end; row += rows) {
        int64_t g = row / d->out_group, first = row % d->out_group;
        rows = cebus_min_i64(d->out_group - first, end - row);
        cebus_gemm gemm = weight_product(d, g, first, rows, n);
        gemm.b = part_patches(d, 0) + g * d->in_group * d->taps * d->size;
        cebus_gemm_run(&gemm, part_scratch(d, part));
    }
}

static void run_parts(void *context, int64_t begin, int64_t end)
{
    const product *d = context;
    for (int64_t part = begin; part < end; part++) {
        if (d->job->way == CEBUS_CONV_WEIGHT) {
            weight_rows(d, part);
            continue;
        }
        int64_t stop = d->items * (part + 1) / d->parts;
        for (int64_t item = d->items * part / d->parts; item < stop; item++)
            (d->job->way == CEBUS_CONV_OUTPUT ? output_block : image_whole)(d, item, part);
    }
}

static void gather_block(void *context, int64_t begin, int64_t end)
{
    const product *d = context;
    for (int64_t p = begin; p < end; p++)
        gather(d, d->done + p, part_patches(d, 0) + p * d->length * d->size);
}

void cebus_conv_product_run(const cebus_conv_job *job)
{
    product d = product_init(job);
    if (job->way != CEBUS_CONV_WEIGHT) {
        cebus_parallel_for((int)d.parts, d.parts, 0, run_parts, &d);
        return;
    }
    for (; d.done < d.pixels; d.done += d.block) {
        int64_t n = cebus_min_i64(d.block, d.pixels - d.done);
        cebus_parallel_for(job->launch->threads, n, CEBUS_GRAIN / d.length, gather_block, &d);
        cebus_parallel_for((int)d.parts, d.parts, 0, run_parts, &d);
    }
}
