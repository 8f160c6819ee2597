#include <criterion/criterion.h>

#include "suite.h"

TestSuite(cost, .init = setup, .fini = teardown);

/** leaf -> v[0] -> v[1] ..., v[i] costing 10^i. */
static void make_chain(cebus_value **v, int n)
{
    cebus_value *before = program_leaf(&p, 64), *leaf = before;
    uint64_t cost = 1;
    for (int i = 0; i < n; i++, cost *= 10)
        before = v[i] = program_call(&p, cost, before, NULL);
    program_release(&p, leaf);
}

static void release_all(cebus_value **v, int n)
{
    for (int i = 0; i < n; i++)
        program_release(&p, v[i]);
    cr_expect_eq(p.live, 0);
}

Test(cost, is_the_own_run_when_all_around_is_there)
{
    cebus_value *v[3];
    make_chain(v, 3);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[1]), 10);
    release_all(v, 3);
}

Test(cost, adds_absent_ancestors_and_consumers)
{
    cebus_value *v[5];
    make_chain(v, 5);
    program_evict(&p, v[1]);
    program_evict(&p, v[3]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[2]), 100 + 10 + 1000);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[0]), 1 + 10);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[4]), 10000 + 1000);
    release_all(v, 5);
}

Test(cost, counts_a_class_once)
{
    cebus_value *v[4];
    make_chain(v, 4);
    cebus_value *join = program_call(&p, 7, v[1], v[2]);
    program_evict(&p, v[1]);
    program_evict(&p, v[2]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, join), 7 + 110, "one class of two members");
    program_release(&p, join);
    release_all(v, 4);
}

Test(cost, forgets_what_came_back)
{
    cebus_value *v[5];
    make_chain(v, 5);
    for (int i = 1; i < 4; i++)
        program_evict(&p, v[i]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[4]), 10000 + 1110);
    program_return(&p, v[2]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[4]), 10000 + 1010, "splits are not undone");
    program_return(&p, v[1]);
    program_return(&p, v[3]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[4]), 10000);
    program_evict(&p, v[3]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[4]), 11000, "a fresh class, no stale root");
    release_all(v, 5);
}

Test(cost, charges_one_run_for_all_outputs_of_a_call)
{
    cebus_value *leaf = program_leaf(&p, 64),
                *out[2] = {program_leaf(&p, 64), program_leaf(&p, 64)};
    cebus_call *call = cebus_call_create(&p.lineage, "op", 1, 2, 0);
    call->cost_ns = 50;
    cebus_call_read(call, 0, leaf);
    cebus_call_make(&p.lineage, call, 0, out[0]);
    cebus_call_make(&p.lineage, call, 1, out[1]);
    cebus_call_release(&p.lineage, call);
    cebus_value *reader = program_call(&p, 5, out[0], out[1]);
    program_evict(&p, out[0]);
    program_evict(&p, out[1]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, reader), 55);
    program_release(&p, reader);
    program_release(&p, out[0]);
    program_release(&p, out[1]);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 0);
}

Test(cost, survives_the_death_of_an_absent_value)
{
    cebus_value *v[4];
    make_chain(v, 4);
    program_evict(&p, v[3]);
    program_evict(&p, v[2]);
    program_release(&p, v[3]);
    cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[1]), 10 + 100);
    release_all(v, 3);
}

/** The truth for one resident value, by flooding the absent region around it. */
static uint64_t flood(cebus_value **all, int n, cebus_value *from, bool *seen)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        cebus_value *other = all[i];
        bool touches = false;
        for (uint32_t k = 0; k < 2; k++) {
            touches |= from->producer->in[k].value == other;
            touches |= other->producer->in[k].value == from;
        }
        if (!touches || other->resident || seen[i])
            continue;
        seen[i] = true;
        sum += other->producer->cost_ns + flood(all, n, other, seen);
    }
    return sum;
}

Test(cost, equals_the_flooded_region_while_nothing_came_back)
{
    enum {
        N = 60
    };
    uint64_t state = 42;
    cebus_value *v[N], *leaf = program_leaf(&p, 64);
    for (int i = 0; i < N; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        cebus_value *a = i > 0 ? v[(state >> 33) % (uint64_t)i] : leaf;
        cebus_value *b = i > 0 ? v[(state >> 45) % (uint64_t)i] : NULL;
        v[i] = program_call(&p, 1 + (state >> 40) % 100, a, b);
    }
    for (int i = 0; i < N; i += 2)
        program_evict(&p, v[(i * 7) % N]);
    for (int i = 0; i < N; i++) {
        bool seen[N] = {false};
        if (v[i]->resident)
            cr_expect_eq(cebus_cost_neighbourhood(&p.lineage, v[i]),
                         v[i]->producer->cost_ns + flood(v, N, v[i], seen), "value %d", i);
    }
    for (int i = 0; i < N; i++)
        program_release(&p, v[i]);
    program_release(&p, leaf);
    cr_expect_eq(p.live, 0);
}
