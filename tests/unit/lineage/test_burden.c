/* Bounds on what it takes to rebuild values, against walks that know nothing. */
#include "lineage/burden.h"

#include <criterion/criterion.h>

#include "suite.h"
#include "tests/support/host.h"

TestSuite(burden, .init = setup, .fini = teardown);

static uint64_t walked(const cebus_value *value, uint64_t ns)
{
    return cebus_replay_behind(&p.lineage, value, SIZE_MAX, ns).ns;
}

/** Asks, and holds the answer against a walk. */
static bool exceeds(const cebus_value *value, uint64_t ns)
{
    bool answer = cebus_burden_exceeds(&p.lineage, value, ns);
    cr_assert_eq(answer, walked(value, ns) > ns, "%d ns", (int)ns);
    return answer;
}

static void release_all(cebus_value **values, size_t n)
{
    while (n-- > 0)
        program_release(&p, values[n]);
}

Test(burden, follows_what_leaves_and_returns)
{
    cebus_value *v[5] = {program_leaf(&p, 64)};
    for (int i = 1; i < 5; i++)
        v[i] = program_call(&p, 10, v[i - 1], NULL);
    cr_expect_not(exceeds(v[0], 0), "a leaf");
    cr_expect(exceeds(v[4], 9));
    cr_expect_not(exceeds(v[4], 10));
    program_evict(&p, v[2]);
    cr_expect_not(exceeds(v[4], 10), "v3 is there");
    program_evict(&p, v[3]);
    cr_expect(exceeds(v[4], 29));
    cr_expect_not(exceeds(v[4], 30));
    program_return(&p, v[2]);
    cr_expect_not(exceeds(v[4], 20));
    cr_expect(exceeds(v[4], 19));
    release_all(v, 5);
}

Test(burden, counts_what_two_ways_share_once)
{
    cebus_value *v[5] = {program_leaf(&p, 64)};
    v[1] = program_call(&p, 100, v[0], NULL);
    v[2] = program_call(&p, 1, v[1], NULL);
    v[3] = program_call(&p, 1, v[1], NULL);
    v[4] = program_call(&p, 1, v[2], v[3]);
    for (int i = 1; i < 4; i++)
        program_evict(&p, v[i]);
    cr_expect_not(exceeds(v[4], 103));
    cr_expect(exceeds(v[4], 102));
    release_all(v, 5);
}

Test(burden, follows_costs_and_waits)
{
    cebus_value *v[3] = {program_leaf(&p, 64)};
    v[1] = program_call(&p, 10, v[0], NULL);
    v[2] = program_call(&p, 10, v[1], NULL);
    program_evict(&p, v[1]);
    cr_expect_not(exceeds(v[2], 20));
    cebus_cost_wait(&p.lineage, v[1]->producer, 5);
    cr_expect(exceeds(v[2], 24));
    cr_expect_not(exceeds(v[2], 25));
    cebus_cost_wait(&p.lineage, v[1]->producer, 0);
    cr_expect_not(exceeds(v[2], 20));
    cebus_cost_lower(&p.lineage, v[1]->producer, 1);
    cr_expect_not(exceeds(v[2], 11));
    cebus_cost_revise(&p.lineage, v[1]->producer, 50);
    cr_expect(exceeds(v[2], 59));
    release_all(v, 3);
}

/** Of two ways to a value one is added to, the other forgotten: so is what was added. */
Test(burden, forgets_all_where_it_begins_to)
{
    cebus_value *v[6] = {program_leaf(&p, 64)};
    v[1] = program_call(&p, 100, v[0], NULL);
    v[2] = program_call(&p, 10, v[0], NULL);
    v[3] = program_call(&p, 1, v[2], NULL);
    v[4] = program_call(&p, 1, v[2], v[1]);
    v[5] = program_call(&p, 1, v[3], v[4]);
    program_evict(&p, v[3]);
    program_evict(&p, v[4]);
    cr_expect_not(exceeds(v[5], 50));
    p.lineage.burdens.credit = 2;
    program_evict(&p, v[2]);
    program_evict(&p, v[1]);
    cr_expect(exceeds(v[5], 50));
    release_all(v, 6);
}

/** A row of values beside an absent chain: gradients of weights, of which each needs what is behind
 * those before. */
static void make_comb(cebus_value **chain, cebus_value **teeth, int n)
{
    chain[0] = program_leaf(&p, 64);
    for (int i = 0; i < n; i++) {
        chain[i + 1] = program_call(&p, 1, chain[i], NULL);
        teeth[i] = program_call(&p, 1, chain[i + 1], NULL);
    }
    for (int i = 1; i <= n; i++)
        program_evict(&p, chain[i]);
}

