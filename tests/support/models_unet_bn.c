#include "tests/support/models_net.h"

/**
 * unet-bn: U-Net (Ronneberger, Fischer and Brox, MICCAI 2015, figure 1) as DTR and Coop ran it: two
 * padded convolutions with batch norm a block, the deepest as wide as the one before it, and
 * bilinear upsampling in place of transposed convolutions; 13.4 million parameters at a width of 64
 * and a depth of 4. Upsampling goes to the size of the counterpart, where others double and pad.
 * The published programs learn one mask; this one tells classes apart pixel by pixel.
 */
enum {
    MAX_LEVELS = 8
};

static cebus_net_image block(cebus_model *model, cebus_net_image image, int64_t middle,
                             int64_t channels)
{
    image = cebus_net_unit(model, image, (cebus_net_filter){.channels = middle, .kernel = {3, 3}});
    return cebus_net_unit(model, image, (cebus_net_filter){.channels = channels, .kernel = {3, 3}});
}

/** To the size of `like`, beside which it is put; both are taken over. */
static cebus_net_image rise(cebus_model *model, cebus_net_image image, cebus_net_image like)
{
    cebus_net_image parts[2] = {like, {NULL, image.channels}};
    cebus_interpolate_options options = {.mode = CEBUS_INTERPOLATE_BILINEAR, .align_corners = true};
    for (int d = 0; d < 2 && like.x != NULL; d++)
        options.size[d] = cebus_tensor_size(like.x, 2 + d);
    if (image.x != NULL && like.x != NULL)
        cebus_layer_ok(model, cebus_interpolate(model->rt, image.x, &options, &parts[1].x));
    cebus_net_drop(image);
    return cebus_net_cat(model, parts, 2);
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    const int64_t pixels[] = {c->batch, c->length, c->breadth};
    const int64_t levels = c->depth < MAX_LEVELS ? c->depth : MAX_LEVELS;
    cebus_net_image skips[MAX_LEVELS + 1];
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 3, pixels);
    for (int64_t level = 0; level < levels; level++) {
        image = block(model, image, c->width << level, c->width << level);
        skips[level] = cebus_net_keep(image);
        image = cebus_net_max_pool(model, image, 2, 2, 0);
    }
    image = block(model, image, c->width << (levels - 1), c->width << (levels - 1));
    for (int64_t level = levels - 1; level >= 0; level--) {
        image = rise(model, image, skips[level]);
        int64_t channels = c->width << (level > 0 ? level - 1 : 0);
        image = block(model, image, channels, channels);
    }
    image = cebus_net_conv_bias(model, image, (cebus_net_filter){.channels = c->classes});
    return cebus_layer_cross_entropy(model, image.x, target);
}

const cebus_model_kind cebus_model_unet_bn = {
    .name = "unet-bn",
    .defaults = {.batch = 2, .width = 2, .depth = 3, .length = 20, .classes = 3, .drawn = true},
    .sgd = true,
    .lr = 0.1,
    .loss = loss,
};
