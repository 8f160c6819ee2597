#include "tests/support/models_layer.h"

/**
 * tree: a binary TreeLSTM (Tai, Socher and Manning, ACL 2015, section 3.2). Each sample of the
 * batch is a random tree over random symbols; which of two heads classifies it is decided by a
 * value of its root, read back on the way.
 */
typedef struct state {
    cebus_tensor *h, *c;
} state;

typedef struct parts {
    cebus_tensor *table, *join_weight, *join_bias, *weight[2], *bias[2];
} parts;

enum {
    GATES = 5 /* input, forget left, forget right, output, candidate */
};

static void build(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    cebus_layer_add(model, 0.5, 0, 2, (int64_t[]){c->classes, 2 * c->width});
    cebus_layer_add_linear(model, 2 * c->width, GATES * c->width);
    for (int head = 0; head < 2; head++)
        cebus_layer_add_linear(model, c->width, c->classes);
}

static void release_state(state *s)
{
    cebus_tensor_release(s->h);
    cebus_tensor_release(s->c);
    *s = (state){NULL, NULL};
}

static cebus_tensor *gate(cebus_model *model, cebus_tensor *gates, int64_t i)
{
    return cebus_layer_map(model, i == GATES - 1 ? cebus_tanh : cebus_sigmoid,
                           cebus_layer_columns(model, gates, i));
}

static cebus_tensor *multiply(cebus_model *model, cebus_tensor *a, cebus_tensor *b)
{
    return cebus_layer_join(model, cebus_mul, a, b);
}

static state leaf(cebus_model *model, const parts *p)
{
    state s = {NULL, NULL};
    cebus_tensor *row = NULL;
    cebus_tensor *symbol = cebus_layer_labels(model, model->config.classes, 1, (int64_t[]){1});
    if (symbol != NULL)
        cebus_layer_ok(model, cebus_embedding(model->rt, p->table, symbol, CEBUS_NO_PADDING, &row));
    cebus_tensor_release(symbol);
    s.h = cebus_layer_map(model, cebus_tanh, cebus_layer_columns(model, row, 0));
    s.c = cebus_layer_columns(model, row, 1);
    cebus_tensor_release(row);
    return s;
}

/** Takes over both states. */
static state compose(cebus_model *model, const parts *p, state left, state right)
{
    state s = {NULL, NULL};
    cebus_tensor *both = cebus_layer_cat(model, left.h, right.h, 1);
    cebus_tensor *gates = cebus_layer_product(model, both, p->join_weight, p->join_bias);
    cebus_tensor_release(both);
    cebus_tensor *kept =
        cebus_layer_join(model, cebus_add, multiply(model, gate(model, gates, 1), left.c),
                         multiply(model, gate(model, gates, 2), right.c));
    cebus_tensor *fresh = multiply(model, gate(model, gates, 0), gate(model, gates, 4));
    s.c = cebus_layer_join(model, cebus_add, kept, fresh);
    s.h = multiply(model, gate(model, gates, 3),
                   cebus_layer_map(model, cebus_tanh, cebus_tensor_retain(s.c)));
    cebus_tensor_release(gates);
    return s;
}

/** A random tree over `leaves` leaves, and at most as deep. */
static state grow(cebus_model *model, const parts *p, int64_t leaves)
{
    if (leaves <= 1 || model->status != CEBUS_OK)
        return leaf(model, p);
    int64_t on_left = 1 + cebus_layer_draw(model, leaves - 1);
    state left = grow(model, p, on_left);
    state right = grow(model, p, leaves - on_left);
    return compose(model, p, left, right);
}

/** Which head: by the sign of the root's first number. */
static int choose_head(cebus_model *model, cebus_tensor *h)
{
    cebus_tensor *first = NULL;
    double value = 0;
    if (h != NULL && cebus_layer_ok(model, cebus_slice(model->rt, h, 1, 0, 1, 1, &first)))
        cebus_layer_ok(model, cebus_tensor_item(first, &value));
    cebus_tensor_release(first);
    return value > 0;
}

static cebus_tensor *tree_loss(cebus_model *model, const parts *p)
{
    const cebus_model_config *c = &model->config;
    cebus_tensor *target = cebus_layer_labels(model, c->classes, 1, (int64_t[]){1});
    state root = grow(model, p, 2 + cebus_layer_draw(model, c->length - 1));
    cebus_tensor *logits = NULL;
    int head = choose_head(model, root.h);
    if (root.h != NULL)
        cebus_layer_ok(model,
                       cebus_linear(model->rt, root.h, p->weight[head], p->bias[head], &logits));
    release_state(&root);
    return cebus_layer_cross_entropy(model, logits, target);
}

static cebus_tensor *loss(cebus_model *model)
{
    parts p;
    p.table = cebus_layer_parameter(model);
    p.join_weight = cebus_layer_parameter(model);
    p.join_bias = cebus_layer_parameter(model);
    for (int head = 0; head < 2; head++) {
        p.weight[head] = cebus_layer_parameter(model);
        p.bias[head] = cebus_layer_parameter(model);
    }
    cebus_tensor *sum = tree_loss(model, &p);
    for (int64_t i = 1; i < model->config.batch; i++)
        sum = cebus_layer_join(model, cebus_add, sum, tree_loss(model, &p));
    return sum;
}

const cebus_model_kind cebus_model_tree = {
    .name = "tree",
    .defaults = {.batch = 8, .width = 16, .depth = 1, .length = 12, .classes = 8},
    .build = build,
    .loss = loss,
};
