#include <criterion/criterion.h>

#include "evict/curve.h"
#include "evict/planner/check.h"
#include "evict/planner/planner.h"
#include "evict/planner/search.h"
#include "evict/planner/usage.h"
#include "evict/policy.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

enum {
    CALLS = 240,
    EFFORT = 40000,
    RACE_EFFORT = 4 * 100 * CALLS, /* enough for four searches */
    MOST_OFFERED = 16,
};

static recorded r;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planner_effort, .init = setup, .fini = teardown);

/** Calls that read anything made before: to make one of them again takes most others. */
static void make_tangle(uint64_t seed)
{
    size_t made[CALLS], reads[CALLS][2], last[CALLS];
    uint64_t random = seed;
    for (uint32_t k = 0; k < CALLS; k++) {
        last[k] = k;
        for (uint32_t i = 0; i < 2 && k > 0; i++) {
            bool near = random_below(&random, 5) < 2;
            uint32_t back = random_below(&random, near && k > 4 ? 4 : k);
            reads[k][i] = near ? k - 1 - back : back;
            last[reads[k][i]] = k;
        }
    }
    for (uint32_t k = 0; k < CALLS; k++) {
        uint64_t bytes = 64 + random_below(&random, 1 << (4 + random_below(&random, 8)));
        uint64_t ns = 1000 + random_below(&random, 20000);
        made[k] = recorded_call(&r, "f", ns, k > 0 ? made[reads[k][0]] : SIZE_MAX,
                                k > 0 ? made[reads[k][1]] : SIZE_MAX, bytes);
        for (uint32_t v = 0; v <= k; v++) {
            if (last[v] == k)
                recorded_free(&r, made[v]);
        }
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
}

static uint64_t peak(void)
{
    cebus_curve curve;
    cr_assert(cebus_curve_init(&curve, &r.iteration, &r.pool));
    uint64_t bytes = cebus_curve_peak(&curve, NULL);
    cebus_curve_deinit(&curve);
    return bytes;
}

static uint64_t plan(const cebus_plan_terms *terms)
{
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_planner_plan(&r.iteration, terms, &r.plan));
    return r.plan.spent;
}

/** One step more may begin before the end. */
static uint64_t most_spent(void)
{
    return CEBUS_SEARCH_EFFORTS * cebus_planner_effort(&r.iteration, EFFORT) +
           cebus_search_first_visits(&r.iteration) + EFFORT / 4;
}

/** Whatever the program, and where nothing fits. */
Test(planner_effort, all_that_a_plan_takes_is_some_times_its_effort, .timeout = 120)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        setup();
        make_tangle(seed);
        for (uint64_t percent = 10; percent <= 70; percent += 15) {
            cebus_plan_terms terms = {.budget = peak() * percent / 100,
                                      .out_rate = 1 << 28,
                                      .in_rate = 1 << 28,
                                      .effort = EFFORT};
            cr_expect_leq(plan(&terms), most_spent(), "seed %lu, %lu%%", seed, percent);
            terms.host = UINT64_MAX;
            cr_expect_leq(plan(&terms), most_spent(), "swaps: seed %lu, %lu%%", seed, percent);
        }
        teardown();
    }
    setup();
}

/** The next call, which makes the next value of those before, `reads` of them. */
static void add_long(uint32_t value, const uint32_t *reads, uint16_t n_reads)
{
    const uint32_t k = (uint32_t)r.iteration.n_calls;
    const cebus_iteration_value made = {.bytes = 1024,
                                        .born = k,
                                        .freed = CEBUS_ITERATION_NONE,
                                        .moved = CEBUS_ITERATION_NONE,
                                        .replayable = true};
    const cebus_iteration_call call = {.op = "f", .cost_ns = 1000, .n_in = n_reads, .n_out = 1};
    cr_assert(cebus_iteration_add_value(&r.iteration, &made));
    for (uint16_t i = 0; i < n_reads; i++)
        cr_assert(cebus_iteration_add_ref(&r.iteration, reads[i]));
    cr_assert(cebus_iteration_add_ref(&r.iteration, value));
    cr_assert(cebus_iteration_add_call(&r.iteration, &call));
}

