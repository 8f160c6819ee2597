#include "tests/support/models_net.h"

/**
 * densenet121: Huang et al., CVPR 2017, table 1, DenseNet-BC with a growth rate of 32; 7.98 million
 * parameters. Every layer reads all channels of its block so far, joined anew. Width is that of
 * the first convolution, twice the growth rate; depth is the most layers a block has.
 */
static cebus_net_image norm_relu(cebus_model *model, cebus_net_image image)
{
    return cebus_net_relu(model, cebus_net_batch_norm(model, image));
}

static cebus_net_image layer(cebus_model *model, cebus_net_image image)
{
    const int64_t growth = model->config.width / 2;
    const cebus_net_filter narrow = {.channels = 4 * growth};
    const cebus_net_filter grow = {.channels = growth, .kernel = {3, 3}};
    cebus_net_image all[2] = {image};
    image = norm_relu(model, cebus_net_keep(image));
    image = norm_relu(model, cebus_net_conv(model, image, narrow));
    all[1] = cebus_net_conv(model, image, grow);
    return cebus_net_cat(model, all, 2);
}

static cebus_net_image transition(cebus_model *model, cebus_net_image image)
{
    const cebus_net_filter half = {.channels = image.channels / 2};
    image = cebus_net_conv(model, norm_relu(model, image), half);
    return cebus_net_avg_pool(model, image, 2, 2, 0);
}

static cebus_tensor *loss(cebus_model *model)
{
    static const int64_t layers[] = {6, 12, 24, 16};
    const cebus_model_config *c = &model->config;
    const cebus_net_filter stem = {.channels = c->width, .kernel = {7, 7}, .stride = 2};
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_net_targets(model);
    image = cebus_net_unit(model, image, stem);
    image = cebus_net_max_pool(model, image, 3, 2, 1);
    for (int block = 0; block < 4; block++) {
        int64_t n = layers[block] < c->depth ? layers[block] : c->depth;
        if (block > 0)
            image = transition(model, image);
        for (int64_t i = 0; i < n; i++)
            image = layer(model, image);
    }
    return cebus_net_classify(model, norm_relu(model, image), target);
}

const cebus_model_kind cebus_model_densenet121 = {
    .name = "densenet121",
    .defaults = {.batch = 4, .width = 8, .depth = 2, .length = 32, .classes = 10, .drawn = true},
    .sgd = true,
    .lr = 0.1,
    .loss = loss,
};
