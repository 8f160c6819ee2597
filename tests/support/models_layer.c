#include "tests/support/models_layer.h"

#include <math.h>
#include <stdlib.h>

bool cebus_layer_ok(cebus_model *model, cebus_status status)
{
    if (model->status == CEBUS_OK)
        model->status = status;
    return model->status == CEBUS_OK;
}

/** splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next_random(cebus_model *model)
{
    uint64_t z = model->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t cebus_layer_draw(cebus_model *model, int64_t bound)
{
    return (int64_t)(next_random(model) % (uint64_t)bound);
}

static float uniform(cebus_model *model)
{
    return (float)((double)(next_random(model) >> 40) * 0x1p-23 - 1.0);
}

static int64_t count_elements(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

static cebus_tensor *upload(cebus_model *model, void *data, cebus_dtype dtype, int ndim,
                            const int64_t *shape)
{
    cebus_tensor *out = NULL;
    cebus_layer_ok(model, data == NULL
                              ? CEBUS_OUT_OF_HOST_MEMORY
                              : cebus_tensor_from_host(model->rt, data, dtype, ndim, shape, &out));
    free(data);
    return out;
}

static cebus_tensor *random_floats(cebus_model *model, double scale, double shift, int ndim,
                                   const int64_t *shape)
{
    int64_t n = count_elements(ndim, shape);
    float *data = model->status == CEBUS_OK ? malloc((size_t)n * sizeof *data) : NULL;
    for (int64_t i = 0; data != NULL && i < n; i++)
        data[i] = uniform(model) * (float)scale + (float)shift;
    return upload(model, data, CEBUS_F32, ndim, shape);
}

cebus_tensor *cebus_layer_noise(cebus_model *model, int ndim, const int64_t *shape)
{
    return random_floats(model, 1, 0, ndim, shape);
}

cebus_tensor *cebus_layer_labels(cebus_model *model, int64_t classes, int ndim,
                                 const int64_t *shape)
{
    int64_t n = count_elements(ndim, shape);
    int64_t *data = model->status == CEBUS_OK ? malloc((size_t)n * sizeof *data) : NULL;
    for (int64_t i = 0; data != NULL && i < n; i++)
        data[i] = cebus_layer_draw(model, classes);
    return upload(model, data, CEBUS_I64, ndim, shape);
}

static bool has_room(cebus_model *model, size_t count)
{
    return cebus_layer_ok(model, count < CEBUS_MODEL_TENSORS ? CEBUS_OK : CEBUS_INVALID_ARGUMENT);
}

void cebus_layer_add(cebus_model *model, double scale, double shift, int ndim, const int64_t *shape)
{
    if (!has_room(model, model->n_parameters))
        return;
    cebus_tensor *parameter = random_floats(model, scale, shift, ndim, shape);
    if (parameter == NULL)
        return;
    model->parameters[model->n_parameters++] = parameter;
    if (cebus_layer_ok(model, cebus_tensor_set_persistent(parameter)) &&
        cebus_layer_ok(model, cebus_tensor_set_requires_grad(parameter, true)))
        cebus_layer_ok(model, cebus_optimizer_add(model->optimizer, parameter));
}

static void add_buffer(cebus_model *model, double value, int64_t n)
{
    if (!has_room(model, model->n_buffers))
        return;
    cebus_tensor *buffer = random_floats(model, 0, value, 1, &n);
    if (buffer == NULL)
        return;
    model->buffers[model->n_buffers++] = buffer;
    cebus_layer_ok(model, cebus_tensor_set_persistent(buffer));
}

void cebus_layer_add_linear(cebus_model *model, int64_t in, int64_t out)
{
    double scale = 1 / sqrt((double)in);
    cebus_layer_add(model, scale, 0, 2, (int64_t[]){out, in});
    cebus_layer_add(model, scale, 0, 1, &out);
}

void cebus_layer_add_conv(cebus_model *model, int64_t in, int64_t out, int64_t kernel)
{
    double scale = sqrt(3.0 / (double)(in * kernel * kernel));
    cebus_layer_add(model, scale, 0, 4, (int64_t[]){out, in, kernel, kernel});
}

void cebus_layer_add_norm(cebus_model *model, int64_t channels)
{
    cebus_layer_add(model, 0, 1, 1, &channels);
    cebus_layer_add(model, 0, 0, 1, &channels);
}

void cebus_layer_add_batch_norm(cebus_model *model, int64_t channels)
{
    cebus_layer_add_norm(model, channels);
    add_buffer(model, 0, channels);
    add_buffer(model, 1, channels);
}

cebus_tensor *cebus_layer_parameter(cebus_model *model)
{
    size_t i = model->next_parameter++;
    return i < model->n_parameters ? model->parameters[i] : NULL;
}

static cebus_tensor *next_buffer(cebus_model *model)
{
    size_t i = model->next_buffer++;
    return i < model->n_buffers ? model->buffers[i] : NULL;
}

/** Ends a layer: gives up its input, keeps the status. */
static cebus_tensor *done(cebus_model *model, cebus_tensor *x, cebus_status status,
                          cebus_tensor **out)
{
    cebus_layer_ok(model, status);
    cebus_tensor_release(x);
    return *out;
}

