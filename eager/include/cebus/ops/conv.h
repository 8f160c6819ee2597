/**
 * @file conv.h
 * Convolution over two dimensions and its transpose, with PyTorch's semantics.
 *
 * Images are [N, C, H, W], of any float type, in any memory order. Results lie channels-last (C
 * innermost), the order convolutions, pooling and normalization are fastest in: keep it between
 * layers. Parameters stay in their plain row-major order.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL or an option out of range; CEBUS_SHAPE_MISMATCH when
 * image, weight, bias and options do not go together (the message names the shapes);
 * CEBUS_DTYPE_MISMATCH when their types differ or are not floats.
 */
#ifndef CEBUS_OPS_CONV_H
#define CEBUS_OPS_CONV_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** How a kernel moves over the image; {0} is the plain convolution. Pairs are {H, W}. */
typedef struct cebus_conv_options {
    int64_t stride[2];   /**< 0 means 1 */
    int64_t padding[2];  /**< zeros around the image */
    int64_t dilation[2]; /**< distance of the kernel's taps; 0 means 1 */
    int64_t groups;      /**< channels are cut into groups that do not mix; 0 means 1 */
    /** Rows and columns added at the end of the result, of cebus_conv_transpose2d() only; less
     * than the stride or the dilation. */
    int64_t output_padding[2];
} cebus_conv_options;

/**
 * Cross-correlation. x [N, C, H, W], weight [O, C/groups, KH, KW], bias [O] or NULL; the result
 * is [N, O, OH, OW] with OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1. Gradients for
 * x, weight and bias; saves x for the weight's and the weight for x's.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_conv2d(cebus_runtime *rt, cebus_tensor *x,
                                                     cebus_tensor *weight, cebus_tensor *bias,
                                                     const cebus_conv_options *options,
                                                     cebus_tensor **out);

/**
 * The transpose of cebus_conv2d(): what takes its output's gradient to its input's. x [N, C, H, W],
 * weight [C, O/groups, KH, KW], bias [O] or NULL; the result is [N, O, OH, OW] with
 * OH = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1. Gradients as above.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_conv_transpose2d(cebus_runtime *rt, cebus_tensor *x,
                                                               cebus_tensor *weight,
                                                               cebus_tensor *bias,
                                                               const cebus_conv_options *options,
                                                               cebus_tensor **out);

CEBUS_END_DECLS

#endif
