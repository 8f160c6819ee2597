#include <criterion/criterion.h>

#include "evict/guide.h"
#include "evict/trigger.h"
#include "tests/support/host.h"
#include "tests/unit/evict/recorded.h"

static recorded r;
static cebus_guide guide;

static void setup(void)
{
    recorded_init(&r);
    recorded_network(&r, 2, 100, 10);
    cebus_guide_init(&guide, r.plan.pool);
}

static void teardown(void)
{
    cebus_guide_deinit(&guide);
    recorded_deinit(&r);
}

TestSuite(plan, .init = setup, .fini = teardown);

Test(plan, sorts_by_time_then_kind_and_keeps_the_order_of_the_rest)
{
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_IN, 4, 3));
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_IN, 4, 1));
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 4, 9));
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_COPY_OUT, 11, 2));
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 0, 5));
    cr_assert(cebus_plan_sort(&r.plan, &r.iteration));
    static const uint32_t values[] = {5, 9, 3, 1, 2};
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(r.plan.actions[i].value, values[i]);
}

Test(plan, sorts_nothing_too)
{
    cr_expect(cebus_plan_sort(&r.plan, &r.iteration));
    cebus_guide_start(&guide, &r.plan);
    cr_expect_null(cebus_guide_next(&guide, 100));
    cr_expect_null(cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_IN));
}

Test(plan, a_copy_is_its_own_and_as_linked)
{
    cebus_test_host host;
    cebus_pool pool;
    cebus_plan copy;
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    cebus_plan_init(&copy, &pool);
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 1, 2);
    cebus_plan_add(&r.plan, CEBUS_ACTION_REPLAY, 3, 2);
    r.plan.wait_ns = 5;
    r.plan.spent = 6;
    r.plan.over = true;
    cr_assert(cebus_plan_copy(&r.plan, &copy));
    cr_expect_null(copy.first);
    cebus_plan_clear(&copy);
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    cr_assert(cebus_plan_copy(&r.plan, &copy));
    cebus_plan_clear(&r.plan);
    cr_expect(copy.count == 2 && copy.wait_ns == 5 && copy.spent == 6 && copy.over);
    cr_expect_eq(copy.actions[0].then, CEBUS_ACTION_REPLAY);
    cr_expect_eq(copy.first[2], CEBUS_ACTION_DROP);
    cr_assert(cebus_plan_add(&copy, CEBUS_ACTION_DROP, 4, 2), "it grows like any other");
    cr_expect_eq(copy.actions[2].at, 4);
    cebus_plan_clear(&copy);
    cebus_pool_deinit(&pool);
}

Test(plan, without_memory_a_copy_is_empty)
{
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 1, 2);
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    for (uint64_t fail_at = 1; fail_at <= 2; fail_at++) {
        cebus_test_host host;
        cebus_pool pool;
        cebus_plan copy;
        cebus_test_host_init(&host);
        cebus_pool_init(&pool, &host.allocator);
        pool.direct = true;
        host.fail_at = fail_at;
        cebus_plan_init(&copy, &pool);
        cr_expect_not(cebus_plan_copy(&r.plan, &copy));
        cr_expect(copy.count == 0 && copy.actions == NULL && copy.first == NULL);
        cr_expect_eq(host.live, 0);
        cebus_pool_deinit(&pool);
    }
}

Test(plan, the_guide_answers_what_is_due)
{
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 2, 1);
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 3, 2);
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 3, 3);
    cr_assert(cebus_plan_sort(&r.plan, &r.iteration));
    cebus_guide_start(&guide, &r.plan);
    cr_expect_null(cebus_guide_next(&guide, 1));
    cr_expect_eq(cebus_guide_next(&guide, 2)->value, 1);
    cr_expect_null(cebus_guide_next(&guide, 2));
    cr_expect_eq(cebus_guide_next(&guide, 7)->value, 2, "late is not never");
    cr_expect_eq(cebus_guide_next(&guide, 7)->value, 3);
    cr_expect_null(cebus_guide_next(&guide, 7));
}

Test(plan, the_guide_remembers_what_waits)
{
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 1, 1);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_IN, 2, 2);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 3, 3);
    cr_assert(cebus_plan_sort(&r.plan, &r.iteration));
    cebus_guide_start(&guide, &r.plan);
    cr_expect_null(cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_OUT), "nothing was due yet");
    for (int i = 0; i < 3; i++)
        cr_assert_not_null(cebus_guide_next(&guide, 3));
    const cebus_action *first = cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_OUT);
    const cebus_action *second = cebus_guide_waiting_behind(&guide, CEBUS_ACTION_SWAP_OUT, first);
    cr_expect_eq(first->value, 1);
    cr_expect_eq(second->value, 3);
    cr_expect_null(cebus_guide_waiting_behind(&guide, CEBUS_ACTION_SWAP_OUT, second));
    cr_expect_eq(cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_OUT)->value, 1);
    cebus_guide_done(&guide, CEBUS_ACTION_SWAP_OUT);
    cr_expect_eq(cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_OUT)->value, 3);
    cr_expect_eq(cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_IN)->value, 2);
    cebus_guide_done(&guide, CEBUS_ACTION_SWAP_OUT);
    cr_expect_null(cebus_guide_waiting(&guide, CEBUS_ACTION_SWAP_OUT));
}

