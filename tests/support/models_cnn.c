#include "tests/support/models_layer.h"

/** cnn: depth stages of convolution, batch norm, relu and pooling; dropout before the classes. */
static void build_cnn(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t in = 3;
    for (int64_t i = 0; i < c->depth; i++) {
        cebus_layer_add_conv(model, in, c->width << i, 3);
        cebus_layer_add_batch_norm(model, c->width << i);
        in = c->width << i;
    }
    cebus_layer_add_linear(model, in, c->classes);
}

static cebus_tensor *conv_norm(cebus_model *model, cebus_tensor *x, int64_t stride)
{
    return cebus_layer_batch_norm(model, cebus_layer_conv(model, x, stride));
}

static cebus_tensor *conv_norm_relu(cebus_model *model, cebus_tensor *x, int64_t stride)
{
    return cebus_layer_map(model, cebus_relu, conv_norm(model, x, stride));
}

static cebus_tensor *images(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    return cebus_layer_noise(model, 4, (int64_t[]){c->batch, 3, c->length, c->length});
}

static cebus_tensor *loss_cnn(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *x = images(model);
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &c->batch);
    for (int64_t i = 0; i < c->depth; i++) {
        x = conv_norm_relu(model, x, 1);
        if (i + 1 < c->depth)
            x = cebus_layer_max_pool(model, x, 2, 2);
    }
    x = cebus_layer_dropout(model, cebus_layer_global_pool(model, x));
    return cebus_layer_cross_entropy(model, cebus_layer_linear(model, x), target);
}

const cebus_model_kind cebus_model_cnn = {
    .name = "cnn",
    .defaults = {.batch = 6, .width = 4, .depth = 3, .length = 16, .classes = 10, .dropout = 0.2},
    .sgd = true,
    .build = build_cnn,
    .loss = loss_cnn,
};

/** The first steps overflow f16, and are left out. */
const cebus_model_kind cebus_model_cnn_f16 = {
    .name = "cnn-f16",
    .defaults = {.batch = 6,
                 .width = 4,
                 .depth = 3,
                 .length = 16,
                 .classes = 10,
                 .dropout = 0.2,
                 .precision = CEBUS_F16},
    .sgd = true,
    .init_scale = 0x1p21,
    .build = build_cnn,
    .loss = loss_cnn,
};

/** resnet18: four stages of two basic blocks. depth counts the blocks of a stage. */
enum {
    STAGES = 4
};

static void build_resnet(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t in = c->width;
    cebus_layer_add_conv(model, 3, in, 7);
    cebus_layer_add_batch_norm(model, in);
    for (int stage = 0; stage < STAGES; stage++) {
        int64_t out = c->width << stage;
        for (int64_t block = 0; block < c->depth; block++, in = out) {
            if (in != out) {
                cebus_layer_add_conv(model, in, out, 1);
                cebus_layer_add_batch_norm(model, out);
            }
            cebus_layer_add_conv(model, in, out, 3);
            cebus_layer_add_batch_norm(model, out);
            cebus_layer_add_conv(model, out, out, 3);
            cebus_layer_add_batch_norm(model, out);
        }
    }
    cebus_layer_add_linear(model, in, c->classes);
}

static cebus_tensor *basic_block(cebus_model *model, cebus_tensor *x, bool down)
{
    int64_t stride = down ? 2 : 1;
    cebus_tensor *skip = cebus_tensor_retain(x);
    if (down)
        skip = conv_norm(model, skip, stride);
    x = conv_norm_relu(model, x, stride);
    x = conv_norm(model, x, 1);
    return cebus_layer_map(model, cebus_relu, cebus_layer_join(model, cebus_add, x, skip));
}

static cebus_tensor *loss_resnet(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *x = images(model);
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &c->batch);
    x = conv_norm_relu(model, x, 2);
    x = cebus_layer_max_pool(model, x, 3, 2);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int64_t block = 0; block < c->depth; block++)
            x = basic_block(model, x, stage > 0 && block == 0);
    }
    x = cebus_layer_global_pool(model, x);
    return cebus_layer_cross_entropy(model, cebus_layer_linear(model, x), target);
}

const cebus_model_kind cebus_model_resnet18 = {
    .name = "resnet18",
    .defaults = {.batch = 16, .width = 64, .depth = 2, .length = 64, .classes = 10},
    .sgd = true,
    .build = build_resnet,
    .loss = loss_resnet,
};
