#include <stdlib.h>

#include "tests/support/models_layer.h"

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

/** Takes over `tensor`, also on failure. */
static bool push(cebus_model *model, cebus_model_tensors *list, cebus_tensor *tensor)
{
    if (tensor != NULL && list->n == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 64;
        cebus_tensor **items = realloc(list->items, room * sizeof(cebus_tensor *));
        if (cebus_layer_ok(model, items != NULL ? CEBUS_OK : CEBUS_OUT_OF_HOST_MEMORY)) {
            list->items = items;
            list->room = room;
        }
    }
    if (tensor == NULL || list->n == list->room) {
        cebus_tensor_release(tensor);
        return false;
    }
    list->items[list->n++] = tensor;
    return true;
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

static cebus_tensor *upload_floats(cebus_model *model, double scale, double shift, int ndim,
                                   const int64_t *shape)
{
    int64_t n = count_elements(ndim, shape);
    float *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; data != NULL && i < n; i++)
        data[i] = uniform(model) * (float)scale + (float)shift;
    return upload(model, data, CEBUS_F32, ndim, shape);
}

static cebus_tensor *draw_floats(cebus_model *model, double scale, double shift, int ndim,
                                 const int64_t *shape)
{
    const cebus_uniform_range range = {shift - scale, shift + scale};
    cebus_tensor *out = NULL;
    cebus_layer_ok(model, scale == 0
                              ? cebus_full(model->rt, shift, CEBUS_F32, ndim, shape, &out)
                              : cebus_uniform(model->rt, range, CEBUS_F32, ndim, shape, &out));
    return out;
}

static cebus_tensor *random_floats(cebus_model *model, double scale, double shift, int ndim,
                                   const int64_t *shape)
{
    if (model->status != CEBUS_OK)
        return NULL;
    return model->config.drawn ? draw_floats(model, scale, shift, ndim, shape)
                               : upload_floats(model, scale, shift, ndim, shape);
}

/** A number may round up to the bound, hence the clamp. */
static cebus_tensor *draw_labels(cebus_model *model, int64_t classes, int ndim,
                                 const int64_t *shape)
{
    const cebus_uniform_range range = {0, (double)classes};
    cebus_tensor *floats = NULL, *whole = NULL, *out = NULL;
    if (cebus_layer_ok(model, cebus_uniform(model->rt, range, CEBUS_F32, ndim, shape, &floats)) &&
        cebus_layer_ok(model, cebus_cast(model->rt, floats, CEBUS_I64, &whole)))
        cebus_layer_ok(model, cebus_clamp(model->rt, whole, 0, (double)(classes - 1), &out));
    cebus_tensor_release(floats);
    cebus_tensor_release(whole);
    return out;
}

static cebus_tensor *upload_labels(cebus_model *model, int64_t classes, int ndim,
                                   const int64_t *shape)
{
    int64_t n = count_elements(ndim, shape);
    int64_t *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; data != NULL && i < n; i++)
        data[i] = cebus_layer_draw(model, classes);
    return upload(model, data, CEBUS_I64, ndim, shape);
}

static bool is_alike(const cebus_tensor *a, const cebus_tensor *b)
{
    bool alike = cebus_tensor_dtype(a) == cebus_tensor_dtype(b) &&
                 cebus_tensor_ndim(a) == cebus_tensor_ndim(b);
    for (int d = 0; alike && d < cebus_tensor_ndim(a); d++)
        alike = cebus_tensor_size(a, d) == cebus_tensor_size(b, d);
    return alike;
}

/**
 * What a drawn model reads is written into a persistent tensor that is there from step to step,
 * as a batch from a loader would be: a batch that the device can draw again at any time would be
 * memory for free.
 */
static cebus_tensor *keep_in_batch(cebus_model *model, cebus_tensor *fresh)
{
    cebus_model_tensors *batch = &model->batch;
    size_t i = model->next_batch++;
    if (fresh == NULL || i > batch->n) {
        cebus_tensor_release(fresh);
        return NULL;
    }
    if (i < batch->n && is_alike(batch->items[i], fresh)) {
        cebus_layer_ok(model, cebus_copy_(model->rt, batch->items[i], fresh));
        cebus_tensor_release(fresh);
    } else if (!cebus_layer_ok(model, cebus_tensor_set_persistent(fresh))) {
        cebus_tensor_release(fresh);
    } else if (i < batch->n) {
        cebus_tensor_release(batch->items[i]);
        batch->items[i] = fresh;
    } else {
        push(model, batch, fresh);
    }
    return model->status == CEBUS_OK ? cebus_tensor_retain(batch->items[i]) : NULL;
}

cebus_tensor *cebus_layer_noise(cebus_model *model, int ndim, const int64_t *shape)
{
    if (model->building || model->status != CEBUS_OK)
        return NULL;
    cebus_tensor *x = model->config.drawn
                          ? keep_in_batch(model, draw_floats(model, 1, 0, ndim, shape))
                          : upload_floats(model, 1, 0, ndim, shape);
    return cebus_layer_enter(model, x);
}

cebus_tensor *cebus_layer_labels(cebus_model *model, int64_t classes, int ndim,
                                 const int64_t *shape)
{
    if (model->building || model->status != CEBUS_OK)
        return NULL;
    if (!model->config.drawn)
        return upload_labels(model, classes, ndim, shape);
    return keep_in_batch(model, draw_labels(model, classes, ndim, shape));
}

void cebus_layer_add(cebus_model *model, double scale, double shift, int ndim, const int64_t *shape)
{
    model->elements += count_elements(ndim, shape);
    if (model->rt == NULL)
        return;
    cebus_tensor *parameter = random_floats(model, scale, shift, ndim, shape);
    if (push(model, &model->parameters, parameter) &&
        cebus_layer_ok(model, cebus_tensor_set_persistent(parameter)) &&
        cebus_layer_ok(model, cebus_tensor_set_requires_grad(parameter, true)))
        cebus_layer_ok(model,
                       cebus_optimizer_add(model->optimizers[model->n_optimizers - 1], parameter));
}

void cebus_layer_add_buffer(cebus_model *model, double value, int64_t n)
{
    if (model->rt == NULL)
        return;
    cebus_tensor *buffer = random_floats(model, 0, value, 1, &n);
    if (push(model, &model->buffers, buffer))
        cebus_layer_ok(model, cebus_tensor_set_persistent(buffer));
}
