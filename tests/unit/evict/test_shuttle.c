/**
 * Persistent values that shuttle: plans for iterations whose parameters and optimizer state do not
 * fit beside what the calls need.
 */
#include <criterion/criterion.h>

#include "evict/places/fit.h"
#include "evict/places/site.h"
#include "evict/planner/check.h"
#include "evict/timeline/timeline.h"
#include "tests/unit/evict/stepping.h"

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(shuttle, .init = setup, .fini = teardown);

static bool plan_for(uint64_t budget)
{
    cebus_plan_terms terms = terms_for(budget);
    cebus_plan_clear(&r.plan);
    return cebus_policy_find("cebus")->plan(&r.iteration, &terms, &r.plan) &&
           cebus_plan_make_ready(&r.plan, &r.iteration);
}

static cebus_timeline timeline_in(uint64_t budget)
{
    cebus_timeline timeline;
    cebus_timeline_terms with = {.budget = budget,
                                 .out_rate = 1000000000,
                                 .in_rate = 1000000000,
                                 .latency_ns = 1,
                                 .ahead = true};
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &with, &r.pool, &timeline));
    return timeline;
}

Test(shuttle, plans_hold_in_less_than_the_parameters_take)
{
    static const uint64_t budgets[] = {PERSISTENT * 9 / 10, PERSISTENT * 2 / 3, PERSISTENT / 3};
    for (size_t i = 0; i < 3; i++) {
        cebus_check check;
        uint64_t budget = budgets[i];
        cr_assert(plan_for(budget));
        cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
        cr_expect_null(check.wrong, "%llu: %s at %u", (unsigned long long)budget, check.wrong,
                       check.at);
        cr_expect_leq(check.peak, budget);
        cr_expect_null(cebus_plan_wrong(&r.plan, &r.iteration));
        cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration));
        cr_expect_eq(timeline_in(budget).unforeseen, 0);
    }
}

static bool count_asked(void *context)
{
    ++*(uint64_t *)context;
    return true;
}

/** Beside another plan only those that take less are of use; and in less room they take no less. */
Test(shuttle, none_is_made_that_takes_as_long_as_a_rival)
{
    const cebus_policy *policy = cebus_policy_find("cebus");
    uint64_t asked[4] = {0};
    cebus_plan_terms terms = terms_for(PERSISTENT * 2 / 3);
    cr_assert(plan_for(terms.budget));
    const uint64_t least = timeline_in(terms.budget).total_ns;
    const uint64_t rivals[] = {least, 1, least + 1, 0};
    terms.crowded = true;
    terms.go_on = count_asked;
    for (size_t i = 0; i < 4; i++) {
        terms.rival_ns = rivals[i];
        terms.context = &asked[i];
        cebus_plan_clear(&r.plan);
        cr_expect_eq(policy->plan(&r.iteration, &terms, &r.plan), i >= 2);
    }
    cr_expect_lt(asked[1], asked[3] / 2, "%lu, %lu", asked[1], asked[3]);
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration));
    cr_expect_gt(r.plan.spent, 0);
}

/** Swaps fit there that hide, with no search; but they take the link from what persists. */
Test(shuttle, parts_in_which_swaps_fit_are_planned_with_replays_alone_too)
{
    cr_assert(plan_for(PERSISTENT * 8 / 10));
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration));
    cr_expect_gt(r.plan.spent, 2000, "%lu steps", r.plan.spent);
}

Test(shuttle, where_all_of_them_fit_they_stay)
{
    cebus_plan_terms terms = terms_for(PERSISTENT + 6 * MAP + 2 * LAYERS * 10);
    cr_assert(plan_for(terms.budget));
    cr_expect_gt(r.plan.count, 0, "some maps do not");
    cr_expect_not(cebus_plan_shuttles(&r.plan, &r.iteration));
    terms.crowded = true;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_policy_find("cebus")->plan(&r.iteration, &terms, &r.plan));
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration), "but where they are said not to");
    cr_assert(plan_for(2 * PERSISTENT));
    cr_expect_eq(r.plan.count, 0);
}

