#include "tests/support/models_net.h"

/**
 * bert: Devlin et al., NAACL 2019, section 3. BERT-base is depth 12, width 768, 12 heads (110
 * million parameters), BERT-large depth 24, width 1024, 16 heads (340 million); post-norm blocks
 * with biases everywhere, a vocabulary of 30522. It learns both tasks of appendix A.1: 15% of the
 * symbols, whose rows alone go through the vocabulary (its matrix is the embedding), and whether
 * the second sentence is the next. Adam with decoupled weight decay, as in A.2.
 */
static cebus_tensor *add_norm(cebus_model *model, cebus_tensor *x, cebus_tensor *skip)
{
    x = cebus_layer_join(model, cebus_add, cebus_layer_dropout(model, x), skip);
    return cebus_net_layer_norm(model, x, model->config.width);
}

/** Symbols, segments and positions: [B, T, W]. The table of symbols is borrowed. */
static cebus_tensor *embed(cebus_model *model, cebus_tensor *table)
{
    const cebus_model_config *c = &model->config;
    const int64_t shape[] = {c->batch, c->length}, rows[] = {c->positions, c->width};
    cebus_tensor *tokens = cebus_layer_labels(model, c->classes, 2, shape), *x = NULL;
    cebus_tensor *segments = cebus_layer_labels(model, 2, 2, shape), *positions = NULL;
    if (tokens != NULL)
        cebus_layer_ok(model, cebus_embedding(model->rt, table, tokens, CEBUS_NO_PADDING, &x));
    cebus_tensor_release(tokens);
    x = cebus_layer_join(model, cebus_add, x, cebus_net_embedding(model, segments, 2, c->width));
    cebus_tensor *places = cebus_net_parameter(model, 0.05, 0, 2, rows);
    if (x != NULL)
        cebus_layer_ok(model, cebus_slice(model->rt, places, 0, 0, c->length, 1, &positions));
    x = cebus_layer_join(model, cebus_add, x, positions);
    return cebus_layer_dropout(model, cebus_net_layer_norm(model, x, c->width));
}

/** [B, T, W] through a linear layer, as [B, heads, T, W / heads]. */
static cebus_tensor *project(cebus_model *model, cebus_tensor *x)
{
    const cebus_model_config *c = &model->config;
    const int64_t shape[] = {c->batch, c->length, c->heads, c->width / c->heads};
    cebus_tensor *out = NULL;
    x = cebus_net_linear(model, cebus_tensor_retain(x), c->width, c->width);
    x = cebus_layer_reshape(model, x, 4, shape);
    if (x != NULL)
        cebus_layer_ok(model, cebus_transpose(model->rt, x, 1, 2, &out));
    cebus_tensor_release(x);
    return out;
}

static cebus_tensor *attend(cebus_model *model, cebus_tensor *x)
{
    const cebus_model_config *c = &model->config;
    const cebus_attention_options options = {.dropout_p = c->dropout};
    cebus_tensor *q = project(model, x), *k = project(model, x), *v = project(model, x);
    cebus_tensor *heads = NULL, *rows = NULL;
    if (q != NULL && k != NULL && v != NULL &&
        cebus_layer_ok(model,
                       cebus_scaled_dot_product_attention(model->rt, q, k, v, &options, &heads)))
        cebus_layer_ok(model, cebus_transpose(model->rt, heads, 1, 2, &rows));
    cebus_tensor_release(q);
    cebus_tensor_release(k);
    cebus_tensor_release(v);
    cebus_tensor_release(heads);
    cebus_tensor_release(x);
    rows = cebus_layer_reshape(model, rows, 3, (int64_t[]){c->batch, c->length, c->width});
    return cebus_net_linear(model, rows, c->width, c->width);
}

static cebus_tensor *block(cebus_model *model, cebus_tensor *x)
{
    const int64_t width = model->config.width;
    cebus_tensor *skip = cebus_tensor_retain(x);
    x = add_norm(model, attend(model, x), skip);
    skip = cebus_tensor_retain(x);
    x = cebus_layer_map(model, cebus_gelu, cebus_net_linear(model, x, width, 4 * width));
    return add_norm(model, cebus_net_linear(model, x, 4 * width, width), skip);
}

/** The loss of the masked symbols. `x` stays the caller's. */
static cebus_tensor *symbols_loss(cebus_model *model, cebus_tensor *x, cebus_tensor *table)
{
    const cebus_model_config *c = &model->config;
    const int64_t masked = c->batch * ((15 * c->length + 99) / 100), rows = c->batch * c->length;
    cebus_tensor *which = cebus_layer_labels(model, rows, 1, &masked), *chosen = NULL;
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &masked), *logits = NULL;
    x = cebus_layer_reshape(model, cebus_tensor_retain(x), 2, (int64_t[]){rows, c->width});
    if (x != NULL && which != NULL)
        cebus_layer_ok(model, cebus_index_select(model->rt, x, 0, which, &chosen));
    cebus_tensor_release(x);
    cebus_tensor_release(which);
    x = cebus_layer_map(model, cebus_gelu, cebus_net_linear(model, chosen, c->width, c->width));
    x = cebus_net_layer_norm(model, x, c->width);
    cebus_tensor *bias = cebus_net_parameter(model, 0, 0, 1, &c->classes);
    if (x != NULL)
        cebus_layer_ok(model, cebus_linear(model->rt, x, table, bias, &logits));
    cebus_tensor_release(x);
    return cebus_layer_cross_entropy(model, logits, target);
}

/** Of the first symbol's row: does the second sentence follow? */
static cebus_tensor *sentence_loss(cebus_model *model, cebus_tensor *x)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *target = cebus_layer_labels(model, 2, 1, &c->batch), *first = NULL;
    if (x != NULL)
        cebus_layer_ok(model, cebus_select(model->rt, x, 1, 0, &first));
    cebus_tensor_release(x);
    first = cebus_net_linear(model, first, c->width, c->width);
    first = cebus_net_linear(model, cebus_layer_map(model, cebus_tanh, first), c->width, 2);
    return cebus_layer_cross_entropy(model, first, target);
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    const int64_t shape[] = {c->classes, c->width};
    cebus_tensor *table = cebus_net_parameter(model, 0.05, 0, 2, shape);
    cebus_tensor *x = embed(model, table);
    for (int64_t i = 0; i < c->depth; i++)
        x = block(model, x);
    cebus_tensor *symbols = symbols_loss(model, x, table);
    return cebus_layer_join(model, cebus_add, symbols, sentence_loss(model, x));
}

const cebus_model_kind cebus_model_bert = {
    .name = "bert",
    .defaults = {.batch = 2,
                 .width = 16,
                 .depth = 2,
                 .length = 16,
                 .classes = 40,
                 .heads = 2,
                 .dropout = 0.1,
                 .drawn = true},
    .lr = 1e-4,
    .weight_decay = 0.01,
    .loss = loss,
};
