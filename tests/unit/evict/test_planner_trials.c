#include <criterion/criterion.h>

#include "evict/planner/trials.h"
#include "tests/unit/evict/recorded.h"

static recorded r;
static cebus_sequence sequence;
static cebus_snapshot bare, replayed;

static void setup(void)
{
    recorded_init(&r);
    recorded_network(&r, 8, 100, 10);
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cebus_snapshot_init(&bare, &r.pool);
    cebus_snapshot_init(&replayed, &r.pool);
    cr_assert(cebus_snapshot_take(&bare, &sequence));
    cr_assert(cebus_sequence_insert(&sequence, 1, 12, NULL));
    cr_assert(cebus_snapshot_take(&replayed, &sequence));
}

static void teardown(void)
{
    cebus_snapshot_deinit(&bare);
    cebus_snapshot_deinit(&replayed);
    cebus_sequence_deinit(&sequence);
    recorded_deinit(&r);
}

TestSuite(planner_trials, .init = setup, .fini = teardown);

Test(planner_trials, a_copy_is_the_same)
{
    cebus_snapshot copy;
    cebus_snapshot_init(&copy, &r.pool);
    cr_expect_not(cebus_snapshot_is_same(&bare, &replayed));
    cr_assert(cebus_snapshot_copy(&replayed, &copy));
    cr_expect(cebus_snapshot_is_same(&copy, &replayed));
    cr_expect_eq(copy.cost, replayed.cost);
    cr_expect_eq(copy.peak, replayed.peak);
    cr_assert(cebus_snapshot_copy(&bare, &copy));
    cr_expect(cebus_snapshot_is_same(&copy, &bare));
    cebus_snapshot_deinit(&copy);
}

Test(planner_trials, what_set_out_alike_is_found)
{
    cebus_trials trials;
    cebus_trials_init(&trials, &r.pool);
    cr_expect_null(cebus_trials_find(&trials, &bare, UINT64_MAX, 10));
    cebus_trial *one = cebus_trials_add(&trials, &bare, UINT64_MAX, 10);
    cr_assert_not_null(one);
    cr_expect_eq(cebus_trials_find(&trials, &bare, UINT64_MAX, 10), one);
    cr_expect_null(cebus_trials_find(&trials, &bare, UINT64_MAX, 11));
    cr_expect_null(cebus_trials_find(&trials, &bare, 7, 10), "there was less to be beaten");
    cr_expect_null(cebus_trials_find(&trials, &replayed, UINT64_MAX, 10));
    cebus_trials_deinit(&trials);
}

Test(planner_trials, the_oldest_are_forgotten)
{
    cebus_trials trials;
    cebus_trials_init(&trials, &r.pool);
    for (uint64_t i = 0; i <= CEBUS_TRIALS; i++)
        cr_assert_not_null(cebus_trials_add(&trials, &replayed, i, 10));
    cr_expect_null(cebus_trials_find(&trials, &replayed, 0, 10));
    for (uint64_t i = 1; i <= CEBUS_TRIALS; i++)
        cr_expect_not_null(cebus_trials_find(&trials, &replayed, i, 10));
    cebus_trials_deinit(&trials);
}