Test(plan, the_guide_tells_what_was_to_be_back_by_now)
{
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 1, 1);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 1, 2);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_IN, 2, 1);
    cr_assert(cebus_plan_sort(&r.plan, &r.iteration));
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    cebus_guide_start(&guide, &r.plan);
    const cebus_action *first = cebus_guide_next(&guide, 1), *second = cebus_guide_next(&guide, 1);
    cr_expect_not(cebus_guide_is_past(&guide, first));
    cr_assert_not_null(cebus_guide_next(&guide, 2));
    cr_expect(cebus_guide_is_past(&guide, first));
    cr_expect_not(cebus_guide_is_past(&guide, second), "it never comes back");
}

Test(plan, the_guide_knows_what_is_to_stay_until_it_is_dropped)
{
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 1, 2);
    cebus_plan_add(&r.plan, CEBUS_ACTION_REPLAY, 3, 2);
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 4, 2);
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    for (int iteration = 0; iteration < 2; iteration++) {
        cebus_guide_start(&guide, &r.plan);
        cr_expect(cebus_guide_keeps(&guide, 2), "it is to be dropped");
        cr_expect_not(cebus_guide_keeps(&guide, 1), "no action names it");
        cr_expect_not_null(cebus_guide_next(&guide, 1));
        cr_expect_not(cebus_guide_keeps(&guide, 2), "it is to be made again");
        cr_expect_not_null(cebus_guide_peek(&guide, 3));
        cr_expect_not(cebus_guide_keeps(&guide, 2), "looking changes nothing");
        cr_expect_not_null(cebus_guide_next(&guide, 3));
        cr_expect(cebus_guide_keeps(&guide, 2));
        cr_expect_not_null(cebus_guide_next(&guide, 4));
        cr_expect_not(cebus_guide_keeps(&guide, 2));
    }
    cr_expect_not(cebus_guide_keeps(&guide, UINT32_MAX));
}

Test(plan, what_is_held_while_parameters_are_written_is_not_dropped_behind_its_last_use)
{
    recorded_deinit(&r);
    recorded_init(&r);
    size_t w = recorded_leaf(&r, 1, true), v = recorded_leaf(&r, 1, true);
    size_t early = recorded_call(&r, "matmul", 10, w, v, 8);
    size_t first = recorded_call(&r, "sum", 10, early, SIZE_MAX, 8);
    recorded_free(&r, early);
    size_t second = recorded_call(&r, "sum", 10, first, SIZE_MAX, 8);
    recorded_step(&r, w, first);
    uint32_t between = recorded_calls(&r);
    recorded_step(&r, v, second);
    uint32_t end = recorded_calls(&r);
    cr_assert(cebus_iteration_seal(&r.iteration));
    uint32_t gone = r.values[early].ordinal, held = r.values[first].ordinal;
    uint32_t last = r.values[second].ordinal;
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, between - 2, gone); /* nobody holds it */
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, between - 2, held); /* it is read later */
    cebus_plan_add(&r.plan, CEBUS_ACTION_REPLAY, between - 1, held);
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, between, held); /* v is still to be written */
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, end, last);     /* behind the last write */
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    cr_assert(cebus_plan_spare_held(&r.plan, &r.iteration));
    cr_assert_eq(r.plan.count, 4);
    static const uint8_t kinds[] = {CEBUS_ACTION_DROP, CEBUS_ACTION_DROP, CEBUS_ACTION_REPLAY,
                                    CEBUS_ACTION_DROP};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(r.plan.actions[i].kind, kinds[i]);
    cr_expect_eq(r.plan.actions[3].value, last);
    cr_expect_eq(r.plan.actions[2].then, CEBUS_ACTION_KINDS, "linked anew");
}

/** Running statistics, written in the midst of the forward: what is held then can be made again. */
Test(plan, what_is_held_while_statistics_are_written_may_go)
{
    recorded_deinit(&r);
    recorded_init(&r);
    size_t w = recorded_leaf(&r, 1, true), statistics = recorded_leaf(&r, 1, true);
    size_t map = recorded_call(&r, "matmul", 10, w, SIZE_MAX, 8);
    size_t mean = recorded_call(&r, "mean", 10, map, SIZE_MAX, 8);
    uint32_t done = recorded_calls(&r);
    recorded_step(&r, statistics, mean);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, done, r.values[map].ordinal);
    cr_assert(cebus_plan_make_ready(&r.plan, &r.iteration));
    cr_expect_eq(r.plan.count, 1, "the map follows from nothing that is written");
}

