#include "tests/support/models_layer.h"

/** mlp: depth layers of width units with gelu and dropout, then the classes. */
static void build(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    for (int64_t i = 0; i < c->depth; i++)
        cebus_layer_add_linear(model, i > 0 ? c->width : c->length, c->width);
    cebus_layer_add_linear(model, c->width, c->classes);
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *x = cebus_layer_noise(model, 2, (int64_t[]){c->batch, c->length});
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &c->batch);
    for (int64_t i = 0; i < c->depth; i++) {
        x = cebus_layer_map(model, cebus_gelu, cebus_layer_linear(model, x));
        x = cebus_layer_dropout(model, x);
    }
    return cebus_layer_cross_entropy(model, cebus_layer_linear(model, x), target);
}

const cebus_model_kind cebus_model_mlp = {
    .name = "mlp",
    .defaults =
        {.batch = 128, .width = 16, .depth = 8, .length = 16, .classes = 10, .dropout = 0.1},
    .build = build,
    .loss = loss,
};
