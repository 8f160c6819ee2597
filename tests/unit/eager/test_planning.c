/** When an iteration is planned, for how many kinds of them, and what is asked for it. */
#include <criterion/criterion.h>
#include <sched.h>
#include <time.h>

#include "eager/guidance/appraisal.h"
#include "eager/guidance/planning.h"
#include "eager/guidance/terms.h"
#include "timed_layer.h"

TestSuite(planning);

enum {
    LAYERS = 16
};
#define UNIT 64 /* elements; a kind of iteration has so many times more of them */

/** `maps`: of the largest kind, that fit. */
static cebus_runtime *open_with(cebus_cost_model costs, cebus_swap swap, uint64_t maps,
                                int64_t kinds)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "cpu";
    options.policy = "cebus";
    options.cost_model = costs;
    options.swap = swap;
    options.threads = 1;
    options.memory_budget = maps * (uint64_t)kinds * UNIT * sizeof(float);
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static cebus_runtime *open_cpu(cebus_swap swap, uint64_t maps, int64_t kinds)
{
    return open_with(CEBUS_COST_MEASURED, swap, maps, kinds);
}

/** An iteration of a kind of its own. */
static void step(cebus_runtime *rt, int64_t kind)
{
    run_layers(rt, vector(rt, kind * UNIT, 1), LAYERS);
}

/** The largest kind first: it is planned at once. */
static void rounds(cebus_runtime *rt, int count, int64_t kinds)
{
    for (int i = 0; i < count; i++) {
        for (int64_t kind = kinds; kind > 0; kind--)
            step(rt, kind);
    }
}

/* --- what a plan is worth ------------------------------------------------------------------- */

Test(planning, a_kind_is_worth_a_plan_that_takes_as_long_as_it_ran)
{
    cebus_worth worth = {.ran_ns = 100};
    cr_expect(cebus_worth_planning(&worth, 100));
    cr_expect_not(cebus_worth_planning(&worth, 101));
    worth.ran_ns = CEBUS_WORTH_MOST_NS;
    cr_expect(cebus_worth_planning(&worth, UINT64_MAX), "no longer than that");
}

Test(planning, each_further_search_is_worth_half_as_much)
{
    cebus_worth worth = {.ran_ns = 100};
    for (uint64_t wait = 200; wait <= 1600; wait *= 2) {
        cebus_worth_spend(&worth);
        cr_expect_not(cebus_worth_planning(&worth, 100), "what went before counts no more");
        worth.ran_ns = wait - 1;
        cr_expect_not(cebus_worth_planning(&worth, 100));
        worth.ran_ns = wait;
        cr_expect(cebus_worth_planning(&worth, 100));
    }
    for (int i = 0; i < 100; i++)
        cebus_worth_spend(&worth);
    worth.ran_ns = UINT64_MAX;
    cr_expect(cebus_worth_planning(&worth, CEBUS_WORTH_MOST_NS), "it never ends");
}

Test(planning, plans_are_reckoned_to_take_what_earlier_ones_took)
{
    cebus_pace pace = {.call_ns = 0};
    cr_expect_eq(cebus_pace_reckon(&pace, 20, 7), 7);
    cebus_pace_note(&pace, 2100, 20);
    uint64_t once = cebus_pace_reckon(&pace, 20, 7);
    cr_expect_geq(once, 2100);
    cr_expect_leq(once, 2200);
    cr_expect_eq(cebus_pace_reckon(&pace, 41, 7), 2 * once, "twice the calls take twice as long");
    for (int i = 0; i < 40; i++)
        cebus_pace_note(&pace, 21000, 20);
    cr_expect_gt(cebus_pace_reckon(&pace, 20, 7), 20000);
}

/* --- when a plan is made -------------------------------------------------------------------- */

static atomic_int firsts, searches;

static bool count_plans(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    atomic_fetch_add(terms->effort > 0 ? &searches : &firsts, 1);
    return cebus_policy_cebus.plan(iteration, terms, out);
}

static cebus_policy counting;

/** Under a policy that plans as `cebus` does, and counts. */
static cebus_runtime *open_counted(cebus_cost_model costs)
{
    cebus_runtime *rt = open_with(costs, CEBUS_SWAP_OFF, 8, 3);
    counting = cebus_policy_cebus;
    counting.plan = count_plans;
    rt->policy = &counting;
    cebus_guidance_start(rt);
    firsts = searches = 0;
    return rt;
}

/** Of the kind that came last. */
static cebus_scheme *scheme_of(cebus_runtime *rt)
{
    return &rt->guidance->schemes[rt->guidance->log.last];
}

