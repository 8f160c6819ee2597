#include <math.h>

#include "tests/support/models_net.h"

/**
 * treelstm: a Child-Sum TreeLSTM (Tai, Socher and Manning, ACL 2015, section 3.1) over complete
 * binary trees of depth levels, as DTR measured it (Kirisame et al., ICLR 2021): every node has an
 * input of its own, batches of trees go through together, and the root's state is classified. Input
 * is the features of a node, width its states'.
 */
typedef struct state {
    cebus_tensor *h, *c;
} state;

/** The gates' weights, of a node's input and of its children's states; borrowed. */
typedef struct parts {
    cebus_tensor *input_gates, *bias, *state_gates;
    cebus_tensor *input_forget, *forget_bias, *state_forget;
} parts;

static parts take_parts(cebus_model *model)
{
    const int64_t in = model->config.input, width = model->config.width;
    const double scale = 1 / sqrt((double)width);
    const int64_t gates = 3 * width; /* input, output, candidate */
    parts p;
    p.input_gates = cebus_net_parameter(model, scale, 0, 2, (int64_t[]){gates, in});
    p.bias = cebus_net_parameter(model, scale, 0, 1, &gates);
    p.state_gates = cebus_net_parameter(model, scale, 0, 2, (int64_t[]){gates, width});
    p.input_forget = cebus_net_parameter(model, scale, 0, 2, (int64_t[]){width, in});
    p.forget_bias = cebus_net_parameter(model, scale, 0, 1, &width);
    p.state_forget = cebus_net_parameter(model, scale, 0, 2, (int64_t[]){width, width});
    return p;
}

static cebus_tensor *add(cebus_model *model, cebus_tensor *a, cebus_tensor *b)
{
    return cebus_layer_join(model, cebus_add, a, b);
}

static cebus_tensor *multiply(cebus_model *model, cebus_tensor *a, cebus_tensor *b)
{
    return cebus_layer_join(model, cebus_mul, a, b);
}

/** Gate `i` of three, activated. */
static cebus_tensor *gate(cebus_model *model, cebus_tensor *gates, int64_t i)
{
    return cebus_layer_map(model, i == 2 ? cebus_tanh : cebus_sigmoid,
                           cebus_layer_columns(model, gates, i));
}

/** What is kept of a child's cell; the cell is taken over. `share` is what the node's input adds
 * to every forget gate. */
static cebus_tensor *keep(cebus_model *model, const parts *p, cebus_tensor *share, state child)
{
    cebus_tensor *forget = cebus_layer_product(model, child.h, p->state_forget, NULL);
    forget = add(model, forget, cebus_tensor_retain(share));
    return multiply(model, cebus_layer_map(model, cebus_sigmoid, forget), child.c);
}

/** The children's states are taken over; none for a leaf. */
static state node(cebus_model *model, const parts *p, cebus_tensor *x, state *children)
{
    state s = {NULL, NULL};
    cebus_tensor *gates = cebus_layer_product(model, x, p->input_gates, p->bias), *kept = NULL;
    if (children != NULL) {
        cebus_tensor *share = cebus_layer_product(model, x, p->input_forget, p->forget_bias);
        kept = keep(model, p, share, children[0]);
        kept = add(model, kept, keep(model, p, share, children[1]));
        cebus_tensor *sum = add(model, children[0].h, children[1].h);
        gates = add(model, gates, cebus_layer_product(model, sum, p->state_gates, NULL));
        cebus_tensor_release(sum);
        cebus_tensor_release(share);
    }
    cebus_tensor *fresh = gate(model, gates, 0);
    fresh = multiply(model, fresh, gate(model, gates, 2));
    s.c = children != NULL ? add(model, kept, fresh) : fresh;
    s.h = cebus_layer_map(model, cebus_tanh, cebus_tensor_retain(s.c));
    s.h = multiply(model, gate(model, gates, 1), s.h);
    cebus_tensor_release(gates);
    return s;
}

/** `next` counts the nodes, whose inputs are [nodes, batch, input]. */
static state grow(cebus_model *model, const parts *p, cebus_tensor *inputs, int64_t levels,
                  int64_t *next)
{
    state children[2], s;
    cebus_tensor *x = NULL;
    if (inputs != NULL)
        cebus_layer_ok(model, cebus_select(model->rt, inputs, 0, (*next)++, &x));
    for (int i = 0; i < 2 && levels > 1; i++)
        children[i] = grow(model, p, inputs, levels - 1, next);
    s = node(model, p, x, levels > 1 ? children : NULL);
    cebus_tensor_release(x);
    return s;
}

static cebus_tensor *loss(cebus_model *model)
{
    enum {
        MAX_LEVELS = 24
    };
    const cebus_model_config *c = &model->config;
    const int64_t levels = c->depth < MAX_LEVELS ? c->depth : MAX_LEVELS;
    const int64_t shape[] = {((int64_t)1 << levels) - 1, c->batch, c->input};
    cebus_tensor *inputs = cebus_layer_noise(model, 3, shape);
    cebus_tensor *target = cebus_net_targets(model);
    parts p = take_parts(model);
    int64_t next = 0;
    state root = grow(model, &p, inputs, levels, &next);
    cebus_tensor_release(inputs);
    cebus_tensor_release(root.c);
    cebus_tensor *logits = cebus_net_linear(model, root.h, c->width, c->classes);
    return cebus_layer_cross_entropy(model, logits, target);
}

const cebus_model_kind cebus_model_treelstm = {
    .name = "treelstm",
    .defaults = {.batch = 4, .width = 8, .depth = 3, .classes = 5, .input = 6, .drawn = true},
    .loss = loss,
};
