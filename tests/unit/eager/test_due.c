/** Of which call's image gradients wait. */
#include <criterion/criterion.h>

#include "eager/rebuild/due.h"
#include "eager/tensor.h"
#include "program.h"

TestSuite(due);

enum {
    N = 64,
    MOST = 16
};

/** Calls as they are made, and what is found about what they made. */
typedef struct trip {
    cebus_runtime *rt;
    cebus_call *calls[MOST];
    cebus_tensor *made[MOST];
    uint64_t due[MOST], turn;
    uint32_t count;
} trip;

static void start(trip *t)
{
    *t = (trip){.rt = open_runtime(UINT64_C(1) << 20, "dtr", 0)};
}

static cebus_tensor *note(trip *t, cebus_tensor *tensor)
{
    cebus_candidate *candidate = tensor->storage->now;
    t->calls[t->count] = candidate->value.producer;
    t->made[t->count] = tensor;
    candidate->foreseen = ++t->count;
    return tensor;
}

static void turn(trip *t)
{
    t->turn = t->calls[t->count - 1]->serial;
}

static uint64_t serial_of(const cebus_tensor *tensor)
{
    return tensor->storage->now->value.producer->serial;
}

static uint64_t due_of(const trip *t, const cebus_tensor *tensor)
{
    return t->due[tensor->storage->now->foreseen - 1];
}

static void find(trip *t)
{
    cebus_dues_find(&(cebus_dues){t->calls, t->count, t->turn, t->due});
}

static void end(trip *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->made[i]->storage->now->foreseen = 0;
        cebus_tensor_release(t->made[i]);
    }
    cebus_runtime_destroy(t->rt);
}

static cebus_tensor *exp_of(trip *t, cebus_tensor *x)
{
    cebus_tensor *out;
    OK(cebus_exp(t->rt, x, &out));
    return note(t, out);
}

static cebus_tensor *product(trip *t, cebus_tensor *x, cebus_tensor *y)
{
    cebus_tensor *out;
    OK(cebus_mul(t->rt, x, y, &out));
    return note(t, out);
}

static cebus_tensor *passed_on(trip *t, cebus_tensor *x)
{
    cebus_tensor *out;
    OK(cebus_add_scalar(t->rt, x, 1, &out));
    return note(t, out);
}

static cebus_tensor *sum(trip *t, cebus_tensor *x, cebus_tensor *y)
{
    cebus_tensor *out;
    OK(cebus_add(t->rt, x, y, &out));
    return note(t, out);
}

/** g(c) is made of c; passed on it is g(b), then g(a), then the leaf's. */
Test(due, goes_back_call_by_call)
{
    trip t;
    start(&t);
    cebus_tensor *x = leaf(t.rt, N, 0.5F), *a = exp_of(&t, x), *b = exp_of(&t, a),
                 *c = exp_of(&t, b);
    turn(&t);
    cebus_tensor *gc = exp_of(&t, c), *gb = passed_on(&t, gc), *ga = passed_on(&t, gb),
                 *gx = passed_on(&t, ga);
    find(&t);
    cr_expect_eq(due_of(&t, gc), serial_of(c));
    cr_expect_eq(due_of(&t, gb), serial_of(b));
    cr_expect_eq(due_of(&t, ga), serial_of(a));
    cr_expect_eq(due_of(&t, gx), CEBUS_DUE_AT_END);
    cebus_tensor_release(x);
    end(&t);
}

/** What is as large as something that its call reads is the gradient of that; sums are for what
 * their parts are for. */
Test(due, is_told_by_what_is_read_and_by_parts)
{
    trip t;
    start(&t);
    cebus_tensor *x = leaf(t.rt, N, 0.5F), *a = exp_of(&t, x), *b = exp_of(&t, a),
                 *c = exp_of(&t, b);
    turn(&t);
    cebus_tensor *gc = exp_of(&t, c), *ga = product(&t, gc, a), *other = product(&t, gc, a),
                 *both = sum(&t, ga, other), *gx = product(&t, both, x);
    find(&t);
    cr_expect_eq(due_of(&t, ga), serial_of(a));
    cr_expect_eq(due_of(&t, both), serial_of(a));
    cr_expect_eq(due_of(&t, gx), CEBUS_DUE_AT_END);
    cebus_tensor_release(x);
    end(&t);
}
