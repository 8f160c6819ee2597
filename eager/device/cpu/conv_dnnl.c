/**
 * Convolutions by oneDNN. Activations are channels-last (nhwc), which its JIT kernels take as they
 * are; weights arrive plain and are reordered into the primitive's blocked layout for each call,
 * in the workspace. (A blocked copy kept beside the parameter would be memory outside the budget;
 * the reorder costs 5 to 35% of the convolution, most where the image is smallest.)
 */
#include "eager/device/cpu/conv.h"

#ifdef CEBUS_HAVE_ONEDNN

#include "eager/device/cpu/parallel.h"

/** Below this width of the output the BRGEMM convolution, which multiplies one row of the output at
 * a time, loses to the direct one (measured: 8 pixels 0.59 : 0.67 ms, 4: 0.79 : 0.68, 2: 2.4 :
 * 0.85). */
#define BRGEMM_LEAST_WIDTH 8

typedef struct conv_key {
    cebus_conv_shape shape;
    int64_t way, bias;
} conv_key;

/** Layouts and geometry in oneDNN's words. */
typedef struct conv_geometry {
    dnnl_memory_desc_t image, output, bias;
    dnnl_memory_desc_t weight, any_weight; /**< as it lies; as the primitive likes it */
    dnnl_dims_t stride, dilation, before, after;
} conv_geometry;

static dnnl_status_t describe_activation(const cebus_conv_shape *s, int64_t channels,
                                         const int64_t *size, dnnl_memory_desc_t *out)
{
    dnnl_dims_t dims = {s->batch, channels, size[0], size[1]};
    return dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32, dnnl_nhwc);
}

static dnnl_status_t describe_weight(const cebus_conv_shape *s, bool any, dnnl_memory_desc_t *out)
{
    int64_t o = s->output_channels, i = s->image_channels / s->groups;
    if (s->groups == 1) {
        dnnl_dims_t dims = {o, i, s->kernel[0], s->kernel[1]};
        return dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32,
                                            any ? dnnl_format_tag_any : dnnl_oihw);
    }
    dnnl_dims_t dims = {s->groups, o / s->groups, i, s->kernel[0], s->kernel[1]};
    return dnnl_memory_desc_init_by_tag(out, 5, dims, dnnl_f32,
                                        any ? dnnl_format_tag_any : dnnl_goihw);
}

static dnnl_status_t describe(const cebus_conv_shape *s, conv_geometry *out)
{
    *out = (conv_geometry){0};
    dnnl_dims_t channels = {s->output_channels};
    dnnl_status_t status = describe_activation(s, s->image_channels, s->image, &out->image);
    if (status == dnnl_success)
        status = describe_activation(s, s->output_channels, s->output, &out->output);
    if (status == dnnl_success)
        status = describe_weight(s, false, &out->weight);
    if (status == dnnl_success)
        status = describe_weight(s, true, &out->any_weight);
    if (status == dnnl_success)
        status = dnnl_memory_desc_init_by_tag(&out->bias, 1, channels, dnnl_f32, dnnl_a);
    for (int i = 0; i < 2; i++) {
        out->stride[i] = s->stride[i];
        out->dilation[i] = s->dilation[i] - 1;
        out->before[i] = s->padding[i];
        /* What the last window reaches beyond the image; negative when it stays short of the edge.
         */
        out->after[i] = (s->output[i] - 1) * s->stride[i] + s->dilation[i] * (s->kernel[i] - 1) +
                        1 - s->image[i] - s->padding[i];
    }
    return status;
}

static dnnl_status_t describe_forward(const conv_geometry *g, bool bias,
                                      dnnl_convolution_desc_t *out)
{
    return dnnl_dilated_convolution_forward_desc_init(
        out, dnnl_forward_training, dnnl_convolution_direct, &g->image, &g->any_weight,
        bias ? &g->bias : NULL, &g->output, g->stride, g->dilation, g->before, g->after);
}

/**
 * Beside what is slow, what is wrong: before a strided 1x1 convolution oneDNN 2.6 gathers the
 * pixels it needs, and with AVX2 and few channels its gradient of the weights reads beyond what it
 * gathered (seen with up to 5 channels; avoided wherever a vector is not full).
 */
static const char *implementation_to_avoid(const conv_key *key)
{
    const cebus_conv_shape *s = &key->shape;
    bool strided = s->stride[0] > 1 || s->stride[1] > 1;
    if (key->way == CEBUS_CONV_WEIGHT && strided && s->image_channels % 16 != 0)
        return "1x1";
    return s->output[1] < BRGEMM_LEAST_WIDTH ? "brgconv" : NULL;
}

