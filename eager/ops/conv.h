/**
 * conv.h: the inside of the convolutions. Three ops share one geometry, in the words of the plain
 * convolution: an image, a weight [O, I/groups, KH, KW], and an output.
 *
 *   op                  reads             writes    gradient of its first and second input
 *   conv2d              image, weight     output    conv_transpose2d, conv2d_weight
 *   conv_transpose2d    output, weight    image     conv2d, conv2d_weight
 *   conv2d_weight       image, output     weight    -
 *
 * So the backward of one is the forward of another, and each holds only what it reads.
 */
#ifndef CEBUS_EAGER_OPS_CONV_H
#define CEBUS_EAGER_OPS_CONV_H

#include <cebus/ops/conv.h>

#include "eager/op.h"

/** Attributes of all three, defaults filled in. */
typedef struct cebus_conv_attrs {
    int64_t stride[2], padding[2], dilation[2], groups;
    int64_t size[2]; /**< height and width of what is written */
} cebus_conv_attrs;

/** One call's sizes, whichever op it is. All fields int64: the bytes are a key. */
typedef struct cebus_conv_shape {
    int64_t batch, groups;
    int64_t image_channels, output_channels;
    int64_t image[2], output[2], kernel[2];
    int64_t stride[2], padding[2], dilation[2];
} cebus_conv_shape;

cebus_conv_shape cebus_conv_shape_of(const cebus_conv_attrs *attrs, const cebus_view *image,
                                     const cebus_view *weight, const cebus_view *output);

/** The ops with all attributes given; bias may be NULL. */
cebus_status cebus_conv_forward(cebus_runtime *rt, cebus_tensor *const *in,
                                const cebus_conv_attrs *attrs, cebus_tensor **out);
cebus_status cebus_conv_transpose(cebus_runtime *rt, cebus_tensor *const *in,
                                  const cebus_conv_attrs *attrs, cebus_tensor **out);
cebus_status cebus_conv_weight(cebus_runtime *rt, cebus_tensor *image, cebus_tensor *output,
                               const cebus_conv_attrs *attrs, cebus_tensor **out);

/** @name Gradients (eager/autograd/conv.c) */
/** @{ */
cebus_saves cebus_conv_saves(const void *attrs, uint64_t needs);
cebus_status cebus_conv_forward_gradient(const cebus_gradient *io);
cebus_status cebus_conv_transpose_gradient(const cebus_gradient *io);
/** @} */

#endif
