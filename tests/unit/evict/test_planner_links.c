#include <criterion/criterion.h>

#include "evict/planner/check.h"
#include "evict/planner/emit.h"
#include "evict/planner/exchange.h"
#include "evict/planner/links.h"
#include "evict/planner/yielding.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

#define NONE CEBUS_SEQUENCE_NONE

enum {
    CALLS = 20,
    COST = 100,
    COPY = 250,       /* ns */
    BYTES = COPY - 1, /* on a link of 10^9 bytes/s; times are rounded up */
};

static recorded r;
static cebus_test_host host;
static cebus_sequence sequence;
static cebus_links links;
static size_t x, y, z;
static const cebus_plan_terms terms = {
    .host = 1 << 20, .out_rate = UINT64_C(1000000000), .in_rate = UINT64_C(1000000000)};

/** Calls of which the first make x, y and z; the last reads x and y, calls 10 and 18 read z. */
static void setup(void)
{
    recorded_init_on(&r, &host);
    x = recorded_call(&r, "x", COST, SIZE_MAX, SIZE_MAX, BYTES);
    y = recorded_call(&r, "y", COST, SIZE_MAX, SIZE_MAX, BYTES);
    z = recorded_call(&r, "z", COST, SIZE_MAX, SIZE_MAX, BYTES);
    for (int i = 3; i < CALLS - 1; i++)
        recorded_call(&r, "idle", COST, i == 10 || i == 18 ? z : SIZE_MAX, SIZE_MAX, 1);
    recorded_call(&r, "end", COST, x, y, 1);
    recorded_free(&r, x);
    recorded_free(&r, y);
    recorded_free(&r, z);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cr_assert(cebus_links_init(&links, &sequence, &terms, &r.pool));
}

static void teardown(void)
{
    cebus_links_deinit(&links);
    cebus_sequence_deinit(&sequence);
    recorded_deinit(&r);
}

TestSuite(planner_links, .init = setup, .fini = teardown);

static uint32_t ordinal(size_t handle)
{
    return r.values[handle].ordinal;
}

static void swap(size_t handle, uint32_t out_before, uint32_t in_before)
{
    uint32_t v = ordinal(handle);
    cr_assert(cebus_sequence_insert(&sequence, cebus_sequence_out(&sequence, v), out_before, NULL));
    cr_assert(cebus_sequence_insert(&sequence, cebus_sequence_in(&sequence, v), in_before, NULL));
}

static void expect_copy(const cebus_copies *copies, size_t i, size_t handle, uint64_t from)
{
    cr_assert_lt(i, copies->count);
    cr_expect_eq(copies->items[i].value, ordinal(handle));
    cr_expect_eq(copies->items[i].when.from, from, "%lu", copies->items[i].when.from);
    cr_expect_eq(copies->items[i].when.to, from + COPY);
}

static uint64_t whole(void)
{
    cr_assert(cebus_links_run(&links));
    return links.starts[cebus_sequence_end(&sequence)];
}

Test(planner_links, a_program_without_swaps_takes_its_time)
{
    cr_expect_eq(whole(), CALLS * COST);
    cr_expect_eq(links.streams.stall_ns, 0);
    cr_expect_eq(links.out.count, 0);
    cr_expect_eq(links.starts[7], 7 * COST);
}

Test(planner_links, copies_between_calls_hide)
{
    swap(x, 4, 16);
    cr_expect_eq(whole(), CALLS * COST);
    cr_expect_eq(links.streams.stall_ns, 0);
    cr_expect_eq(links.host, BYTES);
    expect_copy(&links.out, 0, x, COST);
    expect_copy(&links.in, 0, x, 16 * COST);
}

Test(planner_links, each_copy_takes_its_latency_beside_its_bytes)
{
    cebus_plan_terms slow = terms;
    slow.latency_ns = 70;
    links.terms = &slow;
    swap(x, 3, 14);
    cr_expect_eq(whole(), CALLS * COST + 120, "from 100 to 420, room wanted at 300");
    cr_expect_eq(links.out.items[0].when.to, COST + COPY + 70);
    cr_expect_eq(links.in.items[0].when.to - links.in.items[0].when.from, COPY + 70);
}

