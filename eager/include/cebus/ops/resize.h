/**
 * @file resize.h
 * Images made larger or smaller, with the semantics of PyTorch's interpolate.
 *
 * Images are [N, C, H, W], any float type, any memory order; results lie channels-last, as those
 * of the convolutions.
 */
#ifndef CEBUS_OPS_RESIZE_H
#define CEBUS_OPS_RESIZE_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** How a pixel of the result is made. */
typedef enum cebus_interpolate_mode {
    CEBUS_INTERPOLATE_NEAREST,  /**< the pixel at floor(i H / OH) */
    CEBUS_INTERPOLATE_BILINEAR, /**< weighted mean of the four pixels around */
} cebus_interpolate_mode;

/** Either `size` or `scale` must be given, for both {H, W}; the other stays zero. */
typedef struct cebus_interpolate_options {
    int64_t size[2]; /**< of the result */
    double scale[2]; /**< the result is floor(H scale) high, and pixels lie 1 / scale apart */
    cebus_interpolate_mode mode; /**< default: nearest */
    bool align_corners; /**< bilinear only: the corner pixels' centres stay in the corners */
} cebus_interpolate_options;

/**
 * x [N, C, H, W] resized to [N, C, OH, OW]. Has a gradient, which saves nothing.
 * Errors: CEBUS_INVALID_ARGUMENT for NULL, neither or both of size and scale, or an option out of
 * range; CEBUS_SHAPE_MISMATCH for an image that is not 4-D or would vanish; CEBUS_DTYPE_MISMATCH
 * for another type.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_interpolate(cebus_runtime *rt, cebus_tensor *x,
                                                          const cebus_interpolate_options *options,
                                                          cebus_tensor **out);

CEBUS_END_DECLS

#endif
