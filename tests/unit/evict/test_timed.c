/** Places for when copies begin and end. A link of 10^9 bytes/s: a byte a ns, one more for
 * rounding.
 */
#include <criterion/criterion.h>

#include "evict/places/hours.h"
#include "evict/places/timed.h"
#include "tests/unit/evict/recorded.h"

enum {
    BYTES = 100,
    COPY = BYTES + 1,
    COST = 10,
    TIGHT = 2 * BYTES + 2,
    WIDE = 2 * TIGHT
};

static recorded r;
static cebus_test_host host;
static cebus_occupancy occupancy;
static cebus_timeline anywhere;

static void setup(void)
{
    recorded_init_on(&r, &host);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(timed, .init = setup, .fini = teardown);

static cebus_timeline_terms terms_for(uint64_t budget)
{
    return (cebus_timeline_terms){
        .budget = budget, .out_rate = 1000000000, .in_rate = 1000000000, .ahead = true};
}

/** a and b may leave when they were made, and the last two calls read them. Of so many calls in
 * between the first half make twice as much, the others next to nothing. */
static void make_two(int idle, size_t *a, size_t *b)
{
    *a = recorded_call(&r, "a", COST, SIZE_MAX, SIZE_MAX, BYTES);
    *b = recorded_call(&r, "b", COST, SIZE_MAX, SIZE_MAX, BYTES);
    for (int i = 0; i < idle; i++) {
        size_t c = recorded_call(&r, "c", COST, SIZE_MAX, SIZE_MAX, i < idle / 2 ? 2 * BYTES : 1);
        recorded_free(&r, c);
    }
    recorded_call(&r, "d", COST, *a, SIZE_MAX, 1);
    recorded_call(&r, "e", COST, *b, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, *a);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 2, *b);
}

static void ready(void)
{
    cr_assert(cebus_plan_sort(&r.plan, &r.iteration));
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
}

static void occupy(uint64_t budget)
{
    cebus_timeline_terms terms = terms_for(budget);
    cr_assert(cebus_occupancy_init(&occupancy, &r.iteration, &r.plan, &r.pool));
    terms.occupancy = &occupancy;
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &anywhere));
}

static const cebus_action *find_action(cebus_action_kind kind, size_t handle)
{
    for (size_t i = 0; i < r.plan.count; i++) {
        const cebus_action *action = &r.plan.actions[i];
        if (action->kind == kind && action->value == r.values[handle].ordinal)
            return action;
    }
    return NULL;
}

/** In TIGHT there is no room for c beside a or b: a leaves from 10 to 111, b then until 212. */
Test(timed, a_timeline_tells_when_bytes_are_taken)
{
    size_t a, b;
    make_two(30, &a, &b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 20, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 20, b);
    ready();
    occupy(TIGHT);
    cr_expect_eq(occupancy.count, 34);
    cr_expect_eq(occupancy.total_ns, anywhere.total_ns);
    cr_expect_eq(occupancy.turns[1], COST);
    cr_expect_eq(occupancy.copies[0], COST + COPY, "a has left");
    cr_expect_eq(occupancy.copies[1], COST + 2 * COPY, "b has left");
    cr_expect_neq(occupancy.copies[2], CEBUS_OCCUPANCY_NEVER, "a comes");
    cr_expect_geq(occupancy.copies[3], occupancy.copies[2] + COPY, "b comes behind it");
    cr_expect_lt(cebus_occupancy_turn(&occupancy, 4), cebus_occupancy_turn(&occupancy, 5));
    cebus_occupancy_deinit(&occupancy);
}

Test(timed, copies_are_asked_for_when_they_can_begin)
{
    size_t a, b;
    make_two(30, &a, &b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 18, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 18, b);
    ready();
    occupy(TIGHT);
    const cebus_timeline before = anywhere;
    const uint64_t begins = occupancy.copies[3];
    cr_assert(cebus_occupancy_postpone(&occupancy, &r.iteration, &r.plan));
    cebus_occupancy_deinit(&occupancy);
    const cebus_action *late = find_action(CEBUS_ACTION_SWAP_IN, b);
    cr_expect_gt(late->at, 18);
    occupy(TIGHT);
    cr_expect_leq(occupancy.turns[late->at], begins);
    cr_expect_gt(occupancy.turns[late->at + 1], begins);
    cr_expect_eq(anywhere.total_ns, before.total_ns);
    cr_expect_eq(anywhere.stall_ns, before.stall_ns);
    cebus_occupancy_deinit(&occupancy);
}

