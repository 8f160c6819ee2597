/** Trades of what stays for what comes and goes, beside activations that all stay. */
#include <criterion/criterion.h>
#include <string.h>

#include "evict/planner/check.h"
#include "evict/planner/trade.h"
#include "tests/unit/evict/stepping.h"

static cebus_plan none;
static cebus_plan_terms terms;
static cebus_runs runs;
static cebus_sharing sharing;
static bool streams[64];
static cebus_share share;

/** Two thirds of what persists, of which a half stays. */
static void begin(void)
{
    setup();
    terms = terms_for(PERSISTENT * 2 / 3);
    cebus_plan_init(&none, &r.pool);
    cr_assert(cebus_plan_make_ready(&none, &r.iteration));
    cr_assert(cebus_runs_init(&runs, &r.iteration, &none, &r.pool));
    sharing = (cebus_sharing){.iteration = &r.iteration,
                              .terms = &terms,
                              .others = &none,
                              .runs = &runs,
                              .pool = &r.pool};
    cr_assert_leq(r.iteration.n_values, sizeof streams / sizeof *streams);
    share = (cebus_share){.streams = streams, .ahead = PERSISTENT / 8};
    cebus_share_choose(&sharing, PERSISTENT / 3, streams);
}

static void teardown(void)
{
    cebus_runs_deinit(&runs);
    cebus_plan_clear(&none);
    recorded_deinit(&r);
}

TestSuite(trade, .init = begin, .fini = teardown);

static uint64_t ns_of_share(void)
{
    uint64_t ns;
    cebus_plan plan;
    cebus_plan_init(&plan, &r.pool);
    cr_assert(cebus_share_plan(&sharing, &share, &plan, &ns));
    cebus_plan_clear(&plan);
    return ns;
}

static uint64_t trade_for(uint64_t steps)
{
    uint64_t ns = 0;
    cr_assert(cebus_trade(&sharing, &share, steps, &ns));
    return ns;
}

Test(trade, an_iteration_takes_less_by_what_was_traded)
{
    const uint64_t before = ns_of_share(), after = trade_for(1000000);
    cr_expect_lt(after, before);
    cr_expect_eq(ns_of_share(), after, "by the share as it is now");
}

Test(trade, no_steps_change_nothing)
{
    bool was[sizeof streams];
    memcpy(was, streams, sizeof was);
    cr_expect_eq(trade_for(0), ns_of_share());
    cr_expect_arr_eq(was, streams, sizeof was);
}

Test(trade, equal_shares_are_traded_alike)
{
    bool was[sizeof streams];
    const cebus_share first = share;
    memcpy(was, streams, sizeof was);
    const uint64_t ns = trade_for(100000);
    share = first;
    memcpy(streams, was, sizeof was);
    cr_expect_eq(trade_for(100000), ns);
}

Test(trade, what_was_traded_fits)
{
    cebus_plan plan;
    cebus_check check;
    uint64_t ns;
    (void)trade_for(1000000);
    cebus_plan_init(&plan, &r.pool);
    cr_assert(cebus_share_plan(&sharing, &share, &plan, &ns));
    cr_assert(cebus_check_run(&r.iteration, &plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s at %u", check.wrong, check.at);
    cr_expect_leq(check.peak, terms.budget);
    cebus_plan_clear(&plan);
}

/** Where what stays leaves no room for activations there is no plan, though no call uses anything
 * that streams just then. */
Test(trade, more_does_not_stay_than_activations_leave)
{
    memset(streams, 0, sizeof streams);
    cr_expect_eq(ns_of_share(), UINT64_MAX, "all of it");
    mark_persistent(streams);
    cr_expect_lt(ns_of_share(), UINT64_MAX, "nothing");
}

static bool stop(void *context)
{
    ++*(int *)context;
    return false;
}

Test(trade, nothing_is_traded_once_nobody_waits)
{
    int asked = 0;
    const uint64_t before = ns_of_share();
    terms.go_on = stop;
    terms.context = &asked;
    cr_expect_eq(trade_for(1000000), before);
    cr_expect_eq(asked, 1);
}
