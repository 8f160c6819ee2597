#include "tests/support/models.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/models_layer.h"

static const cebus_model_kind *const kinds[] = {
    &cebus_model_mlp,         &cebus_model_cnn,         &cebus_model_gpt,
    &cebus_model_lstm,        &cebus_model_unet,        &cebus_model_tree,
    &cebus_model_resnet18,    &cebus_model_vgg16,       &cebus_model_resnet50,
    &cebus_model_resnet152,   &cebus_model_wresnet152,  &cebus_model_resnet_cifar,
    &cebus_model_densenet121, &cebus_model_inceptionv3, &cebus_model_inceptionv4,
    &cebus_model_unet_bn,     &cebus_model_bert,        &cebus_model_bilstm,
    &cebus_model_lstm_cells,  &cebus_model_treelstm,    &cebus_model_gan,
    &cebus_model_nasnet,      &cebus_model_rnn,         &cebus_model_brnn,
    &cebus_model_gpt_bf16,    &cebus_model_cnn_f16,     &cebus_model_swin,
};

enum {
    N_KINDS = sizeof kinds / sizeof *kinds
};

const char *cebus_model_name(size_t i)
{
    return i < N_KINDS ? kinds[i]->name : NULL;
}

static const cebus_model_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    }
    return NULL;
}

static void set_default(int64_t *field, int64_t value)
{
    if (*field == 0)
        *field = value;
}

static cebus_model_config complete(const cebus_model_config *given, const cebus_model_kind *kind)
{
    const cebus_model_config *defaults = &kind->defaults;
    cebus_model_config config = given != NULL ? *given : *defaults;
    set_default(&config.batch, defaults->batch);
    set_default(&config.width, defaults->width);
    set_default(&config.depth, defaults->depth);
    set_default(&config.length, defaults->length);
    set_default(&config.classes, defaults->classes);
    set_default(&config.heads, defaults->heads);
    set_default(&config.input, defaults->input);
    set_default(&config.breadth, config.length);
    set_default(&config.positions, config.length);
    config.two_way = config.two_way || defaults->two_way;
    config.drawn = config.drawn || defaults->drawn;
    config.precision = config.precision != 0 ? config.precision : defaults->precision;
    if (config.dropout == 0)
        config.dropout = defaults->dropout;
    if (config.dropout < 0)
        config.dropout = 0;
    return config;
}

static double or_default(double value, double otherwise)
{
    return value != 0 ? value : otherwise;
}

void cebus_layer_add_optimizer(cebus_model *model)
{
    const cebus_model_kind *kind = model->kind;
    cebus_sgd_options sgd = CEBUS_SGD_OPTIONS_INIT;
    cebus_adam_options adam = CEBUS_ADAM_OPTIONS_INIT;
    cebus_optimizer **out = &model->optimizers[model->n_optimizers];
    sgd.lr = or_default(kind->lr, 0.05);
    sgd.momentum = 0.9;
    sgd.weight_decay = or_default(kind->weight_decay, 1e-4);
    adam.lr = or_default(kind->lr, 2e-3);
    adam.beta1 = kind->beta1;
    adam.weight_decay = kind->weight_decay;
    adam.decoupled = kind->weight_decay != 0;
    if (model->rt == NULL || model->n_optimizers == CEBUS_MODEL_OPTIMIZERS)
        return;
    model->first_of_second = model->parameters.n;
    if (cebus_layer_ok(model, kind->sgd ? cebus_optimizer_create_sgd(model->rt, &sgd, out)
                                        : cebus_optimizer_create_adam(model->rt, &adam, out)))
        model->n_optimizers++;
}

/** Its scale moves within a few steps, up and down. */
static void add_scaler(cebus_model *model)
{
    cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    how.init_scale = model->kind->init_scale;
    how.growth_interval = 2;
    if (model->config.precision != 0)
        cebus_layer_ok(model, cebus_grad_scaler_create(model->rt, &how, &model->scaler));
}

static void build(cebus_model *model)
{
    model->building = true;
    if (model->kind->build != NULL)
        model->kind->build(model);
    else
        cebus_tensor_release(model->kind->loss(model));
    model->building = false;
}

