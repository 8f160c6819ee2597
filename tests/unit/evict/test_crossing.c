/** Persistent values whose copies go on while the next iteration begins. */
#include <criterion/criterion.h>

#include "evict/places/site.h"
#include "evict/timeline/crossing.h"
#include "evict/timeline/timeline.h"
#include "tests/unit/evict/recorded.h"

enum {
    BYTES = 1000,
    COST = 100,
    LATENCY = 5,
    COPY = BYTES + LATENCY + 1 /**< ns, rounded up */
};

static recorded r;
static cebus_test_host host;
static cebus_sojourns sojourns;
static cebus_crossings crossings;
static size_t w, m, x1, x2;
static const cebus_crossing_link link = {.out_rate = 1000000000, .latency_ns = LATENCY};

static void write(size_t value)
{
    cebus_iteration_call call = {.op = "step", .cost_ns = COST, .n_in = 1, .n_out = 1};
    recorded_name(&r, value, CEBUS_ITERATION_NONE);
    recorded_name(&r, value, CEBUS_ITERATION_NONE);
    cr_assert(cebus_iteration_add_call(&r.iteration, &call));
}

/** Calls 0 and 1 make x1 and x2, 2 writes m, 3 writes w: both come for that and leave at the end.
 */
static void setup(void)
{
    recorded_init_on(&r, &host);
    size_t x0 = recorded_leaf(&r, 10, false);
    m = recorded_leaf(&r, BYTES, true);
    w = recorded_leaf(&r, BYTES, true);
    x1 = recorded_call(&r, "sin", COST, x0, SIZE_MAX, BYTES);
    x2 = recorded_call(&r, "sin", COST, x1, SIZE_MAX, BYTES);
    recorded_free(&r, x1);
    recorded_free(&r, x2);
    write(m);
    write(w);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 0, m);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 0, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 2, m);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 2, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 4, m);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 4, w);
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    cr_assert(cebus_sojourns_init(&sojourns, &r.iteration, &r.plan, NULL, &r.pool));
}

static void teardown(void)
{
    cebus_sojourns_deinit(&sojourns);
    recorded_deinit(&r);
}

TestSuite(crossing, .init = setup, .fini = teardown);

static void find(void)
{
    cr_assert(cebus_crossings_init(&crossings, &sojourns, &r.iteration, &r.plan, &link));
}

/** Offsets of the sojourns: x1 and x2 at the bottom, m and w where they are told. */
static const uint64_t *places(uint64_t m_at, uint64_t w_at)
{
    static uint64_t offsets[8];
    for (size_t i = 0; i < sojourns.count; i++) {
        const cebus_sojourn *stay = &sojourns.items[i];
        uint32_t value =
            stay->kind == CEBUS_SOJOURN_ACTION ? r.plan.actions[stay->index].value : stay->index;
        offsets[i] = value == r.values[x1].ordinal   ? 0
                     : value == r.values[x2].ordinal ? BYTES
                     : value == r.values[m].ordinal  ? m_at
                                                     : w_at;
    }
    return offsets;
}

Test(crossing, copies_are_done_one_after_the_other)
{
    find();
    cr_assert_eq(crossings.count, 2);
    cr_expect_eq(crossings.over_ns, 2 * COPY);
    cr_expect_eq(crossings.times[1], COST);
    cebus_crossings_deinit(&crossings);
}

Test(crossing, who_comes_to_a_place_first_waits_for_its_copy)
{
    find();
    cr_expect_eq(cebus_crossings_wait_ns(&crossings, places(2 * BYTES, 3 * BYTES)), 0);
    cr_expect_eq(cebus_crossings_wait_ns(&crossings, places(0, 2 * BYTES)), COPY);
    cr_expect_eq(cebus_crossings_wait_ns(&crossings, places(2 * BYTES, BYTES)), 2 * COPY - COST);
    cr_expect_eq(cebus_crossings_wait_ns(&crossings, places(2 * BYTES, BYTES / 2)), 2 * COPY,
                 "x1 comes there before x2");
    cebus_crossings_deinit(&crossings);
}

Test(crossing, a_copy_that_began_earlier_is_over_earlier)
{
    r.plan.count -= 2;
    recorded_act(&r, CEBUS_ACTION_COPY_OUT, 3, m);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 4, m);
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    find();
    cr_assert_eq(crossings.count, 1, "w does not leave at the end");
    cr_expect_eq(crossings.over_ns, COPY - COST);
    cebus_crossings_deinit(&crossings);
}

Test(crossing, nothing_crosses_without_a_link_or_copies)
{
    const cebus_crossing_link none = {0};
    cr_assert(cebus_crossings_init(&crossings, &sojourns, &r.iteration, &r.plan, &none));
    cr_expect_eq(crossings.count, 0);
    cr_expect_eq(cebus_crossings_wait_ns(&crossings, places(0, BYTES)), 0);
    cebus_crossings_deinit(&crossings);
    r.plan.count = 0;
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    find();
    cr_expect_eq(crossings.count, 0);
    cebus_crossings_deinit(&crossings);
}

/* What a placement says of it, and what the timeline does of all copies together. */
Test(crossing, placements_and_timelines_tell_of_it)
{
    uint64_t missing;
    cebus_placement placement;
    cebus_timeline timeline;
    cebus_site site = {.capacity = 2 * BYTES, .alignment = 1, .link = link};
    cebus_timeline_terms terms = {.budget = 4 * BYTES + 10,
                                  .out_rate = link.out_rate,
                                  .in_rate = link.out_rate,
                                  .latency_ns = LATENCY,
                                  .ahead = true};
    cebus_placement_init(&placement, &r.pool);
    cr_assert_eq(cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing),
                 CEBUS_SITE_PLACED);
    cr_expect_eq(placement.over_ns, 2 * COPY);
    cr_expect_geq(placement.wait_ns, 2 * COPY - COST, "there is no other place");
    cebus_placement_clear(&placement);
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &timeline));
    cr_expect_eq(timeline.over_ns, COPY, "w came so much later than m, which has left by then");
}

Test(crossing, without_host_memory_nothing_is_found)
{
    for (uint64_t n = 1; n <= 5; n++) {
        host.fail_at = n;
        cr_expect_not(cebus_crossings_init(&crossings, &sojourns, &r.iteration, &r.plan, &link));
    }
    find();
    cebus_crossings_deinit(&crossings);
}
