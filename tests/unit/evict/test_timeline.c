/** How long an iteration takes by a plan, worked out by hand. A link of 10^9 bytes/s: a byte a ns,
 * and one ns more for rounding. */
#include <criterion/criterion.h>

#include "evict/placement.h"
#include "evict/timeline/ground.h"
#include "evict/timeline/timeline.h"
#include "tests/support/host.h"
#include "tests/unit/evict/recorded.h"

static recorded r;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(timeline, .init = setup, .fini = teardown);

static cebus_timeline run(uint64_t budget, bool swaps, bool ahead)
{
    cebus_timeline out;
    cebus_timeline_terms terms = {.budget = budget,
                                  .out_rate = 1000000000,
                                  .in_rate = 1000000000,
                                  .swaps = swaps,
                                  .ahead = ahead};
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &out));
    cr_expect_eq(out.total_ns, out.compute_ns + out.replay_ns + out.stall_ns);
    return out;
}

/** a (100 bytes) is made and read by the call after next; between them are n calls of 10 ns. */
static size_t make_idle(int n)
{
    size_t a = recorded_call(&r, "a", 1000, SIZE_MAX, SIZE_MAX, 100);
    for (int i = 0; i < n; i++) {
        size_t b = recorded_call(&r, "b", 10, SIZE_MAX, SIZE_MAX, 100);
        recorded_free(&r, b);
    }
    recorded_call(&r, "c", 7, a, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    return a;
}

/** a may leave once it is made, and is to come back before call `back`. */
static size_t make_swapped(int n, uint32_t back)
{
    size_t a = make_idle(n);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, back, a);
    return a;
}

Test(timeline, without_a_plan_calls_follow_each_other)
{
    make_idle(3);
    cebus_timeline t = run(1000, false, true);
    cr_expect_eq(t.total_ns, 1037);
    cr_expect_eq(t.compute_ns, 1037);
    cr_expect_eq(t.unforeseen, 0);
}

/** As in every iteration but the first: 7 ns behind the host it begins to wait for `a`, and 170 ns
 * later for the call that reads it. */
Test(timeline, calls_and_copies_wait_until_the_host_asks_for_them)
{
    const uint64_t issue_ns[] = {200, 300};
    make_idle(3);
    for (int i = 0; i < 2; i++) {
        cebus_timeline t;
        cebus_timeline_terms terms = {.budget = 1000, .issue_ns = issue_ns[i]};
        cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &t));
        cr_expect_eq(t.compute_ns, 1037);
        cr_expect_eq(t.held_ns, i == 0 ? 0 : (300 - 7) + (200 - 30), "%lu", t.held_ns);
        cr_expect_eq(t.total_ns, t.compute_ns + t.held_ns);
    }
}

Test(timeline, what_a_call_is_held_by_is_part_of_its_cost_for_who_does_not_know_the_host)
{
    make_idle(3);
    cr_assert_eq(cebus_iteration_hold(&r.iteration, 300), 5 * 300 - 1037);
    cr_expect_eq(run(1000, false, true).total_ns, 1500);
    cebus_timeline t;
    cebus_timeline_terms terms = {.budget = 1000, .issue_ns = 300};
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &t));
    cr_expect_eq(t.total_ns, 1500);
    cr_expect_eq(t.compute_ns, 1037);
}

Test(timeline, a_replay_takes_its_call_again)
{
    size_t a = make_idle(3);
    recorded_act(&r, CEBUS_ACTION_DROP, 1, a);
    recorded_act(&r, CEBUS_ACTION_REPLAY, 4, a);
    cebus_timeline t = run(101, false, true);
    cr_expect_eq(t.replay_ns, 1000);
    cr_expect_eq(t.total_ns, 2037);
    cr_expect_eq(t.unforeseen, 0);
}

Test(timeline, what_no_plan_replays_is_made_again_when_it_is_read)
{
    size_t a = make_idle(3);
    recorded_act(&r, CEBUS_ACTION_DROP, 1, a);
    cebus_timeline t = run(101, false, true);
    cr_expect_eq(t.total_ns, 2037);
    cr_expect_eq(t.unforeseen, 1);
}

