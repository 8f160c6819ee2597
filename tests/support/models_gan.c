#include "tests/support/models_layer.h"

/**
 * gan: an unrolled generative adversarial network (Metz et al., ICLR 2017, section 2.2) over points
 * of the plane, with the networks DTR measured it with (Kirisame et al., ICLR 2021): three linear
 * layers each, the critic's last one through a sigmoid. Width is that of the hidden layers, input
 * the generator's noise, depth the number of unrolled steps.
 *
 * A step trains the critic, keeps a copy of it, takes depth plain gradient steps with it, trains
 * the generator against the critic it has become, and puts the copy back. A liberty: the
 * generator's gradient does not flow back through the unrolled steps, as there are no gradients of
 * gradients; it is the published step with that term left out.
 */
enum {
    POINT = 2,     /* coordinates of a point */
    NETWORK = 6,   /* parameters of each network: the generator's, then the critic's */
    FIRST_COPY = 1 /* the part of a step that keeps the critic; unrolled steps follow */
};

static void add_network(cebus_model *model, int64_t in, int64_t out)
{
    const int64_t width = model->config.width;
    cebus_layer_add_linear(model, in, width);
    cebus_layer_add_linear(model, width, width);
    cebus_layer_add_linear(model, width, out);
}

/** Room for a copy of the critic, and the optimizer of the unrolled steps. */
static void add_unrolling(cebus_model *model)
{
    const cebus_sgd_options sgd = {.struct_size = sizeof sgd, .lr = 0.05};
    if (model->rt == NULL ||
        !cebus_layer_ok(model, cebus_optimizer_create_sgd(model->rt, &sgd, &model->unrolled)))
        return;
    for (size_t i = NETWORK; i < model->parameters.n; i++) {
        cebus_tensor *parameter = model->parameters.items[i];
        cebus_layer_add_buffer(model, 0, cebus_tensor_numel(parameter));
        cebus_layer_ok(model, cebus_optimizer_add(model->unrolled, parameter));
    }
}

static void build(cebus_model *model)
{
    add_network(model, model->config.input, POINT);
    cebus_layer_add_optimizer(model);
    add_network(model, POINT, 1);
    add_unrolling(model);
}

/** The network whose parameters begin at `first`. */
static cebus_tensor *run(cebus_model *model, cebus_tensor *x, size_t first)
{
    model->next_parameter = first;
    x = cebus_layer_map(model, cebus_relu, cebus_layer_linear(model, x));
    x = cebus_layer_map(model, cebus_relu, cebus_layer_linear(model, x));
    return cebus_layer_linear(model, x);
}

/** Points that the generator makes. */
static cebus_tensor *generate(cebus_model *model)
{
    const cebus_model_config *c = &model->config;
    return run(model, cebus_layer_noise(model, 2, (int64_t[]){c->batch, c->input}), 0);
}

/** The cross-entropy of the critic's opinion of `points` with the truth. */
static cebus_tensor *judge(cebus_model *model, cebus_tensor *points, bool real)
{
    cebus_tensor *x = cebus_layer_map(model, cebus_sigmoid, run(model, points, NETWORK));
    cebus_tensor *right = NULL, *mean = NULL;
    if (real)
        right = x;
    else if (x != NULL)
        x = cebus_layer_end(model, x, cebus_rsub_scalar(model->rt, x, 1, &right), &right);
    x = cebus_layer_map(model, cebus_log, right);
    if (x != NULL)
        cebus_layer_ok(model, cebus_mean(model->rt, x, 0, NULL, false, &mean));
    cebus_tensor_release(x);
    return cebus_layer_map(model, cebus_neg, mean);
}

/** Takes the loss over. */
static cebus_status learn(cebus_model *model, cebus_tensor *loss, cebus_optimizer *optimizer,
                          float *out_loss)
{
    if (loss != NULL && cebus_layer_ok(model, cebus_backward(model->rt, loss, NULL, false)) &&
        out_loss != NULL)
        cebus_layer_ok(model, cebus_tensor_to_host(loss, out_loss, sizeof *out_loss));
    cebus_tensor_release(loss);
    if (model->status == CEBUS_OK)
        cebus_layer_ok(model, cebus_optimizer_step(optimizer));
    return model->status;
}

static cebus_status train_critic(cebus_model *model, cebus_optimizer *optimizer)
{
    bool enabled = cebus_grad_enable(false);
    cebus_tensor *made = generate(model);
    cebus_grad_enable(enabled);
    cebus_tensor *points = cebus_layer_noise(model, 2, (int64_t[]){model->config.batch, POINT});
    cebus_tensor *loss = judge(model, points, true);
    loss = cebus_layer_join(model, cebus_add, loss, judge(model, made, false));
    return learn(model, loss, optimizer, NULL);
}

/** From the critic to its copy, or back. */
static cebus_status copy_critic(cebus_model *model, bool back)
{
    bool enabled = cebus_grad_enable(false);
    for (size_t i = 0; i < model->buffers.n && model->status == CEBUS_OK; i++) {
        cebus_tensor *copy = model->buffers.items[i], *flat = NULL;
        int64_t n = cebus_tensor_numel(copy);
        if (cebus_layer_ok(model, cebus_reshape(model->rt, model->parameters.items[NETWORK + i], 1,
                                                &n, &flat)))
            cebus_layer_ok(model, back ? cebus_copy_(model->rt, flat, copy)
                                       : cebus_copy_(model->rt, copy, flat));
        cebus_tensor_release(flat);
    }
    cebus_grad_enable(enabled);
    return model->status;
}

static cebus_status train(cebus_model *model, float *out_loss, bool *out_more)
{
    const uint64_t last_unrolled = FIRST_COPY + (uint64_t)model->config.depth;
    const uint64_t generator = last_unrolled + 1, put_back = last_unrolled + 2;
    *out_more = model->part < put_back;
    if (model->part == FIRST_COPY || model->part == put_back)
        return copy_critic(model, model->part == put_back);
    if (model->part == generator)
        return learn(model, judge(model, generate(model), true), model->optimizers[0], out_loss);
    return train_critic(model, model->part == 0 ? model->optimizers[1] : model->unrolled);
}

const cebus_model_kind cebus_model_gan = {
    .name = "gan",
    .defaults = {.batch = 48, .width = 12, .depth = 3, .input = 6, .drawn = true},
    .lr = 1e-3,
    .beta1 = 0.5,
    .build = build,
    .train = train,
};
