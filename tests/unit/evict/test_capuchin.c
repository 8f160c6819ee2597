/** What the planner of `capuchin` chooses; what holds for all planners is in test_planners.c. */
#include <criterion/criterion.h>

#include "tests/unit/evict/recorded.h"

#define NONE CEBUS_ITERATION_NONE

static recorded r;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(capuchin, .init = setup, .fini = teardown);

/** `rate`: bytes/s of the link, both ways; 0: there is no room on the host. */
static void plan(uint64_t budget, uint64_t rate)
{
    cebus_plan_terms terms = {.budget = budget,
                              .host = rate > 0 ? 1 << 20 : 0,
                              .out_rate = rate > 0 ? rate : 1,
                              .in_rate = rate > 0 ? rate : 1};
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_policy_capuchin.plan(&r.iteration, &terms, &r.plan));
}

enum {
    SLOW = 1000000 /* 100 bytes take 100 us */
};
#define FAST UINT64_C(100000000000) /* 100 bytes take 1 ns, and one for rounding */

Test(capuchin, swaps_what_lies_idle_longest_while_copies_are_hidden)
{
    recorded_network(&r, 12, 100, 10);
    plan(700, FAST);
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_DROP), 0);
    size_t gone = recorded_count(&r, CEBUS_ACTION_SWAP_OUT);
    cr_assert(gone > 2 && gone < 12);
    for (size_t i = 0; i < 12; i++) {
        bool leaves = recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[i]) != NONE;
        cr_expect_eq(leaves, i < gone, "map %zu", i);
    }
}

Test(capuchin, recomputes_what_a_slow_link_would_make_wait)
{
    recorded_network(&r, 12, 100, 10);
    plan(900, SLOW);
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 0);
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_DROP), 2);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.x[0]), NONE, "nothing made it");
}

Test(capuchin, swaps_exposed_where_recomputing_takes_longer)
{
    recorded_network(&r, 12, 100, 1000000);
    plan(900, SLOW);
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_DROP), 0);
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 2);
}

/** Three values of 100 bytes, each made of the one before, idle while 500 bytes more are there. */
static void record_chain(const uint64_t cost[3], size_t out[3])
{
    size_t x = recorded_leaf(&r, 1, true), last = x;
    for (int i = 0; i < 3; i++)
        last = out[i] = recorded_call(&r, "f", cost[i], last, SIZE_MAX, 100);
    size_t big = recorded_call(&r, "g", 10, x, SIZE_MAX, 500);
    recorded_call(&r, "h", 10, big, SIZE_MAX, 1);
    recorded_free(&r, big);
    for (int i = 3; i-- > 0;)
        recorded_call(&r, "h", 1, out[i], SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

static bool drops(size_t handle)
{
    return recorded_when(&r, CEBUS_ACTION_DROP, handle) != NONE;
}

Test(capuchin, takes_the_most_bytes_a_second_first)
{
    size_t chain[3];
    record_chain((const uint64_t[]){20, 10, 25}, chain);
    plan(750, 0);
    cr_expect_eq(r.plan.count, 1);
    cr_expect(drops(chain[1]));
}

/** The second alone would take 20 ns, but once the first is gone, 30: the third is cheaper then. */
Test(capuchin, who_is_recomputed_from_what_was_dropped_takes_longer)
{
    size_t chain[3];
    record_chain((const uint64_t[]){10, 20, 25}, chain);
    plan(650, 0);
    cr_expect_eq(r.plan.count, 2);
    cr_expect(drops(chain[0]));
    cr_expect(drops(chain[2]));
}

/** The first is a source of the second, which is dropped: it would run for itself and for that. */
Test(capuchin, a_source_of_what_was_dropped_counts_again)
{
    size_t chain[3];
    record_chain((const uint64_t[]){15, 10, 24}, chain);
    plan(650, 0);
    cr_expect_eq(r.plan.count, 2);
    cr_expect(drops(chain[1]));
    cr_expect(drops(chain[0]), "15 + 15 is less than 24 + 10");
    r.iteration.calls[0].cost_ns = 18;
    plan(650, 0);
    cr_expect(drops(chain[1]));
    cr_expect(drops(chain[2]), "34 is less than 18 + 18");
}

Test(capuchin, copies_back_do_not_overlap)
{
    recorded_network(&r, 12, 100, 10);
    plan(700, UINT64_C(10000000000)); /* 11 ns, a call and a bit */
    uint32_t before = NONE;
    for (size_t i = 0; i < 12; i++) {
        uint32_t back = recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[i]);
        if (back == NONE)
            continue;
        /* map 0 is needed last; each copy starts so that the next can end before it does. */
        cr_expect(before == NONE || back < before, "map %zu at %u, the next at %u", i, back,
                  before);
        cr_expect_leq(back + 2, r.backward[i] + 1, "map %zu", i);
        before = back;
    }
    cr_expect_neq(before, NONE);
}

Test(capuchin, does_without_what_nothing_can_help)
{
    size_t x = recorded_leaf(&r, 100, false);
    size_t y = recorded_call(&r, "f", 10, x, SIZE_MAX, 100);
    r.iteration.values[1].replayable = false;
    recorded_call(&r, "g", 10, SIZE_MAX, SIZE_MAX, 1);
    recorded_call(&r, "h", 10, y, x, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    plan(50, 0);
    cr_expect_eq(r.plan.count, 0);
}
