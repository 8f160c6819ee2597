#include "lineage/access.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum {
    VALUES = 256
};

static cebus_pool pool;
static cebus_access_log log_;
static cebus_value values[VALUES];
static size_t count;
static bool host_fails;
static cebus_host_allocator host;

static void *host_alloc(void *context, size_t bytes)
{
    (void)context;
    return host_fails ? NULL : malloc(bytes);
}

static void *host_realloc(void *context, void *pointer, size_t bytes)
{
    (void)context;
    return host_fails ? NULL : realloc(pointer, bytes);
}

static void host_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

static void setup(void)
{
    host_fails = false;
    host = (cebus_host_allocator){host_alloc, host_realloc, host_free, NULL};
    cebus_pool_init(&pool, &host);
    pool.direct = true;
    cebus_access_init(&log_, &pool, 0);
    count = 0;
}

static void teardown(void)
{
    cebus_access_deinit(&log_);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

TestSuite(access, .init = setup, .fini = teardown);

static cebus_value *value(uint64_t bytes)
{
    cebus_value *made = &values[count++];
    cr_assert(count <= VALUES);
    cebus_value_init(made, bytes);
    return made;
}

static cebus_value *call(const char *op, cebus_value *a, cebus_value *b, uint64_t bytes)
{
    static const bool persistent[2] = {false, false};
    cebus_value *in[2] = {a, b}, *out = value(bytes);
    cebus_access access = {.op = op,
                           .cost_ns = 7,
                           .in = in,
                           .out = &out,
                           .n_in = 2,
                           .n_out = 1,
                           .persistent = persistent,
                           .replayable = true};
    cebus_access_call(&log_, &access);
    return out;
}

/** Writes `target` in place; the result is a new value unless it is kept. */
static cebus_value *call_in_place(const char *op, cebus_value *target, bool kept)
{
    static const bool persistent[1] = {true};
    cebus_value *out = kept ? target : value(target->bytes);
    cebus_access access = {.op = op,
                           .in = &target,
                           .out = &out,
                           .n_in = 1,
                           .n_out = 1,
                           .mutates = 1,
                           .kept = kept,
                           .persistent = persistent};
    cebus_access_call(&log_, &access);
    return out;
}

/** a = f(w, x); b = g(a); c = `last`(b, a). */
static cebus_value *step(cebus_value *w, const char *last)
{
    cebus_value *a = call("f", w, value(8), 16), *b = call("g", a, NULL, 32);
    return call(last, b, a, 8);
}

Test(access, numbers_values_in_the_order_of_their_naming)
{
    cebus_value *w = value(64), *c = step(w, "h");
    cr_expect_eq(cebus_access_ordinal(&log_, w), 0);
    cr_expect_eq(cebus_access_ordinal(&log_, c), 4);
    cr_expect_eq(cebus_access_ordinal(&log_, value(1)), CEBUS_ITERATION_NONE);
    cr_assert(cebus_access_mark(&log_));
    cr_expect_eq(cebus_access_ordinal(&log_, w), CEBUS_ITERATION_NONE, "a new iteration");
}

Test(access, records_what_calls_do)
{
    cebus_value *w = value(64), *c = step(w, "h");
    cebus_access_release(&log_, c);
    cr_assert(cebus_access_mark(&log_));
    const cebus_iteration *reference = &log_.reference;
    cr_assert_eq(reference->n_calls, 3);
    cr_expect_str_eq(reference->calls[1].op, "g");
    cr_expect_eq(reference->refs[reference->calls[1].refs + 1], CEBUS_ITERATION_NONE);
    cr_expect_eq(reference->values[2].born, 0);
    cr_expect_eq(reference->values[0].born, CEBUS_ITERATION_NONE);
    cr_expect_eq(reference->values[4].freed, 3);
    cr_expect_eq(reference->values[0].freed, CEBUS_ITERATION_NONE);
    cr_expect(reference->values[2].replayable);
}

Test(access, follows_an_iteration_that_repeats_itself)
{
    cebus_value *w = value(64);
    step(w, "h");
    cr_assert(cebus_access_mark(&log_));
    cebus_value *c = step(w, "h");
    cr_expect(log_.following);
    cr_expect_eq(cebus_access_bearer(&log_, 0), w);
    cr_expect_eq(cebus_access_bearer(&log_, 4), c);
    cebus_access_forget(&log_, c);
    cr_expect_null(cebus_access_bearer(&log_, 4));
    cr_expect_not(cebus_access_mark(&log_), "nothing new was learned");
    cr_expect_null(cebus_access_bearer(&log_, 0));
}

static void expect_divergence(cebus_value *(*other)(cebus_value *w))
{
    cebus_value *w = value(64);
    step(w, "h");
    cr_assert(cebus_access_mark(&log_));
    other(w);
    cr_expect_not(log_.following);
    cr_expect(cebus_access_mark(&log_), "what came instead was recorded");
    other(w);
    cr_expect(log_.following);
}

static cebus_value *other_op(cebus_value *w)
{
    return step(w, "i");
}
static cebus_value *other_bytes(cebus_value *w)
{
    cebus_value *a = call("f", w, value(8), 16);
    return call("g", a, NULL, 33);
}
static cebus_value *other_input(cebus_value *w)
{
    cebus_value *a = call("f", w, value(8), 16);
    return call("g", w, a, 32);
}
static cebus_value *other_leaf(cebus_value *w)
{
    return call("f", w, value(9), 16);
}
static cebus_value *longer(cebus_value *w)
{
    return call("h", step(w, "h"), NULL, 8);
}

Test(access, leaves_the_record_at_another_op)
{
    expect_divergence(other_op);
}
Test(access, leaves_the_record_at_another_size)
{
    expect_divergence(other_bytes);
}
Test(access, leaves_the_record_at_another_input)
{
    expect_divergence(other_input);
}
Test(access, leaves_the_record_at_another_leaf)
{
    expect_divergence(other_leaf);
}
Test(access, leaves_the_record_at_a_further_call)
{
    expect_divergence(longer);
}

Test(access, an_iteration_that_stops_early_changes_nothing)
{
    cebus_value *w = value(64);
    step(w, "h");
    cr_assert(cebus_access_mark(&log_));
    call("f", w, value(8), 16);
    cr_expect_not(cebus_access_mark(&log_));
    cr_expect_not(cebus_access_mark(&log_), "nor does an empty one");
    step(w, "h");
    cr_expect(log_.following);
}

Test(access, one_stray_iteration_does_not_make_a_confirmed_record_forgotten)
{
    cebus_value *w = value(64);
    for (int i = 0; i < 2; i++) {
        step(w, "h");
        cebus_access_mark(&log_);
    }
    step(w, "i");
    cr_expect_not(cebus_access_mark(&log_));
    step(w, "h");
    cr_expect(log_.following);
    cebus_access_mark(&log_);
    for (int i = 0; i < 2; i++) {
        step(w, "i");
        cr_expect_eq(cebus_access_mark(&log_), i == 1);
    }
    step(w, "i");
    cr_expect(log_.following);
}

Test(access, what_is_written_in_place_is_a_new_value_unless_it_is_a_leaf)
{
    cebus_value *w = value(64);
    for (int i = 0; i < 2; i++) {
        cebus_value *a = call("f", w, NULL, 16), *b = call_in_place("g_", a, false);
        cr_expect_eq(cebus_access_ordinal(&log_, a), 1);
        cr_expect_eq(cebus_access_ordinal(&log_, b), 2);
        call_in_place("sgd", w, true);
        cr_expect_eq(cebus_access_ordinal(&log_, w), 0);
        cr_expect_eq(log_.following, i == 1);
        cebus_access_mark(&log_);
    }
    cr_expect_eq(log_.reference.values[1].moved, 1);
    cr_expect_eq(log_.reference.values[0].n_uses, 2);
}

Test(access, names_go_on_from_an_earlier_log)
{
    cebus_value *w = value(64);
    step(w, "h");
    uint64_t named = log_.named;
    cebus_access_deinit(&log_);
    cebus_access_init(&log_, &pool, named);
    cr_expect_eq(cebus_access_ordinal(&log_, w), CEBUS_ITERATION_NONE);
}

Test(access, without_host_memory_nothing_is_learned_and_nothing_breaks)
{
    cebus_value *w = value(64);
    host_fails = true;
    step(w, "h");
    cr_expect_not(cebus_access_mark(&log_));
    step(w, "h");
    cr_expect_not(log_.following);
    host_fails = false;
    cr_expect_not(cebus_access_mark(&log_), "recording had stopped");
    step(w, "h");
    cr_expect(cebus_access_mark(&log_));
    host_fails = true;
    step(w, "i");
    cr_expect_not(cebus_access_mark(&log_));
    host_fails = false;
    step(w, "h");
    cr_expect(log_.following, "the old record stands");
}
