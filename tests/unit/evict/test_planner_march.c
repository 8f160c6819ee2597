#include <criterion/criterion.h>

#include <math.h>

#include "evict/planner/march.h"
#include "evict/planner/prune.h"
#include "evict/planner/weights.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

static recorded r;
static cebus_sequence sequence;
static uint64_t visits;
static cebus_greedy greedy;
static cebus_march_course course;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planner_march, .init = setup, .fini = teardown);

static void begin(void)
{
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cr_assert(cebus_greedy_init(&greedy, &sequence, &r.pool));
    cebus_weights_level(&sequence);
}

static void end(void)
{
    cebus_greedy_deinit(&greedy);
    cebus_sequence_deinit(&sequence);
}

static double peak(void)
{
    return cebus_track_peak(&sequence.track, NULL);
}

Test(planner_march, comes_to_where_no_run_leads)
{
    double limit = 543; /* 1.5 times three maps and the weights */
    recorded_network(&r, 32, 100, 10);
    begin();
    cr_expect_neq(cebus_greedy_run(&greedy, limit, 0, 100000), CEBUS_GREEDY_FITS);
    cr_assert(cebus_sequence_clear(&sequence));
    cebus_march how = {.price = INFINITY};
    cr_expect_eq(cebus_march_run(&greedy, &how, limit, 100000, &course), CEBUS_GREEDY_FITS);
    cr_expect_leq(peak(), limit);
    uint64_t cost = sequence.cost;
    cr_assert(cebus_prune_all(&sequence, limit, &r.pool, &visits));
    cr_expect_lt(sequence.cost, cost);
    cr_expect_leq(peak(), limit);
    end();
}

/** What comes by once is not made twice: limits where chains pass by what others are for. */
Test(planner_march, what_a_chain_makes_is_kept_for_others)
{
    double limit = 640;
    recorded_network(&r, 32, 100, 10);
    begin();
    cebus_march how = {.price = INFINITY};
    cr_assert_eq(cebus_march_run(&greedy, &how, limit, 100000, &course), CEBUS_GREEDY_FITS);
    uint64_t cost = sequence.cost;
    cr_assert(cebus_sequence_clear(&sequence));
    how.merges = true;
    cr_assert_eq(cebus_march_run(&greedy, &how, limit, 100000, &course), CEBUS_GREEDY_FITS);
    cr_expect_leq(peak(), limit);
    cr_expect_lt(sequence.cost, cost);
    end();
}

/** A value made by so many calls one after the other, of which nothing is left, and used late. */
static uint32_t make_deep(uint32_t calls)
{
    size_t x = recorded_leaf(&r, 1, true);
    for (uint32_t i = 0; i < calls; i++) {
        size_t y = recorded_call(&r, "f", 1, x, SIZE_MAX, 10);
        if (i > 0)
            recorded_free(&r, x);
        x = y;
    }
    size_t wide = recorded_call(&r, "g", 1, SIZE_MAX, SIZE_MAX, 100);
    recorded_call(&r, "h", 1, wide, SIZE_MAX, 1);
    recorded_free(&r, wide);
    recorded_call(&r, "h", 1, x, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    return r.values[x].ordinal;
}

Test(planner_march, chains_reach_as_far_as_they_must)
{
    uint32_t value = make_deep(300);
    begin();
    greedy.closure.limit = 105;
    greedy.closure.theta = INFINITY;
    greedy.closure.caution = 0;
    cebus_closure_weigh(&greedy.closure, value, 302);
    cr_expect_eq(greedy.closure.score, INFINITY);
    cebus_closure_reach_far(&greedy.closure, true);
    cebus_closure_weigh(&greedy.closure, value, 302);
    cr_expect_lt(greedy.closure.score, INFINITY);
    cr_expect_eq(greedy.closure.n_calls, 300);
    cr_assert(cebus_sequence_clear(&sequence));
    greedy.closure.caution = 1;
    cebus_closure_reach_far(&greedy.closure, false);
    cebus_march how = {.price = INFINITY};
    cr_expect_eq(cebus_march_run(&greedy, &how, 105, 100000, &course), CEBUS_GREEDY_FITS);
    cr_expect_eq(sequence.n_replays, 300);
    end();
}

/** What was made room for once stays so, whatever is kept or put in later. */
Test(planner_march, what_was_passed_still_fits)
{
    size_t fitted = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        cebus_iteration_clear(&r.iteration);
        random_iteration_make(&r.iteration, seed, 20 + (uint32_t)seed % 100);
        begin();
        double limit = peak() * (double)(75 + seed % 5 * 5) / 100;
        cebus_march how = {.price = seed % 3 == 0   ? INFINITY
                                    : seed % 3 == 1 ? 0
                                                    : 10,
                           .merges = seed % 2 == 0,
                           .noise = (uint32_t)seed % 4};
        cebus_greedy_share(&greedy, limit, seed % 7 < 3);
        bool fits = cebus_march_run(&greedy, &how, limit, 1000000, &course) == CEBUS_GREEDY_FITS;
        cr_assert_eq(fits, peak() <= limit, "seed %lu", seed);
        fitted += fits;
        end();
    }
    cr_expect_gt(fitted, 20, "%zu", fitted);
}

