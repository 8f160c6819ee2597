/**
 * Marches in which values go by way of the host, whether the link hides their copies or not.
 */
#include <criterion/criterion.h>

#include <math.h>

#include "evict/planner/check.h"
#include "evict/planner/emit.h"
#include "evict/planner/march.h"
#include "evict/planner/shuttle.h"
#include "evict/timeline/timeline.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

enum {
    CALLS = 24,
    BYTES = 1000,
    LIMIT = 6 * BYTES + 10,
    A_CALL = 100 /* ns that one of a random iteration takes, at most */
};

static recorded r;
static cebus_sequence sequence;
static cebus_greedy greedy;
static cebus_march_course course;
static cebus_links links;
static const cebus_plan_terms terms = {
    .host = 1 << 30, .out_rate = UINT64_C(1000000000), .in_rate = UINT64_C(1000000000)};

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planner_detour, .init = setup, .fini = teardown);

static void begin(void)
{
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cr_assert(cebus_greedy_init(&greedy, &sequence, &r.pool));
    cr_assert(cebus_links_init(&links, &sequence, &terms, &r.pool));
    greedy.terms = &terms;
}

static void end(void)
{
    cebus_links_deinit(&links);
    cebus_greedy_deinit(&greedy);
    cebus_sequence_deinit(&sequence);
}

static double peak(void)
{
    return cebus_track_peak(&sequence.track, NULL);
}