/** What leaves has its place until it has, and what comes none before; a part of that, if told. */
Test(timed, hours_have_copies_take_their_time)
{
    size_t a, b;
    cebus_sojourns sojourns;
    cebus_hours hours;
    make_two(30, &a, &b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 20, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 20, b);
    ready();
    occupy(TIGHT);
    cr_assert(cebus_sojourns_init(&sojourns, &r.iteration, &r.plan, NULL, &r.pool));
    uint64_t ends[3];
    const double shares[3] = {0, 0.5, 1};
    for (int i = 0; i < 3; i++) {
        cr_assert(
            cebus_hours_init(&hours, &sojourns, &r.iteration, &r.plan, &occupancy, shares[i]));
        ends[i] = hours.to[1];
        cebus_hours_deinit(&hours);
    }
    cr_expect_eq(ends[0], cebus_occupancy_turn(&occupancy, 2), "b: as if it were gone");
    cr_expect_eq(ends[2], cebus_occupancy_time(&occupancy, COST + 2 * COPY));
    cr_expect_lt(ends[0], ends[1]);
    cr_expect_lt(ends[1], ends[2]);
    cebus_sojourns_deinit(&sojourns);
    cebus_occupancy_deinit(&occupancy);
}

/** With room for all a and b are still there when they are due back: each has one stay. */
Test(timed, what_never_left_has_one_stay)
{
    size_t a, b;
    cebus_sojourns sojourns;
    cebus_hours hours;
    make_two(3, &a, &b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 5, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 5, b);
    ready();
    occupy(WIDE);
    cr_assert(cebus_sojourns_init(&sojourns, &r.iteration, &r.plan, NULL, &r.pool));
    cr_assert(cebus_hours_init(&hours, &sojourns, &r.iteration, &r.plan, &occupancy, 1));
    size_t joined = 0;
    for (uint32_t i = 0; i < hours.count; i++)
        joined += hours.roots[i] != i;
    cr_expect_eq(joined, 2);
    cr_expect_eq(hours.to[0], cebus_occupancy_turn(&occupancy, (uint32_t)r.iteration.n_calls));
    cebus_hours_deinit(&hours);
    cebus_sojourns_deinit(&sojourns);
    cebus_occupancy_deinit(&occupancy);
}

static bool make(uint64_t budget, cebus_plan *plan, cebus_placement *placement, bool *found,
                 uint64_t *ns)
{
    const cebus_timeline_terms terms = terms_for(budget);
    const cebus_site site = {.capacity = budget, .alignment = 1, .rounds = 20};
    cebus_placement_init(placement, &r.pool);
    return cebus_timed_make(&r.iteration, &terms, &site, &r.plan, plan, placement, found, ns);
}

/** There is room beside a and b for all that is made while they leave. Packers that count runs have
 * it wait for their places all the same. */
Test(timed, nothing_waits_for_a_place_that_a_copy_leaves)
{
    size_t a, b;
    uint64_t ns = 0, missing;
    bool found = false;
    cebus_plan plan;
    cebus_placement placement;
    cebus_timeline by_runs;
    cebus_timeline_terms terms = terms_for(WIDE);
    const cebus_site site = {.capacity = WIDE, .alignment = 1};
    make_two(40, &a, &b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 36, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 36, b);
    ready();
    cebus_placement_init(&placement, &r.pool);
    cr_assert_eq(cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing),
                 CEBUS_SITE_PLACED);
    terms.placement = &placement;
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &by_runs));
    cebus_placement_clear(&placement);
    cr_assert(make(WIDE, &plan, &placement, &found, &ns));
    cr_assert(found);
    cr_expect_eq(ns, cebus_iteration_cost(&r.iteration));
    cr_expect_gt(by_runs.total_ns, ns);
    cr_expect_eq(plan.count, r.plan.count);
    cr_expect_leq(placement.height, WIDE);
    cebus_placement_clear(&placement);
    cebus_plan_clear(&plan);
}