cebus_tensor *cebus_layer_linear(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return done(model, x, cebus_linear(model->rt, x, weight, bias, &out), &out);
}

cebus_tensor *cebus_layer_layer_norm(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return done(model, x, cebus_layer_norm(model->rt, x, weight, bias, NULL, &out), &out);
}

cebus_tensor *cebus_layer_group_norm(cebus_model *model, cebus_tensor *x, int64_t groups)
{
    const cebus_group_norm_options options = {.groups = groups};
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return done(model, x, cebus_group_norm(model->rt, x, weight, bias, &options, &out), &out);
}

cebus_tensor *cebus_layer_batch_norm(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    cebus_batch_norm_options options = {.training = true};
    options.running_mean = next_buffer(model);
    options.running_var = next_buffer(model);
    if (x == NULL)
        return NULL;
    return done(model, x, cebus_batch_norm(model->rt, x, weight, bias, &options, &out), &out);
}

cebus_tensor *cebus_layer_conv(cebus_model *model, cebus_tensor *x, int64_t stride)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    int64_t half = cebus_tensor_size(weight, 2) / 2;
    const cebus_conv_options options = {.stride = {stride, stride}, .padding = {half, half}};
    return done(model, x, cebus_conv2d(model->rt, x, weight, NULL, &options, &out), &out);
}

cebus_tensor *cebus_layer_conv_transpose(cebus_model *model, cebus_tensor *x)
{
    const cebus_conv_options options = {.stride = {2, 2}};
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return done(model, x, cebus_conv_transpose2d(model->rt, x, weight, NULL, &options, &out), &out);
}

cebus_tensor *cebus_layer_map(cebus_model *model, cebus_layer_unary function, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    return x != NULL ? done(model, x, function(model->rt, x, &out), &out) : NULL;
}

cebus_tensor *cebus_layer_join(cebus_model *model, cebus_layer_binary function, cebus_tensor *a,
                               cebus_tensor *b)
{
    cebus_tensor *out = NULL;
    if (a != NULL && b != NULL)
        cebus_layer_ok(model, function(model->rt, a, b, &out));
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    return out;
}

cebus_tensor *cebus_layer_dropout(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    double p = model->config.dropout;
    return x != NULL ? done(model, x, cebus_dropout(model->rt, x, p, true, &out), &out) : NULL;
}

cebus_tensor *cebus_layer_reshape(cebus_model *model, cebus_tensor *x, int ndim,
                                  const int64_t *shape)
{
    cebus_tensor *out = NULL;
    return x != NULL ? done(model, x, cebus_reshape(model->rt, x, ndim, shape, &out), &out) : NULL;
}

cebus_tensor *cebus_layer_max_pool(cebus_model *model, cebus_tensor *x, int64_t kernel,
                                   int64_t stride)
{
    int64_t padding = (kernel - 1) / 2;
    const cebus_pool_options options = {
        .kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = {padding, padding}};
    cebus_tensor *out = NULL;
    return x != NULL ? done(model, x, cebus_max_pool2d(model->rt, x, &options, &out), &out) : NULL;
}

cebus_tensor *cebus_layer_global_pool(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    if (x == NULL)
        return NULL;
    x = done(model, x, cebus_adaptive_avg_pool2d(model->rt, x, 1, 1, &out), &out);
    if (x == NULL)
        return NULL;
    return cebus_layer_reshape(model, x, 2, (int64_t[]){cebus_tensor_size(x, 0), -1});
}

cebus_tensor *cebus_layer_cat(cebus_model *model, cebus_tensor *a, cebus_tensor *b, int dim)
{
    cebus_tensor *out = NULL, *both[2] = {a, b};
    if (a != NULL && b != NULL)
        cebus_layer_ok(model, cebus_cat(model->rt, both, 2, dim, &out));
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    return out;
}

cebus_tensor *cebus_layer_cross_entropy(cebus_model *model, cebus_tensor *x, cebus_tensor *target)
{
    cebus_tensor *out = NULL;
    if (x != NULL && target != NULL)
        cebus_layer_ok(model, cebus_cross_entropy(model->rt, x, target, NULL, &out));
    cebus_tensor_release(x);
    cebus_tensor_release(target);
    return out;
}