/** Calls that each make something, and others that read it, the last first. */
static void make_stack(uint64_t cost, bool replayable)
{
    size_t x[CALLS];
    for (int i = 0; i < CALLS; i++) {
        x[i] = recorded_call(&r, "f", cost, SIZE_MAX, SIZE_MAX, BYTES);
        r.iteration.values[r.values[x[i]].ordinal].replayable = replayable;
    }
    for (int i = CALLS; i-- > 0;) {
        size_t y = recorded_call(&r, "b", cost, x[i], SIZE_MAX, 1);
        recorded_free(&r, x[i]);
        recorded_free(&r, y);
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
}

static uint64_t stall(void)
{
    cr_assert(cebus_links_run(&links));
    return links.streams.stall_ns;
}

static void expect_plan(double limit)
{
    cebus_check check;
    cr_assert(cebus_links_run(&links));
    cr_assert(cebus_emit_plan(&sequence, &links, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s at %u", check.wrong, check.at);
    cr_expect_leq((double)check.peak, limit);
    cebus_plan_clear(&r.plan);
}

/** Calls take a hundredth of what a copy does: nothing is hidden, and nothing can run again. */
Test(planner_detour, what_cannot_be_made_again_goes_by_the_host)
{
    cebus_march how = {.price = 0};
    make_stack(BYTES / 100, false);
    begin();
    cr_expect_neq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    cr_assert(cebus_sequence_clear(&sequence));
    how.link = 1;
    cr_assert_eq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    cr_expect_leq(peak(), LIMIT);
    cr_expect_eq(sequence.cost, 0);
    expect_plan(LIMIT);
    end();
}

/** Copies back follow one another while the calls run. */
Test(planner_detour, copies_back_start_early_where_there_is_room)
{
    cebus_march how = {.link = 1};
    make_stack(BYTES, false);
    begin();
    cr_assert_eq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    const uint64_t late = stall();
    cr_expect_geq(late, (CALLS - 6) * BYTES);
    cr_assert(cebus_detours_hasten(&links, &sequence, LIMIT));
    cr_expect_leq(stall(), late / 8);
    expect_plan(LIMIT);
    end();
}

Test(planner_detour, what_is_made_again_sooner_than_it_is_copied_is)
{
    cebus_march how = {.link = 1};
    make_stack(BYTES, true);
    begin();
    cr_assert_eq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    cr_expect_eq(sequence.cost, sequence.n_replays * BYTES, "no copies");
    cr_expect_gt(sequence.n_replays, 0);
    cr_assert(cebus_sequence_clear(&sequence));
    how.link = 0.25;
    cr_assert_eq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    cr_expect_lt(sequence.cost, 4 * BYTES, "mostly copies, were they as cheap");
    end();
}

Test(planner_detour, the_host_holds_no_more_than_it_can)
{
    cebus_plan_terms small = terms;
    cebus_march how = {.link = 1};
    make_stack(BYTES / 100, false);
    begin();
    small.host = 3 * BYTES;
    greedy.terms = &small;
    cr_expect_neq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    cr_assert(cebus_links_run(&links));
    cr_expect_leq(links.host, small.host);
    end();
}

/** Two values of which there is room for one, read and written in turn: one by calls in place. */
static void make_turns(void)
{
    size_t other = recorded_call(&r, "f", 1, SIZE_MAX, SIZE_MAX, 4 * BYTES);
    size_t sum = recorded_call(&r, "full", 1, SIZE_MAX, SIZE_MAX, 4 * BYTES);
    r.iteration.values[r.values[other].ordinal].replayable = false;
    for (int i = 0; i < 4; i++) {
        size_t next = recorded_call(&r, "add_", 1, sum, SIZE_MAX, 4 * BYTES);
        r.iteration.values[r.values[sum].ordinal].moved = recorded_calls(&r) - 1;
        r.iteration.values[r.values[sum].ordinal].freed = recorded_calls(&r) - 1;
        sum = next;
        size_t y = recorded_call(&r, "b", 1, other, SIZE_MAX, 1);
        recorded_free(&r, y);
    }
    recorded_free(&r, sum);
    recorded_free(&r, other);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

Test(planner_detour, what_a_call_takes_over_goes_too)
{
    cebus_march how = {.link = 1};
    make_turns();
    begin();
    cr_expect_eq(cebus_march_run(&greedy, &how, LIMIT, 1000000, &course), CEBUS_GREEDY_FITS);
    cr_expect_leq(peak(), LIMIT);
    expect_plan(LIMIT);
    end();
}

Test(planner_detour, any_march_that_fits_does_what_it_should)
{
    size_t fitted = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        cebus_iteration_clear(&r.iteration);
        random_iteration_make(&r.iteration, seed, 20 + (uint32_t)seed % 100);
        begin();
        const double limit = peak() * (double)(75 + seed % 5 * 5) / 100;
        const cebus_march how = {.price = seed % 3 == 0 ? INFINITY : 0,
                                 .link = seed % 2 == 0 ? 1 : 0.01,
                                 .noise = (uint32_t)seed % 4};
        bool fits = cebus_march_run(&greedy, &how, limit, 1000000, &course) == CEBUS_GREEDY_FITS;
        cr_assert_eq(fits, peak() <= limit, "seed %lu", (unsigned long)seed);
        if (fits) {
            const uint64_t late = stall();
            cr_assert(cebus_detours_hasten(&links, &sequence, limit));
            cr_expect_leq(stall(), late + late / 4 + A_CALL, "seed %lu", (unsigned long)seed);
            expect_plan(limit);
        }
        fitted += fits;
        end();
    }
    cr_expect_gt(fitted, 30, "%zu", fitted);
}

static bool fits_with(uint64_t budget, uint64_t rate, uint64_t *out_ns)
{
    cebus_timeline timeline;
    cebus_plan_terms with = {.budget = budget, .out_rate = 1, .in_rate = 1};
    if (rate > 0) {
        with.host = terms.host;
        with.out_rate = with.in_rate = rate;
    }
    const cebus_timeline_terms how = {.budget = budget,
                                      .out_rate = with.out_rate,
                                      .in_rate = with.in_rate,
                                      .swaps = rate > 0,
                                      .ahead = true};
    with.effort = 200000;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_shuttle_plan(&r.iteration, &with, &r.plan));
    const bool fits = !r.plan.over;
    cr_assert(cebus_plan_make_ready(&r.plan, &r.iteration));
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &how, &r.pool, &timeline));
    *out_ns = timeline.total_ns;
    return fits;
}

Test(planner_detour, a_plan_is_found_where_only_copies_that_are_waited_for_fit)
{
    uint64_t ns;
    make_stack(BYTES / 100, false);
    cr_expect(fits_with(LIMIT, terms.out_rate, &ns));
    cr_expect_leq(ns, 3 * CALLS * BYTES);
}

