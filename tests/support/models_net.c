#include "tests/support/models_net.h"

#include <math.h>

cebus_tensor *cebus_net_parameter(cebus_model *model, double scale, double shift, int ndim,
                                  const int64_t *shape)
{
    if (!model->building)
        return cebus_layer_parameter(model);
    cebus_layer_add(model, scale, shift, ndim, shape);
    return NULL;
}

cebus_net_image cebus_net_images(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    const int64_t shape[] = {c->batch, 3, c->length, c->breadth};
    return (cebus_net_image){cebus_layer_noise(model, 4, shape), 3};
}

cebus_net_image cebus_net_keep(cebus_net_image image)
{
    cebus_tensor_retain(image.x);
    return image;
}

void cebus_net_drop(cebus_net_image image)
{
    cebus_tensor_release(image.x);
}

static int64_t or_one(int64_t value)
{
    return value > 0 ? value : 1;
}

/** Uniform weights with the variance of He et al., ICCV 2015, section 2.2. */
static cebus_net_image convolve(cebus_model *model, cebus_net_image image, cebus_net_filter filter,
                                bool with_bias)
{
    const int64_t high = or_one(filter.kernel[0]), wide = or_one(filter.kernel[1]);
    const int64_t groups = or_one(filter.groups), in = image.channels / groups;
    const int64_t shape[] = {filter.channels, in, high, wide};
    const int64_t stride = or_one(filter.stride);
    const double scale = sqrt(6.0 / (double)(in * high * wide));
    cebus_conv_options options = {.stride = {stride, stride}, .groups = groups};
    cebus_tensor *weight = cebus_net_parameter(model, scale, 0, 4, shape), *bias = NULL;
    cebus_net_image out = {NULL, filter.channels};
    if (with_bias)
        bias = cebus_net_parameter(model, 0, 0, 1, &filter.channels);
    if (image.x == NULL)
        return out;
    options.padding[0] = filter.valid ? 0 : high / 2;
    options.padding[1] = filter.valid ? 0 : wide / 2;
    weight = cebus_layer_narrow(model, weight);
    bias = cebus_layer_narrow(model, bias);
    if (weight != NULL)
        cebus_layer_ok(model, cebus_conv2d(model->rt, image.x, weight, bias, &options, &out.x));
    cebus_tensor_release(weight);
    cebus_tensor_release(bias);
    cebus_tensor_release(image.x);
    return out;
}

cebus_net_image cebus_net_conv(cebus_model *model, cebus_net_image image, cebus_net_filter filter)
{
    return convolve(model, image, filter, false);
}

cebus_net_image cebus_net_conv_bias(cebus_model *model, cebus_net_image image,
                                    cebus_net_filter filter)
{
    return convolve(model, image, filter, true);
}

cebus_net_image cebus_net_batch_norm(cebus_model *model, cebus_net_image image)
{
    if (model->building)
        cebus_layer_add_batch_norm(model, image.channels);
    else
        image.x = cebus_layer_batch_norm(model, image.x);
    return image;
}

cebus_net_image cebus_net_relu(cebus_model *model, cebus_net_image image)
{
    image.x = cebus_layer_map(model, cebus_relu, image.x);
    return image;
}

cebus_net_image cebus_net_unit(cebus_model *model, cebus_net_image image, cebus_net_filter filter)
{
    image = cebus_net_conv(model, image, filter);
    return cebus_net_relu(model, cebus_net_batch_norm(model, image));
}

cebus_net_image cebus_net_chain(cebus_model *model, cebus_net_image image,
                                const cebus_net_filter *chain)
{
    image = cebus_net_keep(image);
    for (; chain->channels > 0; chain++) {
        cebus_net_filter filter = *chain;
        filter.channels = filter.channels * model->config.width / model->kind->published_width;
        image = cebus_net_unit(model, image, filter);
    }
    return image;
}

static cebus_pool_options window(int64_t kernel, int64_t stride, int64_t padding)
{
    return (cebus_pool_options){
        .kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = {padding, padding}};
}

cebus_net_image cebus_net_max_pool(cebus_model *model, cebus_net_image image, int64_t kernel,
                                   int64_t stride, int64_t padding)
{
    cebus_pool_options options = window(kernel, stride, padding);
    cebus_tensor *out = NULL;
    if (image.x != NULL)
        cebus_layer_ok(model, cebus_max_pool2d(model->rt, image.x, &options, &out));
    cebus_net_drop(image);
    return (cebus_net_image){out, image.channels};
}

cebus_net_image cebus_net_avg_pool(cebus_model *model, cebus_net_image image, int64_t kernel,
                                   int64_t stride, int64_t padding)
{
    cebus_pool_options options = window(kernel, stride, padding);
    cebus_tensor *out = NULL;
    options.exclude_padding = true;
    if (image.x != NULL)
        cebus_layer_ok(model, cebus_avg_pool2d(model->rt, image.x, &options, &out));
    cebus_net_drop(image);
    return (cebus_net_image){out, image.channels};
}

cebus_net_image cebus_net_add(cebus_model *model, cebus_net_image a, cebus_net_image b)
{
    return (cebus_net_image){cebus_layer_join(model, cebus_add, a.x, b.x), a.channels};
}

cebus_net_image cebus_net_cat(cebus_model *model, const cebus_net_image *images, size_t n)
{
    enum {
        MOST = 8
    };
    cebus_tensor *parts[MOST];
    cebus_net_image out = {NULL, 0};
    bool complete = cebus_layer_ok(model, n <= MOST ? CEBUS_OK : CEBUS_INVALID_ARGUMENT);
    for (size_t i = 0; i < n; i++) {
        out.channels += images[i].channels;
        complete = complete && images[i].x != NULL;
        if (i < MOST)
            parts[i] = images[i].x;
    }
    if (complete)
        cebus_layer_ok(model, cebus_cat(model->rt, parts, n, 1, &out.x));
    for (size_t i = 0; i < n; i++)
        cebus_net_drop(images[i]);
    return out;
}

cebus_tensor *cebus_net_targets(cebus_model *model)
{
    return cebus_layer_labels(model, model->config.classes, 1, &model->config.batch);
}

cebus_tensor *cebus_net_classify(cebus_model *model, cebus_net_image image, cebus_tensor *target)
{
    cebus_tensor *x = cebus_layer_dropout(model, cebus_layer_global_pool(model, image.x));
    x = cebus_net_linear(model, x, image.channels, model->config.classes);
    return cebus_layer_cross_entropy(model, x, target);
}

cebus_tensor *cebus_net_linear(cebus_model *model, cebus_tensor *x, int64_t in, int64_t out)
{
    if (!model->building)
        return cebus_layer_linear(model, x);
    cebus_layer_add_linear(model, in, out);
    return NULL;
}

cebus_tensor *cebus_net_layer_norm(cebus_model *model, cebus_tensor *x, int64_t width)
{
    if (!model->building)
        return cebus_layer_layer_norm(model, x);
    cebus_layer_add_norm(model, width);
    return NULL;
}

cebus_tensor *cebus_net_embedding(cebus_model *model, cebus_tensor *tokens, int64_t rows,
                                  int64_t width)
{
    const int64_t shape[] = {rows, width};
    cebus_tensor *table = cebus_net_parameter(model, 0.05, 0, 2, shape), *out = NULL;
    if (tokens != NULL)
        cebus_layer_ok(model, cebus_embedding(model->rt, table, tokens, CEBUS_NO_PADDING, &out));
    cebus_tensor_release(tokens);
    return out;
}