Test(planning, the_first_kind_is_planned_at_once)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    step(rt, 3);
    step(rt, 3);
    cr_expect_gt(firsts, 0);
    cr_expect_gt(scheme_of(rt)->plan.count, 0);
    cebus_runtime_destroy(rt);
}

Test(planning, another_kind_is_planned_once_it_ran_as_long_as_a_first_plan_takes)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    step(rt, 2);
    step(rt, 2);
    int before = firsts;
    rt->guidance->first.call_ns = CEBUS_WORTH_MOST_NS;
    for (int i = 0; i < 4; i++)
        step(rt, 3);
    cr_expect_eq(firsts, before);
    cr_expect_gt(scheme_of(rt)->worth.ran_ns, 0, "iterations count");
    scheme_of(rt)->worth.ran_ns = CEBUS_WORTH_MOST_NS;
    step(rt, 3);
    step(rt, 3);
    cr_expect_gt(firsts, before);
    cr_expect_gt(scheme_of(rt)->plan.count, 0);
    cebus_runtime_destroy(rt);
}

static void await_draft(cebus_runtime *rt)
{
    while (rt->guidance->draft.started && !atomic_load(&rt->guidance->draft.done))
        sched_yield();
}

Test(planning, a_search_begins_once_the_kind_ran_as_long_as_it_takes)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    for (int i = 0; i < 4; i++)
        step(rt, 3);
    cr_expect_eq(searches, 0, "some us against 100 ms");
    scheme_of(rt)->worth.ran_ns = CEBUS_WORTH_MOST_NS;
    step(rt, 3);
    cr_assert(rt->guidance->draft.started);
    cr_expect_eq(scheme_of(rt)->worth.searches, 1);
    await_draft(rt);
    cr_expect_gt(searches, 0);
    step(rt, 3);
    step(rt, 3);
    cr_expect_not(rt->guidance->draft.started);
    cr_expect_gt(rt->guidance->searching.call_ns, 0, "what it took is known");
    cebus_runtime_destroy(rt);
}

Test(planning, the_next_search_waits_for_twice_as_long)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    for (int i = 0; i < 3; i++)
        step(rt, 3);
    cebus_scheme *scheme = scheme_of(rt);
    rt->guidance->searching.call_ns = CEBUS_WORTH_MOST_NS;
    scheme->worth.searches = 1;
    scheme->worth.ran_ns = CEBUS_WORTH_MOST_NS + CEBUS_WORTH_MOST_NS / 2;
    step(rt, 3);
    cr_expect_not(rt->guidance->draft.started);
    scheme->worth.ran_ns = 2 * CEBUS_WORTH_MOST_NS;
    step(rt, 3);
    cr_expect(rt->guidance->draft.started);
    cr_expect_eq(scheme->worth.searches, 2);
    await_draft(rt);
    cebus_runtime_destroy(rt);
}

/** Nothing may depend on a clock: every kind is searched for when it is learned. */
Test(planning, where_runs_repeat_nothing_is_waited_for)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_ESTIMATED);
    for (int64_t kind = 3; kind > 0; kind--) {
        int before = searches;
        step(rt, kind);
        rt->guidance->first.call_ns = rt->guidance->searching.call_ns = CEBUS_WORTH_MOST_NS;
        step(rt, kind);
        cr_expect_gt(searches, before, "%d", (int)kind);
    }
    cr_expect_eq(firsts, 0);
    cebus_runtime_destroy(rt);
}

/** After each kind comes another one than the last time: only its first call tells which it is. */
Test(planning, plans_are_followed_and_appraised_in_any_order)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_ESTIMATED);
    for (int i = 0; i < 2; i++) {
        step(rt, 3);
        step(rt, 2);
    }
    cebus_memory_stats before = stats_of(rt);
    for (int i = 0; i < 8; i++)
        step(rt, i / 2 % 2 == 0 ? 3 : 2);
    cebus_memory_stats after = stats_of(rt);
    cr_expect_gt(after.planned_replays, before.planned_replays);
    cr_expect_geq(after.guided_iterations - before.guided_iterations, 7);
    cebus_runtime_destroy(rt);
}

static bool plan_too_much(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                          cebus_plan *out)
{
    const bool ok = count_plans(iteration, terms, out);
    out->over = terms->effort > 0;
    return ok;
}