Test(shuttle, where_nothing_may_leave_they_stay)
{
    cebus_plan_terms terms = terms_for(PERSISTENT / 2);
    terms.host = 0;
    cr_assert(cebus_policy_find("cebus")->plan(&r.iteration, &terms, &r.plan));
    cr_expect_not(cebus_plan_shuttles(&r.plan, &r.iteration));
}

/* Who is away as the iteration begins is away as it ends, and the other way round. */
Test(shuttle, an_iteration_begins_as_it_ends)
{
    cr_assert(plan_for(PERSISTENT / 2));
    for (uint32_t o = 0; o < r.iteration.n_values; o++) {
        int last = -1;
        if (!r.iteration.values[o].persistent)
            continue;
        for (size_t i = 0; i < r.plan.count; i++) {
            if (r.plan.actions[i].value == o && r.plan.actions[i].kind != CEBUS_ACTION_COPY_OUT)
                last = r.plan.actions[i].kind;
        }
        cr_assert(last == CEBUS_ACTION_SWAP_OUT || last == CEBUS_ACTION_SWAP_IN);
        cr_expect_eq(cebus_plan_begins_away(&r.plan, &r.iteration, o),
                     last == CEBUS_ACTION_SWAP_OUT);
    }
}

/* There is room for all that persists where iterations meet, but not beside activations. */
Test(shuttle, what_the_step_wrote_waits_for_the_next_forward)
{
    const uint64_t budget = PERSISTENT + MAP;
    size_t waits = 0;
    cebus_check check;
    cr_assert(plan_for(budget));
    for (uint32_t ordinal = 0; ordinal < r.iteration.n_values; ordinal++) {
        size_t leaves = 0;
        for (size_t a = 0; a < r.plan.count && r.iteration.values[ordinal].persistent; a++)
            leaves += r.plan.actions[a].value == ordinal &&
                      r.plan.actions[a].kind == CEBUS_ACTION_SWAP_OUT;
        waits += leaves > 0 && !cebus_plan_begins_away(&r.plan, &r.iteration, ordinal);
    }
    cr_expect_gt(waits, 0);
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s at %u", check.wrong, check.at);
    cr_expect_leq(check.peak, budget);
    cebus_timeline timeline = timeline_in(budget);
    cr_expect_eq(timeline.unforeseen, 0);
    cr_expect_gt(timeline.over_ns + timeline.out_bytes, 0, "the next iteration is walked, too");
}

/* State is used in the step alone: it comes once, and what is written goes once. */
Test(shuttle, state_comes_for_the_step)
{
    uint32_t first_step = recorded_calls(&r) - LAYERS;
    cr_assert(plan_for(PERSISTENT / 3));
    for (size_t i = 0; i < LAYERS; i++) {
        uint32_t ordinal = r.values[m[i]].ordinal;
        size_t came = 0, left = 0;
        for (size_t a = 0; a < r.plan.count; a++) {
            const cebus_action *action = &r.plan.actions[a];
            if (action->value != ordinal)
                continue;
            came += action->at > 0 && action->kind == CEBUS_ACTION_SWAP_IN;
            left += action->kind == CEBUS_ACTION_SWAP_OUT;
        }
        cr_expect_eq(came, left > 0, "or it waits on the device from one step to the next");
        if (cebus_plan_begins_away(&r.plan, &r.iteration, ordinal))
            cr_expect_gt(recorded_when(&r, CEBUS_ACTION_SWAP_IN, m[i]), first_step / 2);
    }
    cebus_timeline timeline = timeline_in(PERSISTENT / 3);
    cr_expect_leq(timeline.out_bytes, PERSISTENT, "each is written once");
}

/** How often places were asked for, and what the first plan waits for them. */
typedef struct asking {
    int asked, kept;
    uint64_t first_waits;
} asking;

static bool find_places(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    asking *told = context;
    offered->wait_ns += told->asked++ == 0 ? told->first_waits : 0;
    *out_ns = crowd[0];
    return true;
}

