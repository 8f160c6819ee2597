/**
 * conv.h: the inside of the convolutions: one geometry, three ways (eager/ops/conv.h), and the
 * engine that does them. Image and output are dense and channels-last, the weight row-major
 * [O, I / groups, KH, KW], all aligned to CEBUS_CUDA_CONV_ALIGNMENT.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CONV_H
#define CEBUS_EAGER_DEVICE_CUDA_CONV_H

#include "eager/device/cuda/cuda.h"
#include "eager/ops/conv.h"

#define CEBUS_CUDA_CONV_ALIGNMENT 16

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

/** The operands' addresses. */
typedef struct cebus_cuda_conv_data {
    void *image, *weight, *output, *workspace;
} cebus_cuda_conv_data;

/** @name The engine: cuDNN (conv_engine.c) */
/** @{ */
/** Workspace that a run takes. CEBUS_UNSUPPORTED, naming the sizes, when nothing will do. */
cebus_status cebus_cuda_conv_query(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                                   uint64_t *out_workspace);
/** Enqueues it on the compute stream. */
cebus_status cebus_cuda_conv_run(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                                 const cebus_cuda_conv_data *data);
/** @} */

#endif
