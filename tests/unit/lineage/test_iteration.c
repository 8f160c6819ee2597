#include "lineage/iteration.h"

#include <criterion/criterion.h>

static cebus_pool pool;
static cebus_iteration iteration;

static void setup(void)
{
    cebus_pool_init(&pool, NULL);
    cebus_iteration_init(&iteration, &pool);
}

static void teardown(void)
{
    cebus_iteration_clear(&iteration);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

TestSuite(iteration, .init = setup, .fini = teardown);

static void add_value(uint64_t bytes, uint32_t born)
{
    cebus_iteration_value value = {
        .bytes = bytes, .born = born, .freed = CEBUS_ITERATION_NONE, .moved = CEBUS_ITERATION_NONE};
    cr_assert(cebus_iteration_add_value(&iteration, &value));
}

static void add_call(const char *op, const uint32_t *refs, uint16_t n_in, uint16_t n_out)
{
    cebus_iteration_call call = {.op = op, .cost_ns = 5, .n_in = n_in, .n_out = n_out};
    for (uint32_t i = 0; i < (uint32_t)n_in + n_out; i++)
        cr_assert(cebus_iteration_add_ref(&iteration, refs[i]));
    cr_assert(cebus_iteration_add_call(&iteration, &call));
}

/** x -> f -> y; g(y, y, absent) -> z; h writes y in place -> y2. */
static void record(void)
{
    add_value(8, CEBUS_ITERATION_NONE);
    add_value(16, 0);
    add_call("f", (uint32_t[]){0, 1}, 1, 1);
    add_value(32, 1);
    add_call("g", (uint32_t[]){1, 1, CEBUS_ITERATION_NONE, 2}, 3, 1);
    add_value(16, 2);
    iteration.values[1].moved = 2;
    add_call("h", (uint32_t[]){1, 3}, 1, 1);
}

Test(iteration, collects_each_use_once)
{
    record();
    cr_assert(cebus_iteration_seal(&iteration));
    cr_expect_eq(iteration.values[0].n_uses, 1);
    cr_assert_eq(iteration.values[1].n_uses, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(cebus_iteration_use(&iteration, 1, i), i);
    cr_expect_eq(cebus_iteration_use(&iteration, 2, 0), 1);
}

Test(iteration, knows_how_long_bytes_live)
{
    record();
    iteration.values[2].freed = 2;
    cr_assert(cebus_iteration_seal(&iteration));
    cr_expect_eq(cebus_iteration_from(&iteration.values[0]), 0);
    cr_expect_eq(cebus_iteration_to(&iteration, &iteration.values[0]), 3);
    cr_expect_eq(cebus_iteration_from(&iteration.values[2]), 1);
    cr_expect_eq(cebus_iteration_to(&iteration, &iteration.values[2]), 2);
}

Test(iteration, what_the_host_reads_is_used_by_the_call_before)
{
    record();
    iteration.values[0].read = 2; /* call 1 does not name it */
    iteration.values[1].read = 2; /* call 1 does */
    cr_assert(cebus_iteration_seal(&iteration));
    cr_assert_eq(iteration.values[0].n_uses, 2);
    cr_expect_eq(cebus_iteration_use(&iteration, 0, 0), 0);
    cr_expect_eq(cebus_iteration_use(&iteration, 0, 1), 1);
    cr_assert_eq(iteration.values[1].n_uses, 3);
    cr_expect_eq(cebus_iteration_use(&iteration, 1, 2), 2);
}

Test(iteration, bytes_taken_over_in_place_are_not_there_twice)
{
    record();
    cr_assert(cebus_iteration_seal(&iteration));
    cr_expect_eq(cebus_iteration_to(&iteration, &iteration.values[1]), 2);
    cr_expect_eq(cebus_iteration_from(&iteration.values[3]), 2);
}

Test(iteration, copies_what_was_known_after_some_calls)
{
    cebus_iteration copy;
    cebus_iteration_init(&copy, &pool);
    record();
    iteration.values[0].freed = 3;
    iteration.values[2].freed = 2;
    cr_assert(cebus_iteration_seal(&iteration));
    cr_assert(cebus_iteration_copy(&iteration, 2, &copy));
    cr_expect_eq(copy.n_calls, 2);
    cr_expect_eq(copy.n_values, 3);
    cr_expect_eq(copy.n_refs, 6);
    cr_expect_eq(copy.values[0].freed, CEBUS_ITERATION_NONE, "it was freed later");
    cr_expect_eq(copy.values[2].freed, 2);
    cr_expect_eq(copy.values[1].moved, CEBUS_ITERATION_NONE, "it was written later");
    cr_expect_str_eq(copy.calls[1].op, "g");
    cebus_iteration_clear(&copy);
    cr_assert(cebus_iteration_copy(&iteration, 0, &copy));
    cr_expect_eq(copy.n_values, 0);
    cebus_iteration_clear(&copy);
}

static void expect_costs(uint64_t cost_ns, uint64_t held_ns)
{
    for (size_t k = 0; k < iteration.n_calls; k++) {
        cr_expect_eq(iteration.calls[k].cost_ns, cost_ns);
        cr_expect_eq(iteration.calls[k].held_ns, held_ns);
    }
}

Test(iteration, calls_of_a_host_that_takes_longer_cost_what_it_takes)
{
    record();
    cr_expect_eq(cebus_iteration_hold(&iteration, 5), 0);
    expect_costs(5, 0);
    cr_expect_eq(cebus_iteration_hold(&iteration, 12), 21);
    expect_costs(12, 7);
    cr_expect_eq(cebus_iteration_hold(&iteration, 9), 12, "anew, not on top of that");
    expect_costs(9, 4);
    cr_expect_eq(cebus_iteration_hold(&iteration, 5), 0);
    expect_costs(5, 0);
    cebus_iteration_hold(&iteration, 12);
    cebus_iteration_release(&iteration);
    expect_costs(5, 0);
}

Test(iteration, refuses_more_calls_than_the_limit)
{
    cebus_iteration_call call = {.op = "f"};
    for (uint32_t k = 0; k < CEBUS_ITERATION_MAX_CALLS; k++)
        cr_assert(cebus_iteration_add_call(&iteration, &call));
    cr_expect_not(cebus_iteration_add_call(&iteration, &call));
}
