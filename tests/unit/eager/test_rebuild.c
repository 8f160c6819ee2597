/** What is rebuilt in memory that one pass over its list does not fit. */
#include <criterion/criterion.h>

#include "eager/runtime.h"
#include "program.h"

TestSuite(rebuild);

enum {
    N = 1 << 15,
    LAYERS = 64,
    MAP = N * 4
};

/** Forward through layers and back, where each is read once more: whoever makes the last one again
 * in one pass holds them all. What it holds in the end is the first map and the last one. */
static cebus_tensor *there_and_back(cebus_runtime *rt, cebus_tensor *first)
{
    cebus_tensor *x[LAYERS + 1], *g, *next;
    x[0] = cebus_tensor_retain(first);
    for (int i = 0; i < LAYERS; i++)
        OK(cebus_tanh(rt, x[i], &x[i + 1]));
    OK(cebus_exp(rt, x[LAYERS], &g));
    for (int i = LAYERS; i >= 0; i--) {
        OK(cebus_mul(rt, g, x[i], &next));
        cebus_tensor_release(g);
        cebus_tensor_release(x[i]);
        OK(cebus_add_scalar(rt, next, 0.5, &g));
        cebus_tensor_release(next);
    }
    return g;
}

/** Made in plenty, dropped, read again in `maps` maps: how many calls run for that. */
static uint64_t calls_to_read_in(uint64_t maps, float *out)
{
    cebus_runtime *rt = open_runtime(UINT64_C(256) * MAP, "dtr", 0);
    cebus_tensor *first = leaf(rt, N, 0.75F), *g = there_and_back(rt, first);
    float wanted = at(g, 7);
    OK(cebus_runtime_set_budget(rt, UINT64_C(2) * MAP)); /* g and its input do not fit */
    cebus_tensor *other = vector(rt, N, 1);
    OK(cebus_runtime_set_budget(rt, maps * MAP));
    cr_assert_not(cebus_tensor_is_resident(g));
    uint64_t before = stats_of(rt).recomputes;
    *out = at(g, 7);
    cr_expect_eq(*out, wanted);
    uint64_t calls = stats_of(rt).recomputes - before;
    OK(cebus_runtime_check(rt));
    cebus_tensor_release(other);
    cebus_tensor_release(first);
    cebus_tensor_release(g);
    cebus_runtime_destroy(rt);
    return calls;
}

/** The whole way is some two hundred calls. Calls that wait for their inputs would run 267, 402 and
 * 580. */
Test(rebuild, goes_a_long_way_in_short_memory)
{
    float plenty, less;
    uint64_t all = calls_to_read_in(128, &plenty);
    cr_expect_geq(all, 2 * LAYERS);
    cr_expect_leq(calls_to_read_in(32, &less), 3 * all / 2);
    cr_expect_eq(less, plenty);
    cr_expect_leq(calls_to_read_in(12, &less), 7 * all / 4);
    cr_expect_eq(less, plenty);
    cr_expect_leq(calls_to_read_in(8, &less), 9 * all / 4);
    cr_expect_eq(less, plenty);
}

/** What `later` is made of loses its last holder: does reading `later` run one call, or all?
 * `strained`: rebuilding is a large part of what ran. */
static uint64_t calls_to_read_later(bool absent, bool strained)
{
    cebus_runtime *rt = open_runtime(UINT64_C(4) * MAP, "dtr", 0);
    cebus_tensor *first = leaf(rt, N, 0.5F), *dear = cebus_tensor_retain(first), *next, *later;
    for (int i = 0; i < 8; i++) {
        OK(cebus_tanh(rt, dear, &next));
        cebus_tensor_release(dear);
        dear = next;
    }
    OK(cebus_add_scalar(rt, dear, 1, &next));
    OK(cebus_add_scalar(rt, next, 1, &later)); /* by way of a version that nobody holds */
    float wanted = at(later, 3);
    cebus_tensor_release(next);
    cebus_tensor *other = NULL, *another = NULL;
    if (absent) { /* the cheaper goes, not the dear */
        OK(cebus_exp(rt, dear, &other));
        OK(cebus_exp(rt, other, &another));
    }
    cr_assert_eq(cebus_tensor_is_resident(later), !absent);
    uint64_t drops = stats_of(rt).eager_drops;
    rt->stats.recompute_ns = strained ? rt->stats.compute_ns : 0;
    cebus_tensor_release(dear);
    cr_expect_eq(stats_of(rt).eager_drops - drops, !(absent && strained));
    cebus_tensor_release(other);
    cebus_tensor_release(another);
    uint64_t before = stats_of(rt).recomputes;
    cr_expect_eq(at(later, 3), wanted);
    uint64_t calls = stats_of(rt).recomputes - before;
    OK(cebus_runtime_check(rt));
    cr_expect_eq(stats_of(rt).allocated_bytes_current, UINT64_C(2) * MAP); /* dear is gone */
    cebus_tensor_release(later);
    cebus_tensor_release(first);
    cebus_runtime_destroy(rt);
    return calls;
}

/** Held or not, what an absent value is made of is what that costs, once that tells. */
Test(rebuild, keeps_what_an_absent_value_is_made_of)
{
    cr_expect_eq(calls_to_read_later(true, true), 2);
    cr_expect_eq(calls_to_read_later(true, false), 10);
    cr_expect_eq(calls_to_read_later(false, true), 0);
}
