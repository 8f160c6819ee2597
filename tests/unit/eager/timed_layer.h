/**
 * timed_layer.h: an op of one or two inputs that takes a time to order on simulated machines, and
 * does nothing: forwards and backwards alike.
 */
#ifndef CEBUS_TESTS_UNIT_EAGER_TIMED_LAYER_H
#define CEBUS_TESTS_UNIT_EAGER_TIMED_LAYER_H

#include "program.h"

enum {
    MOST_LAYERS = 64
};

/** Of every call from here on. */
static uint64_t layer_ns = 20000;

static cebus_status same_shape(void *user, const void *attrs, const cebus_view *const *in,
                               uint32_t n_in, cebus_view *out)
{
    (void)user, (void)attrs, (void)n_in;
    out[0] = *in[0];
    return CEBUS_OK;
}

static uint64_t layer_cost(const cebus_custom_launch *launch)
{
    (void)launch;
    return layer_ns;
}

static cebus_status nothing(const cebus_custom_launch *launch)
{
    (void)launch;
    return CEBUS_OK;
}

static const cebus_custom_op layer = {.struct_size = sizeof layer,
                                      .name = "layer",
                                      .n_out = 1,
                                      .infer = same_shape,
                                      .cost = layer_cost,
                                      .run = nothing};

/** A tensor as large as `a`, made of `a` and `b`; `b` may be NULL. */
static inline cebus_tensor *call_layer(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b)
{
    cebus_tensor *out, *in[2] = {a, b};
    OK(cebus_call_custom(rt, &layer, NULL, 0, in, b != NULL ? 2 : 1, &out));
    return out;
}

/** An iteration: a chain of layers on `x`, which it releases, and the way back. */
static inline void run_layers(cebus_runtime *rt, cebus_tensor *x, int layers)
{
    cebus_tensor *map[MOST_LAYERS + 1] = {x};
    cr_assert_leq(layers, MOST_LAYERS);
    for (int i = 0; i < layers; i++)
        map[i + 1] = call_layer(rt, map[i], NULL);
    cebus_tensor *gradient = call_layer(rt, map[layers], NULL);
    for (int i = layers; i >= 0; i--) {
        cebus_tensor *next = call_layer(rt, gradient, map[i]);
        cebus_tensor_release(gradient);
        cebus_tensor_release(map[i]);
        gradient = next;
    }
    cebus_tensor_release(gradient);
    OK(cebus_iteration_mark(rt));
}

#endif
