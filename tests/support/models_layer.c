#include "tests/support/models_layer.h"

#include <math.h>

bool cebus_layer_ok(cebus_model *model, cebus_status status)
{
    if (model->status == CEBUS_OK)
        model->status = status;
    return model->status == CEBUS_OK;
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
    cebus_layer_add_buffer(model, 0, channels);
    cebus_layer_add_buffer(model, 1, channels);
}

cebus_tensor *cebus_layer_parameter(cebus_model *model)
{
    size_t i = model->next_parameter++;
    return i < model->parameters.n ? model->parameters.items[i] : NULL;
}

static cebus_tensor *next_buffer(cebus_model *model)
{
    size_t i = model->next_buffer++;
    return i < model->buffers.n ? model->buffers.items[i] : NULL;
}

cebus_tensor *cebus_layer_end(cebus_model *model, cebus_tensor *x, cebus_status status,
                              cebus_tensor **out)
{
    cebus_layer_ok(model, status);
    cebus_tensor_release(x);
    return *out;
}

cebus_tensor *cebus_layer_narrow(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    if (x == NULL || model->config.precision == 0)
        return cebus_tensor_retain(x);
    cebus_layer_ok(model, cebus_cast(model->rt, x, model->config.precision, &out));
    return out;
}

cebus_tensor *cebus_layer_enter(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = cebus_layer_narrow(model, x);
    cebus_tensor_release(x);
    return out;
}

cebus_tensor *cebus_layer_linear(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *weight = cebus_layer_parameter(model), *bias = cebus_layer_parameter(model);
    cebus_tensor *out = NULL;
    if (x == NULL)
        return NULL;
    weight = cebus_layer_narrow(model, weight);
    bias = cebus_layer_narrow(model, bias);
    if (weight != NULL && bias != NULL)
        out = cebus_layer_product(model, x, weight, bias);
    cebus_tensor_release(weight);
    cebus_tensor_release(bias);
    cebus_tensor_release(x);
    return out;
}

cebus_tensor *cebus_layer_product(cebus_model *model, cebus_tensor *x, cebus_tensor *weight,
                                  cebus_tensor *bias)
{
    cebus_tensor *out = NULL;
    if (x != NULL)
        cebus_layer_ok(model, cebus_linear(model->rt, x, weight, bias, &out));
    return out;
}

cebus_tensor *cebus_layer_columns(cebus_model *model, cebus_tensor *x, int64_t i)
{
    const int64_t width = model->config.width;
    cebus_tensor *out = NULL;
    if (x != NULL)
        cebus_layer_ok(model, cebus_slice(model->rt, x, 1, i * width, (i + 1) * width, 1, &out));
    return out;
}

cebus_tensor *cebus_layer_layer_norm(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return cebus_layer_end(model, x, cebus_layer_norm(model->rt, x, weight, bias, NULL, &out),
                           &out);
}

cebus_tensor *cebus_layer_group_norm(cebus_model *model, cebus_tensor *x, int64_t groups)
{
    const cebus_group_norm_options options = {.groups = groups};
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return cebus_layer_end(model, x, cebus_group_norm(model->rt, x, weight, bias, &options, &out),
                           &out);
}

/** Running statistics that a failed try of this step has moved are left alone. */
cebus_tensor *cebus_layer_batch_norm(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    cebus_tensor *bias = cebus_layer_parameter(model);
    cebus_batch_norm_options options = {.training = true};
    bool moved = model->next_buffer < model->moved_buffers;
    cebus_tensor *mean = next_buffer(model), *variance = next_buffer(model);
    options.running_mean = moved ? NULL : mean;
    options.running_var = moved ? NULL : variance;
    if (x == NULL)
        return NULL;
    cebus_status status = cebus_batch_norm(model->rt, x, weight, bias, &options, &out);
    if (status == CEBUS_OK && !moved)
        model->moved_buffers = model->next_buffer;
    return cebus_layer_end(model, x, status, &out);
}

cebus_tensor *cebus_layer_conv(cebus_model *model, cebus_tensor *x, int64_t stride)
{
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    int64_t half = cebus_tensor_size(weight, 2) / 2;
    const cebus_conv_options options = {.stride = {stride, stride}, .padding = {half, half}};
    weight = cebus_layer_narrow(model, weight);
    if (weight != NULL)
        cebus_layer_ok(model, cebus_conv2d(model->rt, x, weight, NULL, &options, &out));
    cebus_tensor_release(weight);
    cebus_tensor_release(x);
    return out;
}

cebus_tensor *cebus_layer_conv_transpose(cebus_model *model, cebus_tensor *x)
{
    const cebus_conv_options options = {.stride = {2, 2}};
    cebus_tensor *out = NULL, *weight = cebus_layer_parameter(model);
    if (x == NULL)
        return NULL;
    return cebus_layer_end(
        model, x, cebus_conv_transpose2d(model->rt, x, weight, NULL, &options, &out), &out);
}

cebus_tensor *cebus_layer_map(cebus_model *model, cebus_layer_unary function, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    return x != NULL ? cebus_layer_end(model, x, function(model->rt, x, &out), &out) : NULL;
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
    return x != NULL ? cebus_layer_end(model, x, cebus_dropout(model->rt, x, p, true, &out), &out)
                     : NULL;
}

cebus_tensor *cebus_layer_reshape(cebus_model *model, cebus_tensor *x, int ndim,
                                  const int64_t *shape)
{
    cebus_tensor *out = NULL;
    return x != NULL
               ? cebus_layer_end(model, x, cebus_reshape(model->rt, x, ndim, shape, &out), &out)
               : NULL;
}

cebus_tensor *cebus_layer_max_pool(cebus_model *model, cebus_tensor *x, int64_t kernel,
                                   int64_t stride)
{
    int64_t padding = (kernel - 1) / 2;
    const cebus_pool_options options = {
        .kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = {padding, padding}};
    cebus_tensor *out = NULL;
    return x != NULL
               ? cebus_layer_end(model, x, cebus_max_pool2d(model->rt, x, &options, &out), &out)
               : NULL;
}

cebus_tensor *cebus_layer_global_pool(cebus_model *model, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    if (x == NULL)
        return NULL;
    x = cebus_layer_end(model, x, cebus_adaptive_avg_pool2d(model->rt, x, 1, 1, &out), &out);
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

/** In f32, as losses are. */
cebus_tensor *cebus_layer_cross_entropy(cebus_model *model, cebus_tensor *x, cebus_tensor *target)
{
    cebus_tensor *out = NULL, *wide = NULL;
    if (x != NULL && model->config.precision != 0)
        x = cebus_layer_end(model, x, cebus_cast(model->rt, x, CEBUS_F32, &wide), &wide);
    if (x != NULL && target != NULL)
        cebus_layer_ok(model, cebus_cross_entropy(model->rt, x, target, NULL, &out));
    cebus_tensor_release(x);
    cebus_tensor_release(target);
    return out;
}