/** Where no chain makes what another makes further on it makes no difference that they are merged.
 */
Test(planner_march, says_whether_merging_makes_a_difference)
{
    size_t alike = 0, met = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        cebus_iteration_clear(&r.iteration);
        random_iteration_make(&r.iteration, seed, 20 + (uint32_t)seed % 100);
        begin();
        const double limit = peak() * (double)(75 + seed % 5 * 5) / 100;
        cebus_march how = {.price = seed % 2 == 0 ? INFINITY : 10};
        const cebus_greedy_end apart = cebus_march_run(&greedy, &how, limit, 1000000, &course);
        const bool meets = course.meets;
        const uint64_t cost = sequence.cost;
        const double height = peak();
        cr_assert(cebus_sequence_clear(&sequence));
        how.merges = true;
        const cebus_greedy_end merged = cebus_march_run(&greedy, &how, limit, 1000000, &course);
        cr_expect_eq(course.meets, meets, "seed %lu", seed);
        if (!meets) {
            cr_expect_eq(merged, apart, "seed %lu", seed);
            cr_expect_eq(sequence.cost, cost, "seed %lu", seed);
            cr_expect_eq(peak(), height, "seed %lu", seed);
        }
        alike += !meets;
        met += meets;
        end();
    }
    cr_expect_gt(alike, 20, "%zu", alike);
    cr_expect_gt(met, 20, "%zu", met);
}

/** A march that gets stuck says how far it came. */
Test(planner_march, says_how_far_it_came)
{
    make_deep(50);
    begin();
    cebus_march how = {.price = INFINITY};
    cr_expect_eq(cebus_march_run(&greedy, &how, 105, 100000, &course), CEBUS_GREEDY_FITS);
    cr_expect_eq(course.calls, r.iteration.n_calls);
    cr_assert(cebus_sequence_clear(&sequence));
    cr_expect_neq(cebus_march_run(&greedy, &how, 99, 100000, &course), CEBUS_GREEDY_FITS);
    cr_expect_leq(course.calls, 51, "the call that makes 100 bytes is the 51st");
    end();
}

/** With too many steps gone before the middle it is given up; behind that it may take all. */
Test(planner_march, one_that_is_late_at_the_middle_ends)
{
    const double limit = 543;
    recorded_network(&r, 32, 100, 10);
    begin();
    cebus_march how = {.price = INFINITY, .middle = 1};
    cr_expect_eq(cebus_march_run(&greedy, &how, limit, 100000, &course), CEBUS_GREEDY_STUCK);
    cr_expect_lt(course.calls, r.iteration.n_calls / 2);
    cr_assert(cebus_sequence_clear(&sequence));
    how.middle = 2 * greedy.closure.spent + 100000;
    cr_expect_eq(cebus_march_run(&greedy, &how, limit, 100000, &course), CEBUS_GREEDY_FITS);
    end();
}