Test(burden, knows_what_a_walk_from_another_value_found)
{
    enum {
        N = 500
    };
    cebus_value *chain[N + 1], *teeth[N];
    make_comb(chain, teeth, N);
    cr_expect(exceeds(teeth[N - 1], 100));
    cr_expect(cebus_burden_exceeds(&p.lineage, teeth[N - 2], 100));
    cr_expect_leq(p.lineage.list.count, 3, "the walk ends at the chain");
    cr_expect(exceeds(teeth[N - 2], 100));
    p.lineage.list.count = 0;
    cr_expect(cebus_burden_exceeds(&p.lineage, teeth[N - 2], 100));
    cr_expect_not(cebus_burden_exceeds(&p.lineage, teeth[N - 2], 1000));
    cr_expect_gt(p.lineage.list.count, 0, "another question");
    p.lineage.list.count = 0;
    cr_expect_not(cebus_burden_exceeds(&p.lineage, teeth[N - 2], 1000));
    cr_expect_eq(p.lineage.list.count, 0, "asked before");
    for (int i = 0; i < N; i++) {
        cr_expect_eq(exceeds(teeth[i], 100), i + 2 > 100);
        cr_expect_eq(exceeds(teeth[i], 250), i + 2 > 250);
    }
    for (int i = 1; i <= N; i++) {
        program_return(&p, chain[i]);
        cr_expect_eq(exceeds(teeth[N - 1], 100), N - i + 1 > 100);
    }
    for (int i = 0; i < N; i++)
        program_release(&p, teeth[i]);
    release_all(chain, N + 1);
}

Test(burden, answers_by_what_it_met_without_host_memory)
{
    enum {
        N = 5000
    };
    program_deinit(&p);
    static cebus_test_host host; /* until the program is gone, after this function */
    cebus_test_host_init(&host);
    cebus_pool_init(&p.pool, &host.allocator);
    p.pool.direct = true;
    cebus_lineage_init(&p.lineage, &p.pool);
    static cebus_value *chain[N + 1], *teeth[N];
    make_comb(chain, teeth, N);
    cebus_test_host_starve(&host, true);
    cr_expect_not(cebus_burden_exceeds(&p.lineage, teeth[N - 1], N));
    cebus_test_host_starve(&host, false);
    cr_expect(exceeds(teeth[N - 1], N), "nothing wrong was remembered");
    for (int i = 0; i < N; i++)
        program_release(&p, teeth[i]);
    release_all(chain, N + 1);
}

/** Looks back, and holds what was found against a walk; answers the ns. */
static uint64_t look(const cebus_value *value, uint64_t ns)
{
    cebus_effort found = cebus_burden_behind(&p.lineage, value, ns),
                 other = cebus_replay_behind(&p.lineage, value, CEBUS_BURDEN_CALLS, ns);
    cr_assert_eq(found.ns > ns, other.ns > ns);
    if (found.ns <= ns) {
        cr_assert_eq(found.ns, other.ns);
        cr_assert_eq(found.bytes, other.bytes);
    }
    return found.ns;
}

Test(burden, looks_back_again_only_where_something_happened)
{
    enum {
        N = 50
    };
    cebus_value *chain[N + 1], *teeth[N];
    make_comb(chain, teeth, N);
    cr_expect_eq(look(teeth[9], UINT64_MAX), 11);
    cr_expect_eq(look(teeth[40], UINT64_MAX), 42);
    cr_expect_gt(look(teeth[40], 20), 20);
    program_return(&p, chain[20]);
    cr_expect_eq(teeth[9]->producer->burden.ns, 11, "chain[20] is not behind it");
    cr_expect_eq(teeth[40]->producer->burden.ns, 0, "forgotten");
    cr_expect_eq(look(teeth[40], UINT64_MAX), 22);
    program_evict(&p, chain[20]);
    cr_expect_eq(look(teeth[40], UINT64_MAX), 42);
    cebus_cost_revise(&p.lineage, chain[5]->producer, 4);
    cr_expect_eq(look(teeth[40], UINT64_MAX), 45);
    cr_expect_eq(look(teeth[40], 7), 45, "known to the end");
    cr_expect_eq(look(teeth[39], 7), 8, "met so far");
    cr_expect_eq(look(teeth[39], 9), 10, "more is wanted");
    for (int i = 0; i < N; i++)
        program_release(&p, teeth[i]);
    release_all(chain, N + 1);
}

