#include <criterion/criterion.h>

#include <sched.h>
#include <signal.h>

#include "eager/guidance/draft.h"

static cebus_pool pool;
static cebus_iteration iteration;
static cebus_draft draft;
static cebus_plan plan;

static void setup(void)
{
    cebus_pool_init(&pool, NULL);
    cebus_plan_init(&plan, &pool);
    cebus_iteration_init(&iteration, &pool);
    cebus_iteration_value value = {
        .bytes = 8, .born = 0, .freed = CEBUS_ITERATION_NONE, .moved = CEBUS_ITERATION_NONE};
    cebus_iteration_call call = {.op = "f", .cost_ns = 5, .n_out = 1};
    cr_assert(cebus_iteration_add_value(&iteration, &value));
    cr_assert(cebus_iteration_add_ref(&iteration, 0));
    cr_assert(cebus_iteration_add_call(&iteration, &call));
    cr_assert(cebus_iteration_seal(&iteration));
    cebus_draft_init(&draft);
}

static void teardown(void)
{
    cebus_draft_cancel(&draft);
    cebus_plan_clear(&plan);
    cebus_iteration_clear(&iteration);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

TestSuite(draft, .init = setup, .fini = teardown);

/** As many drops as the effort says. */
static bool plan_drops(const cebus_iteration *of, const cebus_plan_terms *terms, cebus_plan *out)
{
    for (uint64_t i = 0; i < terms->effort; i++) {
        if (!cebus_plan_add(out, CEBUS_ACTION_DROP, 1, (uint32_t)of->n_values - 1))
            return false;
    }
    return true;
}

static bool plan_for_ever(const cebus_iteration *of, const cebus_plan_terms *terms, cebus_plan *out)
{
    while (terms->go_on(terms->context))
        sched_yield();
    return plan_drops(of, terms, out);
}

static bool plan_nothing(const cebus_iteration *of, const cebus_plan_terms *terms, cebus_plan *out)
{
    (void)of;
    (void)terms;
    (void)out;
    return false;
}

/** A drop where the thread takes the program's signals. */
static bool plan_by_signals(const cebus_iteration *of, const cebus_plan_terms *terms,
                            cebus_plan *out)
{
    (void)terms;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    bool quiet = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGUSR1) == 1;
    return quiet || cebus_plan_add(out, CEBUS_ACTION_DROP, 1, (uint32_t)of->n_values - 1);
}

static const cebus_policy by_signals = {.name = "by signals", .plan = plan_by_signals};
static const cebus_policy drops = {.name = "drops", .plan = plan_drops},
                          searching = {.name = "searching", .plan = plan_drops, .searches = true},
                          for_ever = {.name = "for ever", .plan = plan_for_ever},
                          nothing = {.name = "nothing", .plan = plan_nothing};

static void start(const cebus_policy *policy)
{
    cebus_draft_start(&draft, policy, &iteration, &(cebus_plan_terms){.effort = 40}, NULL, 0);
    cr_assert(draft.started);
}

static void await(void)
{
    while (!atomic_load(&draft.done))
        sched_yield();
}

Test(draft, hands_the_plan_over_once)
{
    start(&drops);
    await();
    cr_assert(cebus_draft_take(&draft, &plan, NULL));
    cr_expect_eq(plan.count, 40);
    cr_expect_eq(plan.actions[39].value, 0);
    cebus_plan_clear(&plan);
    cr_expect_not(cebus_draft_take(&draft, &plan, NULL));
}

Test(draft, leaves_signals_to_the_program)
{
    start(&by_signals);
    await();
    cr_assert(cebus_draft_take(&draft, &plan, NULL));
    cr_expect_eq(plan.count, 0);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    cr_expect_not(sigismember(&blocked, SIGUSR1));
}

Test(draft, does_not_wait_for_a_planner_that_goes_on)
{
    start(&for_ever);
    for (int i = 0; i < 1000; i++)
        cr_assert_not(cebus_draft_take(&draft, &plan, NULL));
    start(&drops); /* gives the first one up */
    await();
    cr_expect(cebus_draft_take(&draft, &plan, NULL));
    start(&for_ever);
    cebus_draft_cancel(&draft);
    cebus_draft_cancel(&draft);
    cr_expect_not(cebus_draft_take(&draft, &plan, NULL));
}

Test(draft, without_a_plan_there_is_none)
{
    start(&nothing);
    await();
    cr_expect_not(cebus_draft_take(&draft, &plan, NULL));
    cr_expect_not(draft.started);
}

/** A value that fits, where there is room for it. */
Test(draft, places_what_it_plans)
{
    cebus_placement placement;
    cebus_fixture below = {.offset = 0, .bytes = 16};
    cebus_site site = {.capacity = 24, .alignment = 8, .fixtures = &below, .n_fixtures = 1};
    cebus_placement_init(&placement, &pool);
    cebus_draft_start(&draft, &drops, &iteration, &(cebus_plan_terms){.budget = 64}, &site, 0);
    below.bytes = 4096; /* what it looks at is a copy */
    await();
    cr_assert(cebus_draft_take(&draft, &plan, &placement));
    cr_expect_eq(plan.count, 0);
    cr_expect_eq(placement.values[0], 16);
    cr_expect_eq(placement.height, 24);
    cebus_placement_clear(&placement);
    below.bytes = 20;
    cebus_draft_start(&draft, &drops, &iteration, &(cebus_plan_terms){.budget = 64}, &site, 0);
    await();
    cr_expect_not(cebus_draft_take(&draft, &plan, &placement), "24 to 32 is above");
}

/** What finds no places stands all the same if it leaves the holes free that go without. */
Test(draft, keeps_a_plan_without_places)
{
    cebus_placement placement;
    cebus_fixture below = {.offset = 0, .bytes = 20};
    cebus_site site = {.capacity = 24, .alignment = 8, .fixtures = &below, .n_fixtures = 1};
    cebus_plan_terms terms = {.budget = 64, .effort = 4};
    cebus_placement_init(&placement, &pool);
    cebus_draft_start(&draft, &searching, &iteration, &terms, &site, 0);
    await();
    cr_expect_not(cebus_draft_take(&draft, &plan, &placement));
    cebus_draft_start(&draft, &searching, &iteration, &terms, &site, 8);
    await();
    cr_assert(cebus_draft_take(&draft, &plan, &placement));
    cr_expect_eq(plan.count, 2, "by half the effort, for less");
    cr_expect_eq(placement.height, 0);
}
