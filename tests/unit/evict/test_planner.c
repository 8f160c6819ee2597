#include <criterion/criterion.h>

#include "evict/curve.h"
#include "evict/planner/check.h"
#include "evict/planner/improve.h"
#include "evict/planner/ladder.h"
#include "evict/planner/planner.h"
#include "evict/planner/usage.h"
#include "evict/planner/weights.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

static recorded r;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planner, .init = setup, .fini = teardown);

static uint64_t peak(void)
{
    cebus_curve curve;
    cr_assert(cebus_curve_init(&curve, &r.iteration, &r.pool));
    uint64_t bytes = cebus_curve_peak(&curve, NULL);
    cebus_curve_deinit(&curve);
    return bytes;
}

/** Plans, and has the checker look at it. */
static cebus_check plan(uint64_t budget, uint64_t effort, uint64_t seed)
{
    cebus_plan_terms terms = {.budget = budget, .out_rate = 1, .in_rate = 1, .effort = effort};
    cebus_check check;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_assert_null(check.wrong, "seed %lu, budget %lu: %s, at %u: %u", seed, budget, check.wrong,
                   check.at, check.value);
    return check;
}

Test(planner, a_chain_fits_a_third_of_its_peak_for_one_and_a_half_forwards)
{
    recorded_network(&r, 24, 100, 10);
    cebus_check check = plan(peak() / 3, 0, 0);
    cr_expect_leq(check.peak, peak() / 3);
    cr_expect_gt(check.replays, 0);
    cr_expect_leq(check.replay_ns, 24 * 3 * 10, "%lu", check.replay_ns);
}

Test(planner, the_smaller_the_budget_the_dearer)
{
    uint64_t before = 0;
    recorded_network(&r, 20, 100, 10);
    for (uint64_t percent = 100; percent >= 40; percent -= 10) {
        cebus_check check = plan(peak() * percent / 100, 0, 0);
        cr_expect_leq(check.peak, peak() * percent / 100);
        cr_expect_geq(check.replay_ns, before);
        before = check.replay_ns;
    }
}

Test(planner, leaves_holes_free)
{
    recorded_network(&r, 20, 100, 10);
    cebus_plan_terms terms = {.budget = 1500, .holes = 400};
    cebus_check check;
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong);
    cr_expect_leq(check.peak, 1100);
}

Test(planner, comes_to_an_end_where_holes_leave_no_room, .timeout = 60)
{
    recorded_network(&r, 20, 100, 10);
    for (uint64_t swaps = 0; swaps < 2; swaps++) {
        cebus_plan_terms terms = {.budget = 400,
                                  .holes = 400,
                                  .host = swaps * 1000,
                                  .out_rate = 1,
                                  .in_rate = 1,
                                  .effort = 100000};
        cebus_check check;
        cebus_plan_clear(&r.plan);
        cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
        cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
        cr_expect_null(check.wrong);
        cr_expect_lt(check.peak, peak());
    }
}

Test(planner, what_is_held_for_nothing_goes_at_no_cost)
{
    size_t x = recorded_call(&r, "f", 10, SIZE_MAX, SIZE_MAX, 100);
    recorded_call(&r, "g", 10, x, SIZE_MAX, 1);
    size_t y = recorded_call(&r, "f", 10, SIZE_MAX, SIZE_MAX, 100);
    recorded_call(&r, "g", 10, y, SIZE_MAX, 1);
    recorded_free(&r, x);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cebus_check check = plan(150, 0, 0);
    cr_expect_eq(check.replays, 0);
    cr_expect_eq(check.peak, 102);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, x), 2);
}

Test(planner, any_plan_of_anything_does_what_it_should)
{
    size_t fitted = 0, planned = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        cebus_iteration_clear(&r.iteration);
        random_iteration_make(&r.iteration, seed, 10 + (uint32_t)seed % 120);
        uint64_t all = peak();
        for (uint64_t percent = 90; percent >= 30; percent -= 20) {
            uint64_t effort = seed % 4 == 0 ? 2000 : 0;
            cebus_check check = plan(all * percent / 100, effort, seed);
            planned++;
            fitted += check.peak <= all * percent / 100;
            cr_assert(check.peak >= cebus_usage_least(&r.iteration) && check.peak <= all);
        }
    }
    cr_expect_gt(fitted, planned / 4);
}