static void keep_places(void *context)
{
    asking *told = context;
    told->kept = told->asked;
}

static uint64_t total_with(asking *told)
{
    cebus_plan_terms terms = terms_for(PERSISTENT * 2 / 3);
    terms.place = find_places;
    terms.keep = keep_places;
    terms.place_context = told;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_policy_find("cebus")->plan(&r.iteration, &terms, &r.plan));
    return timeline_in(PERSISTENT * 2 / 3).total_ns;
}

/** The one that would take least, if any place would do, is not if it waits for its own. */
Test(shuttle, of_plans_that_are_placed_that_which_takes_least_is_taken)
{
    asking none = {0}, some = {.first_waits = 1}, more = {.first_waits = 1000000000};
    const uint64_t least = total_with(&none);
    cr_expect_eq(none.asked, 1, "others take longer without waiting");
    cr_expect_eq(total_with(&some), least);
    cr_expect_eq(some.kept, 1);
    cr_expect_gt(total_with(&more), least);
    cr_expect_gt(more.asked, 1);
    cr_expect_gt(more.kept, 1, "its places are those that stand");
}

/** A step takes most of the memory, a call that uses nothing that persists takes more than is left
 * beside the step, and two maps are read before, between and after. */
static void record_wide(void)
{
    recorded_deinit(&r);
    recorded_init(&r);
    size_t x = recorded_leaf(&r, 10, false), p[3];
    for (size_t i = 0; i < 3; i++)
        p[i] = recorded_leaf(&r, 25, true);
    size_t a = recorded_call(&r, "left", 10, x, SIZE_MAX, 20);
    size_t b = recorded_call(&r, "right", 10, x, SIZE_MAX, 20);
    size_t gradient = recorded_call(&r, "gradient", 10, x, p[0], 5);
    update((size_t[]){p[0], p[1], p[2], gradient}, 4, 3);
    recorded_free(&r, gradient);
    recorded_free(&r, recorded_call(&r, "join", 10, a, b, 5));
    recorded_free(&r, recorded_call(&r, "wide", 10, x, SIZE_MAX, 50));
    recorded_free(&r, recorded_call(&r, "join", 10, a, b, 5));
    recorded_free(&r, a);
    recorded_free(&r, b);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

/** No one part of the memory is enough for activations everywhere and leaves enough for the step.
 */
Test(shuttle, activations_have_what_parameters_leave_where_they_are_used)
{
    cebus_check check;
    record_wide();
    cr_assert(plan_for(104));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s at %u", check.wrong, check.at);
    cr_expect_leq(check.peak, 104);
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration));
    cr_expect_eq(timeline_in(104).unforeseen, 0);
}

/** A step takes most of the memory. What the calls before it made is read again behind them, cannot
 * be made again, and is twice the memory: its copies take far longer than the calls. */
static void record_deep(void)
{
    enum {
        DEEP = 8
    };
    size_t x[DEEP], p[3];
    recorded_deinit(&r);
    recorded_init(&r);
    for (size_t i = 0; i < 3; i++)
        p[i] = recorded_leaf(&r, 25, true);
    for (size_t i = 0; i < DEEP; i++) {
        x[i] = recorded_call(&r, "forward", 1, SIZE_MAX, SIZE_MAX, 25);
        r.iteration.values[r.values[x[i]].ordinal].replayable = false;
    }
    for (size_t i = DEEP; i-- > 0;) {
        recorded_free(&r, recorded_call(&r, "backward", 1, x[i], SIZE_MAX, 25));
        recorded_free(&r, x[i]);
    }
    update(p, 3, 3);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

/** Not even one call fits beside all that persists, and no plan whose copies the calls hide. */
Test(shuttle, where_calls_hide_too_few_copies_they_wait_for_some)
{
    cebus_check check;
    record_deep();
    cr_assert(plan_for(100));
    cr_expect_not(r.plan.over);
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s at %u", check.wrong, check.at);
    cr_expect_leq(check.peak, 100);
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration));
    cr_expect_eq(timeline_in(100).unforeseen, 0);
}

