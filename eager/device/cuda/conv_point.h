/**
 * conv_point.h: convolutions with windows of one pixel, which are products of matrices whose rows
 * are pixels: of the image [pixels, I], of the output [pixels, O], and the weight [O, I]. cuDNN has
 * no engine of its own for channels-last f32 and would copy both images first.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CONV_POINT_H
#define CEBUS_EAGER_DEVICE_CUDA_CONV_POINT_H

#include "eager/device/cuda/conv.h"
#include "eager/device/cuda/product.h"

typedef struct cebus_cuda_conv_point {
    cebus_cuda_product product;
    int64_t pixels;  /**< of the output, and of the image those that windows see */
    int64_t slices;  /**< that pixels are summed in, each on its own: of a weight */
    bool packs;      /**< windows see not all of the image: its pixels go through a dense matrix */
    void *packed;    /**< that matrix */
    void *parts;     /**< [slices, O, I], f32 or f64; unused for one slice */
    void *workspace; /**< of the library */
} cebus_cuda_conv_point;

/** Whether it is one: no padding, no groups. */
bool cebus_cuda_conv_is_point(const cebus_cuda_conv_key *key);

/** Plans it, its workspace taken from `scratch`. Nothing may be empty. */
cebus_status cebus_cuda_conv_point_plan(const cebus_launch *launch, const char *op,
                                        const cebus_cuda_conv_key *key, cebus_cuda_scratch *scratch,
                                        cebus_cuda_conv_point *out);

/** Enqueues it; data->workspace is not used. Pixels of a written image that no window reaches
 * become zero. */
cebus_status cebus_cuda_conv_point_run(const cebus_launch *launch, const char *op,
                                       const cebus_cuda_conv_key *key,
                                       const cebus_cuda_conv_point *point,
                                       const cebus_cuda_conv_data *data);

#endif