/** Out from 1000 to 1101; its room is needed at 1000: the first b waits 101. Back when the last b
 * is gone (the host asked for it ahead): compute waits the whole way back. */
Test(timeline, copies_that_do_not_hide_are_waited_for)
{
    make_swapped(3, 4);
    cebus_timeline t = run(101, true, true);
    cr_expect_eq(t.out_bytes, 100);
    cr_expect_eq(t.in_bytes, 100);
    cr_expect_eq(t.stall_ns, 101 + 101);
    cr_expect_eq(t.unforeseen, 0);
}

/** With room for both there is no need to wait for the copy out, nor to bring anything back. */
Test(timeline, what_need_not_leave_stays)
{
    make_swapped(3, 2);
    cebus_timeline t = run(301, true, true);
    cr_expect_eq(t.stall_ns, 0);
    cr_expect_eq(t.in_bytes, 0);
}

/** With offsets of values, and of what the plan's actions bring back. */
static cebus_timeline run_at(uint64_t *values, uint64_t *actions)
{
    cebus_timeline out;
    uint64_t workspaces[64];
    cebus_placement placement = {.values = values,
                                 .actions = actions,
                                 .scratch = actions,
                                 .workspaces = workspaces,
                                 .n_values = r.iteration.n_values,
                                 .n_actions = r.plan.count,
                                 .n_calls = r.iteration.n_calls,
                                 .height = 1000};
    cebus_timeline_terms terms = {.budget = 1000,
                                  .out_rate = 1000000000,
                                  .in_rate = 1000000000,
                                  .placement = &placement,
                                  .ahead = true};
    memset(workspaces, 0xff, sizeof workspaces);
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &out));
    return out;
}

/** Where the first b is made at an offset, and a lies at 0 and comes back to `back`. */
static cebus_timeline run_placed(size_t a, uint64_t b_at, uint64_t back)
{
    uint64_t values[64], actions[2] = {CEBUS_ANYWHERE, back};
    memset(values, 0xff, sizeof values);
    values[r.values[a].ordinal] = 0;
    values[1] = b_at;
    return run_at(values, actions);
}

/** However much is free elsewhere: a copy out takes 101 ns. */
Test(timeline, who_has_a_place_waits_until_it_is_free)
{
    size_t a = make_swapped(30, 28);
    cr_expect_eq(run(1000, false, true).stall_ns, 0);
    cr_expect_eq(run_placed(a, 500, 0).stall_ns, 0);
    cr_expect_eq(run_placed(a, 0, 0).stall_ns, 101);
    cr_expect_eq(run_placed(a, 50, 0).stall_ns, 101, "a part of it");
    cr_expect_eq(run_placed(a, 100, 0).stall_ns, 0);
}

Test(timeline, what_never_left_goes_on_to_its_next_place)
{
    size_t a = make_swapped(30, 28);
    cr_expect_eq(run_placed(a, 500, 0).in_bytes, 0, "it is there");
    cebus_timeline t = run_placed(a, 500, 700);
    cr_expect_eq(t.in_bytes, 100);
    cr_expect_eq(t.stall_ns, 0, "it has left for long");
}

/** Let go while it is copied out, from 1000 to 1101: who comes there waits, who comes elsewhere
 * does not. */
Test(timeline, who_comes_to_what_is_copied_still_waits_though_it_was_let_go)
{
    size_t a = recorded_call(&r, "a", 1000, SIZE_MAX, SIZE_MAX, 100);
    recorded_free(&r, a);
    recorded_call(&r, "b", 10, SIZE_MAX, SIZE_MAX, 100);
    recorded_call(&r, "c", 7, SIZE_MAX, SIZE_MAX, 1);
    r.iteration.values[r.values[a].ordinal].freed = 2;
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, a);
    uint64_t values[3] = {0, 500, 0}, actions[1] = {CEBUS_ANYWHERE};
    cr_expect_eq(run_at(values, actions).stall_ns, 101 - 10);
    values[2] = 100;
    cr_expect_eq(run_at(values, actions).stall_ns, 0);
}

