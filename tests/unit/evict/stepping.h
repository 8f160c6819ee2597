/**
 * stepping.h: an iteration whose parameters and optimizer state take most of the memory: a forward,
 * a backward, then a step for each parameter. Of a pool that counts what it has of the host.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_STEPPING_H
#define CEBUS_TESTS_UNIT_EVICT_STEPPING_H

#include "tests/unit/evict/recorded.h"

enum {
    LAYERS = 8,
    BYTES = 100,
    MAP = 40
};
/* A parameter, and two of state. */
#define PERSISTENT (3 * LAYERS * BYTES)

static recorded r;
static cebus_test_host host;
static size_t w[LAYERS], m[LAYERS], v[LAYERS];

/** A call that reads values and writes the persistent among them in place. */
static inline void update(const size_t *in, uint16_t n, uint16_t n_written)
{
    cebus_iteration_call call = {.op = "adam", .cost_ns = 10, .n_in = n, .n_out = n_written};
    for (uint16_t i = 0; i < n; i++)
        recorded_name(&r, in[i], CEBUS_ITERATION_NONE);
    for (uint16_t i = 0; i < n_written; i++)
        recorded_name(&r, in[i], CEBUS_ITERATION_NONE);
    cr_assert(cebus_iteration_add_call(&r.iteration, &call));
}

/** Forward, backward, then a step for each parameter. */
static inline void setup(void)
{
    size_t x[LAYERS + 1], dw[LAYERS];
    recorded_init_on(&r, &host);
    x[0] = recorded_leaf(&r, MAP, false);
    for (size_t i = 0; i < LAYERS; i++) {
        w[i] = recorded_leaf(&r, BYTES, true);
        m[i] = recorded_leaf(&r, BYTES, true);
        v[i] = recorded_leaf(&r, BYTES, true);
        x[i + 1] = recorded_call(&r, "matmul", 100, x[i], w[i], MAP);
    }
    size_t dx = recorded_call(&r, "loss", 10, x[LAYERS], SIZE_MAX, MAP);
    for (size_t i = LAYERS; i-- > 0;) {
        recorded_free(&r, x[i + 1]);
        dw[i] = recorded_call(&r, "matmul_weight", 100, x[i], dx, 10);
        size_t next = recorded_call(&r, "matmul_back", 100, dx, w[i], MAP);
        recorded_free(&r, dx);
        dx = next;
    }
    recorded_free(&r, dx);
    recorded_free(&r, x[0]);
    for (size_t i = 0; i < LAYERS; i++) {
        update((size_t[]){w[i], m[i], v[i], dw[i]}, 4, 3);
        recorded_free(&r, dw[i]);
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
}

/** By ordinal: weights and what the optimizer has of them. */
static inline void mark_persistent(bool *streams)
{
    for (size_t i = 0; i < LAYERS; i++)
        streams[r.values[w[i]].ordinal] = streams[r.values[m[i]].ordinal] =
            streams[r.values[v[i]].ordinal] = true;
}

/** A link of a byte a ns, and host memory for all that persists. */
static inline cebus_plan_terms terms_for(uint64_t budget)
{
    return (cebus_plan_terms){.budget = budget,
                              .host = 4 * PERSISTENT,
                              .out_rate = 1000000000,
                              .in_rate = 1000000000,
                              .latency_ns = 1,
                              .effort = 20000};
}

#endif
