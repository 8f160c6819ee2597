/** When plans have what happen: as written down, and at other costs than they were made for. */
#include <criterion/criterion.h>

#include "tests/unit/evict/asking.h"

TestSuite(advice_time);

/** Times that are written down are those of the streams: what runs there runs in a row, and the
 * last of it ends with the iteration. */
Test(advice_time, times_are_written_down)
{
    char why[256];
    network n;
    make_network(&n, 8, 1000000, 200000);
    cebus_advise_options options = options_for(9000000, 1);
    cebus_advice *plan = ask(&n, &options);
    const uint64_t ns = expect_good(&n, plan);
    uint64_t last = 0, end[2] = {0, 0};
    for (size_t i = 0; i < plan->n_steps; i++)
        plan->steps[i].start_ns = plan->steps[i].end_ns = 7;
    cr_assert_eq(cebus_advice_time(&n.program, &link_10, plan, why, sizeof why), CEBUS_OK, "%s",
                 why);
    cr_expect_eq(plan->time_ns, ns);
    cr_expect_gt(plan->n_copies, 0);
    for (size_t i = 0; i < plan->n_steps; i++) {
        cr_expect_geq(plan->steps[i].start_ns, last);
        cr_expect_eq(plan->steps[i].end_ns - plan->steps[i].start_ns,
                     n.program.calls[plan->steps[i].call].cost_ns);
        last = plan->steps[i].end_ns;
    }
    for (size_t i = 0; i < plan->n_copies; i++) {
        cr_expect_geq(plan->copies[i].start_ns, end[plan->copies[i].in]);
        cr_expect_gt(plan->copies[i].end_ns, plan->copies[i].start_ns);
        end[plan->copies[i].in] = plan->copies[i].end_ns;
        last = end[plan->copies[i].in] > last ? end[plan->copies[i].in] : last;
    }
    cr_expect_eq(last, ns);
    plan->steps[0].call = 1;
    cr_expect_eq(cebus_advice_time(&n.program, &link_10, plan, why, sizeof why),
                 CEBUS_INVALID_ARGUMENT);
    cebus_advice_destroy(plan);
}

/** A plan that holds goes on to hold whatever its calls cost by now: what comes back waits for what
 * has its place first. */
static void expect_to_hold(network *n, cebus_advice *plan, uint32_t random)
{
    char why[256];
    const cebus_advise_call *before = n->program.calls;
    cebus_advise_call *calls = malloc(n->program.n_calls * sizeof *calls);
    cr_assert_not_null(calls);
    for (int round = 0; round < 50; round++) {
        for (size_t k = 0; k < n->program.n_calls; k++) {
            random = random * 1664525 + 1013904223;
            calls[k] = before[k];
            calls[k].cost_ns = before[k].cost_ns / 16 * (1 + (random >> 27));
        }
        n->program.calls = calls;
        cr_expect_eq(cebus_advice_time(&n->program, &link_10, plan, why, sizeof why), CEBUS_OK,
                     "in %lu bytes, round %d: %s", plan->memory, round, why);
        n->program.calls = before;
    }
    free(calls);
}

Test(advice_time, plans_hold_at_other_costs)
{
    network n;
    make_network(&n, 24, 1000000, 200000);
    for (uint64_t memory = 7000000; memory < 16000000; memory += 3000000) {
        cebus_advise_options options = options_for(memory, 3);
        cebus_advice *plan = ask(&n, &options);
        cr_expect_gt(plan->n_copies, 0);
        expect_to_hold(&n, plan, (uint32_t)memory);
        cebus_advice_destroy(plan);
    }
}

/**
 * What is fetched last has the bytes that were the second call's scratch.
 *
 *     calls   0 | 1 |       | 2      where 0 takes longer      0          |..1 cannot start
 *     in      [=u==]  [=w=]          than both copies:         [=u==][=w=]
 */
Test(advice_time, what_has_a_place_first_is_waited_for)
{
    network n;
    begin(&n);
    const uint32_t u = add_value(&n, 1500, true), w = add_value(&n, 1000, true);
    const uint32_t a = add_value(&n, 8, false), b = add_value(&n, 8, false);
    const uint32_t end = add_value(&n, 8, false), refs[] = {a, a, b, u, w, b, end};
    for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) {
        add_ref(&n, refs[i]);
        if (i == 0)
            add_call(&n, 100, 0, 1, 0);
        if (i == 2)
            add_call(&n, 100, 1, 1, 0);
    }
    add_call(&n, 10, 3, 1, 0);
    n.calls[1].workspace = 1000;
    cebus_advice_step steps[] = {{.call = 0}, {.call = 1}, {.call = 2}};
    cebus_advice_copy copies[] = {{.value = u, .in = true, .before = 2},
                                  {.value = w, .in = true, .before = 2}};
    const uint8_t step = CEBUS_ADVICE_STEP, copy = CEBUS_ADVICE_COPY;
    cebus_advice_block blocks[] = {
        {.value = a, .offset = 0, .bytes = 8, .born = step, .dies = step, .dies_at = 1},
        {b, 8, 8, step, step, 1, 2, 0, 0},
        {end, 16, 8, step, step, 2, 2, 0, 0},
        {UINT32_MAX, 1000, 1000, step, step, 1, 1, 0, 0},
        {u, 2000, 1500, copy, step, 0, 2, 0, 0},
        {w, 1000, 1000, copy, step, 1, 2, 0, 0},
    };
    cebus_advice plan = {.memory = 4000,
                         .steps = steps,
                         .copies = copies,
                         .blocks = blocks,
                         .n_steps = 3,
                         .n_copies = 2,
                         .n_blocks = 6};
    char why[256];
    cr_assert_eq(cebus_advice_time(&n.program, &link_10, &plan, why, sizeof why), CEBUS_OK, "%s",
                 why);
    cr_expect_eq(copies[1].start_ns, 200, "scratch is in the way");
    n.calls[0].cost_ns = 1000;
    uint64_t ns;
    cr_expect_eq(cebus_advice_check(&n.program, &link_10, &plan, why, sizeof why, &ns),
                 CEBUS_INVALID_ARGUMENT, "files know no times: by itself it comes to a halt");
    cr_assert_eq(cebus_advice_time(&n.program, &link_10, &plan, why, sizeof why), CEBUS_OK, "%s",
                 why);
    cr_expect_eq(copies[1].start_ns, 1100);
    cr_expect_eq(plan.time_ns, 1100 + 110 + 10);
}
