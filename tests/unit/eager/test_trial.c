#include "eager/guidance/trial.h"

#include <criterion/criterion.h>

TestSuite(trial);

static cebus_trial suspected(void)
{
    cebus_trial trial = {.planned_ns = 0};
    for (int i = 0; i < 4; i++)
        cr_assert_not(cebus_trial_suspects(&trial, 1200 - 10 * (uint64_t)i, 1000));
    cr_expect_not(cebus_trial_runs(&trial));
    cr_assert(cebus_trial_suspects(&trial, 1300, 1000));
    cr_expect_eq(trial.planned_ns, 1170, "at best");
    return trial;
}

Test(trial, a_plan_that_takes_plainly_longer_several_times_in_a_row_is_suspect)
{
    cebus_trial trial = {.planned_ns = 0};
    for (int i = 0; i < 20; i++)
        cr_expect_not(cebus_trial_suspects(&trial, i % 4 == 0 ? 1125 : 2000, 1000));
    (void)suspected();
}

Test(trial, a_plan_is_tried_once)
{
    cebus_trial trial = suspected();
    for (int i = 0; i < 20; i++)
        cr_expect_not(cebus_trial_suspects(&trial, 5000, 1000));
}

/** The first iteration without the plan does not count. */
static cebus_trial_outcome compare(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    cebus_trial trial = suspected();
    const uint64_t took[] = {first, second, third, fourth};
    for (int i = 0; i < 3; i++) {
        cr_assert(cebus_trial_runs(&trial));
        cr_assert_eq(cebus_trial_compare(&trial, took[i]), CEBUS_TRIAL_GOES_ON);
    }
    cebus_trial_outcome outcome = cebus_trial_compare(&trial, took[3]);
    cr_expect_not(cebus_trial_runs(&trial));
    return outcome;
}

Test(trial, none_wins_by_a_plain_margin)
{
    cr_expect_eq(compare(100, 1170, 1170, 1170), CEBUS_TRIAL_PLAN_WINS);
    cr_expect_eq(compare(9000, 1147, 9000, 9000), CEBUS_TRIAL_PLAN_WINS);
    cr_expect_eq(compare(9000, 9000, 9000, 1146), CEBUS_TRIAL_NONE_WINS);
    cr_expect_eq(compare(9000, 1000, 9000, 9000), CEBUS_TRIAL_NONE_WINS);
}
