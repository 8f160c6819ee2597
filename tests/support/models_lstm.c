#include <math.h>

#include "tests/support/models_layer.h"

/** lstm: depth layers over length steps of embedded symbols; every step predicts a class. */
enum {
    WEIGHTS = 4,
    MAX_LAYERS = 8
};

static int64_t layers(const cebus_model *model)
{
    return model->config.depth < MAX_LAYERS ? model->config.depth : MAX_LAYERS;
}

static void build(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t gates = 4 * c->width;
    double scale = 1 / sqrt((double)c->width);
    cebus_layer_add(model, 0.3, 0, 2, (int64_t[]){c->classes, c->width});
    for (int64_t i = 0; i < layers(model); i++) {
        for (int k = 0; k < WEIGHTS; k++)
            cebus_layer_add(model, scale, 0, k < 2 ? 2 : 1, (int64_t[]){gates, c->width});
    }
    cebus_layer_add_linear(model, c->width, c->classes);
}

static cebus_tensor *embed(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *table = cebus_layer_parameter(model), *x = NULL;
    cebus_tensor *symbols =
        cebus_layer_labels(model, c->classes, 2, (int64_t[]){c->length, c->batch});
    if (symbols != NULL)
        cebus_layer_ok(model, cebus_embedding(model->rt, table, symbols, CEBUS_NO_PADDING, &x));
    cebus_tensor_release(symbols);
    return x;
}

static cebus_tensor *recur(cebus_model *model, cebus_tensor *x)
{
    const cebus_model_config *c = &model->config;
    cebus_recurrent_options options = {
        .num_layers = (int)layers(model), .dropout = c->dropout, .training = true};
    cebus_recurrent_weights weights[MAX_LAYERS];
    cebus_recurrent_result result = {0};
    for (int64_t i = 0; i < layers(model); i++) {
        weights[i].w_ih = cebus_layer_parameter(model);
        weights[i].w_hh = cebus_layer_parameter(model);
        weights[i].b_ih = cebus_layer_parameter(model);
        weights[i].b_hh = cebus_layer_parameter(model);
    }
    if (x != NULL)
        cebus_layer_ok(model, cebus_lstm(model->rt, x, NULL, weights, &options, &result));
    cebus_tensor_release(x);
    cebus_tensor_release(result.h);
    cebus_tensor_release(result.c);
    return result.out;
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t rows = c->length * c->batch;
    cebus_tensor *x = recur(model, embed(model));
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &rows);
    x = cebus_layer_linear(model, x);
    x = cebus_layer_reshape(model, x, 2, (int64_t[]){rows, c->classes});
    return cebus_layer_cross_entropy(model, x, target);
}

const cebus_model_kind cebus_model_lstm = {
    .name = "lstm",
    .defaults = {.batch = 6, .width = 12, .depth = 2, .length = 16, .classes = 12, .dropout = 0.1},
    .build = build,
    .loss = loss,
};