static int n_planned;
static uint64_t planned_for[8];
static bool was_crowded[8];
static const uint64_t *parts; /**< of what persists, in percent: what is planned for, four times */

/** As if it was chance what a plan needs. */
static bool plan_in_turn(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                         cebus_plan *out)
{
    cebus_plan_terms mine = terms_for(PERSISTENT * parts[n_planned < 4 ? n_planned : 3] / 100);
    was_crowded[n_planned] = terms->crowded;
    planned_for[n_planned++] = terms->budget;
    return cebus_policy_find("cebus")->plan(iteration, &mine, out);
}

/** Nothing is swapped at first. */
static bool plan_dear_first(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                            cebus_plan *out)
{
    cebus_plan_terms mine = *terms;
    was_crowded[n_planned] = terms->crowded;
    planned_for[n_planned] = terms->budget;
    if (n_planned++ == 0)
        mine.host = 0;
    return cebus_policy_find("cebus")->plan(iteration, &mine, out);
}

/** With a plan that is not there yet, and an empty placement. */
static cebus_fit fit_in(uint64_t memory, const cebus_policy *policy, cebus_placement *placement)
{
    cebus_plan_clear(&r.plan);
    cebus_placement_init(placement, &r.pool);
    return (cebus_fit){.policy = policy,
                       .iteration = &r.iteration,
                       .site = {.capacity = memory, .alignment = 1, .rounds = 20},
                       .terms = terms_for(memory),
                       .plan = &r.plan,
                       .placement = placement};
}

/** Whether a plan is made that has places. */
static bool fit_by(uint64_t memory,
                   bool (*plan)(const cebus_iteration *, const cebus_plan_terms *, cebus_plan *))
{
    cebus_policy policy = *cebus_policy_find("cebus");
    cebus_placement placement;
    policy.plan = plan;
    cebus_fit fit = fit_in(memory, &policy, &placement);
    n_planned = 0;
    bool made = cebus_fit_make(&fit);
    cebus_placement_clear(&placement);
    return made;
}

static uint64_t total_in_turn(uint64_t memory, const uint64_t *order)
{
    parts = order;
    cr_assert(fit_by(memory, plan_in_turn));
    return timeline_in(memory).total_ns;
}

/** Of a plan for a part of what persists alone. */
static uint64_t total_for(uint64_t memory, uint64_t part)
{
    cr_assert(plan_for(PERSISTENT * part / 100));
    return timeline_in(memory).total_ns;
}

/** What has places first, of plans for less, need not be the best. */
Test(shuttle, of_plans_for_less_the_best_is_taken)
{
    static const uint64_t order[] = {90, 33, 60, 60};
    const uint64_t memory = PERSISTENT * 2 / 3, found = total_in_turn(memory, order);
    cr_expect_eq(n_planned, 5);
    cr_expect_gt(planned_for[2], planned_for[1], "there was room for more");
    cr_expect_eq(planned_for[4], planned_for[2] - memory / 16, "it waits for its places");
    cr_expect_eq(found, total_for(memory, 60));
    cr_expect_lt(found, total_for(memory, 33));
}

/** One that needs a little more than there is, and one that needs much more. */
Test(shuttle, plans_are_made_for_less_in_steps_neither_small_nor_large)
{
    static const uint64_t little[] = {68, 60, 60, 60}, much[] = {90, 60, 60, 60};
    const uint64_t memory = PERSISTENT * 2 / 3;
    total_in_turn(memory, little);
    cr_expect_geq(n_planned, 2);
    cr_expect_leq(planned_for[1], memory - memory / 32);
    total_in_turn(memory, much);
    cr_expect_geq(n_planned, 2);
    cr_expect_geq(planned_for[1], memory - memory / 16);
}

/** Where those that have places take so long the first, wherever its bytes lie, takes less. */
Test(shuttle, no_places_are_better_than_dear_ones)
{
    static const uint64_t order[] = {90, 20, 20, 20};
    parts = order;
    cr_expect_not(fit_by(PERSISTENT * 2 / 3, plan_in_turn));
    cr_expect_eq(n_planned, 4, "rivals were made");
}