Test(planner, swaps_what_the_link_hides_for_nothing)
{
    recorded_network(&r, 20, 100, 10);
    cebus_plan_terms terms = {.budget = peak() * 6 / 10,
                              .host = 1 << 20,
                              .out_rate = UINT64_C(100000000000),
                              .in_rate = UINT64_C(100000000000)};
    cebus_check check;
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong);
    cr_expect_leq(check.peak, terms.budget);
    cr_expect_eq(check.replays, 0);
    cr_expect_gt(check.host, 0);
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_COPY_OUT),
                 recorded_count(&r, CEBUS_ACTION_SWAP_IN));
}

/** Each of 20 values is read in two later phases: away before both, nothing has to run again. */
Test(planner, swaps_what_is_read_twice_before_each_time)
{
    enum {
        VALUES = 20,
        BYTES = 100
    };
    size_t made[VALUES];
    for (int i = 0; i < VALUES; i++)
        made[i] = recorded_call(&r, "make", 100, SIZE_MAX, SIZE_MAX, BYTES);
    for (int i = 0; i < 2 * VALUES; i++)
        recorded_call(&r, "read", 100, made[i % VALUES], SIZE_MAX, 1);
    for (int i = 0; i < VALUES; i++)
        recorded_free(&r, made[i]);
    cebus_iteration_seal(&r.iteration);
    cebus_plan_terms terms = {.budget = 8 * BYTES + 3 * VALUES,
                              .host = 1 << 20,
                              .out_rate = UINT64_C(2000000000),
                              .in_rate = UINT64_C(2000000000),
                              .effort = 20000};
    cebus_check check;
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s", check.wrong);
    cr_expect_leq(check.peak, terms.budget);
    cr_expect_eq(check.replays, 0);
    cr_expect_eq(r.plan.wait_ns, 0);
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_SWAP_IN),
                 recorded_count(&r, CEBUS_ACTION_COPY_OUT));
}

Test(planner, swaps_no_more_than_the_host_holds_and_replays_the_rest)
{
    recorded_network(&r, 20, 100, 10);
    cebus_plan_terms terms = {.budget = peak() * 5 / 10,
                              .host = 350,
                              .out_rate = UINT64_C(100000000000),
                              .in_rate = UINT64_C(100000000000)};
    cebus_check check;
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong);
    cr_expect_leq(check.peak, terms.budget);
    cr_expect_gt(check.replays, 0);
    cr_expect_gt(check.host, 0);
    cr_expect_leq(check.host, terms.host);
}

Test(planner, any_plan_that_swaps_does_what_it_should)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        cebus_iteration_clear(&r.iteration);
        random_iteration_make(&r.iteration, seed, 10 + (uint32_t)seed % 120);
        cebus_plan_terms terms = {.budget = peak() * (40 + seed % 5 * 10) / 100,
                                  .host = seed % 3 == 0 ? 1000 : 1 << 20,
                                  .out_rate = UINT64_C(3000000000) << seed % 5,
                                  .in_rate = UINT64_C(6000000000),
                                  .effort = seed % 2 * 20000};
        cebus_check check;
        cebus_plan_clear(&r.plan);
        cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
        cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
        cr_assert_null(check.wrong, "seed %lu: %s, at %u: %u", seed, check.wrong, check.at,
                       check.value);
        cr_assert_leq(check.host, terms.host);
    }
}

Test(planner, equal_input_has_equal_plans)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        cebus_iteration_clear(&r.iteration);
        random_iteration_make(&r.iteration, seed, 100);
        cebus_check first = plan(peak() / 2, 3000, seed);
        size_t count = r.plan.count;
        cebus_check second = plan(peak() / 2, 3000, seed);
        cr_assert_eq(first.replay_ns, second.replay_ns);
        cr_assert_eq(first.peak, second.peak);
        cr_assert_eq(count, r.plan.count);
    }
}

Test(planner, effort_is_enough_for_more_steps_where_calls_are_few)
{
    cebus_iteration iteration = {.n_calls = 300};
    cr_expect_eq(cebus_planner_effort(&iteration, 1000), 1750);
    iteration.n_calls = 1280;
    cr_expect_eq(cebus_planner_effort(&iteration, 1000), 1375);
    iteration.n_calls = 2048;
    cr_expect_eq(cebus_planner_effort(&iteration, 1000), 1000);
    iteration.n_calls = 100000;
    cr_expect_eq(cebus_planner_effort(&iteration, 1000), 1000);
    cr_expect_eq(cebus_planner_effort(&iteration, 0), 0);
}

enum {
    REFUSED = 2, /* plans */
    TOO_MUCH = 400,
};

