/**
 * @file pool.h
 * Pooling of images, with PyTorch's semantics.
 *
 * Images are [N, C, H, W], any float type, any memory order; results lie channels-last, as those
 * of the convolutions.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL or an option out of range; CEBUS_SHAPE_MISMATCH for an
 * image that is not 4-D or too small for the window; CEBUS_DTYPE_MISMATCH for another type.
 */
#ifndef CEBUS_OPS_POOL_H
#define CEBUS_OPS_POOL_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** The window and its steps; pairs are {H, W}. Only `kernel` must be given. */
typedef struct cebus_pool_options {
    int64_t kernel[2];    /**< the window */
    int64_t stride[2];    /**< 0 means the kernel's length: windows that do not overlap */
    int64_t padding[2];   /**< around the image; at most half of the (dilated) kernel */
    int64_t dilation[2];  /**< of cebus_max_pool2d() only; 0 means 1 */
    bool ceil_mode;       /**< a last window that reaches beyond the padding counts too */
    bool exclude_padding; /**< of cebus_avg_pool2d(): average over pixels of the image alone */
} cebus_pool_options;

/**
 * The largest pixel of each window; NaN wins, padding never. The gradient goes to the one pixel
 * that was taken; it saves that pixel's place in the window, one byte an element (four where the
 * window has over 256 pixels), and not the image.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_max_pool2d(cebus_runtime *rt, cebus_tensor *x,
                                                         const cebus_pool_options *options,
                                                         cebus_tensor **out);

/** The mean of each window, padding counted as zeros unless excluded. The gradient saves nothing.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_avg_pool2d(cebus_runtime *rt, cebus_tensor *x,
                                                         const cebus_pool_options *options,
                                                         cebus_tensor **out);

/**
 * The mean of windows chosen such that the result is height x width: window i of n covers
 * [floor(i H / n), ceil((i + 1) H / n)). The gradient saves nothing.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_adaptive_avg_pool2d(cebus_runtime *rt,
                                                                  cebus_tensor *x, int64_t height,
                                                                  int64_t width,
                                                                  cebus_tensor **out);

CEBUS_END_DECLS

#endif