/** What a plan takes of which a planner is told that all that persists may not stay. */
static uint64_t total_crowded(uint64_t budget)
{
    cebus_plan_terms terms = terms_for(budget);
    terms.crowded = true;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_policy_find("cebus")->plan(&r.iteration, &terms, &r.plan));
    return timeline_in(budget).total_ns;
}

/** Of what persists, 30 to 90%. */
Test(shuttle, more_memory_costs_no_more)
{
    uint64_t last = UINT64_MAX;
    for (uint64_t percent = 30; percent <= 90; percent += 5) {
        const uint64_t ns = total_crowded(PERSISTENT * percent / 100);
        cr_expect_leq(ns, last, "%lu%%", percent);
        last = ns;
    }
}

/** Activations that fill the memory leave nothing for what should come early. */
Test(shuttle, activations_are_planned_for_less_room_too)
{
    record_wide();
    cr_expect_lt(total_crowded(105), 202, "it takes so long if they do");
}

Test(shuttle, where_it_is_dear_that_they_stay_they_may_come_and_go)
{
    const uint64_t memory = PERSISTENT + 4 * MAP;
    cr_assert(fit_by(memory, plan_dear_first));
    cr_expect_eq(n_planned, 2);
    cr_expect(planned_for[1] == planned_for[0] && !was_crowded[0] && was_crowded[1]);
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration), "that takes less");
}

Test(shuttle, values_that_shuttle_are_placed)
{
    cebus_placement placement;
    cebus_outside outside;
    uint64_t missing;
    cr_assert(plan_for(PERSISTENT / 2));
    cr_assert(cebus_outside_init(&outside, &r.iteration, &r.pool));
    cebus_fixture there = {.offset = 0, .bytes = BYTES, .owner = r.values[w[0]].ordinal + 1};
    cebus_site site = {.capacity = PERSISTENT,
                       .alignment = 1,
                       .fixtures = &there,
                       .n_fixtures = 1,
                       .outside = &outside};
    cebus_placement_init(&placement, &r.pool);
    cr_assert_eq(cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing),
                 CEBUS_SITE_PLACED);
    for (size_t a = 0; a < r.plan.count; a++) {
        const cebus_action *action = &r.plan.actions[a];
        if (action->kind == CEBUS_ACTION_SWAP_IN && r.iteration.values[action->value].persistent)
            cr_expect_lt(placement.actions[a], PERSISTENT);
    }
    cr_expect_leq(placement.height, PERSISTENT * 2 / 3);
    cebus_placement_clear(&placement);
    cebus_outside_deinit(&outside);
}

/** By the plan with these places; none: as if it never ended. */
static uint64_t total_placed(uint64_t memory, const cebus_placement *placement)
{
    cebus_timeline timeline;
    const cebus_plan_terms terms = terms_for(memory);
    const cebus_timeline_terms with = {.budget = memory,
                                       .out_rate = terms.out_rate,
                                       .in_rate = terms.in_rate,
                                       .latency_ns = terms.latency_ns,
                                       .placement = placement,
                                       .ahead = true};
    if (placement->height == 0)
        return UINT64_MAX;
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &with, &r.pool, &timeline));
    return timeline.total_ns;
}

/** A plan that was saved is placed anew: by its runs alone places may be waited for. */
Test(shuttle, a_plan_finds_the_places_again_that_it_had)
{
    int worse_by_runs = 0;
    for (uint64_t percent = 40; percent <= 90; percent += 2) {
        const uint64_t memory = PERSISTENT * percent / 100;
        uint64_t missing;
        cebus_placement placement;
        cebus_fit fit = fit_in(memory, cebus_policy_find("cebus"), &placement);
        if (!cebus_fit_make(&fit))
            continue;
        const uint64_t before = total_placed(memory, &placement);
        cebus_placement_clear(&placement);
        (void)cebus_placement_make(&r.iteration, &r.plan, &fit.site, &placement, &missing);
        worse_by_runs += total_placed(memory, &placement) > before;
        cebus_placement_clear(&placement);
        fit.terms = terms_for(memory);
        cr_expect(cebus_fit_place(&fit), "%d%%", (int)percent);
        cr_expect_leq(total_placed(memory, &placement), before, "%d%%", (int)percent);
        cebus_placement_clear(&placement);
    }
    cr_expect_gt(worse_by_runs, 0, "nothing else is tested");
}