Test(planning, what_fits_nowhere_is_not_followed)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_ESTIMATED);
    counting.plan = plan_too_much;
    for (int i = 0; i < 4; i++)
        step(rt, 3);
    cr_expect_gt(searches, 0);
    cr_expect_eq(scheme_of(rt)->plan.count, 0);
    cr_expect_eq(stats_of(rt).guided_iterations, 0);
    cebus_runtime_destroy(rt);
}

/* --- what is followed meanwhile ------------------------------------------------------------- */

static cebus_status wait_a_little(const cebus_custom_launch *launch)
{
    const struct timespec pause = {.tv_nsec = 50000};
    (void)launch;
    nanosleep(&pause, NULL);
    return CEBUS_OK;
}

static const cebus_custom_op slow = {.struct_size = sizeof slow,
                                     .name = "slow",
                                     .n_out = 1,
                                     .infer = same_shape,
                                     .run = wait_a_little};

/** A chain of maps, all of which live until its end. */
static void slow_step(cebus_runtime *rt)
{
    cebus_tensor *map[LAYERS + 1] = {vector(rt, 3 * UNIT, 1)}, *sum;
    for (int i = 0; i < LAYERS; i++)
        OK(cebus_call_custom(rt, &slow, NULL, 0, &map[i], 1, &map[i + 1]));
    for (int i = LAYERS; i > 0; i--) {
        OK(cebus_add(rt, map[i], map[i - 1], &sum));
        cebus_tensor_release(map[i]);
        cebus_tensor_release(sum);
    }
    cebus_tensor_release(map[0]);
    OK(cebus_iteration_mark(rt));
}

Test(planning, a_first_plan_that_costs_more_than_none_is_not_followed)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    slow_step(rt);
    cebus_scheme *scheme = scheme_of(rt);
    scheme->unplanned_ns = 1;
    scheme->worth.ran_ns = CEBUS_WORTH_MOST_NS;
    cebus_planning_reconsider(rt, rt->guidance->log.last);
    slow_step(rt);
    cr_expect_gt(firsts, 0);
    cr_expect_eq(scheme->plan.count, 0);
    cr_assert(rt->guidance->draft.started, "a better one is searched");
    await_draft(rt);
    slow_step(rt);
    cr_expect_gt(scheme->plan.count, 0, "and followed");
    cebus_runtime_destroy(rt);
}

/** The first plan drops a value, which is not enough. */
static bool plan_little_at_first(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                                 cebus_plan *out)
{
    if (terms->effort > 0)
        return count_plans(iteration, terms, out);
    return cebus_plan_add(out, CEBUS_ACTION_DROP, 1, (uint32_t)iteration->n_values - 1);
}

/** After two steps, planned so. */
static cebus_runtime *open_planned(bool (*plan)(const cebus_iteration *, const cebus_plan_terms *,
                                                cebus_plan *))
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    counting.plan = plan;
    for (int i = 0; i < 2; i++)
        slow_step(rt);
    return rt;
}

Test(planning, a_better_plan_has_places_though_the_first_found_none)
{
    cebus_runtime *rt = open_planned(plan_little_at_first);
    cebus_scheme *scheme = scheme_of(rt);
    cr_assert_null(scheme->spots);
    scheme->worth.ran_ns = CEBUS_WORTH_MOST_NS;
    slow_step(rt);
    cr_assert(rt->guidance->draft.started);
    await_draft(rt);
    slow_step(rt);
    cr_expect_gt(scheme->plan.count, 1);
    cr_expect_not_null(scheme->spots);
    cebus_runtime_destroy(rt);
}

/** A search that finds nothing where places are asked for, and a plan where they are not. */
static bool plan_loosely(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                         cebus_plan *out)
{
    if (terms->effort > 0 && terms->holes == 0)
        return false;
    return plan_little_at_first(iteration, terms, out);
}

Test(planning, where_places_are_not_found_a_better_plan_goes_without)
{
    cebus_runtime *rt = open_planned(plan_loosely);
    cebus_scheme *scheme = scheme_of(rt);
    for (int i = 0; i < 2; i++) {
        scheme->worth.ran_ns = UINT64_MAX / 2;
        slow_step(rt);
        await_draft(rt);
        slow_step(rt);
    }
    cr_expect_gt(searches, 0);
    cr_expect_gt(scheme->plan.count, 1);
    cr_expect_null(scheme->spots);
    cebus_runtime_destroy(rt);
}

/** The kind that came last is searched for while it is done once more. */
static void search_now(cebus_runtime *rt)
{
    cebus_scheme *scheme = scheme_of(rt);
    scheme->waits = true;
    scheme->worth.ran_ns = UINT64_MAX / 2;
    slow_step(rt);
    cr_assert(rt->guidance->draft.started);
    await_draft(rt);
}