Test(burden, looks_back_over_a_bounded_number_of_calls)
{
    enum {
        N = 2 * CEBUS_BURDEN_CALLS
    };
    static cebus_value *chain[N + 1], *teeth[N];
    make_comb(chain, teeth, N);
    cr_expect_eq(look(teeth[N - 1], UINT64_MAX), CEBUS_BURDEN_CALLS);
    program_return(&p, chain[5]);
    cr_expect_eq(look(teeth[N - 1], UINT64_MAX), CEBUS_BURDEN_CALLS);
    program_return(&p, chain[N - 5]);
    cr_expect_eq(look(teeth[N - 1], UINT64_MAX), 6);
    for (int i = 0; i < N; i++)
        program_release(&p, teeth[i]);
    release_all(chain, N + 1);
}

/* A random program: everything that happens to values and records, in any order. */

enum {
    SLOTS = 120,
    STEPS = 3000,
    MAX_IN = 3
};

static cebus_value *slots[SLOTS];
static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

static void empty(size_t k)
{
    if (slots[k] != NULL)
        program_release(&p, slots[k]);
    slots[k] = NULL;
}

/** A call that reads up to three of the values made shortly before, and makes one or two. */
static void make_call(size_t k)
{
    uint32_t n_in = 1 + (uint32_t)draw(MAX_IN), n_out = 1 + (uint32_t)draw(2);
    cebus_call *call = cebus_call_create(&p.lineage, "op", n_in, n_out, 0);
    call->cost_ns = draw(100);
    for (uint32_t i = 0; i < n_in; i++) {
        cebus_value *value = slots[(k + SLOTS - 1 - draw(6)) % SLOTS];
        if (value != NULL)
            cebus_call_read(call, i, value);
    }
    for (uint32_t j = 0; j < n_out; j++) {
        size_t at = (k + j) % SLOTS;
        empty(at);
        slots[at] = program_leaf(&p, 1 + draw(100));
        cebus_call_make(&p.lineage, call, j, slots[at]);
    }
    cebus_call_release(&p.lineage, call);
}

/** An absent value comes back as in the runtime, after what it is made of, or before. */
static void toggle(cebus_value *value)
{
    if (!value->resident)
        program_return(&p, value);
    else if (value->producer != NULL)
        program_evict(&p, value);
}

static void cut(cebus_value *value)
{
    cebus_value *held;
    cr_assert_eq(cebus_version_dependant(&p.lineage, value, &held), CEBUS_OK);
    if (held == NULL)
        cr_assert_eq(cebus_version_cut(&p.lineage, value), CEBUS_OK);
}

static void step(size_t at)
{
    size_t k = draw(SLOTS);
    cebus_value *value = slots[k];
    uint64_t what = draw(20);
    if (value == NULL || what < 3)
        make_call(at % SLOTS);
    else if (what < 14)
        toggle(value);
    else if (what < 15)
        cut(value);
    else if (what < 16 && value->producer != NULL)
        cebus_cost_wait(&p.lineage, value->producer, draw(50));
    else if (what < 18 && value->producer != NULL)
        cebus_cost_revise(&p.lineage, value->producer, draw(100));
    else if (what < 19 && value->resident)
        cebus_value_detach(&p.lineage, value);
    else
        empty(k);
}

Test(burden, answers_as_a_walk_would_whatever_happens)
{
    uint64_t yes = 0, no = 0, at_once = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        state = seed;
        for (size_t at = 0; at < STEPS; at++) {
            if (draw(2) == 0)
                p.lineage.burdens.credit = draw(6); /* some is added, then all is forgotten */
            step(at);
            uint64_t ns = draw(400);
            for (size_t k = draw(4); k < SLOTS; k += 1 + draw(4)) {
                if (slots[k] == NULL)
                    continue;
                p.lineage.list.count = 0;
                bool answer = cebus_burden_exceeds(&p.lineage, slots[k], ns);
                at_once += slots[k]->producer != NULL && p.lineage.list.count == 0;
                cr_assert_eq(answer, walked(slots[k], ns) > ns);
                look(slots[k], draw(3) == 0 ? ns : UINT64_MAX);
                yes += answer;
                no += !answer;
            }
        }
        for (size_t k = 0; k < SLOTS; k++)
            empty(k);
        cr_expect_eq(p.live, 0);
    }
    cr_expect_gt(yes, 10000);
    cr_expect_gt(no, 10000);
    cr_expect_gt(at_once, 10000, "bounds were enough for %d", (int)at_once);
}
