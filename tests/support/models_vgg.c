#include "tests/support/models_net.h"

/**
 * vgg16: Simonyan and Zisserman, ICLR 2015, table 1, column D; 138 million parameters (table 2).
 * Five stages of 3 x 3 convolutions with biases and relu, halved by pooling, then two hidden
 * layers with dropout. Images are multiples of 32 pixels; width is that of the first stage and
 * scales all others, the hidden layers' 4096 units included.
 */
static cebus_net_image stage(cebus_model *model, cebus_net_image image, int64_t channels,
                             int layers)
{
    for (int i = 0; i < layers; i++) {
        const cebus_net_filter filter = {.channels = channels, .kernel = {3, 3}};
        image = cebus_net_relu(model, cebus_net_conv_bias(model, image, filter));
    }
    return cebus_net_max_pool(model, image, 2, 2, 0);
}

static cebus_tensor *hidden(cebus_model *model, cebus_tensor *x, int64_t in, int64_t out)
{
    x = cebus_layer_map(model, cebus_relu, cebus_net_linear(model, x, in, out));
    return cebus_layer_dropout(model, x);
}

static cebus_tensor *loss(cebus_model *model)
{
    static const int layers[] = {2, 2, 3, 3, 3}, widths[] = {1, 2, 4, 8, 8};
    const cebus_model_config *c = &model->config;
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_net_targets(model);
    for (int i = 0; i < 5; i++)
        image = stage(model, image, c->width * widths[i], layers[i]);
    int64_t features = image.channels * (c->length / 32) * (c->breadth / 32);
    cebus_tensor *x = cebus_layer_reshape(model, image.x, 2, (int64_t[]){c->batch, features});
    x = hidden(model, x, features, 64 * c->width);
    x = hidden(model, x, 64 * c->width, 64 * c->width);
    x = cebus_net_linear(model, x, 64 * c->width, c->classes);
    return cebus_layer_cross_entropy(model, x, target);
}

const cebus_model_kind cebus_model_vgg16 = {
    .name = "vgg16",
    .defaults =
        {.batch = 4, .width = 2, .length = 32, .classes = 10, .dropout = 0.5, .drawn = true},
    .sgd = true,
    .lr = 0.01,
    .weight_decay = 5e-4,
    .loss = loss,
};