/** A plan with places is followed, and a search for a better one is over that found none; of its
 * plan so many actions are left. */
static cebus_runtime *open_loose(size_t actions)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    for (int i = 0; i < 2; i++)
        slow_step(rt);
    if (!rt->guidance->draft.started)
        search_now(rt);
    await_draft(rt);
    slow_step(rt);
    cr_assert_not_null(scheme_of(rt)->spots);
    search_now(rt);
    cebus_draft *draft = &rt->guidance->draft;
    cebus_placement_clear(&draft->placement);
    draft->plan.count = draft->plan.count < actions ? draft->plan.count : actions;
    return rt;
}

#define MUCH_LOST (UINT64_C(1) << 40) /* ns */

Test(planning, a_plan_without_places_is_tried_where_it_is_to_lose_less)
{
    cebus_runtime *rt = open_loose(SIZE_MAX);
    rt->stats.recompute_ns += MUCH_LOST; /* by the one with places */
    slow_step(rt);
    cebus_scheme *scheme = scheme_of(rt);
    cr_expect_gt(scheme->plan.count, 0);
    cr_expect_null(scheme->spots);
    cr_expect_gt(scheme->aside.count, 0, "it may come back");
    cr_expect_geq(scheme->placed_lost, MUCH_LOST);
    cebus_runtime_destroy(rt);
}

Test(planning, a_plan_with_places_stands_where_one_without_foretells_nothing)
{
    cebus_runtime *rt = open_loose(1);
    slow_step(rt);
    cebus_scheme *scheme = scheme_of(rt);
    cr_expect_not(rt->guidance->draft.started);
    cr_expect_not_null(scheme->spots);
    cr_expect_eq(scheme->aside.count, 0);
    cr_expect_not(scheme->placeless);
    cebus_runtime_destroy(rt);
}

Test(planning, only_a_plan_that_is_plainly_worse_is_held_back)
{
    cebus_scheme scheme = {.iteration_ns = 10000000, .predicted_ns = 12000000};
    scheme.predicted_lost = 2000000;
    cr_expect_not(cebus_appraisal_foretells_worse(&scheme), "nothing to compare it with");
    scheme.unplanned_ns = 1500000;
    cr_expect_not(cebus_appraisal_foretells_worse(&scheme));
    scheme.unplanned_ns = 1000000;
    cr_expect(cebus_appraisal_foretells_worse(&scheme));
    scheme.predicted_ns = 0;
    cr_expect_not(cebus_appraisal_foretells_worse(&scheme), "it foretells nothing");
    scheme = (cebus_scheme){
        .iteration_ns = 10000, .predicted_ns = 20000, .predicted_lost = 10000, .unplanned_ns = 100};
    cr_expect_not(cebus_appraisal_foretells_worse(&scheme), "too short to tell");
}

/* --- a plan against none -------------------------------------------------------------------- */

/** With a plan that is searched for no more, where the host runs ahead. */
static cebus_runtime *open_settled(void)
{
    cebus_runtime *rt = open_counted(CEBUS_COST_MEASURED);
    rt->info.deferred = true;
    for (int i = 0; i < 2; i++)
        slow_step(rt);
    scheme_of(rt)->worth.ran_ns = CEBUS_WORTH_MOST_NS;
    slow_step(rt);
    await_draft(rt);
    slow_step(rt);
    cr_assert_not(cebus_appraisal_awaits_better(rt, scheme_of(rt)));
    cr_assert_gt(scheme_of(rt)->plan.count, 0);
    scheme_of(rt)->replans = 4; /* nor because costs change, which they do */
    return rt;
}

/** Until it is set aside for taking longer than foretold. */
static void suspect(cebus_runtime *rt)
{
    cebus_scheme *scheme = scheme_of(rt);
    for (int i = 0; i < 10 && scheme->plan.count > 0; i++) {
        scheme->predicted_ns = scheme->unplanned_ns = 1;
        slow_step(rt);
    }
    cr_assert_eq(scheme->plan.count, 0);
    cr_assert(cebus_trial_runs(&scheme->trial));
    cr_expect_gt(scheme->trial.planned_ns, LAYERS * UINT64_C(50000), "the pauses alone");
}

/** As many iterations as a trial takes. */
static void try_none(cebus_runtime *rt, uint64_t planned_ns)
{
    cebus_scheme *scheme = scheme_of(rt);
    scheme->trial.planned_ns = planned_ns;
    for (int i = 0; i < 10 && cebus_trial_runs(&scheme->trial); i++)
        slow_step(rt);
    cr_assert_not(cebus_trial_runs(&scheme->trial));
    slow_step(rt);
}