static dnnl_status_t make_output(dnnl_engine_t engine, const conv_key *key, const conv_geometry *g,
                                 cebus_dnnl_recipe *out)
{
    dnnl_convolution_desc_t desc;
    dnnl_status_t status = describe_forward(g, key->bias != 0, &desc);
    if (status != dnnl_success)
        return status;
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_SRC, false, g->image};
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_WEIGHTS, false, g->weight};
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_DST, true, g->output};
    if (key->bias)
        out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_BIAS, false, g->bias};
    return cebus_dnnl_select(engine, &desc, NULL, implementation_to_avoid(key), &out->primitive);
}

static dnnl_status_t make_image(const conv_geometry *g, dnnl_convolution_desc_t *desc,
                                cebus_dnnl_recipe *out)
{
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_DIFF_SRC, true, g->image};
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_WEIGHTS, false, g->weight};
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_DIFF_DST, false, g->output};
    return dnnl_dilated_convolution_backward_data_desc_init(
        desc, dnnl_convolution_direct, &g->image, &g->any_weight, &g->output, g->stride,
        g->dilation, g->before, g->after);
}

static dnnl_status_t make_weight(const conv_geometry *g, dnnl_convolution_desc_t *desc,
                                 cebus_dnnl_recipe *out)
{
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_SRC, false, g->image};
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_DIFF_WEIGHTS, true, g->weight};
    out->operand[out->n++] = (cebus_dnnl_operand){DNNL_ARG_DIFF_DST, false, g->output};
    return dnnl_dilated_convolution_backward_weights_desc_init(
        desc, dnnl_convolution_direct, &g->image, &g->any_weight, NULL, &g->output, g->stride,
        g->dilation, g->before, g->after);
}

/** Operands in the order image, weight, output, bias. */
static dnnl_status_t make(dnnl_engine_t engine, const void *bytes, cebus_dnnl_recipe *out)
{
    const conv_key *key = bytes;
    conv_geometry g;
    dnnl_status_t status = describe(&key->shape, &g);
    if (status != dnnl_success)
        return status;
    if (key->way == CEBUS_CONV_OUTPUT)
        return make_output(engine, key, &g, out);
    dnnl_convolution_desc_t desc, forward;
    status =
        key->way == CEBUS_CONV_IMAGE ? make_image(&g, &desc, out) : make_weight(&g, &desc, out);
    if (status == dnnl_success)
        status = describe_forward(&g, false, &forward);
    dnnl_primitive_desc_t hint = NULL;
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL);
    if (status == dnnl_success)
        status =
            cebus_dnnl_select(engine, &desc, hint, implementation_to_avoid(key), &out->primitive);
    dnnl_primitive_desc_destroy(hint);
    return status;
}

cebus_status cebus_conv_dnnl_find(const cebus_conv_job *job, const cebus_dnnl_plan **out)
{
    conv_key key = {
        .shape = job->shape,
        .way = job->way,
        .bias = job->way == CEBUS_CONV_OUTPUT && job->bias.view,
    };
    return cebus_dnnl_find(job->launch, make, &key, sizeof key, out);
}

/** The transposed convolution's bias, which oneDNN's backward convolution does not add. */
static void add_bias(void *context, int64_t begin, int64_t end)
{
    const cebus_conv_job *job = context;
    int64_t channels = job->shape.image_channels;
    const float *restrict bias = job->bias.data;
    float *restrict image = job->image.data;
    for (int64_t pixel = begin; pixel < end; pixel++)
        for (int64_t c = 0; c < channels; c++)
            image[pixel * channels + c] += bias[c];
}

cebus_status cebus_conv_dnnl_run(const cebus_conv_job *job, const cebus_dnnl_plan *plan)
{
    const cebus_conv_shape *s = &job->shape;
    void *data[] = {job->image.data, job->weight.data, job->output.data, job->bias.data};
    cebus_status status = cebus_dnnl_plan_run(job->launch, plan, data, job->scratch);
    if (status == CEBUS_OK && job->way == CEBUS_CONV_IMAGE && job->bias.view)
        cebus_parallel_for(job->launch->threads, s->batch * s->image[0] * s->image[1],
                           CEBUS_GRAIN / s->image_channels, add_bias, (void *)job);
    return status;
}

#else

cebus_status cebus_conv_dnnl_find(const cebus_conv_job *job, const cebus_dnnl_plan **out)
{
    (void)job;
    *out = NULL;
    return CEBUS_OK;
}

cebus_status cebus_conv_dnnl_run(const cebus_conv_job *job, const cebus_dnnl_plan *plan)
{
    (void)job;
    (void)plan;
    return CEBUS_UNSUPPORTED;
}

#endif