typedef struct refusal {
    int asked;
    uint64_t bytes; /**< too many */
    uint64_t peaks[REFUSED + 1];
} refusal;

/** Bytes are too many everywhere, the first times. */
static bool refuse(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    refusal *told = context;
    *out_ns = 0;
    cebus_check check;
    cr_assert_leq(told->asked, REFUSED);
    cr_assert(cebus_check_run(&r.iteration, offered, &r.pool, &check));
    told->peaks[told->asked] = check.peak;
    for (size_t k = 0; k < r.iteration.n_calls && told->asked < REFUSED; k++)
        crowd[k] = told->bytes;
    return told->asked++ == REFUSED;
}

static refusal plan_refused(uint64_t budget, uint64_t bytes)
{
    refusal told = {.bytes = bytes};
    cebus_plan_terms terms = {.budget = budget,
                              .out_rate = 1,
                              .in_rate = 1,
                              .effort = 20000,
                              .place = refuse,
                              .place_context = &told};
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    cr_assert_eq(told.asked, REFUSED + 1);
    return told;
}

/** Half of what is too much is left free at first. */
Test(planner, what_cannot_be_placed_is_planned_for_less_and_less)
{
    recorded_network(&r, 24, 100, 10);
    uint64_t budget = peak() * 2 / 3;
    refusal told = plan_refused(budget, TOO_MUCH);
    cr_expect_gt(told.peaks[0], budget - TOO_MUCH / 2);
    cr_expect_leq(told.peaks[1], budget - TOO_MUCH / 2);
    cr_expect_gt(told.peaks[1], budget - TOO_MUCH, "no more than half of it");
    cr_expect_leq(told.peaks[2], budget - TOO_MUCH / 2 - TOO_MUCH);
}

Test(planner, what_cannot_be_placed_by_a_hair_is_not_offered_again)
{
    recorded_network(&r, 24, 100, 10);
    uint64_t budget = peak() * 2 / 3;
    refusal told = plan_refused(budget, 1);
    for (; told.peaks[0] < budget; told = plan_refused(budget, 1))
        budget = told.peaks[0]; /* until it is all needed */
    cr_expect_lt(told.peaks[1], budget);
    cr_expect_lt(told.peaks[2], budget);
}

/** What was offered, and what moving was said to take each time. */
typedef struct offers {
    int asked;
    uint64_t moving_ns[8], replay_ns[8];
    uint64_t bytes;
} offers;

/** All can be placed, if values move; and bytes are too many everywhere. */
static bool accept(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    offers *told = context;
    cebus_check check;
    int i = told->asked < 7 ? told->asked : 7;
    cr_assert(cebus_check_run(&r.iteration, offered, &r.pool, &check));
    for (size_t k = 0; k < r.iteration.n_calls; k++)
        crowd[k] = told->bytes;
    told->replay_ns[i] = check.replay_ns;
    *out_ns = told->moving_ns[i];
    told->asked++;
    return true;
}

static offers plan_accepted(offers told)
{
    cebus_plan_terms terms = {.budget = peak() * 2 / 3,
                              .out_rate = 1,
                              .in_rate = 1,
                              .effort = 20000,
                              .place = accept,
                              .place_context = &told};
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_planner_plan(&r.iteration, &terms, &r.plan));
    return told;
}

/** Leaving bytes free makes more replays, which may be dearer than moving values. */
Test(planner, moves_values_where_that_is_cheaper_than_to_leave_room)
{
    cebus_check check;
    recorded_network(&r, 24, 100, 10);
    offers told = plan_accepted((offers){.bytes = TOO_MUCH});
    cr_expect_eq(told.asked, 1, "nothing moves");
    told = plan_accepted(
        (offers){.moving_ns = {cebus_iteration_cost(&r.iteration) / 1000}, .bytes = TOO_MUCH});
    cr_expect_eq(told.asked, 1, "what moves is not worth another plan");
    told = plan_accepted((offers){.moving_ns = {1 << 20}, .bytes = TOO_MUCH});
    cr_expect_eq(told.asked, 2, "what moves takes longer than what is replayed for it");
    cr_expect_gt(told.replay_ns[1], told.replay_ns[0]);
    uint64_t more = told.replay_ns[1] - told.replay_ns[0];
    told = plan_accepted((offers){.moving_ns = {more - 1, 1 << 20}, .bytes = TOO_MUCH});
    cr_expect_eq(told.asked, 1, "nor is a plan placed that alone costs more");
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_eq(check.replay_ns, told.replay_ns[0]);
    cr_expect_eq(told.replay_ns[told.asked - 1], told.replay_ns[0], "it is placed last");
}