/* Two stays on both sides of where iterations meet are one, beside what lies there already. */
Test(shuttle, what_crosses_has_one_place)
{
    cebus_placement placement;
    uint64_t missing;
    const uint32_t n = recorded_calls(&r), steps = n - LAYERS;
    const cebus_fixture there = {.offset = 2 * BYTES, .bytes = BYTES};
    const cebus_site site = {
        .capacity = PERSISTENT, .alignment = 1, .fixtures = &there, .n_fixtures = 1};
    uint64_t first[LAYERS], last[LAYERS];
    for (size_t i = 0; i < LAYERS; i++) {
        recorded_act(&r, CEBUS_ACTION_SWAP_IN, 0, w[i]);
        recorded_act(&r, CEBUS_ACTION_SWAP_OUT, (uint32_t)i + 1, w[i]);
        recorded_act(&r, CEBUS_ACTION_SWAP_IN, LAYERS + 1, w[i]);
        recorded_act(&r, CEBUS_ACTION_SWAP_OUT, steps - 1, w[i]);
        recorded_act(&r, CEBUS_ACTION_SWAP_IN, steps, w[i]);
    }
    cr_assert(cebus_plan_sort(&r.plan, &r.iteration));
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    cebus_placement_init(&placement, &r.pool);
    cr_assert_eq(cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing),
                 CEBUS_SITE_PLACED);
    for (size_t i = 0; i < LAYERS; i++) {
        first[i] = CEBUS_ANYWHERE;
        for (size_t a = 0; a < r.plan.count; a++) {
            const cebus_action *action = &r.plan.actions[a];
            if (action->value != r.values[w[i]].ordinal || action->kind != CEBUS_ACTION_SWAP_IN)
                continue;
            first[i] = first[i] == CEBUS_ANYWHERE ? placement.actions[a] : first[i];
            last[i] = placement.actions[a];
        }
        cr_expect_eq(first[i], last[i], "layer %zu", i);
        cr_expect(first[i] + BYTES <= there.offset || first[i] >= there.offset + BYTES);
        for (size_t j = 0; j < i; j++)
            cr_expect(first[i] + BYTES <= first[j] || first[i] >= first[j] + BYTES);
    }
    cr_expect_leq(first[LAYERS - 1], first[0], "what is there for longest lies lowest");
    cebus_placement_clear(&placement);
}

Test(shuttle, equal_iterations_have_equal_plans)
{
    cebus_plan first;
    cr_assert(plan_for(PERSISTENT / 2));
    first = r.plan;
    cebus_plan_init(&r.plan, &r.pool);
    cr_assert(plan_for(PERSISTENT / 2));
    cr_assert_eq(first.count, r.plan.count);
    for (size_t i = 0; i < first.count; i++) {
        const cebus_action *a = &first.actions[i], *b = &r.plan.actions[i];
        cr_assert(a->at == b->at && a->value == b->value && a->kind == b->kind);
    }
    cebus_plan_clear(&first);
}

Test(shuttle, without_host_memory_there_is_no_plan, .timeout = 60)
{
    cr_assert(plan_for(PERSISTENT / 2));
    uint64_t requests = host.requests;
    cr_assert(plan_for(PERSISTENT / 2));
    requests = host.requests - requests;
    for (uint64_t n = 1; n <= requests; n += 1 + n / 8) {
        host.fail_at = n;
        host.fired = false;
        bool planned = plan_for(PERSISTENT / 2);
        host.fail_at = 0;
        cr_expect(!planned || !host.fired);
    }
}
