#include "lineage/access.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum {
    VALUES = 256
};

static cebus_pool pool;
static cebus_access_log log_;
static cebus_value values[VALUES];
static size_t count;
static cebus_test_host host;

static void setup(void)
{
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
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
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cr_expect_eq(cebus_access_ordinal(&log_, w), CEBUS_ITERATION_NONE, "a new iteration");
}

Test(access, records_what_calls_do)
{
    cebus_value *w = value(64), *c = step(w, "h");
    cebus_access_release(&log_, c);
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    const cebus_iteration *reference = log_.reference;
    cr_assert_eq(reference->n_calls, 3);
    cr_expect_str_eq(reference->calls[1].op, "g");
    cr_expect_eq(reference->refs[reference->calls[1].refs + 1], CEBUS_ITERATION_NONE);
    cr_expect_eq(reference->values[2].born, 0);
    cr_expect_eq(reference->values[0].born, CEBUS_ITERATION_NONE);
    cr_expect_eq(reference->values[4].freed, 3);
    cr_expect_eq(reference->values[0].freed, CEBUS_ITERATION_NONE);
    cr_expect(reference->values[2].replayable);
}

/** A gradient of a leaf: its call could run again, but has no record that would say so. */
Test(access, what_lost_its_record_is_not_made_again)
{
    cebus_value *c = step(value(64), "h");
    cebus_access_detach(&log_, c);
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cr_expect(log_.reference->values[2].replayable);
    cr_expect_not(log_.reference->values[4].replayable);
}

/** What is made to persist before the first iteration is no part of it: the second is alike. */
Test(access, forgets_what_was_set_up)
{
    cebus_value *drawn = call("draw", NULL, NULL, 64), *w = call("scale", drawn, NULL, 64);
    cebus_access_persist(&log_, w);
    cr_expect_eq(log_.at, 0);
    step(w, "h");
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cr_assert_eq(log_.reference->n_calls, 3);
    cr_expect_eq(log_.reference->values[0].born, CEBUS_ITERATION_NONE, "w is from before");
    step(w, "h");
    cr_expect(cebus_access_is_whole(&log_));
}

Test(access, persisting_forgets_no_iteration)
{
    cebus_value *w = value(64);
    step(w, "h");
    cebus_access_persist(&log_, w);
    cr_expect_eq(log_.at, 3, "no call made it");
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cebus_value *c = step(w, "h");
    cebus_access_persist(&log_, c);
    cr_expect(cebus_access_is_whole(&log_), "one is known");
    cebus_access_end(&log_, CEBUS_ENDING_WRITES);
    call("other", w, NULL, 8);
    cebus_access_persist(&log_, call("more", w, NULL, 8));
    cr_expect_eq(log_.at, 2);
}

Test(access, follows_an_iteration_that_repeats_itself)
{
    cebus_value *w = value(64);
    step(w, "h");
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cebus_value *c = step(w, "h");
    cr_expect(log_.following);
    cr_expect_eq(cebus_access_bearer(&log_, 0), w);
    cr_expect_eq(cebus_access_bearer(&log_, 4), c);
    cebus_access_forget(&log_, c);
    cr_expect_null(cebus_access_bearer(&log_, 4));
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES), "nothing new was learned");
    cr_expect_null(cebus_access_bearer(&log_, 0));
}

static void expect_divergence(cebus_value *(*other)(cebus_value *w))
{
    cebus_value *w = value(64);
    step(w, "h");
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    other(w);
    cr_expect_not(log_.following);
    cr_expect(cebus_access_end(&log_, CEBUS_ENDING_WRITES), "what came instead was recorded");
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
    cr_assert(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    call("f", w, value(8), 16);
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES), "nor does an empty one");
    step(w, "h");
    cr_expect(log_.following);
}

static void end(void)
{
    cebus_access_end(&log_, CEBUS_ENDING_WRITES);
}

