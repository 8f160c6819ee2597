#include "eager/device/cuda/conv_plan.h"

#define LEAST_BOUND (UINT64_C(32) << 20)

enum {
    IMAGE = 1,
    WEIGHT,
    OUTPUT,
};

uint64_t cebus_cuda_conv_bound(const cebus_cuda_conv_key *key)
{
    const cebus_conv_shape *s = &key->shape;
    const int64_t image = s->batch * s->image_channels * s->image[0] * s->image[1];
    const int64_t output = s->batch * s->output_channels * s->output[0] * s->output[1];
    const int64_t weight =
        s->output_channels * (s->image_channels / s->groups) * s->kernel[0] * s->kernel[1];
    const uint64_t bytes =
        (uint64_t)(image + output + weight) * cebus_dtype_size((cebus_dtype)key->dtype);
    return bytes > LEAST_BOUND ? bytes : LEAST_BOUND;
}

/* ---- descriptors ------------------------------------------------------------------------- */

/* `size` is the part of `whole` that is described. */
static cudnnStatus_t activation_create(const cebus_cuda_dnn_tensor *like, int64_t channels,
                                       const int64_t *size, const int64_t *whole,
                                       cudnnBackendDescriptor_t *out)
{
    cebus_cuda_dnn_tensor t = *like;
    t.shape[1] = channels;
    t.shape[2] = size[0];
    t.shape[3] = size[1];
    t.strides[0] = whole[0] * whole[1] * channels;
    t.strides[1] = 1;
    t.strides[2] = whole[1] * channels;
    t.strides[3] = channels;
    return cebus_cuda_dnn_tensor_create(&t, out);
}

static cudnnStatus_t weight_create(const cebus_conv_shape *s, cudnnDataType_t type,
                                   cudnnBackendDescriptor_t *out)
{
    cebus_cuda_dnn_tensor t = {
        .uid = WEIGHT,
        .type = type,
        .shape = {s->output_channels, s->image_channels / s->groups, s->kernel[0], s->kernel[1]},
    };
    int64_t stride = 1;
    for (int i = 3; i >= 0; i--) {
        t.strides[i] = stride;
        stride *= t.shape[i];
    }
    return cebus_cuda_dnn_tensor_create(&t, out);
}

static cudnnStatus_t geometry_create(const cebus_conv_shape *s, cudnnDataType_t type,
                                     const cebus_cuda_conv_frame *frame,
                                     cudnnBackendDescriptor_t *out)
{
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const cudnnDataType_t compute = type == CUDNN_DATA_DOUBLE ? type : CUDNN_DATA_FLOAT;
    const int64_t dimensions = 2;
    const cebus_cuda_dnn_attribute attributes[] = {
        {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute},
        {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
        {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dimensions},
        {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, s->dilation},
        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, s->stride},
        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, s->padding},
        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, frame->after},
    };
    return cebus_cuda_dnn_create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                                 sizeof attributes / sizeof *attributes, attributes, out);
}

/* Names of an operation's attributes, in the order geometry, image, weight, output, 1, 0. */
typedef struct operation_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t geometry, image, weight, output, alpha, beta;
} operation_names;

static const operation_names names[] = {
    [CEBUS_CUDA_CONV_OUTPUT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [CEBUS_CUDA_CONV_IMAGE] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [CEBUS_CUDA_CONV_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/* Its parts; they are needed until a plan is made. */
typedef struct operation {
    cudnnBackendDescriptor_t image, weight, output, geometry, all;
} operation;

static void operation_clear(operation *op)
{
    cebus_cuda_dnn_destroy(op->all);
    cebus_cuda_dnn_destroy(op->geometry);
    cebus_cuda_dnn_destroy(op->output);
    cebus_cuda_dnn_destroy(op->weight);
    cebus_cuda_dnn_destroy(op->image);
}

static cudnnStatus_t parts_create(const cebus_conv_shape *s, cudnnDataType_t type, operation *op)
{
    const cebus_cuda_conv_frame frame = cebus_cuda_conv_frame_of(s);
    const cebus_cuda_dnn_tensor image = {.uid = IMAGE, .type = type, .shape[0] = s->batch};
    const cebus_cuda_dnn_tensor output = {.uid = OUTPUT, .type = type, .shape[0] = s->batch};
    cudnnStatus_t status =
        activation_create(&image, s->image_channels, frame.size, s->image, &op->image);
    if (status == CUDNN_STATUS_SUCCESS)
        status = activation_create(&output, s->output_channels, s->output, s->output, &op->output);
    if (status == CUDNN_STATUS_SUCCESS)
        status = weight_create(s, type, &op->weight);
    if (status == CUDNN_STATUS_SUCCESS)
        status = geometry_create(s, type, &frame, &op->geometry);
    return status;
}

static cudnnStatus_t operation_create(const cebus_cuda_conv_key *key, operation *op)
{
    static const float one = 1, zero = 0;
    static const double wide_one = 1, wide_zero = 0;
    const operation_names *name = &names[key->way];
    cudnnDataType_t type;
    *op = (operation){NULL, NULL, NULL, NULL, NULL};
    if (!cebus_cuda_dnn_type((cebus_dtype)key->dtype, &type))
        return CUDNN_STATUS_NOT_SUPPORTED;
    const bool wide = type == CUDNN_DATA_DOUBLE;
    const cudnnBackendAttributeType_t scalar = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
    cudnnStatus_t status = parts_create(&key->shape, type, op);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    const cebus_cuda_dnn_attribute attributes[] = {
        {name->geometry, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op->geometry},
        {name->image, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op->image},
        {name->weight, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op->weight},
        {name->output, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op->output},
        {name->alpha, scalar, 1, wide ? (const void *)&wide_one : (const void *)&one},
        {name->beta, scalar, 1, wide ? (const void *)&wide_zero : (const void *)&zero},
    };
    return cebus_cuda_dnn_create(name->type, sizeof attributes / sizeof *attributes, attributes,
                                 &op->all);
}

/* ---- plans ------------------------------------------------------------------------------- */

cudnnStatus_t cebus_cuda_conv_plan_create(const cebus_cuda_dnn_target *target,
                                          const cebus_cuda_conv_key *key, cebus_cuda_dnn_plan *out)
{
    const bool narrow = key->dtype == CEBUS_F16 || key->dtype == CEBUS_BF16;
    const cebus_cuda_dnn_rules rules = {.reduced = narrow || key->tf32,
                                        .bound = cebus_cuda_conv_bound(key)};
    operation op;
    cudnnStatus_t status = operation_create(key, &op);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cebus_cuda_dnn_plan_create(target, op.all, &rules, out);
    operation_clear(&op);
    return status;
}

cudnnStatus_t cebus_cuda_conv_plan_run(cudnnHandle_t handle, const cebus_cuda_dnn_plan *plan,
                                       const cebus_cuda_conv_data *data)
{
    static const int64_t uids[] = {IMAGE, WEIGHT, OUTPUT};
    void *const places[] = {data->image, data->weight, data->output};
    return cebus_cuda_dnn_plan_run(handle, plan, 3, uids, places, data->workspace);
}
