#include "tests/support/models_net.h"

/**
 * Residual networks: He et al., CVPR 2016.
 *
 *   resnet50, resnet152   table 1: 25.6 and 60.2 million parameters. The 3 x 3 convolution has the
 *                         block's stride, as in most programs since, not the first 1 x 1
 *   wresnet152            the same with every channel count multiplied by 10: WResNet-152-10 of
 *                         Tofu (Wang, Huang and Li, EuroSys 2019) and SwapAdvisor (Huang, Jin and
 *                         Li, ASPLOS 2020), after Zagoruyko and Komodakis, BMVC 2016
 *   resnet-cifar          section 4.2: three stages of basic blocks, ResNet-32 with a depth of 5
 *                         and ResNet-1202 with one of 200; shortcuts without parameters (option A)
 *
 * Width is that of the first stage, depth the most blocks a stage has.
 */
static cebus_net_image shortcut(cebus_model *model, cebus_net_image image, int64_t channels,
                                int64_t stride)
{
    const cebus_net_filter filter = {.channels = channels, .stride = stride};
    if (image.channels == channels && stride == 1)
        return cebus_net_keep(image);
    image = cebus_net_conv(model, cebus_net_keep(image), filter);
    return cebus_net_batch_norm(model, image);
}

static cebus_net_image bottleneck(cebus_model *model, cebus_net_image image, int64_t channels,
                                  int64_t stride)
{
    const cebus_net_filter narrow = {.channels = channels};
    const cebus_net_filter middle = {.channels = channels, .kernel = {3, 3}, .stride = stride};
    const cebus_net_filter widen = {.channels = 4 * channels};
    cebus_net_image skip = shortcut(model, image, 4 * channels, stride);
    image = cebus_net_unit(model, image, narrow);
    image = cebus_net_unit(model, image, middle);
    image = cebus_net_batch_norm(model, cebus_net_conv(model, image, widen));
    return cebus_net_relu(model, cebus_net_add(model, image, skip));
}

/** `blocks` of each of the four stages, as published. */
static cebus_tensor *bottleneck_loss(cebus_model *model, const int64_t *blocks)
{
    const cebus_model_config *c = &model->config;
    const cebus_net_filter stem = {.channels = c->width, .kernel = {7, 7}, .stride = 2};
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_net_targets(model);
    image = cebus_net_unit(model, image, stem);
    image = cebus_net_max_pool(model, image, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++) {
        int64_t n = blocks[stage] < c->depth ? blocks[stage] : c->depth;
        for (int64_t i = 0; i < n; i++)
            image = bottleneck(model, image, c->width << stage, stage > 0 && i == 0 ? 2 : 1);
    }
    return cebus_net_classify(model, image, target);
}

static cebus_tensor *loss50(cebus_model *model)
{
    return bottleneck_loss(model, (int64_t[]){3, 4, 6, 3});
}

static cebus_tensor *loss152(cebus_model *model)
{
    return bottleneck_loss(model, (int64_t[]){3, 8, 36, 3});
}

const cebus_model_kind cebus_model_resnet50 = {
    .name = "resnet50",
    .defaults = {.batch = 4, .width = 4, .depth = 1, .length = 32, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = loss50,
};

const cebus_model_kind cebus_model_resnet152 = {
    .name = "resnet152",
    .defaults = {.batch = 4, .width = 2, .depth = 2, .length = 32, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = loss152,
};

const cebus_model_kind cebus_model_wresnet152 = {
    .name = "wresnet152",
    .defaults = {.batch = 2, .width = 10, .depth = 1, .length = 64, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = loss152,
};

/** Every second pixel, new channels zero: half of them before the old ones, half after. */
static cebus_net_image subsample(cebus_model *model, cebus_net_image image, int64_t channels)
{
    const int64_t half = (channels - image.channels) / 2;
    const int64_t pads[] = {0, 0, 0, 0, half, channels - image.channels - half};
    cebus_tensor *rows = NULL, *pixels = NULL, *out = NULL;
    if (image.x != NULL &&
        cebus_layer_ok(model, cebus_slice(model->rt, image.x, 2, 0, INT64_MAX, 2, &rows)) &&
        cebus_layer_ok(model, cebus_slice(model->rt, rows, 3, 0, INT64_MAX, 2, &pixels)))
        cebus_layer_ok(model, cebus_pad(model->rt, pixels, 6, pads, 0, &out));
    cebus_tensor_release(rows);
    cebus_tensor_release(pixels);
    return (cebus_net_image){out, channels};
}

static cebus_net_image basic(cebus_model *model, cebus_net_image image, int64_t channels)
{
    const bool down = image.channels != channels;
    const cebus_net_filter first = {.channels = channels, .kernel = {3, 3}, .stride = down ? 2 : 1};
    const cebus_net_filter second = {.channels = channels, .kernel = {3, 3}};
    cebus_net_image skip = down ? subsample(model, image, channels) : cebus_net_keep(image);
    image = cebus_net_unit(model, image, first);
    image = cebus_net_batch_norm(model, cebus_net_conv(model, image, second));
    return cebus_net_relu(model, cebus_net_add(model, image, skip));
}

static cebus_tensor *cifar_loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    const cebus_net_filter stem = {.channels = c->width, .kernel = {3, 3}};
    cebus_net_image image = cebus_net_images(model);
    cebus_tensor *target = cebus_net_targets(model);
    image = cebus_net_unit(model, image, stem);
    for (int stage = 0; stage < 3; stage++) {
        for (int64_t i = 0; i < c->depth; i++)
            image = basic(model, image, c->width << stage);
    }
    return cebus_net_classify(model, image, target);
}

const cebus_model_kind cebus_model_resnet_cifar = {
    .name = "resnet-cifar",
    .defaults = {.batch = 4, .width = 4, .depth = 2, .length = 16, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = cifar_loss,
};