Test(planner_links, who_has_waited_too_long_goes_no_further)
{
    swap(x, 3, 14);
    cr_assert(cebus_links_run(&links));
    const uint64_t all = links.streams.stall_ns;
    cr_assert_gt(all, 0);
    cr_assert(cebus_links_run_within(&links, all - 1));
    cr_expect_gt(links.streams.stall_ns, all - 1);
    cr_expect_lt(links.n_order, sequence.iteration->n_calls);
    cr_assert(cebus_links_run_within(&links, all));
    cr_expect_eq(links.streams.stall_ns, all);
    cr_expect_eq(links.n_order, sequence.iteration->n_calls + 4, "START, END, OUT, IN");
    expect_copy(&links.in, 0, x, 14 * COST + all);
}

Test(planner_links, room_that_is_wanted_early_is_waited_for)
{
    swap(x, 2, 16);
    cr_expect_eq(whole(), CALLS * COST + 150);
    cr_expect_eq(links.streams.stall_ns, 150, "from 100 to 350, room wanted at 200");
}

Test(planner_links, what_comes_late_is_waited_for)
{
    swap(x, 5, 18);
    cr_expect_eq(whole(), CALLS * COST + 150);
    cr_expect_eq(links.streams.stall_ns, 150, "from 1800 to 2050, read at 1900");
}

Test(planner_links, nothing_comes_back_before_it_left)
{
    swap(x, 4, 4);
    whole();
    expect_copy(&links.out, 0, x, COST);
    expect_copy(&links.in, 0, x, 4 * COST);
    cr_expect_eq(links.streams.stall_ns, 0);
}

Test(planner_links, whose_room_is_wanted_first_leaves_first)
{
    swap(x, 12, 16);
    swap(y, 8, 13);
    whole();
    expect_copy(&links.out, 0, x, COST); /* y is not there yet */
    expect_copy(&links.out, 1, y, COST + COPY);
    expect_copy(&links.in, 0, y, 13 * COST);
    expect_copy(&links.in, 1, x, 16 * COST);
    cr_expect_eq(links.streams.stall_ns, 0);
    cr_assert(cebus_emit_plan(&sequence, &links, &r.plan));
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_COPY_OUT, x), 1);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_COPY_OUT, y), 2);
}

Test(planner_links, a_copy_of_what_was_made_again_since_is_of_that)
{
    swap(x, 4, 16);
    cr_assert(cebus_sequence_insert(&sequence, 0, 14, NULL)); /* x again; nobody uses it */
    whole();
    expect_copy(&links.out, 0, x, COST);
    cr_expect_eq(links.streams.stall_ns, 0);
    cr_assert(
        cebus_sequence_insert(&sequence, cebus_sequence_out(&sequence, ordinal(x)), 14, NULL));
    whole();
    expect_copy(&links.out, 0, x, 15 * COST);
    cr_expect_eq(links.streams.stall_ns, COPY, "from 1500, room wanted at once");
}

static void come_back(size_t handle, uint32_t in_before)
{
    cr_assert(cebus_sequence_insert(&sequence, cebus_sequence_in(&sequence, ordinal(handle)),
                                    in_before, NULL));
}

static size_t count_actions(cebus_action_kind kind)
{
    size_t n = 0;
    for (size_t a = 0; a < r.plan.count; a++)
        n += r.plan.actions[a].kind == kind;
    return n;
}

Test(planner_links, what_comes_back_twice_leaves_once)
{
    cebus_check check;
    swap(z, 6, 7);
    come_back(z, 15);
    cr_expect_eq(whole(), CALLS * COST);
    cr_expect_eq(links.streams.stall_ns, 0);
    cr_expect_eq(links.out.count, 1);
    cr_expect_eq(links.host, BYTES);
    expect_copy(&links.out, 0, z, 3 * COST);
    expect_copy(&links.in, 0, z, 7 * COST);
    expect_copy(&links.in, 1, z, 15 * COST);
    cr_assert(cebus_emit_plan(&sequence, &links, &r.plan));
    cr_expect_eq(count_actions(CEBUS_ACTION_COPY_OUT), 1);
    cr_expect_eq(count_actions(CEBUS_ACTION_SWAP_OUT), 2);
    cr_expect_eq(count_actions(CEBUS_ACTION_SWAP_IN), 2);
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_expect_null(check.wrong, "%s", check.wrong);
    cr_expect_eq(check.host, BYTES);
}

