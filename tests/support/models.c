#include "tests/support/models.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/models_layer.h"

static const cebus_model_kind *const kinds[] = {
    &cebus_model_mlp,  &cebus_model_cnn,  &cebus_model_gpt,      &cebus_model_lstm,
    &cebus_model_unet, &cebus_model_tree, &cebus_model_resnet18,
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
    if (config.dropout == 0)
        config.dropout = defaults->dropout;
    if (config.dropout < 0)
        config.dropout = 0;
    return config;
}

static cebus_status create_optimizer(cebus_model *model)
{
    cebus_sgd_options sgd = CEBUS_SGD_OPTIONS_INIT;
    cebus_adam_options adam = CEBUS_ADAM_OPTIONS_INIT;
    sgd.lr = 0.05;
    sgd.momentum = 0.9;
    sgd.weight_decay = 1e-4;
    adam.lr = 2e-3;
    return model->kind->sgd ? cebus_optimizer_create_sgd(model->rt, &sgd, &model->optimizer)
                            : cebus_optimizer_create_adam(model->rt, &adam, &model->optimizer);
}

static size_t buffer_floats(const cebus_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->n_buffers; i++)
        count += (size_t)cebus_tensor_numel(model->buffers[i]);
    return count;
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
    if (cebus_layer_ok(model, create_optimizer(model)))
        kind->build(model);
    model->saved_buffers = malloc((buffer_floats(model) + 1) * sizeof(float));
    if (model->saved_buffers != NULL && model->status == CEBUS_OK)
        return model;
    cebus_model_destroy(model);
    return NULL;
}

void cebus_model_destroy(cebus_model *model)
{
    if (model == NULL)
        return;
    cebus_optimizer_destroy(model->optimizer);
    for (size_t i = 0; i < model->n_parameters; i++)
        cebus_tensor_release(model->parameters[i]);
    for (size_t i = 0; i < model->n_buffers; i++)
        cebus_tensor_release(model->buffers[i]);
    free(model->saved_buffers);
    free(model);
}

/** Copies all buffers to the host, or back. */
static cebus_status move_buffers(cebus_model *model, bool restore)
{
    cebus_status status = CEBUS_OK;
    float *at = model->saved_buffers;
    for (size_t i = 0; i < model->n_buffers && status == CEBUS_OK; i++) {
        size_t n = (size_t)cebus_tensor_numel(model->buffers[i]);
        status = restore ? cebus_tensor_set_from_host(model->buffers[i], at, n * sizeof *at)
                         : cebus_tensor_to_host(model->buffers[i], at, n * sizeof *at);
        at += n;
    }
    return status;
}

/** The batch and the random numbers of a step depend on its number alone. */
static void begin_step(cebus_model *model)
{
    uint64_t number = model->config.seed * UINT64_C(0x2545F4914F6CDD1D) + model->steps + 1;
    model->status = CEBUS_OK;
    model->next_parameter = model->next_buffer = 0;
    model->random = number;
    cebus_manual_seed(model->rt, number);
}

static cebus_status train(cebus_model *model, float *out_loss)
{
    cebus_tensor *loss = model->kind->loss(model);
    if (loss != NULL && cebus_layer_ok(model, cebus_backward(model->rt, loss, NULL, false)) &&
        out_loss != NULL)
        cebus_layer_ok(model, cebus_tensor_to_host(loss, out_loss, sizeof *out_loss));
    cebus_tensor_release(loss);
    if (model->status == CEBUS_OK)
        cebus_layer_ok(model, cebus_optimizer_step(model->optimizer));
    return model->status;
}

cebus_status cebus_model_step(cebus_model *model, float *out_loss)
{
    begin_step(model);
    cebus_status status = move_buffers(model, false);
    if (status != CEBUS_OK)
        return status;
    status = train(model, out_loss);
    cebus_status zeroed = cebus_optimizer_zero_grad(model->optimizer);
    if (status == CEBUS_OK)
        status = zeroed;
    if (status == CEBUS_OK)
        model->steps++;
    else if (move_buffers(model, true) != CEBUS_OK)
        status = CEBUS_INTERNAL;
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

static cebus_status hash_state(cebus_model *model, size_t i, cebus_optimizer_buffer buffer,
                               uint64_t *hash)
{
    cebus_tensor *state = NULL;
    cebus_status status = cebus_optimizer_state(model->optimizer, i, buffer, &state);
    if (status == CEBUS_OK)
        status = hash_tensor(state, hash);
    cebus_tensor_release(state);
    return status;
}

static cebus_status hash_slot(cebus_model *model, size_t i, uint64_t *hash)
{
    int64_t steps = 0;
    cebus_status status = hash_tensor(model->parameters[i], hash);
    if (status == CEBUS_OK && model->kind->sgd)
        return hash_state(model, i, CEBUS_SGD_MOMENTUM, hash);
    if (status == CEBUS_OK)
        status = hash_state(model, i, CEBUS_ADAM_EXP_AVG, hash);
    if (status == CEBUS_OK)
        status = hash_state(model, i, CEBUS_ADAM_EXP_AVG_SQ, hash);
    if (status == CEBUS_OK)
        status = cebus_optimizer_step_count(model->optimizer, i, &steps);
    *hash = hash_bytes(*hash, &steps, sizeof steps);
    return status;
}

cebus_status cebus_model_hash(cebus_model *model, uint64_t *out_hash)
{
    cebus_status status = CEBUS_OK;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < model->n_parameters && status == CEBUS_OK; i++)
        status = hash_slot(model, i, &hash);
    for (size_t i = 0; i < model->n_buffers && status == CEBUS_OK; i++)
        status = hash_tensor(model->buffers[i], &hash);
    *out_hash = hash;
    return status;
}

const cebus_model_config *cebus_model_config_of(const cebus_model *model)
{
    return &model->config;
}

size_t cebus_model_parameter_count(const cebus_model *model)
{
    return model->n_parameters;
}

cebus_tensor *cebus_model_parameter(const cebus_model *model, size_t i)
{
    return i < model->n_parameters ? model->parameters[i] : NULL;
}
