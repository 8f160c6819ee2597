#include <math.h>

#include "tests/support/models_net.h"

/**
 * rnn: layers of LSTM unrolled over time, each cell written in single ops as frameworks without a
 * fused cell run it, one product with a step's input and one with the state: `depth` layers of
 * `width` units read `length` steps of as many features, step by step, and predict a class after
 * the last. RNN-8-8K of SwapAdvisor (Huang, Jin and Li, ASPLOS 2020) has 8 layers of 8192 units;
 * the 20 steps are those of the RNNs of Tofu (Wang, Huang and Li, EuroSys 2019), whose authors it
 * shares.
 *
 * brnn: the same in both directions, layer by layer (Schuster and Paliwal, IEEE Trans. Signal
 * Processing 1997); each layer reads what both directions of the one before made of a step. Cells
 * of both directions take turns. BRNN-4-8K has 4 layers.
 */
enum {
    MAX_LAYERS = 8,
    MAX_STEPS = 32,
    N_GATES = 4
};

/** The parameters of a cell, borrowed. */
typedef struct cell {
    cebus_tensor *w_in, *w_state, *bias;
} cell;

static int64_t layers(const cebus_model *model)
{
    return model->config.depth < MAX_LAYERS ? model->config.depth : MAX_LAYERS;
}

static int64_t steps(const cebus_model *model)
{
    return model->config.length < MAX_STEPS ? model->config.length : MAX_STEPS;
}

static cell new_cell(cebus_model *model, int64_t in)
{
    const int64_t width = model->config.width, gates = N_GATES * width;
    const double scale = 1 / sqrt((double)width);
    cell out;
    out.w_in = cebus_net_parameter(model, scale, 0, 2, (int64_t[]){gates, in});
    out.bias = cebus_net_parameter(model, scale, 0, 1, &gates);
    out.w_state = cebus_net_parameter(model, scale, 0, 2, (int64_t[]){gates, width});
    return out;
}

/** Gate number i of them all. */
static cebus_tensor *gate(cebus_model *model, cebus_tensor *gates, int64_t i,
                          cebus_layer_unary function)
{
    return cebus_layer_map(model, function, cebus_layer_columns(model, gates, i));
}

/** Takes the state (none: zeros) and x over, leaves the next state. */
static void run_cell(cebus_model *model, const cell *weights, cebus_tensor *x,
                     cebus_lstm_state *state)
{
    cebus_tensor *gates = cebus_layer_product(model, x, weights->w_in, weights->bias);
    cebus_tensor_release(x);
    if (state->h != NULL)
        gates = cebus_layer_join(model, cebus_add, gates,
                                 cebus_layer_product(model, state->h, weights->w_state, NULL));
    cebus_tensor *in = gate(model, gates, 0, cebus_sigmoid);
    cebus_tensor *forget = state->c != NULL ? gate(model, gates, 1, cebus_sigmoid) : NULL;
    cebus_tensor *fresh = gate(model, gates, 2, cebus_tanh);
    cebus_tensor *out = gate(model, gates, 3, cebus_sigmoid);
    cebus_tensor_release(gates);
    cebus_tensor *c = cebus_layer_join(model, cebus_mul, in, fresh);
    if (state->c != NULL)
        c = cebus_layer_join(model, cebus_add, cebus_layer_join(model, cebus_mul, forget, state->c),
                             c);
    cebus_tensor_release(state->h);
    state->c = c;
    state->h = cebus_layer_join(model, cebus_mul, out,
                                cebus_layer_map(model, cebus_tanh, cebus_tensor_retain(c)));
}

static void end_state(cebus_lstm_state *state)
{
    cebus_tensor_release(state->h);
    cebus_tensor_release(state->c);
}

/** The features of each step. */
static void read_inputs(cebus_model *model, cebus_tensor **out)
{
    const cebus_model_config *c = &model->config;
    for (int64_t step = 0; step < steps(model); step++)
        out[step] = cebus_layer_noise(model, 2, (int64_t[]){c->batch, c->width});
}

static cebus_tensor *predict(cebus_model *model, cebus_tensor *last, int64_t features)
{
    cebus_tensor *target = cebus_net_targets(model);
    last = cebus_net_linear(model, last, features, model->config.classes);
    return cebus_layer_cross_entropy(model, last, target);
}

static cebus_tensor *rnn_loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *inputs[MAX_STEPS] = {NULL}, *x = NULL;
    cebus_lstm_state states[MAX_LAYERS] = {{NULL, NULL}};
    cell cells[MAX_LAYERS];
    read_inputs(model, inputs);
    for (int64_t i = 0; i < layers(model); i++)
        cells[i] = new_cell(model, c->width);
    for (int64_t step = 0; step < steps(model); step++) {
        cebus_tensor_release(x);
        x = inputs[step];
        for (int64_t i = 0; i < layers(model); i++) {
            run_cell(model, &cells[i], x, &states[i]);
            x = cebus_tensor_retain(states[i].h);
        }
    }
    for (int64_t i = 0; i < layers(model); i++)
        end_state(&states[i]);
    return predict(model, x, c->width);
}

/** Both directions over the values of all steps, which become the next layer's. */
static void both_ways(cebus_model *model, const cell *cells, cebus_tensor **x)
{
    const int64_t n = steps(model);
    cebus_lstm_state states[2] = {{NULL, NULL}, {NULL, NULL}};
    cebus_tensor *made[2][MAX_STEPS];
    for (int64_t i = 0; i < n; i++) {
        for (int way = 0; way < 2; way++) {
            const int64_t step = way == 0 ? i : n - 1 - i;
            run_cell(model, &cells[way], cebus_tensor_retain(x[step]), &states[way]);
            made[way][step] = cebus_tensor_retain(states[way].h);
        }
    }
    for (int64_t step = 0; step < n; step++) {
        cebus_tensor_release(x[step]);
        x[step] = cebus_layer_cat(model, made[0][step], made[1][step], 1);
    }
    end_state(&states[0]);
    end_state(&states[1]);
}

static cebus_tensor *brnn_loss(cebus_model *model)
{
    const int64_t width = model->config.width, n = steps(model);
    cebus_tensor *x[MAX_STEPS] = {NULL};
    read_inputs(model, x);
    for (int64_t i = 0; i < layers(model); i++) {
        cell cells[2];
        for (int way = 0; way < 2; way++)
            cells[way] = new_cell(model, i > 0 ? 2 * width : width);
        if (!model->building)
            both_ways(model, cells, x);
    }
    for (int64_t step = 0; step < n - 1; step++)
        cebus_tensor_release(x[step]);
    return predict(model, x[n - 1], 2 * width);
}

const cebus_model_kind cebus_model_rnn = {
    .name = "rnn",
    .defaults = {.batch = 4, .width = 8, .depth = 2, .length = 6, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = rnn_loss,
};

const cebus_model_kind cebus_model_brnn = {
    .name = "brnn",
    .defaults = {.batch = 4, .width = 8, .depth = 2, .length = 6, .classes = 10, .drawn = true},
    .sgd = true,
    .loss = brnn_loss,
};
