/**
 * recorded.h: iterations recorded by hand, for tests of what plans are made of. Values are handles
 * that get their ordinals when a call first names them, as in the access log.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_RECORDED_H
#define CEBUS_TESTS_UNIT_EVICT_RECORDED_H

#include <criterion/criterion.h>

#include <string.h>

#include "evict/policy.h"
#include "tests/support/host.h"

enum {
    RECORDED_VALUES = 512,
    RECORDED_LAYERS = 32
};

typedef struct recorded {
    cebus_pool pool;
    cebus_iteration iteration;
    cebus_plan plan;
    struct {
        uint64_t bytes;
        bool persistent;
        uint32_t ordinal;
    } values[RECORDED_VALUES]; /**< handles: indices */
    size_t count;
    size_t x[RECORDED_LAYERS + 1]; /**< of a network: what layer i reads */
    size_t y[RECORDED_LAYERS];     /**< of a network: what its convolution makes */
    uint32_t forward[RECORDED_LAYERS], backward[RECORDED_LAYERS]; /**< its first calls */
    uint32_t loss;                                                /**< the call */
} recorded;

static inline void recorded_init(recorded *r)
{
    memset(r, 0, sizeof *r);
    cebus_pool_init(&r->pool, NULL);
    cebus_iteration_init(&r->iteration, &r->pool);
    cebus_plan_init(&r->plan, &r->pool);
}

/** Each object of its pool is an allocation of its own of the host, and can fail. */
static inline void recorded_init_on(recorded *r, cebus_test_host *host)
{
    recorded_init(r);
    cebus_test_host_init(host);
    cebus_pool_init(&r->pool, &host->allocator);
    r->pool.direct = true;
}

static inline void recorded_deinit(recorded *r)
{
    cebus_plan_clear(&r->plan);
    cebus_iteration_clear(&r->iteration);
    cr_expect_eq(r->pool.live_objects, 0);
    cebus_pool_deinit(&r->pool);
}

/** What is there before the iteration. */
static inline size_t recorded_leaf(recorded *r, uint64_t bytes, bool persistent)
{
    r->values[r->count].bytes = bytes;
    r->values[r->count].persistent = persistent;
    r->values[r->count].ordinal = CEBUS_ITERATION_NONE;
    cr_assert(r->count < RECORDED_VALUES);
    return r->count++;
}

static inline void recorded_name(recorded *r, size_t handle, uint32_t born)
{
    if (r->values[handle].ordinal == CEBUS_ITERATION_NONE) {
        cebus_iteration_value value = {.bytes = r->values[handle].bytes,
                                       .born = born,
                                       .freed = CEBUS_ITERATION_NONE,
                                       .moved = CEBUS_ITERATION_NONE,
                                       .persistent = r->values[handle].persistent,
                                       .replayable = born != CEBUS_ITERATION_NONE};
        r->values[handle].ordinal = (uint32_t)r->iteration.n_values;
        cr_assert(cebus_iteration_add_value(&r->iteration, &value));
    }
    cr_assert(cebus_iteration_add_ref(&r->iteration, r->values[handle].ordinal));
}

/** A call that reads up to two values (SIZE_MAX: none) and makes one. */
static inline size_t recorded_call(recorded *r, const char *op, uint64_t cost, size_t a, size_t b,
                                   uint64_t bytes)
{
    size_t made = recorded_leaf(r, bytes, false);
    cebus_iteration_call call = {.op = op, .cost_ns = cost, .n_out = 1};
    call.n_in = (uint16_t)((a != SIZE_MAX) + (b != SIZE_MAX));
    if (a != SIZE_MAX)
        recorded_name(r, a, CEBUS_ITERATION_NONE);
    if (b != SIZE_MAX)
        recorded_name(r, b, CEBUS_ITERATION_NONE);
    recorded_name(r, made, (uint32_t)r->iteration.n_calls);
    cr_assert(cebus_iteration_add_call(&r->iteration, &call));
    return made;
}

/** Nobody holds the value after the calls so far. */
static inline void recorded_free(recorded *r, size_t handle)
{
    r->iteration.values[r->values[handle].ordinal].freed = (uint32_t)r->iteration.n_calls;
}

static inline uint32_t recorded_calls(const recorded *r)
{
    return (uint32_t)r->iteration.n_calls;
}

/**
 * A network of convolutions and relus that trains, as autograd would run it. All maps have `bytes`
 * bytes, each call costs `cost`:
 *
 *     call 2i        conv   x[i], w -> y[i]              backward   relu'   dx[i+1], x[i+1] -> dy
 *     call 2i + 1    relu   y[i] -> x[i+1]               of i       conv'w  x[i], dy -> dw
 *     call 2n        loss   x[n] -> dx[n]                           conv'x  dy, w -> dx[i]
 */
static inline void recorded_network(recorded *r, size_t n, uint64_t bytes, uint64_t cost)
{
    size_t w[RECORDED_LAYERS], dx, dy;
    r->x[0] = recorded_leaf(r, bytes, false);
    for (size_t i = 0; i < n; i++) {
        w[i] = recorded_leaf(r, 1, true);
        r->forward[i] = recorded_calls(r);
        r->y[i] = recorded_call(r, "conv2d", cost, r->x[i], w[i], bytes);
        r->x[i + 1] = recorded_call(r, "relu", cost, r->y[i], SIZE_MAX, bytes);
        recorded_free(r, r->y[i]);
    }
    r->loss = recorded_calls(r);
    dx = recorded_call(r, "cross_entropy", cost, r->x[n], SIZE_MAX, bytes);
    for (size_t i = n; i-- > 0;) {
        r->backward[i] = recorded_calls(r);
        dy = recorded_call(r, "relu_backward", cost, dx, r->x[i + 1], bytes);
        recorded_free(r, dx);
        recorded_free(r, r->x[i + 1]);
        recorded_call(r, "conv2d_weight", cost, r->x[i], dy, 1);
        dx = recorded_call(r, "conv_transpose2d", cost, dy, w[i], bytes);
        recorded_free(r, dy);
    }
    recorded_free(r, dx);
    recorded_free(r, r->x[0]);
    cr_assert(cebus_iteration_seal(&r->iteration));
}

/** Adds an action on a value to the plan. */
static inline void recorded_act(recorded *r, cebus_action_kind kind, uint32_t at, size_t handle)
{
    cr_assert(cebus_plan_add(&r->plan, kind, at, r->values[handle].ordinal));
}

/** When the plan first does something to a value; NONE: never. */
static inline uint32_t recorded_when(const recorded *r, cebus_action_kind kind, size_t handle)
{
    for (size_t i = 0; i < r->plan.count; i++) {
        const cebus_action *action = &r->plan.actions[i];
        if (action->kind == kind && action->value == r->values[handle].ordinal)
            return action->at;
    }
    return CEBUS_ITERATION_NONE;
}

static inline size_t recorded_count(const recorded *r, cebus_action_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < r->plan.count; i++)
        count += r->plan.actions[i].kind == kind;
    return count;
}

/** A call that writes a parameter in place, reading `gradient`. */
static inline void recorded_step(recorded *r, size_t weight, size_t gradient)
{
    cebus_iteration_call call = {.op = "sgd_step", .cost_ns = 10, .n_in = 2, .n_out = 1};
    recorded_name(r, weight, CEBUS_ITERATION_NONE);
    recorded_name(r, gradient, CEBUS_ITERATION_NONE);
    recorded_name(r, weight, CEBUS_ITERATION_NONE);
    cr_assert(cebus_iteration_add_call(&r->iteration, &call));
}

#endif
