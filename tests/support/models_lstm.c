#include <math.h>

#include "tests/support/models_layer.h"

/**
 * lstm: depth layers over length steps of embedded symbols, or with `input` of so many features;
 * every step predicts a class.
 *
 * bilstm: the same in both directions (Schuster and Paliwal, IEEE Trans. Signal Processing 1997),
 * over features.
 *
 * lstm-cells: the same step by step, a product with the input of each, and one prediction after the
 * last; so DTR unrolls it (Kirisame et al., ICLR 2021). One direction.
 */
enum {
    WEIGHTS = 4,
    MAX_LAYERS = 8
};

static int64_t layers(const cebus_model *model)
{
    return model->config.depth < MAX_LAYERS ? model->config.depth : MAX_LAYERS;
}

static int64_t directions(const cebus_model *model)
{
    return model->config.two_way ? 2 : 1;
}

/** Features that layer `i` reads. */
static int64_t features(const cebus_model *model, int64_t i)
{
    const cebus_model_config *c = &model->config;
    if (i > 0)
        return directions(model) * c->width;
    return c->input > 0 ? c->input : c->width;
}

static void build(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t gates = 4 * c->width;
    double scale = 1 / sqrt((double)c->width);
    if (c->input == 0)
        cebus_layer_add(model, 0.3, 0, 2, (int64_t[]){c->classes, c->width});
    for (int64_t i = 0; i < layers(model) * directions(model); i++) {
        int64_t in[] = {features(model, i / directions(model)), c->width};
        for (int k = 0; k < WEIGHTS; k++)
            cebus_layer_add(model, scale, 0, k < 2 ? 2 : 1, (int64_t[]){gates, in[k % 2]});
    }
    cebus_layer_add_linear(model, directions(model) * c->width, c->classes);
}

static cebus_tensor *embed(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    if (c->input > 0)
        return cebus_layer_noise(model, 3, (int64_t[]){c->length, c->batch, c->input});
    cebus_tensor *table = cebus_layer_parameter(model), *x = NULL;
    cebus_tensor *symbols =
        cebus_layer_labels(model, c->classes, 2, (int64_t[]){c->length, c->batch});
    if (symbols != NULL)
        cebus_layer_ok(model, cebus_embedding(model->rt, table, symbols, CEBUS_NO_PADDING, &x));
    cebus_tensor_release(symbols);
    return x;
}

static void take_weights(cebus_model *model, cebus_recurrent_weights *weights)
{
    for (int64_t i = 0; i < layers(model) * directions(model); i++) {
        weights[i].w_ih = cebus_layer_parameter(model);
        weights[i].w_hh = cebus_layer_parameter(model);
        weights[i].b_ih = cebus_layer_parameter(model);
        weights[i].b_hh = cebus_layer_parameter(model);
    }
}

static cebus_tensor *recur(cebus_model *model, cebus_tensor *x)
{
    const cebus_model_config *c = &model->config;
    cebus_recurrent_options options = {.num_layers = (int)layers(model),
                                       .bidirectional = c->two_way,
                                       .dropout = c->dropout,
                                       .training = true};
    cebus_recurrent_weights weights[2 * MAX_LAYERS];
    cebus_recurrent_result result = {0};
    take_weights(model, weights);
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

const cebus_model_kind cebus_model_bilstm = {
    .name = "bilstm",
    .defaults = {.batch = 4,
                 .width = 8,
                 .depth = 2,
                 .length = 8,
                 .classes = 10,
                 .dropout = 0.1,
                 .input = 6,
                 .two_way = true,
                 .drawn = true},
    .build = build,
    .loss = loss,
};

/** One step of a layer: x is taken over, the new h handed out, the state replaced. */
static cebus_tensor *run_cell(cebus_model *model, cebus_tensor *x,
                              const cebus_recurrent_weights *weights, cebus_lstm_state *state)
{
    cebus_lstm_state next = {NULL, NULL};
    if (x != NULL)
        cebus_layer_ok(
            model, cebus_lstm_cell(model->rt, x, state->h != NULL ? state : NULL, weights, &next));
    cebus_tensor_release(x);
    cebus_tensor_release(state->h);
    cebus_tensor_release(state->c);
    *state = next;
    return cebus_tensor_retain(next.h);
}

static cebus_tensor *cells_loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_recurrent_weights weights[2 * MAX_LAYERS];
    cebus_lstm_state states[MAX_LAYERS] = {{NULL, NULL}};
    cebus_tensor *inputs = embed(model), *last = NULL;
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &c->batch);
    take_weights(model, weights);
    for (int64_t step = 0; step < c->length && inputs != NULL; step++) {
        cebus_tensor *x = NULL;
        cebus_layer_ok(model, cebus_select(model->rt, inputs, 0, step, &x));
        for (int64_t i = 0; i < layers(model); i++)
            x = run_cell(model, x, &weights[i], &states[i]);
        cebus_tensor_release(last);
        last = x;
    }
    cebus_tensor_release(inputs);
    for (int64_t i = 0; i < layers(model); i++) {
        cebus_tensor_release(states[i].h);
        cebus_tensor_release(states[i].c);
    }
    return cebus_layer_cross_entropy(model, cebus_layer_linear(model, last), target);
}

const cebus_model_kind cebus_model_lstm_cells = {
    .name = "lstm-cells",
    .defaults = {.batch = 16,
                 .width = 8,
                 .depth = 2,
                 .length = 12,
                 .classes = 10,
                 .input = 6,
                 .drawn = true},
    .build = build,
    .loss = cells_loss,
};