Test(access, a_stray_iteration_is_remembered_beside_the_usual_one)
{
    cebus_value *w = value(64);
    for (int i = 0; i < 2; i++) {
        step(w, "h");
        end();
    }
    step(w, "i");
    cr_expect(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    step(w, "h");
    cr_expect(log_.following);
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    step(w, "i");
    cr_expect(log_.following);
    cr_expect_eq(log_.known.count, 2);
}

Test(access, goes_on_in_a_record_that_began_alike_and_keeps_all_numbers)
{
    cebus_value *w = value(64);
    step(w, "h");
    end();
    step(w, "i");
    end();
    step(w, "i");
    end();
    cebus_value *a = call("f", w, value(8), 16);
    const cebus_iteration *first = log_.reference;
    cebus_value *b = call("g", a, NULL, 32);
    cr_expect_eq(log_.reference, first);
    call("h", b, a, 8);
    cr_assert(log_.following);
    cr_expect_neq(log_.reference, first, "it changed to the other one");
    cr_expect_eq(cebus_access_bearer(&log_, 0), w);
    cr_expect_eq(cebus_access_bearer(&log_, 2), a);
    cr_expect_eq(cebus_access_bearer(&log_, 3), b);
}

Test(access, expects_what_came_next_the_last_time)
{
    static const char *const order[] = {"h", "i", "j"};
    cebus_value *w = value(64);
    for (int i = 0; i < 6; i++) {
        step(w, order[i % 3]);
        end();
    }
    for (int i = 0; i < 6; i++) {
        cr_expect_str_eq(log_.reference->calls[2].op, order[i % 3]);
        step(w, order[i % 3]);
        end();
    }
}

static cebus_access announced(const char *op, cebus_value **in, uint32_t n_in)
{
    static const bool persistent[2] = {false, false};
    return (cebus_access){.op = op, .in = in, .n_in = n_in, .n_out = 1, .persistent = persistent};
}

Test(access, what_is_announced_leaves_the_record_before_it_is_made)
{
    cebus_value *w = value(64);
    step(w, "h");
    end();
    cebus_value *in[2] = {w, value(8)};
    uint64_t named = log_.named;
    cebus_access fits = announced("f", in, 2), strays = announced("e", in, 2);
    cebus_access_expect(&log_, &fits);
    cr_expect(log_.following);
    cebus_access_expect(&log_, &strays);
    cr_expect_not(log_.following);
    cr_expect(log_.recording);
    cr_expect_eq(log_.named, named, "nothing is named before it is made");
}

/** As where a program tries what fails, each time. */
Test(access, what_failed_leaves_no_record)
{
    cebus_value *w = value(64), *in[2] = {w, value(8)}, *a;
    step(w, "h");
    end();
    cebus_access strays = announced("e", in, 2);
    for (int round = 0; round < 2; round++) {
        cebus_access_expect(&log_, &strays);
        cr_expect_not(log_.following);
        cebus_access_retract(&log_);
        cr_expect(log_.following);
        cr_expect_not(log_.recording);
        a = call("f", w, value(8), 16);
        cebus_access_expect(&log_, &strays);
        cebus_access_retract(&log_);
        cr_expect_eq(cebus_access_bearer(&log_, 2), a);
        call("h", call("g", a, NULL, 32), a, 8);
        cr_expect(cebus_access_is_whole(&log_));
        end();
    }
    cebus_access_expect(&log_, &strays);
    cebus_access_call(&log_, &(cebus_access){.op = "e"});
    cebus_access_retract(&log_);
    cr_expect_not(log_.following, "what was made was no failure");
}

Test(access, another_signature_is_another_call)
{
    cebus_value *in[2] = {value(64), value(8)}, *out = value(16);
    for (uint64_t i = 0; i < 4; i++) {
        cebus_access access = announced("f", in, 2);
        access.signature = 1 + i % 2;
        access.out = &out;
        cebus_access_expect(&log_, &access);
        cr_expect_eq(log_.following, i > 1);
        cebus_access_call(&log_, &access);
        end();
    }
    cr_expect_eq(log_.known.count, 2);
}

/** Of the calls of step(), so many, then the first again. */
static bool begins_after(cebus_value *w, int calls, const char *last)
{
    cebus_value *a = NULL, *b = NULL, *in[2] = {w, value(8)};
    if (calls > 0)
        a = call("f", w, value(8), 16);
    if (calls > 1)
        b = call("g", a, NULL, 32);
    if (calls > 2)
        call(last, b, a, 8);
    cebus_access access = announced("f", in, 2);
    return cebus_access_begins(&log_, &access);
}

Test(access, what_began_without_writes_begins_again)
{
    cebus_value *w = value(64);
    step(w, "h");
    cebus_access_end(&log_, CEBUS_ENDING_REPEATS);
    cr_expect_not(begins_after(w, 0, "h"), "it has only begun");
    for (int calls = 1; calls <= 3; calls++) {
        cr_expect(begins_after(w, calls, "h"), "after %d", calls);
        cebus_access_end(&log_, CEBUS_ENDING_BEGINS);
    }
    cr_expect(log_.known.at[log_.place].confirmed);
    step(w, "i");
    cr_expect(begins_after(w, 0, "h"), "after another one");
}

Test(access, what_reads_a_value_of_the_iteration_does_not_begin_one)
{
    cebus_value *w = value(64);
    step(w, "h");
    cebus_access_end(&log_, CEBUS_ENDING_REPEATS);
    cebus_value *c = step(w, "h");
    cebus_value *in[2] = {w, c};
    c->bytes = 8;
    cebus_access access = announced("f", in, 2);
    cr_expect_not(cebus_access_begins(&log_, &access));
    in[1] = value(8);
    cr_expect(cebus_access_begins(&log_, &access));
}

Test(access, what_is_known_to_go_on_does_not_begin)
{
    cebus_value *w = value(64);
    step(w, "h");
    cebus_access_end(&log_, CEBUS_ENDING_REPEATS);
    step(w, "h");
    step(w, "i");
    end();
    cr_expect_eq(log_.known.count, 2);
    cr_expect_not(begins_after(w, 3, "h"), "it may be the second");
}

Test(access, of_many_iterations_those_that_came_again_are_remembered)
{
    static char ops[3 * CEBUS_REFERENCES][8];
    cebus_value *w = value(64);
    for (int i = 0; i < 2; i++) {
        step(w, "h");
        end();
    }
    for (int i = 0; i < 2 * CEBUS_REFERENCES; i++) {
        count = 1;
        snprintf(ops[i], sizeof ops[i], "op%d", i);
        step(w, ops[i]);
        cr_expect(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
        cr_expect_leq(log_.known.count, CEBUS_REFERENCES);
    }
    cr_expect_eq(log_.unproven, 2 * CEBUS_REFERENCES);
    step(w, "h");
    cr_expect(log_.following);
    end();
    cr_expect_eq(log_.unproven, 0);
}

/** An iteration; whether it was known. */
static bool repeat(cebus_value *w, const char *op)
{
    count = 1;
    step(w, op);
    bool known = cebus_access_is_whole(&log_);
    end();
    return known;
}

static uint64_t known_bytes(void)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        bytes += cebus_iteration_bytes(&log_.known.at[i].iteration);
    return bytes;
}

/** As many kinds as there are places for came again and again; then the program does others. */
Test(access, what_came_again_long_ago_gives_way)
{
    enum {
        OTHERS = 8
    };
    static char ops[CEBUS_REFERENCES + OTHERS][8];
    cebus_value *w = value(64);
    for (int i = 0; i < CEBUS_REFERENCES + OTHERS; i++)
        snprintf(ops[i], sizeof ops[i], "op%d", i);
    for (int i = 0; i < 2 * CEBUS_REFERENCES; i++)
        cr_expect_eq(repeat(w, ops[i / 2]), i % 2 == 1);
    cr_expect_eq(log_.known.count, CEBUS_REFERENCES);
    for (int i = 0; i < CEBUS_REFERENCES; i++)
        cr_expect(repeat(w, ops[i]), "%d", i);
    for (int i = 0; i < CEBUS_REFERENCES_TRUST + 2 * OTHERS; i++)
        repeat(w, ops[CEBUS_REFERENCES + i % OTHERS]);
    for (int i = 0; i < OTHERS; i++)
        cr_expect(repeat(w, ops[CEBUS_REFERENCES + i]), "%d", i);
    cr_expect_leq(log_.known.count, CEBUS_REFERENCES);
    cr_expect_eq(log_.known.bytes, known_bytes());
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
        cebus_access_end(&log_, CEBUS_ENDING_WRITES);
    }
    cr_expect_eq(log_.reference->values[1].moved, 1);
    cr_expect_eq(log_.reference->values[0].n_uses, 2);
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
    cebus_test_host_starve(&host, true);
    step(w, "h");
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    step(w, "h");
    cr_expect_not(log_.following);
    cebus_test_host_starve(&host, false);
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES), "recording had stopped");
    step(w, "h");
    cr_expect(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cebus_test_host_starve(&host, true);
    step(w, "i");
    cr_expect_not(cebus_access_end(&log_, CEBUS_ENDING_WRITES));
    cebus_test_host_starve(&host, false);
    step(w, "h");
    cr_expect(log_.following, "the old record stands");
}
