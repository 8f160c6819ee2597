#include "parameters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sha256.h"

void release_tensors(cebus_tensor **tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cebus_tensor_release(tensors[i]);
}

void parameters_free(struct parameters *params)
{
    release_tensors(params->list, params->count);
    free(params->list);
    *params = (struct parameters){0};
}

/* Makes `tensor` persistent and hands it to the list, or releases it. */
static int keep(struct parameters *params, cebus_tensor *tensor, cebus_tensor **out)
{
    cebus_tensor **list = realloc(params->list, (params->count + 1) * sizeof(cebus_tensor *));
    if (list == NULL)
        perror("parameters");
    else
        params->list = list;
    if (list == NULL || cebus_tensor_set_persistent(tensor)) {
        cebus_tensor_release(tensor);
        return 1;
    }
    list[params->count++] = tensor;
    *out = tensor;
    return 0;
}

int parameters_weight(struct parameters *params, double std, int ndim, const int64_t *shape,
                      cebus_tensor **out)
{
    cebus_tensor *tensor;
    cebus_runtime *rt = params->rt;
    if (std == 0 ? cebus_ones(rt, CEBUS_F32, ndim, shape, &tensor)
                 : cebus_randn(rt, CEBUS_F32, ndim, shape, &tensor))
        return 1;
    if (std != 0 && cebus_mul_scalar_(rt, tensor, std)) {
        cebus_tensor_release(tensor);
        return 1;
    }
    return keep(params, tensor, out) || cebus_tensor_set_requires_grad(*out, true);
}

int parameters_buffer(struct parameters *params, double value, int64_t n, cebus_tensor **out)
{
    cebus_tensor *tensor;
    return cebus_full(params->rt, value, CEBUS_F32, 1, &n, &tensor) || keep(params, tensor, out);
}

int parameters_bias(struct parameters *params, int64_t n, cebus_tensor **out)
{
    return parameters_buffer(params, 0, n, out) || cebus_tensor_set_requires_grad(*out, true);
}

int parameters_linear(struct parameters *params, double gain, int64_t in, int64_t out,
                      struct affine *layer)
{
    double std = gain / sqrt((double)in);
    return parameters_weight(params, std, 2, (int64_t[]){out, in}, &layer->weight) ||
           parameters_bias(params, out, &layer->bias);
}

int parameters_norm(struct parameters *params, int64_t n, struct affine *layer)
{
    return parameters_weight(params, 0, 1, &n, &layer->weight) ||
           parameters_bias(params, n, &layer->bias);
}

int64_t parameters_numel(const struct parameters *params)
{
    int64_t sum = 0;
    for (size_t i = 0; i < params->count; i++)
        sum += cebus_tensor_numel(params->list[i]);
    return sum;
}

int parameters_sha256(const struct parameters *params, char *out_text)
{
    struct sha256 hash;
    sha256_init(&hash);
    for (size_t i = 0; i < params->count; i++) {
        cebus_tensor *tensor = params->list[i];
        size_t bytes = (size_t)cebus_tensor_numel(tensor) * sizeof(float);
        const void *data;
        if (cebus_tensor_map(tensor, &data))
            return 1;
        sha256_update(&hash, data, bytes);
        cebus_tensor_unmap(tensor);
    }
    sha256_final(&hash, out_text);
    return 0;
}