cebus_model *cebus_model_create(cebus_runtime *rt, const char *name,
                                const cebus_model_config *config)
{
    const cebus_model_kind *kind = find_kind(name);
    cebus_model *model = kind != NULL ? calloc(1, sizeof *model) : NULL;
    if (model == NULL)
        return NULL;
    model->rt = rt;
    model->kind = kind;
    model->config = complete(config, kind);
    model->random = model->config.seed;
    if (model->config.drawn)
        cebus_manual_seed(rt, model->config.seed);
    cebus_layer_add_optimizer(model);
    add_scaler(model);
    if (model->status == CEBUS_OK)
        build(model);
    if (model->status == CEBUS_OK)
        return model;
    cebus_model_destroy(model);
    return NULL;
}

int64_t cebus_model_size(const char *name, const cebus_model_config *config)
{
    const cebus_model_kind *kind = find_kind(name);
    if (kind == NULL)
        return -1;
    cebus_model model = {.kind = kind, .config = complete(config, kind)};
    build(&model);
    return model.elements;
}

static void release_all(cebus_model_tensors *list)
{
    for (size_t i = 0; i < list->n; i++)
        cebus_tensor_release(list->items[i]);
    free(list->items);
}

void cebus_model_destroy(cebus_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->n_optimizers; i++)
        cebus_optimizer_destroy(model->optimizers[i]);
    cebus_optimizer_destroy(model->unrolled);
    cebus_grad_scaler_destroy(model->scaler);
    release_all(&model->parameters);
    release_all(&model->buffers);
    release_all(&model->batch);
    free(model);
}

/** The batch and the random numbers of a step, or of a part of it, depend on its number alone. */
void cebus_model_begin_part(cebus_model *model)
{
    uint64_t number = model->config.seed * UINT64_C(0x2545F4914F6CDD1D) + model->steps + 1 +
                      model->part * UINT64_C(0x9E3779B97F4A7C15);
    model->status = CEBUS_OK;
    model->next_parameter = model->next_buffer = model->next_batch = 0;
    model->random = number;
    cebus_manual_seed(model->rt, number);
}

/** A step in one part. */
static cebus_status train(cebus_model *model, float *out_loss)
{
    cebus_tensor *loss = model->kind->loss(model);
    if (loss != NULL && cebus_layer_ok(model, cebus_backward(model->rt, loss, NULL, false)) &&
        out_loss != NULL)
        cebus_layer_ok(model, cebus_tensor_to_host(loss, out_loss, sizeof *out_loss));
    cebus_tensor_release(loss);
    if (model->status == CEBUS_OK)
        cebus_layer_ok(model, cebus_optimizer_step(model->optimizers[0]));
    return model->status;
}

static void backward_scaled(cebus_model *model, cebus_tensor *loss, float *out_loss)
{
    cebus_tensor *scaled = NULL;
    if (loss != NULL &&
        cebus_layer_ok(model, cebus_grad_scaler_scale(model->scaler, loss, &scaled)) &&
        cebus_layer_ok(model, cebus_backward(model->rt, scaled, NULL, false)) && out_loss != NULL)
        cebus_layer_ok(model, cebus_tensor_to_host(loss, &model->loss, sizeof model->loss));
    cebus_tensor_release(scaled);
}

/** The same with a scaled loss. The optimizer steps once, also where the scale's update failed. */
static cebus_status train_scaled(cebus_model *model, float *out_loss)
{
    if (!model->awaits_update) {
        cebus_tensor *loss = model->kind->loss(model);
        backward_scaled(model, loss, out_loss);
        cebus_tensor_release(loss);
        if (model->status == CEBUS_OK)
            cebus_layer_ok(model, cebus_grad_scaler_step(model->scaler, model->optimizers[0]));
        model->awaits_update = model->status == CEBUS_OK;
    }
    if (model->awaits_update && cebus_layer_ok(model, cebus_grad_scaler_update(model->scaler)))
        model->awaits_update = false;
    if (out_loss != NULL)
        *out_loss = model->loss;
    return model->status;
}

static cebus_status train_part(cebus_model *model, float *out_loss, bool *out_more)
{
    if (model->kind->train != NULL)
        return model->kind->train(model, out_loss, out_more);
    return model->scaler != NULL ? train_scaled(model, out_loss) : train(model, out_loss);
}

static cebus_status zero_gradients(cebus_model *model)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < model->n_optimizers; i++) {
        cebus_status zeroed = cebus_optimizer_zero_grad(model->optimizers[i]);
        if (status == CEBUS_OK)
            status = zeroed;
    }
    return status;
}