/** A sequence brought to a limit by one run of the greedy, or down a ladder. Its peak. */
static double bring_down(double limit, uint64_t effort)
{
    cebus_plan_terms terms = {.budget = (uint64_t)limit, .effort = effort};
    cebus_sequence sequence;
    cebus_greedy greedy;
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cr_assert(cebus_greedy_init(&greedy, &sequence, &r.pool));
    cebus_weights_level(&sequence);
    if (effort == 0)
        cr_assert_neq(cebus_greedy_run(&greedy, limit, 0, 100000), CEBUS_GREEDY_NO_HOST_MEMORY);
    else
        cr_assert(cebus_ladder_descend(&greedy, &terms, limit, 100000));
    double bytes = cebus_track_peak(&sequence.track, NULL);
    cebus_greedy_deinit(&greedy);
    cebus_sequence_deinit(&sequence);
    return bytes;
}

/** Three maps and the weights are the floor. */
Test(planner, goes_down_a_ladder_to_where_no_run_leads)
{
    recorded_network(&r, 32, 100, 10);
    double limit = 543; /* 1.5 floors */
    cr_expect_leq(bring_down(limit, 200000), limit);
    cr_expect_gt(bring_down(limit, 0), limit);
}

Test(planner, fits_near_the_floor_with_little_effort)
{
    recorded_network(&r, 32, 100, 10);
    cebus_check check = plan(543, 20000, 0);
    cr_expect_leq(check.peak, 543);
}

/* ---- steps of the search ------------------------------------------------------------------ */

static cebus_sequence sequence;
static cebus_greedy greedy;

static void make_random(uint64_t seed, uint32_t n_calls)
{
    cebus_iteration_clear(&r.iteration);
    random_iteration_make(&r.iteration, seed, n_calls);
}

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

/** Brings what begin() made to a part of its peak, and searches. The time saved. */
static uint64_t search_with(double part, uint64_t effort, uint64_t host)
{
    double limit = part * cebus_track_peak(&sequence.track, NULL);
    cebus_plan_terms terms = {.budget = (uint64_t)limit,
                              .host = host,
                              .out_rate = UINT64_C(3000000000),
                              .in_rate = UINT64_C(3000000000),
                              .effort = effort};
    if (cebus_greedy_run(&greedy, limit, 0, UINT64_MAX / 2) != CEBUS_GREEDY_FITS)
        return 0;
    uint64_t before = sequence.cost, spent = greedy.closure.spent + terms.effort;
    cr_assert(cebus_improve_run(&greedy, &terms, limit, greedy.closure.theta, spent));
    cr_expect_leq(sequence.cost, before);
    cr_expect_leq(cebus_track_peak(&sequence.track, NULL), limit);
    return before - sequence.cost;
}

static uint64_t search(double part, uint64_t effort)
{
    return search_with(part, effort, 0);
}

/** Worse plans are taken on the way; the best is what is left. */
Test(planner, a_search_ends_with_no_more_than_it_began_with)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        make_random(seed, 120);
        begin();
        search(0.6, 20000);
        end();
    }
    cebus_iteration_clear(&r.iteration);
    recorded_network(&r, 16, 100, 10);
    for (int percent = 50; percent > 25; percent -= 10) {
        begin();
        cr_expect_gt(search(percent / 100.0, 20000), 0, "%d%%", percent);
        end();
    }
}

/** Enough for several searches: what they put by and back is what they say it is. */
Test(planner, several_searches_end_with_the_best_of_them)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_random(seed, 40);
        begin();
        uint64_t saved = search(0.6, 60000);
        end();
        begin();
        cr_expect_eq(search(0.6, 60000), saved, "seed %lu", seed);
        end();
    }
    cebus_iteration_clear(&r.iteration);
    recorded_network(&r, 16, 100, 10);
    begin();
    cr_expect_gt(search(0.4, 60000), 0);
    end();
}

/** The same with a link. */
Test(planner, several_searches_that_swap_end_with_the_best_of_them)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_random(seed, 40);
        begin();
        uint64_t saved = search_with(0.6, 60000, 1 << 20);
        end();
        begin();
        cr_expect_eq(search_with(0.6, 60000, 1 << 20), saved, "seed %lu", seed);
        end();
    }
    cebus_iteration_clear(&r.iteration);
    recorded_network(&r, 16, 100, 10);
    begin();
    uint64_t saved = search(0.4, 100000);
    end();
    begin();
    cr_expect_gt(search_with(0.4, 100000, 1 << 20), saved);
    end();
}

