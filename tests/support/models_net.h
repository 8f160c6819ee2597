/**
 * models_net.h: layers of networks that are written once. A kind without a build function has its
 * loss called first while model->building is set: every layer then makes its parameters and
 * answers nothing; in a step it takes them, in the same order, and runs.
 *
 * Images carry the number of their channels, known in both passes. Like the functions of
 * models_layer.h these take over what they are given, fail softly, and answer NULL for NULL.
 */
#ifndef CEBUS_TESTS_SUPPORT_MODELS_NET_H
#define CEBUS_TESTS_SUPPORT_MODELS_NET_H

#include "tests/support/models_layer.h"

/** [N, channels, H, W]; x is NULL while building. */
typedef struct cebus_net_image {
    cebus_tensor *x;
    int64_t channels;
} cebus_net_image;

/** A convolution; zeros: a kernel of 1 x 1, a stride of 1, padded by half the kernel. */
typedef struct cebus_net_filter {
    int64_t channels;  /**< of the result */
    int64_t kernel[2]; /**< {H, W} */
    int64_t stride;
    int64_t groups; /**< of channels that do not mix */
    bool valid;     /**< no padding */
} cebus_net_filter;

/** A new parameter while building (then NULL is answered), else the next one; borrowed. Uniform in
 * [-scale, scale] around `shift`. */
cebus_tensor *cebus_net_parameter(cebus_model *model, double scale, double shift, int ndim,
                                  const int64_t *shape);

/** @name Images */
/** @{ */
/** A batch: three channels, length x breadth pixels. */
cebus_net_image cebus_net_images(cebus_model *model);
/** The same image for another reader. */
cebus_net_image cebus_net_keep(cebus_net_image image);
void cebus_net_drop(cebus_net_image image);
/** Without a bias: a normalization follows. */
cebus_net_image cebus_net_conv(cebus_model *model, cebus_net_image image, cebus_net_filter filter);
cebus_net_image cebus_net_conv_bias(cebus_model *model, cebus_net_image image,
                                    cebus_net_filter filter);
cebus_net_image cebus_net_batch_norm(cebus_model *model, cebus_net_image image);
cebus_net_image cebus_net_relu(cebus_model *model, cebus_net_image image);
/** Convolution, batch norm, relu. */
cebus_net_image cebus_net_unit(cebus_model *model, cebus_net_image image, cebus_net_filter filter);
/** Units, one after another up to one without channels, on an image that stays the caller's. Their
 * channels are the published ones and scaled as the first stage is. */
cebus_net_image cebus_net_chain(cebus_model *model, cebus_net_image image,
                                const cebus_net_filter *chain);
cebus_net_image cebus_net_max_pool(cebus_model *model, cebus_net_image image, int64_t kernel,
                                   int64_t stride, int64_t padding);
/** The padding does not count. */
cebus_net_image cebus_net_avg_pool(cebus_model *model, cebus_net_image image, int64_t kernel,
                                   int64_t stride, int64_t padding);
cebus_net_image cebus_net_add(cebus_model *model, cebus_net_image a, cebus_net_image b);
/** Channels one after another. */
cebus_net_image cebus_net_cat(cebus_model *model, const cebus_net_image *images, size_t n);
/** The mean of each channel, dropout, a linear layer, and the loss over the batch's classes. */
cebus_tensor *cebus_net_classify(cebus_model *model, cebus_net_image image, cebus_tensor *target);
/** One label for each sample. */
cebus_tensor *cebus_net_targets(cebus_model *model);
/** @} */

/** @name Rows: [.., in] */
/** @{ */
cebus_tensor *cebus_net_linear(cebus_model *model, cebus_tensor *x, int64_t in, int64_t out);
cebus_tensor *cebus_net_layer_norm(cebus_model *model, cebus_tensor *x, int64_t width);
/** Rows of a new table; the tokens are taken over. */
cebus_tensor *cebus_net_embedding(cebus_model *model, cebus_tensor *tokens, int64_t rows,
                                  int64_t width);
/** @} */

#endif