/** Three wait to leave: who comes to the place of the last has it, and the others stay. */
Test(timeline, only_who_lies_in_the_way_leaves)
{
    size_t a = recorded_call(&r, "a", 1000, SIZE_MAX, SIZE_MAX, 100);
    size_t b = recorded_call(&r, "b", 1000, SIZE_MAX, SIZE_MAX, 100);
    size_t c = recorded_call(&r, "c", 1000, SIZE_MAX, SIZE_MAX, 100);
    recorded_call(&r, "d", 1000, SIZE_MAX, SIZE_MAX, 100);
    recorded_call(&r, "e", 1, a, b, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 3, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 3, b);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 3, c);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 4, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 4, b);
    uint64_t values[5] = {0, 100, 200, 200, 400};
    uint64_t actions[5] = {CEBUS_ANYWHERE, CEBUS_ANYWHERE, CEBUS_ANYWHERE, 0, 100};
    cebus_timeline t = run_at(values, actions);
    cr_expect_eq(t.in_bytes, 0, "a and b never left");
    cr_expect_eq(t.stall_ns, 101, "for c, which was made last");
}

Test(timeline, ground_is_free_where_it_was_left)
{
    cebus_ground ground;
    uint64_t since[64] = {0}, random = 1;
    cr_assert(cebus_ground_init(&ground, &r.pool));
    for (uint64_t n = 1; n < 2000; n++) {
        uint64_t latest = 0;
        random = random * UINT64_C(6364136223846793005) + 1;
        const uint64_t from = (random >> 33) % 60, bytes = 1 + (random >> 43) % (64 - from);
        for (uint64_t i = from; i < from + bytes; i++)
            latest = since[i] > latest ? since[i] : latest;
        cr_assert_eq(cebus_ground_since(&ground, from, bytes), latest);
        for (uint64_t i = from; i < from + bytes; i++)
            since[i] = n;
        cr_assert(cebus_ground_set(&ground, from, bytes, n));
        cr_assert_leq(ground.count, 66);
    }
    cebus_ground_deinit(&ground);
}

/** Both may leave; a has not when it is due back, and is read at the end: the room for d is b's. */
Test(timeline, what_has_come_back_leaves_no_more)
{
    size_t a = recorded_call(&r, "a", 1000, SIZE_MAX, SIZE_MAX, 100);
    size_t b = recorded_call(&r, "b", 10, SIZE_MAX, SIZE_MAX, 100);
    size_t c = recorded_call(&r, "c", 10, SIZE_MAX, SIZE_MAX, 100);
    recorded_free(&r, c);
    recorded_call(&r, "d", 10, SIZE_MAX, SIZE_MAX, 200);
    recorded_call(&r, "e", 7, a, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 2, b);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 3, a);
    cebus_timeline t = run(301, true, true);
    cr_expect_eq(t.unforeseen, 0);
    cr_expect_eq(t.in_bytes, 0);
}

/** Two values of 100 leave one after the other, on a link that carries one at a time. */
Test(timeline, the_link_carries_one_copy_at_a_time)
{
    size_t a = recorded_call(&r, "a", 1000, SIZE_MAX, SIZE_MAX, 100);
    size_t b = recorded_call(&r, "b", 10, SIZE_MAX, SIZE_MAX, 100);
    size_t c = recorded_call(&r, "c", 10, SIZE_MAX, SIZE_MAX, 200);
    recorded_free(&r, c);
    recorded_call(&r, "d", 7, a, b, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, a);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 2, b);
    cebus_timeline t = run(201, true, true);
    /* Out: 1000 to 1101, 1101 to 1202; c from 1202 to 1212; back to 1313 and 1414. */
    cr_expect_eq(t.total_ns, 1414 + 7);
    cr_expect_eq(t.unforeseen, 2, "nobody asked for them back");
}