/** A replay gives the copy on the host up. */
Test(planner_links, what_is_made_again_in_between_is_copied_again)
{
    uint32_t reader;
    swap(z, 6, 7);
    come_back(z, 15);
    cr_assert(cebus_sequence_insert(&sequence, 10, 13, &reader));
    cr_assert(cebus_sequence_insert(&sequence, 2, reader, NULL)); /* z again, for that */
    cr_expect_eq(whole(), CALLS * COST + 2 * COST + 150,
                 "z leaves from 1400 to 1650, its room is wanted at 1500");
    expect_copy(&links.in, 1, z, 17 * COST + 150);
}

/** A change begins, after a run; where a value could go. */
static cebus_swap_place begin_and_find(cebus_exchange *exchange, size_t handle)
{
    cebus_swap_place place;
    cr_assert(cebus_exchange_begin(exchange, &links));
    cr_assert(cebus_exchange_find(exchange, ordinal(handle), false, &place));
    return place;
}

Test(planner_links, a_second_stretch_is_spent_away_by_the_copy_of_the_first)
{
    cebus_exchange exchange;
    cebus_swap_place place;
    bool taken;
    cebus_exchange_init(&exchange, &sequence, 1000);
    whole();
    place = begin_and_find(&exchange, z);
    cr_expect_eq(place.in_before, 7, "copied from 750 to 1000");
    cr_assert(cebus_exchange_put(&exchange, &place));
    whole();
    place = begin_and_find(&exchange, z);
    cr_assert_eq(place.value, ordinal(z));
    cr_expect_eq(place.out_before, NONE);
    cr_expect_eq(place.in_before, 15, "copied from 1550 to 1800");
    cr_assert(cebus_exchange_put(&exchange, &place));
    whole();
    cr_expect_eq(links.in.count, 2);
    place = begin_and_find(&exchange, z);
    cr_expect_eq(place.value, NONE, "nothing is left that it idles");
    cr_assert(cebus_exchange_take_again(&exchange, ordinal(z), &taken));
    cr_expect(taken);
    cr_assert(cebus_exchange_take_again(&exchange, ordinal(z), &taken));
    cr_expect_not(taken, "it comes back once");
    cr_assert(cebus_exchange_put(&exchange, &(cebus_swap_place){ordinal(z), NONE, 15}));
    cr_assert(cebus_exchange_take(&exchange, ordinal(z), &taken));
    cr_expect(taken);
    whole();
    cr_expect_eq(links.in.count + links.out.count, 0);
    cebus_exchange_deinit(&exchange);
}

Test(planner_links, where_once_is_all_nothing_goes_a_second_time)
{
    cebus_exchange exchange;
    cebus_swap_place place;
    cebus_plan_terms once = terms;
    once.once = true;
    links.terms = &once;
    cebus_exchange_init(&exchange, &sequence, 1000);
    swap(z, 6, 7);
    whole();
    place = begin_and_find(&exchange, z);
    cr_expect_eq(place.value, NONE);
    links.terms = &terms;
    cr_assert(cebus_exchange_find(&exchange, ordinal(z), false, &place));
    cr_expect_eq(place.value, ordinal(z), "else it does");
    cebus_exchange_deinit(&exchange);
}

Test(planner_links, changes_are_taken_back_and_leave_places_free)
{
    cebus_exchange exchange;
    cebus_swap_place place;
    bool taken;
    cebus_exchange_init(&exchange, &sequence, 1000);
    whole();
    place = begin_and_find(&exchange, x);
    cr_expect_eq(place.value, ordinal(x));
    cr_expect_eq(place.out_before, 4, "copied from 100 to 350");
    cr_expect_eq(place.in_before, 16, "copied from 1650 to 1900, while call 16 runs");
    cr_assert(cebus_exchange_put(&exchange, &place));
    cr_expect_eq(whole(), CALLS * COST);
    cr_expect_eq(links.streams.stall_ns, 0);
    place = begin_and_find(&exchange, y);
    cr_expect_eq(place.out_before, 6, "the link is busy until 350, then y leaves");
    cr_expect_eq(place.in_before, 13, "and comes before x, from 1350 to 1600");
    cr_assert(cebus_exchange_take(&exchange, ordinal(x), &taken));
    cr_expect(taken);
    cr_assert(cebus_exchange_take(&exchange, ordinal(x), &taken));
    cr_expect_not(taken);
    cr_expect_eq(sequence.n_replays, 0);
    cebus_exchange_deinit(&exchange);
}