/** w and v persist. Both are there as an iteration begins and as it ends; w alone is beside y, and
 * v alone beside x, which take the rest of the memory: so each of them has to lie at the very edge
 * then, and at one that the other one lies at before. */
static void make_crossing(void)
{
    const size_t w = recorded_leaf(&r, BYTES, true), v = recorded_leaf(&r, BYTES, true);
    size_t made[5];
    made[0] = recorded_call(&r, "a", 10 * COPY, w, SIZE_MAX, 1);
    made[1] = recorded_call(&r, "x", 10 * COPY, v, SIZE_MAX, 3 * BYTES);
    recorded_free(&r, made[1]);
    made[2] = recorded_call(&r, "b", 10 * COPY, made[0], SIZE_MAX, 1);
    recorded_free(&r, made[0]);
    made[3] = recorded_call(&r, "y", 10 * COPY, w, SIZE_MAX, 3 * BYTES);
    recorded_free(&r, made[3]);
    made[4] = recorded_call(&r, "c", 10 * COPY, v, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 0, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 0, v);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 2, v);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 3, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 4, v);
    ready();
}

/** No place does for both ends of what crosses from one iteration to the next: it moves. */
Test(timed, what_crosses_may_lie_elsewhere_as_the_next_iteration_begins)
{
    const cebus_move_terms moves[] = {{0}, {.rate = 1000000000, .ns = 3}};
    make_crossing();
    for (int i = 0; i < 2; i++) {
        uint64_t ns = 0;
        bool found = false;
        cebus_plan plan;
        cebus_placement placement;
        const uint64_t budget = 4 * BYTES + 2;
        cebus_timeline_terms terms = terms_for(budget);
        const cebus_site site = {.capacity = budget, .alignment = 1, .rounds = 20};
        terms.moves = moves[i];
        cebus_placement_init(&placement, &r.pool);
        cr_assert(
            cebus_timed_make(&r.iteration, &terms, &site, &r.plan, &plan, &placement, &found, &ns));
        cr_expect_eq(found, i == 1);
        if (!found)
            continue;
        const uint64_t calls = cebus_iteration_cost(&r.iteration);
        cr_expect_geq(ns, calls + BYTES + 3, "one of them moves at the least");
        cr_expect_leq(plan.wait_ns, 2 * (BYTES + 3) + 2 * COPY);
        cebus_placement_clear(&placement);
        cebus_plan_clear(&plan);
    }
}

Test(timed, what_finds_no_places_is_as_it_was)
{
    size_t a, b;
    uint64_t ns = 0;
    bool found = true;
    cebus_plan plan;
    cebus_placement placement;
    make_two(4, &a, &b);
    ready();
    const size_t count = r.plan.count;
    const cebus_site site = {.capacity = BYTES, .alignment = 1, .rounds = 20};
    const cebus_timeline_terms terms = terms_for(3 * BYTES);
    cebus_placement_init(&placement, &r.pool);
    cr_assert(
        cebus_timed_make(&r.iteration, &terms, &site, &r.plan, &plan, &placement, &found, &ns));
    cr_expect_not(found);
    cr_expect_eq(placement.height, 0);
    cr_expect_eq(r.plan.count, count);
}

Test(timed, without_host_memory_nothing_is_found)
{
    size_t a, b;
    bool ok = false;
    make_two(12, &a, &b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 10, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 10, b);
    ready();
    const uint64_t live = r.pool.live_objects;
    for (uint64_t n = 1; n < 1000 && !ok; n++) {
        uint64_t ns;
        bool found;
        cebus_plan plan;
        cebus_placement placement;
        host.fail_at = n;
        ok = make(4 * BYTES, &plan, &placement, &found, &ns);
        cr_expect(ok || !found);
        if (found) {
            cebus_placement_clear(&placement);
            cebus_plan_clear(&plan);
        }
        cr_expect_eq(r.pool.live_objects, live);
    }
    cr_expect(ok);
}