/** A host that does not run ahead asks for the copy when compute gets there. */
Test(timeline, a_host_that_is_not_ahead_starts_copies_later)
{
    make_swapped(30, 20);
    uint64_t ahead = run(101 + 100, true, true).stall_ns;
    r.plan.actions[0].at = 1;
    uint64_t behind = run(101 + 100, true, false).stall_ns;
    cr_expect_leq(ahead, behind);
}

Test(timeline, the_oldest_goes_where_no_plan_says_what)
{
    make_idle(3);
    cebus_timeline t = run(101, true, true);
    cr_expect_eq(t.unforeseen, 2, "out, and back");
    cr_expect_eq(t.stall_ns, 202);
    t = run(101, false, true);
    cr_expect_eq(t.replay_ns, 1000);
}

Test(timeline, less_memory_never_makes_it_quicker)
{
    recorded_network(&r, 12, 100, 50);
    uint64_t last = UINT64_MAX;
    for (uint64_t budget = 400; budget <= 2000; budget += 100) {
        uint64_t now = run(budget, true, true).total_ns;
        cr_expect_leq(now, last, "%lu", budget);
        last = now;
    }
    cr_expect_eq(last, recorded_calls(&r) * UINT64_C(50));
}

Test(timeline, says_so_without_host_memory)
{
    recorded_network(&r, 12, 100, 50);
    bool ok = false;
    for (uint64_t n = 1; n < 1000 && !ok; n++) {
        cebus_timeline out;
        cebus_pool pool;
        cebus_test_host host;
        cebus_timeline_terms terms = {.budget = 700,
                                      .out_rate = 1000000000,
                                      .in_rate = 1000000000,
                                      .swaps = true,
                                      .ahead = true};
        cebus_test_host_init(&host);
        host.fail_at = n;
        cebus_pool_init(&pool, &host.allocator);
        pool.direct = true;
        ok = cebus_timeline_run(&r.iteration, &r.plan, &terms, &pool, &out);
        cr_expect_eq(pool.live_objects, 0);
        cebus_pool_deinit(&pool);
        cr_expect(!ok || n > 4);
    }
    cr_expect(ok);
}

/** w persists, and is there as the iteration begins: at the offset `begin`. It comes back to `end`.
 */
static cebus_timeline run_crossing(uint64_t begin, uint64_t end, cebus_move_terms moves)
{
    cebus_timeline out;
    uint64_t none[8], actions[] = {begin, CEBUS_ANYWHERE, end};
    cebus_placement placement = {.values = none,
                                 .actions = actions,
                                 .scratch = none,
                                 .workspaces = none,
                                 .n_values = r.iteration.n_values,
                                 .n_actions = r.plan.count,
                                 .n_calls = r.iteration.n_calls,
                                 .height = 1000};
    const cebus_timeline_terms terms = {.budget = 1000,
                                        .out_rate = 1000000000,
                                        .in_rate = 1000000000,
                                        .placement = &placement,
                                        .moves = moves,
                                        .ahead = true};
    memset(none, 0xff, sizeof none);
    cr_assert(cebus_timeline_run(&r.iteration, &r.plan, &terms, &r.pool, &out));
    return out;
}

Test(timeline, what_crosses_to_another_place_moves)
{
    const cebus_move_terms moves = {.rate = 1000000000, .ns = 7};
    const size_t w = recorded_leaf(&r, 100, true);
    for (int i = 0; i < 3; i++)
        recorded_call(&r, "a", 500, i == 1 ? SIZE_MAX : w, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 0, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 1, w);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 2, w);
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    const cebus_timeline stays = run_crossing(300, 300, moves), goes = run_crossing(0, 300, moves);
    cr_expect_eq(stays.moving_ns, 0);
    cr_expect_eq(goes.moving_ns, 107);
    cr_expect_eq(goes.total_ns, stays.total_ns + 107);
    cr_expect_eq(goes.stall_ns, stays.stall_ns);
    const cebus_timeline copied = run_crossing(0, 300, (cebus_move_terms){0});
    cr_expect_eq(copied.moving_ns, 0);
    cr_expect_gt(copied.in_bytes, goes.in_bytes, "by the link, where nothing moves");
}
