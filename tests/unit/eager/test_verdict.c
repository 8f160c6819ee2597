/** What becomes of a plan by what iterations lost, by it or without one: to the nanosecond. */
#include <criterion/criterion.h>

#include "eager/guidance/appraisal.h"
#include "eager/guidance/planning.h"
#include "program.h"

TestSuite(verdict);

/** One with nothing to do: what iterations took is made up. */
static cebus_runtime *open_sim(void)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:p100-16g,issue=0ns";
    options.policy = "cebus";
    options.swap = CEBUS_SWAP_ON;
    options.memory_budget = 40 << 20;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

/** An iteration without a plan that lost so much. */
static cebus_verdict end_unplanned(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    cebus_iteration iteration;
    cebus_iteration_init(&iteration, &rt->pool);
    cebus_appraisal_begin(rt);
    rt->stats.recompute_ns += lost;
    return cebus_appraisal_end(rt, scheme, &iteration, true);
}

/** The first iteration of all may find more of what it reads than those that follow it. */
Test(verdict, a_plan_comes_back_where_none_turns_out_to_be_dearer)
{
    cebus_runtime *rt = open_sim();
    cebus_scheme scheme = {.unplanned_ns = 100, .dear_lost = 200};
    cr_expect_eq(end_unplanned(rt, &scheme, 300), CEBUS_PLAN_STANDS, "it may settle yet");
    cr_expect_eq(end_unplanned(rt, &scheme, 300), CEBUS_PLAN_STANDS);
    cr_expect_eq(end_unplanned(rt, &scheme, 300), CEBUS_PLAN_COMES_BACK);
    cr_expect_eq(scheme.unplanned_ns, 300, "what the plan is held against from now on");
    cr_expect_eq(end_unplanned(rt, &scheme, 300), CEBUS_PLAN_STANDS, "once");
    cebus_runtime_destroy(rt);
}

Test(verdict, a_plan_stays_away_where_none_is_cheaper)
{
    cebus_runtime *rt = open_sim();
    cebus_scheme given_up = {.unplanned_ns = 100, .dear_lost = 200}, never = {.unplanned_ns = 100};
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(end_unplanned(rt, &given_up, 201), CEBUS_PLAN_STANDS, "that is no gain");
        cr_expect_eq(end_unplanned(rt, &never, 300), CEBUS_PLAN_STANDS);
    }
    cr_expect_eq(never.unplanned_ns, 100, "at best");
    cebus_runtime_destroy(rt);
}

/** Another iteration, after so many, by a plan whose persistent values shuttle between places of
 * their own. */
static cebus_verdict end_placed_as(cebus_runtime *rt, cebus_scheme *scheme, uint32_t guided,
                                   uint64_t lost)
{
    static uint64_t spot;
    cebus_iteration iteration;
    cebus_guidance *guidance = rt->guidance;
    cebus_iteration_init(&iteration, &rt->pool);
    scheme->plan.count = 1;
    scheme->shuttling = true;
    scheme->spots = &spot;
    scheme->guided = guided;
    guidance->scheme = scheme;
    cebus_appraisal_begin(rt);
    rt->stats.compute_ns += scheme->iteration_ns;
    rt->stats.recompute_ns += lost;
    cebus_verdict verdict = cebus_appraisal_end(rt, scheme, &iteration, true);
    guidance->scheme = &guidance->idle;
    return verdict;
}

/** The fifth. */
static cebus_verdict end_placed(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    return end_placed_as(rt, scheme, 4, lost);
}

