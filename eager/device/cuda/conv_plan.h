/**
 * conv_plan.h: convolutions as cuDNN plans. One geometry, three ways (eager/ops/conv.h). Image and
 * output are dense and channels-last, the weight row-major [O, I / groups, KH, KW], all aligned to
 * CEBUS_CUDA_DNN_ALIGNMENT.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CONV_PLAN_H
#define CEBUS_EAGER_DEVICE_CUDA_CONV_PLAN_H

#include "eager/device/cuda/dnn.h"
#include "eager/ops/conv.h"

/** What is computed from the other two. */
typedef enum cebus_cuda_conv_way {
    CEBUS_CUDA_CONV_OUTPUT,
    CEBUS_CUDA_CONV_IMAGE,
    CEBUS_CUDA_CONV_WEIGHT,
} cebus_cuda_conv_way;

/** The key of a plan: all fields int64. */
typedef struct cebus_cuda_conv_key {
    cebus_conv_shape shape;
    int64_t way, dtype;
    int64_t tf32; /**< f32 may be rounded to tf32 */
} cebus_cuda_conv_key;

/** What cuDNN is told of an image, height and width. */
typedef struct cebus_cuda_conv_frame {
    int64_t size[2];  /**< the part of the image that is described, from its beginning */
    int64_t after[2]; /**< padding after it; before it is the convolution's own */
} cebus_cuda_conv_frame;

/**
 * The whole image, padded alike on both sides, where that gives as many outputs as there are. It
 * does not where a transposed convolution has an output_padding of a stride or more; then the part
 * that windows reach, in the strides of the whole: the rest is never read, and as a result must be
 * zero before. A size may be <= 0: no window reaches the image.
 */
cebus_cuda_conv_frame cebus_cuda_conv_frame_of(const cebus_conv_shape *shape);

/** Workspace that a plan may take: as much as its operands, and at least 32 MiB. */
uint64_t cebus_cuda_conv_bound(const cebus_cuda_conv_key *key);

cudnnStatus_t cebus_cuda_conv_plan_create(const cebus_cuda_dnn_target *target,
                                          const cebus_cuda_conv_key *key, cebus_cuda_dnn_plan *out);

/** The operands' addresses. */
typedef struct cebus_cuda_conv_data {
    void *image, *weight, *output, *workspace;
} cebus_cuda_conv_data;
cudnnStatus_t cebus_cuda_conv_plan_run(cudnnHandle_t handle, const cebus_cuda_dnn_plan *plan,
                                       const cebus_cuda_conv_data *data);

#endif
