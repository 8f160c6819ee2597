/**
 * timed_layer.h: an op of one or two inputs that takes a time to order on simulated machines, and
 * does nothing: forwards and backwards alike.
 */
#ifndef CEBUS_TESTS_UNIT_EAGER_TIMED_LAYER_H
#define CEBUS_TESTS_UNIT_EAGER_TIMED_LAYER_H

#include "program.h"

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

#endif
