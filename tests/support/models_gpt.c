#include <math.h>

#include "tests/support/models_layer.h"

/**
 * gpt: depth pre-norm blocks of causal attention and a gelu network; the head is the embedding
 * unless untied. With depth 12, width 768, 12 heads, 1024 positions and 50257 symbols it is GPT-2
 * small (Radford et al. 2019, section 2.3 and table 2; 124 million parameters).
 */
static void build(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_layer_add(model, 0.1, 0, 2, (int64_t[]){c->classes, c->width});
    cebus_layer_add(model, 0.1, 0, 2, (int64_t[]){c->positions, c->width});
    for (int64_t i = 0; i < c->depth; i++) {
        cebus_layer_add_norm(model, c->width);
        cebus_layer_add_linear(model, c->width, 3 * c->width);
        cebus_layer_add_linear(model, c->width, c->width);
        cebus_layer_add_norm(model, c->width);
        cebus_layer_add_linear(model, c->width, 4 * c->width);
        cebus_layer_add_linear(model, 4 * c->width, c->width);
    }
    cebus_layer_add_norm(model, c->width);
    if (c->untied)
        cebus_layer_add(model, 1 / sqrt((double)c->width), 0, 2, (int64_t[]){c->classes, c->width});
}

static cebus_tensor *embed(cebus_model *model, cebus_tensor *table)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *tokens =
        cebus_layer_labels(model, c->classes, 2, (int64_t[]){c->batch, c->length});
    cebus_tensor *places = cebus_layer_parameter(model), *positions = NULL, *x = NULL;
    if (tokens != NULL)
        cebus_layer_ok(model, cebus_embedding(model->rt, table, tokens, CEBUS_NO_PADDING, &x));
    cebus_tensor_release(tokens);
    x = cebus_layer_enter(model, x);
    if (c->positions == c->length)
        positions = cebus_tensor_retain(places);
    else if (x != NULL)
        cebus_layer_ok(model, cebus_slice(model->rt, places, 0, 0, c->length, 1, &positions));
    return cebus_layer_join(model, cebus_add, x, cebus_layer_enter(model, positions));
}

/** Part `i` of three of [B, T, 3 W], as [B, heads, T, W / heads]: views. */
static cebus_tensor *head_view(cebus_model *model, cebus_tensor *qkv, int64_t i)
{
    const cebus_model_config *c = &model->config;
    int64_t shape[] = {c->batch, c->length, c->heads, c->width / c->heads};
    cebus_tensor *part = NULL, *out = NULL;
    if (qkv != NULL)
        cebus_layer_ok(model,
                       cebus_slice(model->rt, qkv, 2, i * c->width, (i + 1) * c->width, 1, &part));
    part = cebus_layer_reshape(model, part, 4, shape);
    if (part != NULL)
        cebus_layer_ok(model, cebus_transpose(model->rt, part, 1, 2, &out));
    cebus_tensor_release(part);
    return out;
}

static cebus_tensor *attend(cebus_model *model, cebus_tensor *qkv)
{
    const cebus_model_config *c = &model->config;
    const cebus_attention_options options = {.is_causal = true, .dropout_p = c->dropout};
    cebus_tensor *parts[3], *heads = NULL, *rows = NULL;
    for (int64_t i = 0; i < 3; i++)
        parts[i] = head_view(model, qkv, i);
    if (model->status == CEBUS_OK)
        cebus_layer_ok(model, cebus_scaled_dot_product_attention(model->rt, parts[0], parts[1],
                                                                 parts[2], &options, &heads));
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(parts[i]);
    cebus_tensor_release(qkv);
    if (heads != NULL)
        cebus_layer_ok(model, cebus_transpose(model->rt, heads, 1, 2, &rows));
    cebus_tensor_release(heads);
    return cebus_layer_reshape(model, rows, 3, (int64_t[]){c->batch, c->length, c->width});
}

static cebus_tensor *block(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *skip = cebus_tensor_retain(x);
    x = cebus_layer_linear(model, cebus_layer_layer_norm(model, x));
    x = cebus_layer_linear(model, attend(model, x));
    x = cebus_layer_join(model, cebus_add, skip, cebus_layer_dropout(model, x));
    skip = cebus_tensor_retain(x);
    x = cebus_layer_linear(model, cebus_layer_layer_norm(model, x));
    x = cebus_layer_linear(model, cebus_layer_map(model, cebus_gelu, x));
    return cebus_layer_join(model, cebus_add, skip, cebus_layer_dropout(model, x));
}

static cebus_tensor *loss(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    int64_t rows = c->batch * c->length;
    cebus_tensor *table = cebus_layer_parameter(model), *logits = NULL;
    cebus_tensor *x = cebus_layer_dropout(model, embed(model, table));
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, &rows);
    for (int64_t i = 0; i < c->depth; i++)
        x = block(model, x);
    x = cebus_layer_layer_norm(model, x);
    x = cebus_layer_reshape(model, x, 2, (int64_t[]){rows, c->width});
    cebus_tensor *head = c->untied ? cebus_layer_parameter(model) : table;
    head = x != NULL ? cebus_layer_narrow(model, head) : NULL;
    if (head != NULL)
        cebus_layer_ok(model, cebus_linear(model->rt, x, head, NULL, &logits));
    cebus_tensor_release(head);
    cebus_tensor_release(x);
    return cebus_layer_cross_entropy(model, logits, target);
}

const cebus_model_kind cebus_model_gpt = {
    .name = "gpt",
    .defaults = {.batch = 4,
                 .width = 16,
                 .depth = 3,
                 .length = 24,
                 .classes = 48,
                 .heads = 2,
                 .dropout = 0.1},
    .build = build,
    .loss = loss,
};

const cebus_model_kind cebus_model_gpt_bf16 = {
    .name = "gpt-bf16",
    .defaults = {.batch = 4,
                 .width = 16,
                 .depth = 2,
                 .length = 24,
                 .classes = 48,
                 .heads = 2,
                 .dropout = 0.1,
                 .precision = CEBUS_BF16},
    .build = build,
    .loss = loss,
};
