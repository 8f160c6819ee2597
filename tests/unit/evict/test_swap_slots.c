#include <criterion/criterion.h>

#include "evict/planner/swap_slots.h"
#include "tests/unit/evict/recorded.h"

enum {
    CALLS = 20,
    COST = 100,
    COPY = 250,       /* ns */
    BYTES = COPY - 1, /* on a link of 10^9 bytes/s; times are rounded up */
};

static recorded r;
static cebus_sequence sequence;
static size_t a, b, c;
static cebus_plan_terms terms;
static bool more;

/** Calls 0, 1 and 2 make a, b and c; call 12 reads a, 15 b, 17 c. */
static void setup(void)
{
    terms = (cebus_plan_terms){
        .host = 1 << 20, .out_rate = UINT64_C(1000000000), .in_rate = UINT64_C(1000000000)};
    recorded_init(&r);
    a = recorded_call(&r, "a", COST, SIZE_MAX, SIZE_MAX, BYTES);
    b = recorded_call(&r, "b", COST, SIZE_MAX, SIZE_MAX, BYTES);
    c = recorded_call(&r, "c", COST, SIZE_MAX, SIZE_MAX, BYTES);
    for (int i = 3; i < CALLS; i++)
        recorded_call(&r, "idle", COST,
                      i == 12   ? a
                      : i == 15 ? b
                      : i == 17 ? c
                                : SIZE_MAX,
                      SIZE_MAX, 1);
    recorded_free(&r, a);
    recorded_free(&r, b);
    recorded_free(&r, c);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
}

static void teardown(void)
{
    cebus_sequence_deinit(&sequence);
    recorded_deinit(&r);
}

TestSuite(swap_slots, .init = setup, .fini = teardown);

static bool fill(double limit, cebus_swap_order order)
{
    return cebus_swap_slots_fill(&sequence, &terms, limit, order, 1, 1e9, &more);
}

/** Runs of a call among the replays. */
static size_t count_runs(uint32_t call)
{
    size_t n = 0;
    for (uint32_t i = CALLS + 2; i < sequence.n_instances; i++)
        n += sequence.instances[i].call == call;
    return n;
}

/** The call of the program before which the bytes are away; CALLS: they stay. */
static uint32_t away_from(size_t handle)
{
    const uint32_t out = cebus_sequence_out(&sequence, r.values[handle].ordinal);
    for (uint32_t i = CALLS + 2; i < sequence.n_instances; i++) {
        if (sequence.instances[i].call == out)
            return sequence.instances[i].gap;
    }
    return CALLS;
}

Test(swap_slots, copies_follow_one_another_who_is_used_last_first)
{
    cr_assert(fill(2 * BYTES + CALLS, CEBUS_SWAP_IN_TURN));
    cr_expect_eq(away_from(a), 4, "nothing else idles when the link is free: until 350");
    cr_expect_eq(away_from(c), 6, "read behind b: until 600");
    cr_expect_eq(away_from(b), CALLS, "two are enough");
}

Test(swap_slots, where_all_go_once_it_makes_no_difference_that_they_may_not_again)
{
    terms.once = true;
    cr_assert(fill(2 * BYTES + CALLS, CEBUS_SWAP_IN_TURN));
    cr_expect_not(more);
}

Test(swap_slots, who_saves_most_comes_first)
{
    cr_assert(fill(2 * BYTES + CALLS, CEBUS_SWAP_BEST));
    cr_expect_eq(away_from(c), 6, "from 300 to 550, and not back before 1450");
    cr_expect_eq(away_from(b), CALLS);
}

Test(swap_slots, what_fits_stays)
{
    cr_assert(fill(4 * BYTES, CEBUS_SWAP_IN_TURN));
    cr_assert(fill(4 * BYTES, CEBUS_SWAP_BEST));
    cr_expect_eq(sequence.n_instances, CALLS + 2);
}

Test(swap_slots, the_host_holds_no_more_than_it_may)
{
    terms.host = 2 * BYTES - 1;
    cr_assert(fill(1, CEBUS_SWAP_IN_TURN));
    cr_expect_lt(away_from(a), CALLS);
    cr_expect_eq(away_from(b), CALLS);
    cr_expect_eq(away_from(c), CALLS);
}

/** Calls 9 and 18 read a; calls 5 and 14 leave no room for it. */
static void expect_two_stretches(cebus_swap_order order)
{
    recorded twice;
    recorded_init(&twice);
    a = recorded_call(&twice, "a", COST, SIZE_MAX, SIZE_MAX, BYTES);
    for (int i = 1; i < CALLS; i++)
        recorded_call(&twice, "idle", COST, i == 9 || i == 18 ? a : SIZE_MAX, SIZE_MAX,
                      i == 5 || i == 14 ? BYTES : 1);
    recorded_free(&twice, a);
    for (size_t i = 1; i < CALLS; i++) /* nobody holds what the other calls make */
        recorded_free(&twice, i);
    cr_assert(cebus_iteration_seal(&twice.iteration));
    cebus_sequence_deinit(&sequence);
    cr_assert(cebus_sequence_init(&sequence, &twice.iteration, 1, &twice.pool));
    cr_assert(fill(BYTES, order));
    cr_expect_not(more);
    const uint32_t ordinal = twice.values[a].ordinal;
    cr_expect_eq(count_runs(cebus_sequence_out(&sequence, ordinal)), 1);
    cr_expect_eq(count_runs(cebus_sequence_in(&sequence, ordinal)), 2);
    cr_assert(cebus_sequence_clear(&sequence));
    terms.once = true;
    cr_assert(fill(BYTES, order));
    cr_expect(more, "it would have gone again");
    terms.once = false;
    cr_expect_eq(count_runs(cebus_sequence_in(&sequence, ordinal)), 1);
    cebus_sequence_deinit(&sequence);
    recorded_deinit(&twice);
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
}

Test(swap_slots, what_left_goes_again_by_its_copy)
{
    expect_two_stretches(CEBUS_SWAP_IN_TURN);
    expect_two_stretches(CEBUS_SWAP_BEST);
}