/** A loss of labels that are let go before it: they would stay for as long as it is absent. */
Test(plan, what_is_made_of_a_leaf_stays_when_that_goes_first)
{
    for (int first = 0; first < 2; first++) {
        recorded_deinit(&r);
        recorded_init(&r);
        size_t labels = recorded_leaf(&r, 8, false), w = recorded_leaf(&r, 1, true);
        size_t map = recorded_call(&r, "matmul", 10, w, SIZE_MAX, 8);
        size_t loss = recorded_call(&r, "loss", 10, map, labels, 8);
        uint32_t done = recorded_calls(&r);
        size_t flow = recorded_call(&r, "loss_backward", 10, map, labels, 8);
        recorded_free(&r, first ? labels : loss);
        recorded_call(&r, "backward", 10, flow, SIZE_MAX, 8);
        recorded_free(&r, first ? loss : labels);
        recorded_call(&r, "sum", 10, flow, SIZE_MAX, 8);
        cr_assert(cebus_iteration_seal(&r.iteration));
        cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, done, r.values[loss].ordinal);
        cr_assert(cebus_plan_make_ready(&r.plan, &r.iteration));
        cr_expect_eq(r.plan.count, first ? 0 : 1);
    }
}

/* --- plans from elsewhere, and triggers that move -------------------------------------------- */

static const char *wrong_with(cebus_action_kind kind, uint32_t at, uint32_t value)
{
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, 2, 0));
    cr_assert(cebus_plan_add(&r.plan, kind, at, value));
    return cebus_plan_wrong(&r.plan, &r.iteration);
}

Test(plan, what_is_wrong_with_a_plan_from_elsewhere_is_said)
{
    uint32_t n_calls = recorded_calls(&r), last = (uint32_t)r.iteration.n_values - 1;
    uint32_t weight = r.values[0].persistent ? 0 : 1;
    while (!r.iteration.values[weight].persistent)
        weight++;
    cr_expect_null(wrong_with(CEBUS_ACTION_DROP, 2, 0));
    cr_expect_null(wrong_with(CEBUS_ACTION_REPLAY, n_calls, last));
    cr_expect_not_null(strstr(wrong_with(CEBUS_ACTION_DROP, 3, last + 1), "does not have"));
    cr_expect_not_null(strstr(wrong_with(CEBUS_ACTION_KINDS, 3, 0), "does not have"));
    cr_expect_not_null(strstr(wrong_with(CEBUS_ACTION_DROP, n_calls + 1, 0), "out of order"));
    cr_expect_not_null(strstr(wrong_with(CEBUS_ACTION_DROP, 1, 0), "out of order"));
    cr_expect_not_null(strstr(wrong_with(CEBUS_ACTION_DROP, 2, last), "before that is made"));
    cr_expect_not_null(strstr(wrong_with(CEBUS_ACTION_DROP, 3, weight), "persistent"));
    cr_expect_null(wrong_with(CEBUS_ACTION_SWAP_OUT, 3, weight), "it may shuttle");
}

/** Calls take 10 ns. */
Test(plan, a_trigger_moves_by_as_many_calls_as_its_lead_takes)
{
    static cebus_trigger triggers[RECORDED_VALUES];
    uint32_t moved;
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 1, 0);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_OUT, 2, 1);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_IN, 8, 0);
    cebus_plan_add(&r.plan, CEBUS_ACTION_SWAP_IN, 8, 1);
    triggers[1].lead = 7;
    cr_assert(cebus_trigger_advance(&r.plan, &r.iteration, triggers, &moved));
    cr_expect_eq(moved, 0, "not yet");
    cr_expect_eq(triggers[1].lead, 7, "but remembered");
    triggers[1].lead += 16;
    cr_assert(cebus_trigger_advance(&r.plan, &r.iteration, triggers, &moved));
    cr_expect_eq(moved, 1);
    cr_expect_eq(triggers[1].lead, 3);
    cr_expect_eq(r.plan.actions[2].value, 1, "in order again");
    cr_expect_eq(r.plan.actions[2].at, 6);
    cr_expect_eq(r.plan.actions[3].at, 8);
    cr_expect_not_null(r.plan.first, "linked");
    triggers[0].lead = 1000;
    cr_assert(cebus_trigger_advance(&r.plan, &r.iteration, triggers, &moved));
    for (size_t i = 0; i < r.plan.count; i++) {
        const cebus_action *action = &r.plan.actions[i];
        if (action->kind == CEBUS_ACTION_SWAP_IN && action->value == 0)
            cr_expect_eq(action->at, 1, "not before it left");
    }
}
