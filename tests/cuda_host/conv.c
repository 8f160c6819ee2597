/* conv.h by plain loops: of the image only what the frame describes is read or written. */
#include <stdlib.h>

#include "eager/device/cuda/conv.h"
#include "numbers.h"

#define WORKSPACE 512

/* One call's operands, by their coordinates. */
typedef struct convolution {
    const cebus_conv_shape *s;
    const cebus_cuda_conv_data *data;
    cebus_cuda_conv_frame frame;
    int64_t dtype;
    double *sums; /* the result, not yet rounded */
} convolution;

static double load(const convolution *c, const void *data, int64_t at)
{
    return number_load(data, c->dtype, at);
}

/* The places that one multiplication joins. */
typedef struct triple {
    int64_t image, weight, output;
} triple;

/* False in the padding. `at`: batch, output channel, its rows and columns, channel in the group,
 * kernel rows and columns. */
static bool join(const convolution *c, const int64_t *at, triple *out)
{
    const cebus_conv_shape *s = c->s;
    const int64_t channels = s->image_channels / s->groups,
                  outputs = s->output_channels / s->groups;
    int64_t x[2];
    for (int i = 0; i < 2; i++) {
        x[i] = at[2 + i] * s->stride[i] + at[5 + i] * s->dilation[i] - s->padding[i];
        if (x[i] < 0 || x[i] >= c->frame.size[i])
            return false;
    }
    const int64_t channel = at[1] / outputs * channels + at[4];
    out->image = ((at[0] * s->image[0] + x[0]) * s->image[1] + x[1]) * s->image_channels + channel;
    out->output =
        ((at[0] * s->output[0] + at[2]) * s->output[1] + at[3]) * s->output_channels + at[1];
    out->weight = ((at[1] * channels + at[4]) * s->kernel[0] + at[5]) * s->kernel[1] + at[6];
    return true;
}

static void clear_result(const convolution *c, cebus_cuda_conv_way way)
{
    const cebus_conv_shape *s = c->s;
    const size_t size = cebus_dtype_size((cebus_dtype)c->dtype);
    const int64_t weight =
        s->output_channels * (s->image_channels / s->groups) * s->kernel[0] * s->kernel[1];
    if (way == CEBUS_CUDA_CONV_WEIGHT)
        memset(c->data->weight, 0, (size_t)weight * size);
    if (way == CEBUS_CUDA_CONV_OUTPUT)
        memset(c->data->output, 0,
               (size_t)(s->batch * s->output_channels * s->output[0] * s->output[1]) * size);
    if (way != CEBUS_CUDA_CONV_IMAGE)
        return;
    for (int64_t i = 0; i < s->batch * c->frame.size[0]; i++) {
        const int64_t row = i / c->frame.size[0] * s->image[0] + i % c->frame.size[0];
        memset((char *)c->data->image + (size_t)(row * s->image[1] * s->image_channels) * size, 0,
               (size_t)(c->frame.size[1] * s->image_channels) * size);
    }
}

static void multiply(const convolution *c, const triple *t, cebus_cuda_conv_way way)
{
    const cebus_cuda_conv_data *d = c->data;
    if (way == CEBUS_CUDA_CONV_OUTPUT)
        c->sums[t->output] += load(c, d->image, t->image) * load(c, d->weight, t->weight);
    if (way == CEBUS_CUDA_CONV_IMAGE)
        c->sums[t->image] += load(c, d->output, t->output) * load(c, d->weight, t->weight);
    if (way == CEBUS_CUDA_CONV_WEIGHT)
        c->sums[t->weight] += load(c, d->image, t->image) * load(c, d->output, t->output);
}

/* Elements of the result. */
static int64_t result_numel(const cebus_conv_shape *s, cebus_cuda_conv_way way)
{
    if (way == CEBUS_CUDA_CONV_OUTPUT)
        return s->batch * s->output_channels * s->output[0] * s->output[1];
    if (way == CEBUS_CUDA_CONV_IMAGE)
        return s->batch * s->image_channels * s->image[0] * s->image[1];
    return s->output_channels * (s->image_channels / s->groups) * s->kernel[0] * s->kernel[1];
}

/* What is zero was cleared. */
static void store_result(const convolution *c, cebus_cuda_conv_way way)
{
    const cebus_cuda_conv_data *d = c->data;
    void *result = way == CEBUS_CUDA_CONV_OUTPUT  ? d->output
                   : way == CEBUS_CUDA_CONV_IMAGE ? d->image
                                                  : d->weight;
    for (int64_t i = 0; i < result_numel(c->s, way); i++) {
        if (c->sums[i] != 0)
            number_store(result, c->dtype, i, c->sums[i]);
    }
}

cebus_status cebus_cuda_conv_query(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                                   uint64_t *out_workspace)
{
    const cebus_cuda_conv_frame frame = cebus_cuda_conv_frame_of(&key->shape);
    (void)cuda;
    *out_workspace = 0;
    for (int i = 0; i < 2; i++) {
        if (frame.size[i] < 1 || frame.size[i] > key->shape.image[i] || frame.after[i] < 0)
            return cebus_fail(CEBUS_UNSUPPORTED, op, "not an image: %lld of %lld, %lld after",
                              (long long)frame.size[i], (long long)key->shape.image[i],
                              (long long)frame.after[i]);
    }
    *out_workspace = WORKSPACE;
    return CEBUS_OK;
}

cebus_status cebus_cuda_conv_run(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                                 const cebus_cuda_conv_data *data)
{
    const cebus_conv_shape *s = &key->shape;
    const cebus_cuda_conv_way way = (cebus_cuda_conv_way)key->way;
    convolution c = {s, data, cebus_cuda_conv_frame_of(s), key->dtype, NULL};
    const int64_t length[] = {
        s->batch,     s->output_channels, s->output[0], s->output[1], s->image_channels / s->groups,
        s->kernel[0], s->kernel[1]};
    uint64_t bytes;
    int64_t count = 1;
    cebus_status status = cebus_cuda_conv_query(cuda, op, key, &bytes);
    if (status != CEBUS_OK)
        return status;
    c.sums = calloc((size_t)result_numel(s, way) + 1, sizeof *c.sums);
    if (c.sums == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory");
    memset(data->workspace, 0x5A, bytes);
    clear_result(&c, way);
    for (int i = 0; i < 7; i++)
        count *= length[i];
    for (int64_t i = 0; i < count; i++) {
        int64_t at[7], rest = i;
        triple t;
        for (int d = 6; d >= 0; d--) {
            at[d] = rest % length[d];
            rest /= length[d];
        }
        if (join(&c, at, &t))
            multiply(&c, &t, way);
    }
    store_result(&c, way);
    free(c.sums);
    return CEBUS_OK;
}