Test(planner_links, what_has_no_room_on_the_host_or_no_time_stays)
{
    cebus_plan_terms poor = terms;
    cebus_exchange exchange;
    cebus_swap_place place;
    poor.host = BYTES - 1;
    links.terms = &poor;
    cebus_exchange_init(&exchange, &sequence, 1000);
    whole();
    place = begin_and_find(&exchange, x);
    cr_expect_eq(place.value, NONE);
    poor = terms;
    poor.out_rate = poor.in_rate = 1000;
    place = begin_and_find(&exchange, x);
    cr_expect_eq(place.value, NONE);
    cebus_exchange_deinit(&exchange);
}

/** On either side, as it comes by chance. */
Test(planner_links, what_has_the_link_when_another_wants_it_makes_way)
{
    cebus_exchange exchange;
    uint32_t values[4], count;
    bool out = false, in = false;
    cebus_exchange_init(&exchange, &sequence, 1000);
    swap(x, 4, 10); /* copied from 100 to 350, and from 1000 to 1250, when y needs no link */
    whole();
    for (int i = 0; i < 32; i++) {
        size_t mark = cebus_sequence_mark(&sequence);
        cr_assert(cebus_exchange_begin(&exchange, &links));
        cr_assert(cebus_exchange_make_way(&exchange, ordinal(y), 4, values, &count));
        cr_assert_leq(count, 1);
        cr_assert(count == 0 || (values[0] == ordinal(x) && sequence.n_replays == 0));
        cr_assert_eq(exchange.host, count > 0 ? 0 : BYTES);
        out = out || count == 1;
        in = in || count == 0;
        cr_assert(cebus_sequence_undo(&sequence, mark));
    }
    cr_expect(out && in, "only where the copy out of y was asked for");
    cr_assert(cebus_exchange_begin(&exchange, &links));
    for (int i = 0; i < 8; i++) {
        cr_assert(cebus_exchange_make_way(&exchange, ordinal(y), 0, values, &count));
        cr_expect_eq(count, 0, "no more than asked for");
    }
    cebus_exchange_deinit(&exchange);
}

Test(planner_links, a_copy_gives_way_to_what_is_wanted_sooner)
{
    swap(x, 8, 16);
    swap(y, 5, 12);
    cr_expect_eq(whole(), CALLS * COST + 100, "x leaves from 100 to 350, y to 600, wanted at 500");
    cr_assert(cebus_yielding_settle(&links));
    cr_expect_eq(links.streams.stall_ns, 0);
    expect_copy(&links.out, 0, y, 2 * COST);
    expect_copy(&links.out, 1, x, 2 * COST + COPY);
    cebus_yielding_clear(&links);
    cr_expect_eq(whole(), CALLS * COST + 100);
}

Test(planner_links, a_copy_that_would_be_late_itself_gives_no_way)
{
    swap(x, 6, 16);
    swap(y, 5, 12);
    cr_expect_eq(whole(), CALLS * COST + 100);
    cr_assert(cebus_yielding_settle(&links));
    cr_expect_eq(links.streams.stall_ns, 100, "y from 200 to 450, then x to 700, wanted at 600");
    expect_copy(&links.out, 0, x, COST);
    cebus_yielding_clear(&links);
}

Test(planner_links, no_host_memory_to_hold_copies_is_told)
{
    swap(x, 8, 16);
    swap(y, 5, 12);
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        whole();
        host.fail_at = n;
        bool ok = cebus_yielding_settle(&links);
        failed = host.fail_at == 0;
        host.fail_at = 0;
        cr_expect_eq(ok, !failed, "allocation %lu", n);
        cr_expect(!ok || links.streams.stall_ns == 0);
        cebus_yielding_clear(&links);
    }
}