cebus_status cebus_model_run_part(cebus_model *model, float *out_loss, bool *out_more)
{
    *out_more = false;
    cebus_status status = train_part(model, out_loss, out_more);
    cebus_status zeroed = zero_gradients(model);
    return status == CEBUS_OK ? zeroed : status;
}

void cebus_model_end_part(cebus_model *model, bool more)
{
    model->part++;
    if (more)
        return;
    model->steps++;
    model->part = model->moved_buffers = 0;
}

cebus_status cebus_model_step(cebus_model *model, float *out_loss)
{
    cebus_status status = CEBUS_OK;
    for (bool more = true; more && status == CEBUS_OK;) {
        cebus_model_begin_part(model);
        status = cebus_model_run_part(model, out_loss, &more);
        if (status == CEBUS_OK)
            cebus_model_end_part(model, more);
    }
    return status;
}

/** FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static cebus_status hash_tensor(cebus_tensor *tensor, uint64_t *hash)
{
    size_t bytes = (size_t)cebus_tensor_numel(tensor) * cebus_dtype_size(CEBUS_F32);
    void *data = malloc(bytes + 1);
    cebus_status status =
        data != NULL ? cebus_tensor_to_host(tensor, data, bytes) : CEBUS_OUT_OF_HOST_MEMORY;
    if (status == CEBUS_OK)
        *hash = hash_bytes(*hash, data, bytes);
    free(data);
    return status;
}

static cebus_status hash_state(cebus_optimizer *optimizer, size_t i, cebus_optimizer_buffer buffer,
                               uint64_t *hash)
{
    cebus_tensor *state = NULL;
    cebus_status status = cebus_optimizer_state(optimizer, i, buffer, &state);
    if (status == CEBUS_OK)
        status = hash_tensor(state, hash);
    cebus_tensor_release(state);
    return status;
}

static cebus_status hash_slot(cebus_model *model, size_t i, uint64_t *hash)
{
    bool second = model->n_optimizers > 1 && i >= model->first_of_second;
    cebus_optimizer *optimizer = model->optimizers[second];
    int64_t steps = 0;
    cebus_status status = hash_tensor(model->parameters.items[i], hash);
    i -= second ? model->first_of_second : 0;
    if (status == CEBUS_OK && model->kind->sgd)
        return hash_state(optimizer, i, CEBUS_SGD_MOMENTUM, hash);
    if (status == CEBUS_OK)
        status = hash_state(optimizer, i, CEBUS_ADAM_EXP_AVG, hash);
    if (status == CEBUS_OK)
        status = hash_state(optimizer, i, CEBUS_ADAM_EXP_AVG_SQ, hash);
    if (status == CEBUS_OK)
        status = cebus_optimizer_step_count(optimizer, i, &steps);
    *hash = hash_bytes(*hash, &steps, sizeof steps);
    return status;
}

static cebus_status hash_scaler(cebus_model *model, uint64_t *hash)
{
    cebus_tensor *scale = NULL, *tracker = NULL;
    cebus_status status = cebus_grad_scaler_tensor(model->scaler, &scale);
    if (status == CEBUS_OK)
        status = cebus_grad_scaler_tracker(model->scaler, &tracker);
    if (status == CEBUS_OK)
        status = hash_tensor(scale, hash);
    if (status == CEBUS_OK)
        status = hash_tensor(tracker, hash);
    cebus_tensor_release(scale);
    cebus_tensor_release(tracker);
    return status;
}

cebus_status cebus_model_hash(cebus_model *model, uint64_t *out_hash)
{
    cebus_status status = CEBUS_OK;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < model->parameters.n && status == CEBUS_OK; i++)
        status = hash_slot(model, i, &hash);
    for (size_t i = 0; i < model->buffers.n && status == CEBUS_OK; i++)
        status = hash_tensor(model->buffers.items[i], &hash);
    if (model->scaler != NULL && status == CEBUS_OK)
        status = hash_scaler(model, &hash);
    *out_hash = hash;
    return status;
}

const cebus_model_config *cebus_model_config_of(const cebus_model *model)
{
    return &model->config;
}

size_t cebus_model_parameter_count(const cebus_model *model)
{
    return model->parameters.n;
}

cebus_tensor *cebus_model_parameter(const cebus_model *model, size_t i)
{
    return i < model->parameters.n ? model->parameters.items[i] : NULL;
}