Test(planning, a_plan_comes_back_after_iterations_that_took_longer_without)
{
    cebus_runtime *rt = open_settled();
    cebus_scheme *scheme = scheme_of(rt);
    const size_t actions = scheme->plan.count;
    suspect(rt);
    cr_expect_eq(scheme->aside.count, actions);
    try_none(rt, 1);
    cr_expect_eq(scheme->plan.count, actions);
    for (int i = 0; i < 20; i++) {
        scheme->predicted_ns = scheme->unplanned_ns = 1;
        slow_step(rt);
    }
    cr_expect_gt(scheme->plan.count, 0, "once");
    cebus_runtime_destroy(rt);
}

Test(planning, a_plan_stays_away_after_iterations_that_took_less_without)
{
    cebus_runtime *rt = open_settled();
    cebus_scheme *scheme = scheme_of(rt);
    suspect(rt);
    try_none(rt, UINT64_C(1) << 60);
    cr_expect_eq(scheme->plan.count, 0);
    cr_expect_eq(scheme->aside.count, 0, "nobody keeps it");
    cebus_runtime_destroy(rt);
}

/* --- how many kinds ------------------------------------------------------------------------- */

Test(planning, knows_a_hundred_kinds)
{
    enum {
        KINDS = 100
    };
    cebus_runtime *rt = open_cpu(CEBUS_SWAP_OFF, 8, KINDS);
    rounds(rt, 2, KINDS);
    uint64_t before = stats_of(rt).iterations_repeated;
    rounds(rt, 1, KINDS);
    cr_expect_geq(stats_of(rt).iterations_repeated - before, KINDS - 1);
    cr_expect_eq(stats_of(rt).iterations_known, KINDS);
    cebus_runtime_destroy(rt);
}

Test(planning, knows_no_more_than_it_has_places_for)
{
    enum {
        KINDS = CEBUS_REFERENCES + 20
    };
    cebus_runtime *rt = open_cpu(CEBUS_SWAP_OFF, 8, KINDS);
    rounds(rt, 1, KINDS);
    cr_expect_eq(stats_of(rt).iterations_known, CEBUS_REFERENCES);
    cebus_runtime_destroy(rt);
}

/* --- what plans may count on ---------------------------------------------------------------- */

/** Whichever kind is at hand while they are made. */
Test(planning, terms_are_those_of_the_scheme_they_are_for)
{
    cebus_runtime *rt = open_cpu(CEBUS_SWAP_ON, 8, 3);
    const cebus_scheme late = {.slower = 1}, crowded = {.fixtures = {.silent = UNIT}};
    const cebus_plan_terms plain = cebus_terms_now(rt, &rt->guidance->idle, true);
    const cebus_plan_terms slower = cebus_terms_now(rt, &late, true);
    const cebus_plan_terms less = cebus_terms_now(rt, &crowded, true);
    cr_expect_eq(slower.out_rate, plain.out_rate - plain.out_rate / 20);
    cr_expect_eq(slower.budget, plain.budget);
    cr_expect_eq(less.budget, plain.budget - UNIT);
    cebus_runtime_destroy(rt);
}

/* --- the link ------------------------------------------------------------------------------- */

static const cebus_device_ops *asked_ops;
static int asked;

static void count_query(cebus_device *device, cebus_device_info *out)
{
    asked++;
    asked_ops->query(device, out);
}

/** Times that the device was asked about its link while three kinds were planned. */
static int ask(cebus_swap swap)
{
    cebus_runtime *rt = open_cpu(swap, 8, 3);
    cebus_device_ops ops = *rt->device_ops;
    asked_ops = rt->device_ops;
    ops.query = count_query;
    rt->device_ops = &ops;
    asked = 0;
    rounds(rt, 6, 3);
    int times = asked;
    rt->device_ops = asked_ops;
    cr_expect_eq(stats_of(rt).iterations_known, 3);
    cr_expect_gt(stats_of(rt).guided_iterations, 0);
    cebus_runtime_destroy(rt);
    return times;
}

/** What a CPU answers takes as long as a plan for a few calls. */
Test(planning, asks_about_the_link_only_where_something_may_be_swapped)
{
    cr_expect_eq(ask(CEBUS_SWAP_OFF), 0);
    cr_expect_eq(ask(CEBUS_SWAP_DEFAULT), 0, "of its own accord nothing is");
    cr_expect_gt(ask(CEBUS_SWAP_ON), 0);
}