/** Of 10 us a fiftieth more than was foretold, waits for places aside, and less than a quarter. */
Test(verdict, places_are_given_up_on_trial_only_where_they_lose_more_than_foretold)
{
    cebus_runtime *rt = open_sim();
    static const struct {
        uint64_t lost;
        cebus_verdict little, much, unknown;
    } cases[] = {
        {200, CEBUS_PLAN_STANDS, CEBUS_PLAN_STANDS, CEBUS_PLAN_STANDS},
        {201, CEBUS_PLAN_STANDS, CEBUS_PLAN_STANDS, CEBUS_PLAN_TRY_PLACELESS},
        {600, CEBUS_PLAN_STANDS, CEBUS_PLAN_STANDS, CEBUS_PLAN_TRY_PLACELESS},
        {601, CEBUS_PLAN_TRY_PLACELESS, CEBUS_PLAN_STANDS, CEBUS_PLAN_TRY_PLACELESS},
        {2499, CEBUS_PLAN_TRY_PLACELESS, CEBUS_PLAN_STANDS, CEBUS_PLAN_TRY_PLACELESS},
        {2500, CEBUS_PLAN_TRY_PLACELESS, CEBUS_PLAN_TRY_PLACELESS, CEBUS_PLAN_TRY_PLACELESS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t lost = cases[i].lost;
        cebus_scheme unknown = {.iteration_ns = 10000, .doubted = true}, little = unknown;
        little.predicted_ns = 10000 + lost;
        cebus_scheme much = little;
        little.predicted_anywhere = 400;
        much.predicted_anywhere = 2500;
        cr_expect_eq(end_placed(rt, &little, lost), cases[i].little, "little, %lu", lost);
        cr_expect_eq(end_placed(rt, &much, lost), cases[i].much, "much, %lu", lost);
        cr_expect_eq(end_placed(rt, &unknown, lost), cases[i].unknown, "unknown, %lu", lost);
        const bool tried = cases[i].little == CEBUS_PLAN_TRY_PLACELESS;
        cr_expect_eq(little.placed_lost, tried ? lost : 0, "what the trial is held against");
    }
    cebus_runtime_destroy(rt);
}

/** The first iteration of all, in which all that persists is on the device to begin with, does not
 * tell what the program loses without a plan in the long run. */
Test(verdict, a_plan_by_which_parameters_shuttle_is_held_against_none_once)
{
    cebus_runtime *rt = open_sim();
    cebus_scheme scheme = {.iteration_ns = 10000, .unplanned_ns = 1400, .placed_lost = 700};
    cr_expect_eq(end_placed(rt, &scheme, 500), CEBUS_PLAN_STANDS, "a twentieth");
    cr_expect_eq(end_placed(rt, &scheme, 700), CEBUS_PLAN_STANDS, "half of what none lost");
    scheme.unplanned_ns = 50000;
    scheme.placed_lost = 30000;
    cr_expect_eq(end_placed(rt, &scheme, 30000), CEBUS_PLAN_STANDS, "it stood still without");
    scheme.placed_lost = 700;
    scheme.unplanned_ns = 1399;
    cr_expect_eq(end_placed(rt, &scheme, 700), CEBUS_PLAN_TRY_NONE);
    cr_expect_eq(scheme.dear_lost, 700);
    scheme.doubted = true;
    cr_expect_eq(end_placed(rt, &scheme, 700), CEBUS_PLAN_STANDS, "it was tried");
    scheme.doubted = false;
    scheme.unplanned = 3;
    scheme.unplanned_ns = 700;
    cr_expect_eq(end_placed(rt, &scheme, 700), CEBUS_PLAN_STANDS, "none is known");
    scheme.unplanned_ns = 699;
    cr_expect_eq(end_placed(rt, &scheme, 700), CEBUS_PLAN_TRY_NONE);
    cebus_runtime_destroy(rt);
}

Test(verdict, what_was_doubted_comes_back_unless_none_is_better)
{
    for (uint64_t lost = 600; lost <= 700; lost += 100) {
        cebus_runtime *rt = open_sim();
        cebus_scheme scheme = {.iteration_ns = 10000, .dear_lost = 700, .doubted = true};
        cr_expect_eq(end_unplanned(rt, &scheme, lost), CEBUS_PLAN_STANDS);
        cr_expect_eq(end_unplanned(rt, &scheme, lost), CEBUS_PLAN_STANDS);
        cr_expect_eq(end_unplanned(rt, &scheme, lost),
                     lost == 600 ? CEBUS_PLAN_STANDS : CEBUS_PLAN_COMES_BACK, "%lu", lost);
        cebus_runtime_destroy(rt);
    }
}

/** Where runs repeat two that lost the same tell that all is where it is to be. */
Test(verdict, trials_begin_as_soon_as_what_persists_has_settled)
{
    cebus_runtime *rt = open_sim();
    for (uint64_t before = 1980; before <= 2000; before += 10) {
        cebus_scheme scheme = {.iteration_ns = 10000, .lost = before};
        cr_expect_eq(end_placed_as(rt, &scheme, 2, 2000),
                     before == 1980 ? CEBUS_PLAN_STANDS : CEBUS_PLAN_TRY_PLACELESS, "%lu", before);
    }
    cebus_runtime_destroy(rt);
}

enum {
    TOLD = 9 /* iterations by one without places, before the one that tells what it loses */
};

/** An iteration by a plan that copies, as foretold but for `lost`, like those before it. */
static cebus_verdict end_shuttling(cebus_runtime *rt, uint64_t *spots, uint64_t lost)
{
    cebus_iteration iteration;
    cebus_scheme scheme = {.predicted_ns = 10000,
                           .guided = spots != NULL ? 3 : TOLD,
                           .usually_lost = lost,
                           .doubted = true};
    cebus_iteration_init(&iteration, &rt->pool);
    scheme.plan.count = 1;
    scheme.shuttling = true;
    scheme.spots = spots;
    rt->guidance->scheme = &scheme;
    cebus_appraisal_begin(rt);
    rt->stats.compute_ns += scheme.predicted_ns;
    rt->stats.recompute_ns += lost;
    rt->stats.swap_outs++;
    cebus_verdict verdict = cebus_appraisal_end(rt, &scheme, &iteration, true);
    cr_expect_eq(scheme.slower, verdict == CEBUS_PLAN_IS_STALE, "the link is taken to be slower");
    rt->guidance->scheme = &rt->guidance->idle;
    return verdict;
}

/** From places of its own all that persists would move; where it has none nothing has to. */
Test(verdict, a_plan_without_places_that_parts_from_what_it_foretells_is_made_anew)
{
    uint64_t spot;
    cebus_runtime *rt = open_sim();
    cr_expect_eq(end_shuttling(rt, NULL, 500), CEBUS_PLAN_STANDS);
    cr_expect_eq(end_shuttling(rt, NULL, 501), CEBUS_PLAN_IS_STALE);
    cr_expect_eq(end_shuttling(rt, &spot, 501), CEBUS_PLAN_STANDS);
    cebus_runtime_destroy(rt);
}

/** Another iteration by a plan whose persistent values have no places, in which bytes moved. */
static cebus_verdict end_moving(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost,
                                uint64_t bytes)
{
    cebus_iteration iteration;
    cebus_iteration_init(&iteration, &rt->pool);
    rt->guidance->scheme = scheme;
    cebus_appraisal_begin(rt);
    rt->stats.recompute_ns += lost;
    rt->stats.moved_bytes += bytes;
    rt->stats.swap_outs++;
    cebus_verdict verdict = cebus_appraisal_end(rt, scheme, &iteration, true);
    rt->guidance->scheme = &rt->guidance->idle;
    return verdict;
}

static cebus_verdict end_loose(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    return end_moving(rt, scheme, lost, 0);
}

/** Of which no two iterations are alike: it is not given up for one that is dear. */
Test(verdict, a_plan_without_places_is_held_to_what_it_loses_by_and_large)
{
    cebus_runtime *rt = open_sim();
    cebus_scheme scheme = {.unplanned_ns = 1000, .guided = 2, .shuttling = true, .doubted = true};
    scheme.plan.count = 1;
    for (int i = 0; i < 3; i++)
        cr_expect_eq(end_loose(rt, &scheme, 500), CEBUS_PLAN_STANDS, "%d", i);
    cr_expect_eq(end_loose(rt, &scheme, 2000), CEBUS_PLAN_STANDS, "one of many");
    cr_expect_eq(end_loose(rt, &scheme, 400), CEBUS_PLAN_STANDS);
    cr_expect_eq(end_loose(rt, &scheme, 2000), CEBUS_PLAN_STANDS, "two");
    cr_expect_eq(end_loose(rt, &scheme, 2000), CEBUS_PLAN_IS_DEAR, "too many");
    cebus_runtime_destroy(rt);
}

/** Nor is another made, for a link that is slower, because one took longer than foretold. */
Test(verdict, a_plan_without_places_parts_from_what_was_foretold_by_and_large)
{
    cebus_runtime *rt = open_sim();
    cebus_scheme scheme = {.predicted_ns = 10000, .guided = 2, .shuttling = true, .doubted = true};
    scheme.plan.count = 1;
    for (int i = 0; i < 4; i++)
        cr_expect_eq(end_loose(rt, &scheme, 10000), CEBUS_PLAN_STANDS, "%d", i);
    cr_expect_eq(end_loose(rt, &scheme, 11000), CEBUS_PLAN_STANDS, "one of many");
    for (int i = 0; i < 8; i++)
        (void)end_loose(rt, &scheme, 11000);
    cr_expect_gt(scheme.replans, 0, "all of them");
    cebus_runtime_destroy(rt);
}

/** What no plan says is learned: which blocks have to move. */
Test(verdict, a_plan_without_places_foretells_moves_as_they_were)
{
    cebus_runtime *rt = open_sim();
    const uint64_t bytes = rt->info.copy_rate / 1000; /* a ms of moves */
    cebus_scheme scheme = {
        .predicted_ns = 1000000, .guided = 2, .shuttling = true, .doubted = true};
    scheme.plan.count = 1;
    for (int i = 0; i < 20; i++) {
        cr_expect_eq(rt->stats.guided_predicted_ns, i < 1 ? 0 : i < 2 ? 1000000 : 2000000, "%d", i);
        cr_expect_eq(end_moving(rt, &scheme, 1000000, bytes), CEBUS_PLAN_STANDS, "%d", i);
    }
    cr_expect_eq(scheme.replans, 0);
    cebus_runtime_destroy(rt);
}

/** What one takes that has places is held against eight without, some of which are dear. */
Test(verdict, a_trial_without_places_lasts_until_it_tells)
{
    cebus_runtime *rt = open_sim();
    for (uint64_t dear = 1600; dear <= 1900; dear += 300) {
        cebus_scheme scheme = {.placed_lost = 1000,
                               .placeless = true,
                               .guided = 2,
                               .shuttling = true,
                               .doubted = true};
        scheme.plan.count = 1;
        for (int i = 0; i < 7; i++)
            cr_expect_eq(end_loose(rt, &scheme, i == 2 ? dear : 900 + 10 * (uint64_t)(i % 2)),
                         CEBUS_PLAN_STANDS, "%d", i);
        cr_expect_eq(end_loose(rt, &scheme, 900),
                     dear < 1800 ? CEBUS_PLAN_STANDS : CEBUS_PLAN_NEEDS_PLACES);
    }
    cebus_runtime_destroy(rt);
}

Test(verdict, two_iterations_that_lost_the_same_end_a_trial)
{
    cebus_runtime *rt = open_sim();
    for (uint64_t lost = 999; lost <= 1000; lost++) {
        cebus_scheme scheme = {.placed_lost = 1000,
                               .placeless = true,
                               .guided = 2,
                               .shuttling = true,
                               .doubted = true};
        scheme.plan.count = 1;
        cr_expect_eq(end_loose(rt, &scheme, lost), CEBUS_PLAN_STANDS, "one");
        cr_expect_eq(end_loose(rt, &scheme, lost),
                     lost < 1000 ? CEBUS_PLAN_STANDS : CEBUS_PLAN_NEEDS_PLACES, "two");
    }
    cebus_runtime_destroy(rt);
}

/** An iteration without places, where some were set aside that were to lose 1000 ns. */
static cebus_verdict end_aside(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    *scheme = (cebus_scheme){.aside_lost = 1000,
                             .guided = TOLD,
                             .usually_lost = lost,
                             .shuttling = true,
                             .doubted = true};
    scheme->plan.count = 1;
    return end_loose(rt, scheme, lost);
}

/** That it need not wait for them was a guess. */
Test(verdict, places_that_were_set_aside_come_back_where_it_loses_more_without)
{
    cebus_scheme scheme;
    cebus_runtime *rt = open_sim();
    cr_expect_eq(end_aside(rt, &scheme, 1000), CEBUS_PLAN_STANDS);
    cr_expect_not(scheme.patient);
    cr_expect_eq(end_aside(rt, &scheme, 1001), CEBUS_PLAN_NEEDS_PLACES);
    cr_expect(scheme.patient, "it waits from now on");
    cebus_runtime_destroy(rt);
}