Test(planner, a_stir_makes_room_where_none_is_needed)
{
    unsigned stirred = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint32_t at;
        make_random(seed, 80);
        begin();
        double peak = cebus_track_peak(&sequence.track, &at);
        cr_assert_neq(cebus_greedy_stir(&greedy, 0.8 * peak, 0, UINT64_MAX / 2, at, 2),
                      CEBUS_GREEDY_NO_HOST_MEMORY);
        stirred += sequence.n_replays > 0 && cebus_track_level(&sequence.track, at) < peak;
        cr_assert(cebus_sequence_undo(&sequence, 0));
        cr_expect_eq(cebus_track_peak(&sequence.track, NULL), peak);
        end();
    }
    cr_expect_gt(stirred, 20);
}

/** Eight small values each of which is cheap for its bytes, half of them very, and one as large as
 * all of them that costs a little less. */
static void record_knapsack(uint64_t room)
{
    size_t small[8], large = recorded_call(&r, "large", 78, SIZE_MAX, SIZE_MAX, 80);
    for (int i = 0; i < 8; i++)
        small[i] = recorded_call(&r, "small", i % 2 == 0 ? 5 : 15, SIZE_MAX, SIZE_MAX, 10);
    size_t wide = recorded_call(&r, "wide", 100, SIZE_MAX, SIZE_MAX, room);
    recorded_free(&r, wide);
    for (int i = 0; i < 8; i++) {
        recorded_call(&r, "back", 10, small[i], SIZE_MAX, 1);
        recorded_free(&r, small[i]);
    }
    recorded_call(&r, "back", 10, large, SIZE_MAX, 1);
    recorded_free(&r, large);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

Test(planner, one_replay_takes_the_place_of_many)
{
    record_knapsack(120);
    begin();
    double limit = cebus_track_peak(&sequence.track, NULL) - 80;
    cr_assert_eq(cebus_greedy_run(&greedy, limit, 0, UINT64_MAX / 2), CEBUS_GREEDY_FITS);
    cr_expect_eq(sequence.cost, 80, "%lu", sequence.cost);
    cebus_plan_terms terms = {.budget = (uint64_t)limit, .effort = 20000};
    cr_assert(cebus_improve_run(&greedy, &terms, limit, greedy.closure.theta,
                                greedy.closure.spent + terms.effort));
    cr_expect_eq(sequence.cost, 78, "%lu", sequence.cost);
    end();
}

/** What may cost little takes little; what is brisk gives up as soon as it sees what it would cost.
 */
Test(planner, a_repair_keeps_to_what_it_may_cost)
{
    double theta = 1;
    recorded_network(&r, 24, 100, 10);
    begin();
    double limit = 0.9 * cebus_track_peak(&sequence.track, NULL);
    cr_expect_eq(cebus_greedy_repair(&greedy, limit, theta, 5), CEBUS_GREEDY_STUCK);
    cr_expect_eq(sequence.n_replays, 0);
    greedy.brisk = true;
    cr_expect_eq(cebus_greedy_repair(&greedy, limit, theta, 22), CEBUS_GREEDY_HOPELESS);
    cr_expect_eq(sequence.n_replays, 0);
    cr_expect_eq(cebus_greedy_repair(&greedy, limit, theta, 80), CEBUS_GREEDY_FITS);
    cr_expect_leq(sequence.cost, 80);
    end();
}

/** Chains weighed in repairs of the same again and again. */
static uint64_t weigh_often(uint64_t seed, bool learns)
{
    make_random(seed, 150);
    begin();
    double limit = 0.7 * cebus_track_peak(&sequence.track, NULL);
    cebus_greedy_hurry(&greedy, true, learns);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert_neq(cebus_greedy_repair(&greedy, limit, 0.01, UINT64_MAX / 2),
                      CEBUS_GREEDY_NO_HOST_MEMORY);
        cr_assert(cebus_sequence_undo(&sequence, 0));
    }
    uint64_t weighed = greedy.closure.epoch;
    end();
    return weighed;
}

/** A guess that was too low is not believed the next time, so fewer chains are put back. */
Test(planner, guesses_that_learn_weigh_fewer_chains)
{
    uint64_t weighed[2] = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        weighed[false] += weigh_often(seed, false);
        weighed[true] += weigh_often(seed, true);
    }
    cr_expect_lt(100 * weighed[true], 92 * weighed[false], "%lu, not %lu", weighed[true],
                 weighed[false]);
}
