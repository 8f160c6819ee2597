#include <criterion/criterion.h>

#include "evict/planner/check.h"
#include "evict/planner/search.h"
#include "evict/planner/shuttle.h"
#include "evict/planner/stock.h"
#include "tests/unit/evict/stepping.h"

static cebus_stock stock;

static void begin(void)
{
    setup();
    cebus_stock_init(&stock, &r.pool);
}

static void end(void)
{
    cebus_stock_clear(&stock);
    recorded_deinit(&r);
}

TestSuite(stock, .init = begin, .fini = end);

static const cebus_stock_kind asked = {.bytes = 100, .budget = 1};

/** A plan that says which it is. */
static void add(const cebus_stock_kind *kind, uint32_t which)
{
    cebus_plan plan;
    cebus_plan_init(&plan, &r.pool);
    cr_assert(cebus_plan_add(&plan, CEBUS_ACTION_DROP, 0, which));
    cr_assert_not_null(cebus_stock_add(&stock, kind, &plan));
    cr_expect_eq(plan.count, 0);
    cebus_plan_clear(&plan);
}

static uint32_t find(const cebus_stock_kind *kind, uint64_t slack)
{
    const cebus_plan *plan = cebus_stock_find(&stock, kind, slack);
    return plan != NULL ? plan->actions[0].value : UINT32_MAX;
}

Test(stock, has_the_nearest_of_a_kind)
{
    cebus_stock_kind kind = {.bytes = 90, .budget = 2};
    add(&kind, 0);
    kind.bytes = 104;
    add(&kind, 1);
    kind.bytes = 60;
    add(&kind, 2);
    cr_expect_eq(find(&asked, 10), 1);
    cr_expect_eq(find(&asked, 3), UINT32_MAX, "none is as near as that");
    kind.bytes = 100;
    kind.swaps = true;
    add(&kind, 3);
    cr_expect_eq(find(&asked, 10), 1, "that is of another kind");
    kind.swaps = false;
    kind.budget = asked.budget;
    add(&kind, 4);
    cr_expect_eq(find(&asked, 10), 1, "that was tried for the same");
}

/** Beside what persists they fill the memory. */
Test(stock, lean_ones_are_for_no_more_bytes)
{
    cebus_stock_kind kind = {.bytes = 104, .budget = 2, .lean = true}, lean = asked;
    lean.lean = true;
    add(&kind, 0);
    cr_expect_eq(find(&lean, 10), UINT32_MAX);
    kind.bytes = 90;
    add(&kind, 1);
    cr_expect_eq(find(&lean, 10), 1);
    cr_expect_eq(find(&asked, 10), UINT32_MAX, "that is of another kind");
}

Test(stock, without_host_memory_it_has_what_it_had)
{
    cebus_plan plan;
    cebus_plan_init(&plan, &r.pool);
    cr_assert(cebus_plan_add(&plan, CEBUS_ACTION_DROP, 0, 1));
    cebus_test_host_starve(&host, true);
    cr_expect_null(cebus_stock_add(&stock, &asked, &plan));
    cebus_test_host_starve(&host, false);
    cr_expect_eq(stock.count, 0);
    cr_expect_eq(plan.count, 1);
    cebus_plan_clear(&plan);
}

/** Two parameters, of which one call uses one and the last another, and so many calls between. */
static void record_long(uint32_t n_calls)
{
    cebus_iteration *iteration = &r.iteration;
    cebus_iteration_clear(iteration);
    for (uint32_t k = 0; k < n_calls; k++) {
        const cebus_iteration_value made = {.bytes = 10,
                                            .born = k,
                                            .freed = k + 2 < n_calls ? k + 2 : CEBUS_ITERATION_NONE,
                                            .moved = CEBUS_ITERATION_NONE,
                                            .replayable = true};
        const cebus_iteration_value parameter = {.bytes = 1000,
                                                 .born = CEBUS_ITERATION_NONE,
                                                 .freed = CEBUS_ITERATION_NONE,
                                                 .moved = CEBUS_ITERATION_NONE,
                                                 .persistent = true};
        const bool uses = k == 0 || k + 1 == n_calls;
        const uint32_t last = (uint32_t)iteration->n_values - 1;
        if (uses)
            cr_assert(cebus_iteration_add_value(iteration, &parameter));
        cr_assert(cebus_iteration_add_value(iteration, &made));
        const uint32_t value = (uint32_t)iteration->n_values - 1;
        const cebus_iteration_call call = {
            .op = "f", .cost_ns = 1000, .n_in = (uint16_t)((k > 0) + uses), .n_out = 1};
        cr_assert(k == 0 || cebus_iteration_add_ref(iteration, last));
        cr_assert(!uses || cebus_iteration_add_ref(iteration, value - 1));
        cr_assert(cebus_iteration_add_ref(iteration, value));
        cr_assert(cebus_iteration_add_call(iteration, &call));
    }
    cr_assert(cebus_iteration_seal(iteration));
}

/** Steps that the plan took; it fits. */
static uint64_t plan_for(uint64_t budget)
{
    cebus_check check;
    cebus_plan_terms terms = terms_for(budget);
    terms.stock = &stock;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_shuttle_plan(&r.iteration, &terms, &r.plan));
    cr_assert(cebus_plan_make_ready(&r.plan, &r.iteration));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s at %u", check.wrong, check.at);
    cr_expect_leq(check.peak, budget);
    cr_expect(cebus_plan_shuttles(&r.plan, &r.iteration));
    return r.plan.spent;
}

Test(stock, what_was_planned_for_another_budget_does_for_a_little_less_in_long_programs)
{
    size_t made[2];
    for (uint32_t i = 0; i < 2; i++) {
        record_long(CEBUS_SEARCH_LONG + i);
        plan_for(1500);
        const size_t count = stock.count;
        plan_for(1500 - 1500 / 32);
        made[i] = stock.count - count;
        cr_expect_gt(count, 4);
        cebus_stock_clear(&stock);
    }
    cr_expect_lt(made[1], made[0] / 2, "%zu, %zu", made[1], made[0]);
}

/** Each plan of a long program takes long, so there are fewer of them. */
Test(stock, of_long_programs_every_other_part_is_planned)
{
    size_t counts[3];
    for (uint32_t i = 0; i < 3; i++) {
        record_long(CEBUS_SEARCH_LONG * (i == 0 ? 1 : 3 * i - 1));
        plan_for(1500);
        counts[i] = stock.count;
        cebus_stock_clear(&stock);
    }
    cr_expect_eq(counts[0] - counts[1], 4, "%zu, %zu", counts[0], counts[1]);
    cr_expect_eq(counts[1] - counts[2], 2, "%zu, %zu", counts[1], counts[2]);
}
