/**
 * random_iteration.h: iterations that no program need ever have made, with all a record may hold:
 * several outputs, calls in place, writes to parameters, values that cannot be made again, that the
 * host reads, that are held for nothing, that outlive the iteration.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_RANDOM_ITERATION_H
#define CEBUS_TESTS_UNIT_EVICT_RANDOM_ITERATION_H

#include <criterion/criterion.h>

#include <string.h>

#include "lineage/iteration.h"

enum {
    RANDOM_HELD = 24, /**< values held at a time, at most */
};

typedef struct random_iteration {
    cebus_iteration *iteration;
    uint64_t state;
    uint32_t held[RANDOM_HELD]; /**< ordinals */
    uint32_t n_held;
    uint32_t ins[8], n_ins, outs[8], n_outs;
} random_iteration;

static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % n);
}

static inline uint32_t random_value(random_iteration *r, uint32_t born, bool persistent)
{
    cebus_iteration_value value = {.bytes = random_below(&r->state, 40) * 8,
                                   .born = born,
                                   .freed = CEBUS_ITERATION_NONE,
                                   .moved = CEBUS_ITERATION_NONE,
                                   .persistent = persistent,
                                   .replayable = born != CEBUS_ITERATION_NONE &&
                                                 random_below(&r->state, 10) > 0};
    cr_assert(cebus_iteration_add_value(r->iteration, &value));
    if (!persistent)
        r->held[r->n_held++] = (uint32_t)r->iteration->n_values - 1;
    return (uint32_t)r->iteration->n_values - 1;
}

/** Nobody holds value number i of those held, after the calls so far. */
static inline void random_release(random_iteration *r, uint32_t i)
{
    r->iteration->values[r->held[i]].freed = (uint32_t)r->iteration->n_calls;
    r->held[i] = r->held[--r->n_held];
}

static inline void random_inputs(random_iteration *r)
{
    r->n_ins = 0;
    for (uint32_t n = random_below(&r->state, 4); n > 0 && r->n_held > 0; n--)
        r->ins[r->n_ins++] = r->held[random_below(&r->state, r->n_held)];
    if (r->n_held < RANDOM_HELD / 2 && random_below(&r->state, 12) == 0)
        r->ins[r->n_ins++] = random_value(r, CEBUS_ITERATION_NONE, false);
    if (random_below(&r->state, 4) == 0) {
        bool fresh = r->iteration->n_values == 0 || random_below(&r->state, 3) == 0;
        uint32_t v = fresh ? random_value(r, CEBUS_ITERATION_NONE, true)
                           : random_below(&r->state, (uint32_t)r->iteration->n_values);
        if (r->iteration->values[v].persistent)
            r->ins[r->n_ins++] = v;
    }
}

/** What the call does to its first input: writes it, if that stays; takes its bytes over. */
static inline void random_write(random_iteration *r, uint32_t k)
{
    if (r->n_ins == 0 || random_below(&r->state, 5) > 0)
        return;
    cebus_iteration_value *value = &r->iteration->values[r->ins[0]];
    if (value->persistent)
        r->outs[r->n_outs++] = r->ins[0];
    else if (value->moved == CEBUS_ITERATION_NONE)
        value->moved = k;
}

static inline void random_call(random_iteration *r)
{
    cebus_iteration *iteration = r->iteration;
    uint32_t k = (uint32_t)iteration->n_calls;
    cebus_iteration_call call = {.op = "f",
                                 .cost_ns = random_below(&r->state, 100),
                                 .workspace = random_below(&r->state, 4) * 50};
    r->n_outs = 0;
    random_inputs(r);
    random_write(r, k);
    for (uint32_t n = 1 + random_below(&r->state, 3); n > 0 && r->n_held < RANDOM_HELD; n--)
        r->outs[r->n_outs++] = random_value(r, k, false);
    for (uint32_t i = 0; i < r->n_ins; i++)
        cr_assert(cebus_iteration_add_ref(iteration, r->ins[i]));
    for (uint32_t i = 0; i < r->n_outs; i++)
        cr_assert(cebus_iteration_add_ref(iteration, r->outs[i]));
    call.n_in = (uint16_t)r->n_ins;
    call.n_out = (uint16_t)r->n_outs;
    cr_assert(cebus_iteration_add_call(iteration, &call));
}

/** What its bytes were taken from is not read again, as a rule. */
static inline void random_releases(random_iteration *r)
{
    for (uint32_t i = r->n_held; i-- > 0;) {
        cebus_iteration_value *value = &r->iteration->values[r->held[i]];
        if (random_below(&r->state, 40) == 0 && value->moved == CEBUS_ITERATION_NONE)
            value->read = (uint32_t)r->iteration->n_calls;
        bool taken = value->moved == r->iteration->n_calls - 1;
        if (random_below(&r->state, 16) == 0 || (taken && random_below(&r->state, 8) > 0))
            random_release(r, i);
    }
    while (r->n_held > RANDOM_HELD - 4)
        random_release(r, random_below(&r->state, r->n_held));
}

/** Fills and seals an iteration of so many calls. */
static inline void random_iteration_make(cebus_iteration *iteration, uint64_t seed,
                                         uint32_t n_calls)
{
    random_iteration r = {.iteration = iteration, .state = seed * 77 + 1};
    for (uint32_t k = 0; k < n_calls; k++) {
        random_call(&r);
        random_releases(&r);
    }
    cr_assert(cebus_iteration_seal(iteration));
}

#endif