/** Layers whose maps the backward reads, last first: more calls than may be recorded by hand. */
static void make_long_chain(uint32_t layers)
{
    for (uint32_t v = 0; v < layers; v++)
        add_long(v, (uint32_t[]){v - 1}, v > 0);
    for (uint32_t v = layers; v < 2 * layers; v++) {
        const uint32_t map = 2 * layers - 1 - v;
        add_long(v, (uint32_t[]){map, v - 1}, v > layers ? 2 : 1);
        r.iteration.values[map].freed = v + 1;
        if (v > layers)
            r.iteration.values[v - 1].freed = v + 1;
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
}

/** The program waits for it. It may look for none that fits. */
Test(planner_effort, a_first_plan_takes_no_longer_the_more_calls_there_are, .timeout = 120)
{
    for (uint32_t layers = 200; layers <= 3200; layers *= 4) {
        setup();
        make_long_chain(layers);
        for (uint64_t part = 2; part <= 512; part *= 4) {
            cebus_plan_terms terms = {.budget = peak() / part + 4096, .out_rate = 1, .in_rate = 1};
            cr_expect_leq(plan(&terms), CEBUS_SEARCH_FIRST + 1000, "%u layers, 1/%lu", layers,
                          part);
            terms.host = UINT64_MAX;
            cr_expect_leq(plan(&terms), CEBUS_SEARCH_FIRST + 1000, "swaps: %u layers, 1/%lu",
                          layers, part);
        }
        teardown();
    }
    setup();
}

/** Steps take longer there. */
Test(planner_effort, long_programs_that_swap_have_fewer_efforts_in_all, .timeout = 120)
{
    make_long_chain(3500);
    const cebus_plan_terms terms = {
        .budget = 6000, .host = UINT64_MAX, .out_rate = 1, .in_rate = 1, .effort = 4 * EFFORT};
    const uint64_t most = 3 * terms.effort + cebus_search_first_visits(&r.iteration);
    cr_expect_leq(plan(&terms), most);
    cr_expect_leq(cebus_search_first_visits(&r.iteration), 64 * 2112);
    cr_expect(r.plan.over, "nothing fits");
}

/** Calls each of which reads some made long before, then a long tail: marches get stuck early. */
static void make_knot(uint32_t calls, uint32_t tail)
{
    uint64_t random = 11;
    for (uint32_t v = 0; v < calls; v++) {
        uint32_t reads[3];
        uint16_t n = 0;
        for (uint32_t i = 0; i < 3 && v > 8; i++) {
            const uint32_t one = random_below(&random, v);
            if (n == 0 || (one != reads[0] && (n == 1 || one != reads[1])))
                reads[n++] = one;
        }
        add_long(v, reads, n);
    }
    for (uint32_t v = calls; v < calls + tail; v++) {
        add_long(v, (uint32_t[]){v - 1}, 1);
        if (v > calls)
            r.iteration.values[v - 1].freed = v + 1;
    }
    for (uint32_t v = 0; v < calls; v++)
        r.iteration.values[v].freed = calls + 1;
    cr_assert(cebus_iteration_seal(&r.iteration));
}

/** They do not march on by chance, nor in other ways once all got stuck early, nor go down a ladder
 * for long, where nothing fits. */
Test(planner_effort, long_programs_that_fit_nowhere_end_sooner, .timeout = 120)
{
    make_knot(200, 2100);
    const cebus_plan_terms terms = {.budget = 14000, .out_rate = 1, .in_rate = 1, .effort = EFFORT};
    const uint64_t all =
        cebus_search_first_visits(&r.iteration) + CEBUS_SEARCH_EFFORTS * (uint64_t)EFFORT;
    cr_expect_leq(plan(&terms), all - 2 * EFFORT);
    cr_expect(r.plan.over, "nothing fits");
}

/** What is offered, and which of it is to stand. */
typedef struct offers {
    int asked, kept;
    bool refuses;
    uint64_t replay_ns[MOST_OFFERED];
} offers;

/** Bytes are too many everywhere. */
static offers *look(void *context, const cebus_plan *offered, uint64_t *crowd)
{
    offers *told = context;
    cebus_check check;
    cr_assert_lt(told->asked, MOST_OFFERED);
    cr_assert(cebus_check_run(&r.iteration, offered, &r.pool, &check));
    told->replay_ns[told->asked] = check.replay_ns;
    for (size_t k = 0; k < r.iteration.n_calls; k++)
        crowd[k] = 100;
    return told;
}

/** Moving them takes the longer the later. */
static bool place(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    offers *told = look(context, offered, crowd);
    *out_ns = UINT64_C(1) << (20 + told->asked++);
    return !told->refuses;
}

static void keep(void *context)
{
    offers *told = context;
    told->kept = told->asked;
}

static uint64_t plan_with(offers *told)
{
    cebus_plan_terms terms = {.budget = peak() / 2,
                              .out_rate = 1,
                              .in_rate = 1,
                              .effort = EFFORT,
                              .place = place,
                              .keep = keep,
                              .place_context = told};
    return plan(&terms);
}

Test(planner_effort, plans_for_less_room_draw_on_the_same)
{
    offers told = {.refuses = true};
    make_tangle(3);
    cr_expect_leq(plan_with(&told), most_spent());
    cr_expect_gt(told.asked, 1);
    cr_expect_eq(told.kept, 0, "none had places");
}

/** What had places stands: it is not placed again once others were tried. */
Test(planner_effort, the_plan_that_was_placed_best_is_handed_out_as_it_was)
{
    cebus_check check;
    offers told = {.asked = 0};
    make_tangle(3);
    plan_with(&told);
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_gt(told.asked, 1, "others were tried");
    cr_expect_eq(told.kept, 1);
    cr_expect_eq(check.replay_ns, told.replay_ns[0]);
    for (int i = 1; i < told.asked; i++)
        cr_expect_neq(told.replay_ns[i], told.replay_ns[0], "offer %d", i);
}

/** The first has no places, all others have. */
static bool place_later(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    offers *told = look(context, offered, crowd);
    *out_ns = 0;
    return told->asked++ > 0;
}

/** A plan for less room is made in a hurry: where that costs much it is searched on. */
Test(planner_effort, a_plan_for_less_room_goes_on_once_it_has_places)
{
    offers told = {.asked = 0};
    make_tangle(3);
    cebus_plan_terms terms = {.budget = peak() * 2 / 5,
                              .host = UINT64_C(1) << 40,
                              .out_rate = 1, /* too slow for anything to be copied */
                              .in_rate = 1,
                              .effort = EFFORT,
                              .place = place_later,
                              .keep = keep,
                              .place_context = &told};
    cr_expect_leq(plan(&terms), most_spent());
    cr_expect_gt(told.asked, 2, "it was placed again");
    cr_expect_eq(told.kept, told.asked, "as it was better");
    for (int i = 2; i < told.asked; i++)
        cr_expect_lt(told.replay_ns[i], told.replay_ns[i - 1]);
}

/** There are no places, whatever is left free. */
static bool find_none(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    int *asked = context;
    ++*asked;
    cr_expect_not(offered->over);
    for (uint32_t k = 0; k < CALLS; k++)
        crowd[k] = peak();
    *out_ns = 0;
    return false;
}

/** Only what its bytes alone do not fit is over: for what has no places less may be tried. */
Test(planner_effort, a_plan_that_has_no_places_is_not_over)
{
    int asked = 0;
    make_tangle(3);
    cebus_plan_terms terms = {
        .budget = peak() / 2, .effort = EFFORT, .place = find_none, .place_context = &asked};
    plan(&terms);
    cr_expect_eq(asked, 1, "nothing is left below");
    cr_expect_not(r.plan.over);
    cebus_plan_clear(&r.plan);
    terms.budget = 1;
    plan(&terms);
    cr_expect(r.plan.over);
    cr_expect_eq(asked, 1, "no one is asked");
}

/** A forward of calls that take so long, and a backward that takes longer. */
static void make_chain(uint64_t ns)
{
    size_t made[CALLS];
    for (uint32_t k = 0; k < CALLS; k++)
        made[k] = recorded_call(&r, "f", ns, k > 0 ? made[k - 1] : SIZE_MAX, SIZE_MAX, 1 << 10);
    for (uint32_t k = CALLS; k-- > 0;) {
        recorded_call(&r, "g", 100000, made[k], SIZE_MAX, 1);
        recorded_free(&r, made[k]);
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
}

static uint64_t spent_on_chain(uint64_t ns)
{
    cebus_plan_terms terms = {.effort = EFFORT};
    make_chain(ns);
    terms.budget = peak() / 2;
    return plan(&terms);
}

/** Little can be gained there. */
Test(planner_effort, cheap_plans_take_half_of_it)
{
    const uint64_t dear = spent_on_chain(100000);
    teardown();
    setup();
    const uint64_t cheap = spent_on_chain(1000),
                   effort = cebus_planner_effort(&r.iteration, EFFORT);
    cr_expect_geq(dear, effort);
    cr_expect_geq(cheap, effort / 2);
    cr_expect_leq(cheap, effort / 2 + EFFORT / 4);
}

/** What a plan takes that swaps nothing, since the link is too slow, and is never placed. */
static uint64_t spent_unplaced(uint64_t ns)
{
    offers told = {.refuses = true};
    make_chain(ns);
    cebus_plan_terms terms = {.budget = peak() / 2,
                              .host = UINT64_C(1) << 40,
                              .out_rate = 1,
                              .in_rate = 1,
                              .effort = EFFORT,
                              .place = place,
                              .place_context = &told};
    return plan(&terms);
}

/** The dearer it is the more: an effort and a half, or two more. */
Test(planner_effort, plans_that_swap_are_searched_for_places_by_what_they_cost)
{
    const uint64_t dear = spent_unplaced(100000);
    teardown();
    setup();
    const uint64_t cheap = spent_unplaced(1000),
                   effort = cebus_planner_effort(&r.iteration, EFFORT);
    cr_expect_gt(dear, 2 * effort);
    cr_expect_leq(cheap, 3 * effort / 2 + EFFORT / 4);
}

static bool place_at_once(void *context, cebus_plan *offered, uint64_t *crowd, uint64_t *out_ns)
{
    (void)offered;
    (void)crowd;
    ++*(int *)context;
    *out_ns = 0;
    return true;
}

/** A search that is to be placed ends sooner where it is dear: others for less room follow. */
Test(planner_effort, dear_plans_that_are_to_be_placed_are_searched_less_at_first)
{
    int asked = 0;
    make_tangle(1);
    cebus_plan_terms terms = {.budget = peak() * 3 / 10,
                              .out_rate = 1,
                              .in_rate = 1,
                              .effort = EFFORT,
                              .place_context = &asked};
    const uint64_t alone = plan(&terms);
    cr_assert_not(r.plan.over);
    terms.place = place_at_once;
    const uint64_t placed = plan(&terms);
    cr_expect_geq(asked, 1);
    cr_expect_lt(placed, alone, "%lu, %lu", placed, alone);
}

/** Where nothing fits it is not tried for longer than that. */
Test(planner_effort, what_a_plan_takes_in_all_can_be_told)
{
    make_tangle(1);
    cebus_plan_terms terms = {
        .budget = cebus_usage_least(&r.iteration), .effort = EFFORT, .most = EFFORT};
    cr_expect_leq(plan(&terms), EFFORT + cebus_search_first_visits(&r.iteration) + EFFORT / 4);
    terms.most = 0;
    cr_expect_gt(plan(&terms), 2 * EFFORT);
}

/** No plan has less than its neediest call: what comes nearest is found at once. */
Test(planner_effort, nothing_is_searched_for_where_nothing_can_fit)
{
    make_tangle(1);
    for (uint64_t swaps = 0; swaps < 2; swaps++) {
        cebus_plan_terms terms = {.budget = cebus_usage_least(&r.iteration) - 1,
                                  .host = swaps * 1000000,
                                  .out_rate = 1 << 30,
                                  .in_rate = 1 << 30,
                                  .effort = EFFORT};
        cebus_plan_clear(&r.plan);
        cr_assert(cebus_policy_find("cebus")->plan(&r.iteration, &terms, &r.plan));
        cr_expect(r.plan.over);
        cr_expect_gt(r.plan.count, 0);
        cr_expect_lt(r.plan.spent, 4 * cebus_search_first_visits(&r.iteration), "%lu steps",
                     r.plan.spent);
    }
}

/** Something else may be tried before it is known for sure that nothing fits. */
Test(planner_effort, it_may_be_given_up_early_that_any_plan_fits)
{
    make_tangle(1);
    cebus_plan_terms terms = {
        .budget = cebus_usage_least(&r.iteration), .effort = EFFORT, .trial = EFFORT / 2};
    const uint64_t tried = plan(&terms);
    cr_expect(r.plan.over);
    terms.trial = 0;
    cr_expect_gt(plan(&terms), 2 * tried);
    cr_expect(r.plan.over);
    terms.budget = peak() / 2;
    const uint64_t spent = plan(&terms);
    cr_expect_not(r.plan.over);
    terms.trial = EFFORT / 2;
    cr_expect_eq(plan(&terms), spent, "one that does is searched on as it would be");
}

/** The first has no places: bytes are too many in the midst of the program. */
static bool place_in_the_midst(void *context, cebus_plan *offered, uint64_t *crowd,
                               uint64_t *out_ns)
{
    offers *told = look(context, offered, crowd);
    for (size_t k = 0; k < r.iteration.n_calls; k++)
        crowd[k] = k > CALLS / 3 ? peak() / 24 : 0;
    *out_ns = 0;
    return told->asked++ > 0;
}

/** Where replays alone do not bring a plan down to where it may have places copies move, too. */
Test(planner_effort, where_replays_get_stuck_a_plan_for_less_room_comes_down_in_steps)
{
    static const uint64_t seeds[] = {6, 11};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        offers told = {.asked = 0};
        teardown();
        setup();
        make_tangle(seeds[i]);
        cebus_plan_terms terms = {.budget = peak() / 5,
                                  .host = UINT64_C(1) << 40,
                                  .out_rate = 1 << 28,
                                  .in_rate = 1 << 28,
                                  .effort = EFFORT,
                                  .place = place_in_the_midst,
                                  .place_context = &told};
        cr_expect_leq(plan(&terms), most_spent());
        cr_expect_gt(told.asked, 1, "seed %lu", seeds[i]);
    }
}

/** ns of what a search from the first plan finds, after runs that shared prices or did not. bare:
 * who shares them is seen in the bare program; else in that plan, which fits. */
static uint64_t improve(bool shares, bool bare)
{
    cebus_search s;
    cebus_plan_terms terms = {.budget = peak() / 2, .out_rate = 1, .in_rate = 1};
    cr_assert(cebus_search_init(&s, &r.iteration, &terms, (double)terms.budget, &r.pool));
    cr_assert(cebus_search_run(&s, &terms));
    cr_assert(cebus_snapshot_restore(&s.base, &s.sequence));
    cebus_greedy_share(&s.greedy, s.limit, shares);
    if (!bare)
        cr_assert(cebus_snapshot_restore(&s.best, &s.sequence) &&
                  cebus_snapshot_take(&s.base, &s.sequence));
    cr_assert(cebus_search_improve(&s, &terms, s.greedy.closure.spent + RACE_EFFORT));
    uint64_t ns = s.best_ns;
    cebus_search_deinit(&s);
    return ns;
}

/** It is the search that says which of those in a race share, not what ran last. */
Test(planner_effort, one_of_the_searches_in_a_race_shares_prices, .timeout = 120)
{
    int differ = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        teardown();
        setup();
        make_tangle(seed);
        const uint64_t ns = improve(false, true);
        cr_expect_eq(improve(true, true), ns, "seed %lu", seed);
        differ += improve(false, false) != ns;
    }
    cr_expect_gt(differ, 0, "no plan changes by who shares");
}
