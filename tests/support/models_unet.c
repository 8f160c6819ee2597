#include "tests/support/models_layer.h"

/**
 * unet: depth levels down by pooling, as many up; the deepest step up is a transposed convolution,
 * the others interpolate (bilinear) and convolve. Each level up sees its counterpart's output.
 */
static void add_block(cebus_model *model, int64_t in, int64_t out)
{
    cebus_layer_add_conv(model, in, out, 3);
    cebus_layer_add_norm(model, out);
}

static void build(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t in = 3;
    for (int64_t level = 0; level <= c->depth; level++) {
        add_block(model, in, c->width << level);
        in = c->width << level;
    }
    for (int64_t level = c->depth - 1; level >= 0; level--) {
        int64_t out = c->width << level;
        if (level == c->depth - 1) /* a transposed kernel is [in, out, ..] */
            cebus_layer_add_conv(model, out, in, 2);
        else
            cebus_layer_add_conv(model, in, out, 1);
        add_block(model, 2 * out, out);
        in = out;
    }
    cebus_layer_add_conv(model, in, c->classes, 1);
}

static cebus_tensor *block(cebus_model *model, cebus_tensor *x)
{
    x = cebus_layer_group_norm(model, cebus_layer_conv(model, x, 1), 2);
    return cebus_layer_map(model, cebus_silu, x);
}

static cebus_tensor *enlarge(cebus_model *model, cebus_tensor *x)
{
    const cebus_interpolate_options twice = {.mode = CEBUS_INTERPOLATE_BILINEAR, .scale = {2, 2}};
    cebus_tensor *out = NULL;
    if (x != NULL)
        cebus_layer_ok(model, cebus_interpolate(model->rt, x, &twice, &out));
    cebus_tensor_release(x);
    return cebus_layer_conv(model, out, 1);
}

static cebus_tensor *loss(cebus_model *model)
{
    enum {
        MAX_LEVELS = 8
    };
    const cebus_model_config *c = &model->config;
    cebus_tensor *skips[MAX_LEVELS] = {NULL};
    int64_t levels = c->depth < MAX_LEVELS ? c->depth : MAX_LEVELS;
    int64_t pixels[] = {c->batch, c->length, c->length};
    cebus_tensor *x = cebus_layer_noise(model, 4, (int64_t[]){c->batch, 3, c->length, c->length});
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 3, pixels);
    for (int64_t level = 0; level < levels; level++) {
        x = block(model, x);
        skips[level] = cebus_tensor_retain(x);
        x = cebus_layer_max_pool(model, x, 2, 2);
    }
    x = block(model, x);
    for (int64_t level = levels - 1; level >= 0; level--) {
        x = level == levels - 1 ? cebus_layer_conv_transpose(model, x) : enlarge(model, x);
        x = block(model, cebus_layer_cat(model, x, skips[level], 1));
    }
    return cebus_layer_cross_entropy(model, cebus_layer_conv(model, x, 1), target);
}

const cebus_model_kind cebus_model_unet = {
    .name = "unet",
    .defaults = {.batch = 4, .width = 4, .depth = 2, .length = 16, .classes = 3},
    .sgd = true,
    .build = build,
    .loss = loss,
};