/** A call that reads and makes more than there is room for is part of no plan. */
Test(planner_detour, what_cannot_run_again_for_want_of_room_is_in_no_chain)
{
    size_t wide = recorded_call(&r, "f", 1, SIZE_MAX, SIZE_MAX, 3 * BYTES);
    size_t x = recorded_call(&r, "g_", 1, wide, SIZE_MAX, 3 * BYTES);
    r.iteration.values[r.values[wide].ordinal].moved = 1;
    recorded_free(&r, wide);
    size_t y = recorded_call(&r, "h", 1, SIZE_MAX, SIZE_MAX, 2 * BYTES);
    recorded_free(&r, y);
    recorded_call(&r, "b", 1, x, SIZE_MAX, 1);
    recorded_free(&r, x);
    cr_assert(cebus_iteration_seal(&r.iteration));
    begin();
    const uint32_t value = r.values[x].ordinal;
    greedy.closure.limit = 4 * BYTES;
    greedy.closure.caution = 0;
    cebus_closure_weigh(&greedy.closure, value, 3);
    cr_expect_eq(greedy.closure.score, INFINITY, "6 x BYTES to run g_ again");
    end();
}

/** A recurrent layer: each step reads what all steps of its direction share, and its backward adds
 * up in place; where that is needed there is no room beside for the other. */
static void make_recurrent(int steps)
{
    size_t s[64], table = recorded_leaf(&r, 400, true);
    size_t shared = recorded_call(&r, "linear", 4000, table, SIZE_MAX, 4000);
    s[0] = recorded_call(&r, "cell", 130, shared, SIZE_MAX, 60);
    for (int t = 1; t < steps; t++)
        s[t] = recorded_call(&r, "cell", 130, shared, s[t - 1], 60);
    recorded_free(&r, shared);
    size_t loss = recorded_call(&r, "loss", 50, s[steps - 1], SIZE_MAX, 40);
    size_t map = recorded_call(&r, "matmul", 600, loss, table, 2000);
    recorded_free(&r, loss);
    size_t sum = recorded_call(&r, "full", 1000, SIZE_MAX, SIZE_MAX, 4000);
    for (int t = steps; t-- > 0;) {
        size_t d = recorded_call(&r, "cell_backward", 100, map, s[t], 30);
        size_t next = recorded_call(&r, "add_", 30, sum, d, 4000);
        r.iteration.values[r.values[sum].ordinal].moved = recorded_calls(&r) - 1;
        r.iteration.values[r.values[sum].ordinal].freed = recorded_calls(&r) - 1;
        recorded_free(&r, d);
        recorded_free(&r, s[t]);
        sum = next;
    }
    recorded_free(&r, map);
    recorded_call(&r, "matmul_weight", 4000, sum, table, 10);
    recorded_free(&r, sum);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

/** A slow link: what copies there is time for is in the way of what has to run again. */
Test(planner_detour, what_runs_again_is_looked_for_without_copies, .timeout = 120)
{
    uint64_t ns;
    make_recurrent(64);
    cr_expect(fits_with(8900, terms.out_rate / 64, &ns));
    cr_expect_lt(ns, 55000, "with copies alone 60212: %lu", (unsigned long)ns);
}

/** Where nothing fits either way, the plan that comes nearest stands. */
Test(planner_detour, what_comes_nearest_stands_where_nothing_fits)
{
    cebus_plan_terms with = terms;
    make_stack(BYTES, true);
    with.budget = BYTES / 2;
    with.effort = 20000;
    cr_assert(cebus_shuttle_plan(&r.iteration, &with, &r.plan));
    cr_expect(r.plan.over);
}

/** What a call makes in the place of what it takes over needs no room beside it, so all that
 * persists may stay. */
Test(planner_detour, what_is_made_in_place_needs_no_room_twice)
{
    size_t w = recorded_leaf(&r, 5 * BYTES, true);
    size_t sum = recorded_call(&r, "full", 10, SIZE_MAX, SIZE_MAX, 4 * BYTES);
    size_t x = recorded_call(&r, "f", 10, w, SIZE_MAX, BYTES);
    size_t more = recorded_call(&r, "add_", 10, sum, x, 4 * BYTES);
    r.iteration.values[r.values[sum].ordinal].moved = recorded_calls(&r) - 1;
    recorded_free(&r, sum);
    size_t y = recorded_call(&r, "g", 10, x, SIZE_MAX, BYTES);
    recorded_free(&r, y);
    recorded_call(&r, "b", 10, more, w, 1);
    recorded_free(&r, x);
    recorded_free(&r, more);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cebus_plan_terms with = terms;
    with.budget = 11 * BYTES;
    with.effort = 100000;
    cr_assert(cebus_shuttle_plan(&r.iteration, &with, &r.plan));
    cr_expect_not(cebus_plan_shuttles(&r.plan, &r.iteration));
}
