/**
 * The weight's gradient from few pixels, as one matrix product: with the image's patches as rows
 * [pixels, I KH KW] (im2col) it is outputT x patches, which lies in the weight's own plain order.
 * Where the weight is large and the image small (the last stage of a ResNet) a direct kernel
 * spends its time loading and storing the weight once per image and reordering it at the end;
 * here each element is written once: 512 x 512 x 3 x 3 from 16 images of 2 x 2 takes 1.1 ms instead
 * of 3.3 on two threads with AVX-512; from 16 of 4 x 4 they are even.
 */
#include "eager/device/cpu/conv.h"
#include "eager/device/cpu/gemm.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"

/** Most pixels (batch x height x width of the output) this is used for. */
#define MOST_PIXELS 128

/** Least elements of the weight: below, either way takes microseconds. */
#define LEAST_WEIGHT 65536

static int64_t pixel_count(const cebus_conv_shape *s)
{
    return s->batch * s->output[0] * s->output[1];
}

static int64_t patch_length(const cebus_conv_shape *s)
{
    return s->image_channels * s->kernel[0] * s->kernel[1];
}

bool cebus_conv_product_fits(const cebus_conv_job *job)
{
    const cebus_conv_shape *s = &job->shape;
    return job->way == CEBUS_CONV_WEIGHT && s->groups == 1 && pixel_count(s) <= MOST_PIXELS &&
           s->output_channels * patch_length(s) >= LEAST_WEIGHT;
}

/** The rows of the weight are cut into at most `threads` parts, one product each. */
static int64_t part_rows(const cebus_conv_job *job)
{
    return (job->shape.output_channels + job->launch->threads - 1) / job->launch->threads;
}

/** The product of the rows [begin, begin + n) of the weight. */
static cebus_gemm part_product(const cebus_conv_job *job, int64_t begin, int64_t n)
{
    const cebus_conv_shape *s = &job->shape;
    int64_t length = patch_length(s);
    return (cebus_gemm){
        .dtype = CEBUS_F32,
        .trans_a = true,
        .m = n,
        .n = length,
        .k = pixel_count(s),
        .lda = s->output_channels,
        .ldb = length,
        .ldc = length,
        .alpha = 1,
        .a = job->output.data ? (const float *)job->output.data + begin : NULL,
        .b = job->scratch,
        .c = job->weight.data ? (float *)job->weight.data + begin * length : NULL,
    };
}

static uint64_t patches_bytes(const cebus_conv_shape *s)
{
    return cebus_pack_align((uint64_t)(pixel_count(s) * patch_length(s)) * sizeof(float));
}

static uint64_t product_scratch(const cebus_conv_job *job)
{
    cebus_gemm product = part_product(job, 0, part_rows(job));
    return cebus_pack_align(cebus_gemm_scratch(&product));
}

uint64_t cebus_conv_product_scratch(const cebus_conv_job *job)
{
    return patches_bytes(&job->shape) + product_scratch(job) * (uint64_t)job->launch->threads;
}

/** One tap of one pixel: all channels of the image's pixel under it, or zeros outside. */
static void gather_tap(const cebus_conv_job *job, const float *pixel, int64_t tap, float *patch)
{
    const cebus_conv_shape *s = &job->shape;
    int64_t taps = s->kernel[0] * s->kernel[1];
    for (int64_t c = 0; c < s->image_channels; c++)
        patch[c * taps + tap] = pixel ? pixel[c] : 0;
}

static void gather_patches(void *context, int64_t begin, int64_t end)
{
    const cebus_conv_job *job = context;
    const cebus_conv_shape *s = &job->shape;
    const float *image = job->image.data;
    for (int64_t p = begin; p < end; p++) {
        int64_t x = p % s->output[1], y = p / s->output[1] % s->output[0];
        int64_t n = p / s->output[1] / s->output[0];
        float *patch = (float *)job->scratch + p * patch_length(s);
        for (int64_t tap = 0; tap < s->kernel[0] * s->kernel[1]; tap++) {
            int64_t h = y * s->stride[0] - s->padding[0] + tap / s->kernel[1] * s->dilation[0];
            int64_t w = x * s->stride[1] - s->padding[1] + tap % s->kernel[1] * s->dilation[1];
            bool inside = h >= 0 && h < s->image[0] && w >= 0 && w < s->image[1];
            int64_t at = ((n * s->image[0] + h) * s->image[1] + w) * s->image_channels;
            gather_tap(job, inside ? image + at : NULL, tap, patch);
        }
    }
}

static void multiply_parts(void *context, int64_t begin, int64_t end)
{
    const cebus_conv_job *job = context;
    char *scratch = (char *)job->scratch + patches_bytes(&job->shape);
    int64_t rows = part_rows(job);
    for (int64_t part = begin; part < end; part++) {
        int64_t first = part * rows;
        int64_t left = job->shape.output_channels - first;
        if (left <= 0)
            break;
        cebus_gemm product = part_product(job, first, left < rows ? left : rows);
        cebus_gemm_run(&product, scratch + (uint64_t)part * product_scratch(job));
    }
}

void cebus_conv_product_run(const cebus_conv_job *job)
{
    int threads = job->launch->threads;
    int64_t grain = CEBUS_GRAIN / patch_length(&job->shape);
    cebus_parallel_for(threads, pixel_count(&job->shape), grain, gather_patches, (void *)job);
    cebus_parallel_for(threads, threads, 0, multiply_parts, (void *)job);
}
