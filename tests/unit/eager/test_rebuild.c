/** What is rebuilt in memory that one pass over its list does not fit. */
#include <criterion/criterion.h>

#include "eager/ladder.h"
#include "eager/rebuild/behind.h"
#include "eager/rebuild/plan.h"
#include "eager/residency.h"
#include "eager/tensor.h"
#include "program.h"

TestSuite(rebuild);

enum {
    N = 1 << 15,
    LAYERS = 64,
    LONG_WAY = 100,
    KEPT = 6,
    MAP = N * 4,
    DEAR = 6
};

/** Forward through layers and back, where each is read once more: whoever makes the last one again
 * in one pass holds them all. What it holds in the end is the first maps that are kept, and the
 * last one. */
static cebus_tensor *there_and_back(cebus_runtime *rt, cebus_tensor *first, int layers,
                                    cebus_tensor **kept, int n_kept)
{
    cebus_tensor *x[LONG_WAY + 1], *g, *next;
    x[0] = cebus_tensor_retain(first);
    for (int i = 0; i < layers; i++)
        OK(cebus_tanh(rt, x[i], &x[i + 1]));
    OK(cebus_exp(rt, x[layers], &g));
    for (int i = layers; i >= 0; i--) {
        OK(cebus_mul(rt, g, x[i], &next));
        cebus_tensor_release(g);
        if (i > 0 && i <= n_kept)
            kept[i - 1] = x[i];
        else
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
    cebus_tensor *first = leaf(rt, N, 0.75F), *g = there_and_back(rt, first, LAYERS, NULL, 0);
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

/** A way that has too little room is not gone half: with that it would be 265 and 2707 calls. */
Test(rebuild, begins_nothing_that_does_not_fit)
{
    float plenty, less;
    calls_to_read_in(128, &plenty);
    cr_expect_leq(calls_to_read_in(32, &less), 240);
    cr_expect_eq(less, plenty);
    cr_expect_leq(calls_to_read_in(5, &less), 1000);
    cr_expect_eq(less, plenty);
}

/** The maps that are there are read last. A plan that keeps them has room for two more, and none is
 * found: calls that wait for their inputs would be 1058. */
Test(rebuild, keeps_nothing_that_the_plan_has_no_room_for)
{
    cebus_runtime *rt = open_runtime(UINT64_C(512) * MAP, "dtr", 0);
    cebus_tensor *first = leaf(rt, N, 0.75F), *kept[KEPT];
    cebus_tensor *g = there_and_back(rt, first, LONG_WAY, kept, KEPT);
    float wanted = at(g, 7);
    OK(cebus_runtime_set_budget(rt, UINT64_C(2) * MAP));
    cebus_tensor *other = vector(rt, N, 1);
    cebus_tensor_release(other);
    OK(cebus_runtime_set_budget(rt, UINT64_C(8) * MAP));
    for (int i = 0; i < KEPT; i++) {
        (void)at(kept[i], 7);
        cr_assert(cebus_tensor_is_resident(kept[i]));
    }
    cr_assert_not(cebus_tensor_is_resident(g));
    uint64_t before = stats_of(rt).recomputes;
    cr_expect_eq(at(g, 7), wanted);
    cr_expect_leq(stats_of(rt).recomputes - before, 800);
    OK(cebus_runtime_check(rt));
    for (int i = 0; i < KEPT; i++)
        cebus_tensor_release(kept[i]);
    cebus_tensor_release(first);
    cebus_tensor_release(g);
    cebus_runtime_destroy(rt);
}

static cebus_runtime *open_swapping(void)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = UINT64_C(16) * MAP;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_ON;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

/** With swaps a leaf may go, too, but not by being dropped. */
Test(rebuild, drops_nothing_that_it_cannot_make_again)
{
    cebus_runtime *rt = open_swapping();
    cebus_tensor *first = leaf(rt, N, 0.75F), *near, *far;
    OK(cebus_tanh(rt, first, &near));
    OK(cebus_exp(rt, near, &far));
    float wanted = at(far, 7);
    cebus_rebuild_drop(rt, far->storage->now);
    cr_assert(cebus_ladder_may_go(rt, first->storage->now));
    cr_expect_eq(cebus_behind_drop(rt, &far->storage->now->value), 1);
    cr_expect(cebus_tensor_is_resident(first));
    cr_expect_not(cebus_tensor_is_resident(near));
    cr_expect_eq(at(far, 7), wanted);
    OK(cebus_runtime_check(rt));
    cebus_tensor_release(first);
    cebus_tensor_release(near);
    cebus_tensor_release(far);
    cebus_runtime_destroy(rt);
}

/** So may a gradient, and what this try is too sparing to make again. */
Test(rebuild, drops_nothing_that_may_only_be_copied)
{
    cebus_runtime *rt = open_swapping();
    cebus_tensor *first = leaf(rt, N, 0.75F), *near, *far;
    OK(cebus_tanh(rt, first, &near));
    OK(cebus_exp(rt, near, &far));
    cebus_candidate *behind = near->storage->now;
    cebus_rebuild_drop(rt, far->storage->now);
    behind->gradient = true;
    cr_assert(cebus_ladder_may_go(rt, behind));
    cr_expect_eq(cebus_behind_drop(rt, &far->storage->now->value), 0);
    behind->gradient = false;
    rt->rebuild_limit.ns = 1;
    cr_assert(cebus_ladder_may_go(rt, behind));
    cr_expect_eq(cebus_behind_drop(rt, &far->storage->now->value), 0);
    rt->rebuild_limit.ns = 0;
    cr_expect_eq(cebus_behind_drop(rt, &far->storage->now->value), 1);
    cebus_tensor_release(first);
    cebus_tensor_release(near);
    cebus_tensor_release(far);
    cebus_runtime_destroy(rt);
}

/** What `later` is made of loses its last holder: does reading `later` run one call, or all?
 */
static uint64_t calls_to_read_later(bool absent)
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
    cebus_tensor_release(dear);
    cr_expect_eq(stats_of(rt).eager_drops - drops, !absent);
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

/** Held or not, what an absent value is made of is what that costs. */
Test(rebuild, keeps_what_an_absent_value_is_made_of)
{
    cr_expect_eq(calls_to_read_later(true), 2);
    cr_expect_eq(calls_to_read_later(false), 0);
}

/** True if what loses its last holder, and stays for an absent value of `n` elements, is as old as
 * that from then on. It was read a moment ago. */
static bool grows_old_for(int64_t n)
{
    cebus_runtime *rt = open_runtime(UINT64_C(13) * MAP / 4, "dtr", 0);
    cebus_tensor *x = leaf(rt, N, 0.5F), *y, *part, *later, *other;
    OK(cebus_tanh(rt, x, &y));
    OK(cebus_slice(rt, y, 0, 0, n, 1, &part));
    OK(cebus_add_scalar(rt, part, 1, &later));
    cebus_tensor_release(part);
    uint64_t age = later->storage->now->block->tick;
    OK(cebus_exp(rt, y, &other));
    cr_assert_not(cebus_tensor_is_resident(later));
    cebus_candidate *kept = y->storage->now;
    uint64_t used = kept->block->tick;
    cr_assert_gt(used, age);
    cebus_tensor_release(y);
    cr_assert_not_null(kept->block);
    cr_expect(kept->block->tick == age || kept->block->tick == used);
    bool old = kept->block->tick == age;
    cebus_tensor *const held[] = {x, later, other};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        cebus_tensor_release(held[i]);
    cebus_runtime_destroy(rt);
    return old;
}

/** It is read again when that is. */
Test(rebuild, what_stays_for_less_is_as_old)
{
    cr_expect(grows_old_for(N / 2));
    cr_expect_not(grows_old_for(N));
}

static void fill(cebus_runtime *rt, int maps)
{
    cebus_tensor *all[8];
    for (int i = 0; i < maps; i++)
        all[i] = vector(rt, N, i);
    for (int i = 0; i < maps; i++)
        cebus_tensor_release(all[i]);
}

/** A backward has read the second of two maps and parked it. Then it lets go of the first: what is
 * made of that is absent, but nobody is going to read it. */
Test(rebuild, keeps_nothing_for_a_backward_that_is_done)
{
    cebus_runtime *rt = open_runtime(UINT64_C(6) * MAP, "dtr", 0);
    fill(rt, 7);
    cr_assert_gt(stats_of(rt).forced_evictions, 0);
    cebus_tensor *x = variable(rt, N, 0.5F), *y, *z, *sum;
    OK(cebus_exp(rt, x, &y));
    OK(cebus_tanh(rt, y, &z));
    OK(cebus_sum(rt, z, 0, NULL, false, &sum));
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    OK(cebus_backward(rt, sum, NULL, false));
    OK(cebus_runtime_check(rt));
    cr_expect(cebus_tensor_is_resident(sum));
    cr_expect_lt(stats_of(rt).allocated_bytes_current, UINT64_C(3) * MAP, "x, its gradient, sum");
    cebus_tensor_release(sum);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** What a step of a sequence makes is as small beside the sequence as a sum of it; but the steps
 * together are as large as what they read. */
Test(rebuild, steps_of_a_sequence_are_no_digests)
{
    cebus_runtime *rt = open_runtime(UINT64_C(4) * MAP, "dtr", 0);
    cebus_tensor *x = leaf(rt, N, 0.5F), *all, *part, *step, *sum;
    OK(cebus_exp(rt, x, &all));
    OK(cebus_slice(rt, all, 0, 0, N / 64, 1, &part));
    OK(cebus_exp(rt, part, &step));
    OK(cebus_sum(rt, all, 0, NULL, false, &sum));
    cr_expect_not(step->storage->now->value.digest);
    cr_expect(sum->storage->now->value.digest);
    cebus_tensor *const made[] = {x, all, part, step, sum};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        cebus_tensor_release(made[i]);
    cebus_runtime_destroy(rt);
}

/** Forward through blocks that are added to their inputs, and back. Calls are too short for a plan,
 * and one pass over all of them does not fit. */
static cebus_tensor *through_blocks(cebus_runtime *rt, cebus_tensor *first)
{
    enum {
        BLOCKS = 16,
        DEPTH = 3
    };
    cebus_tensor *x[BLOCKS + 1], *inner, *next, *g;
    x[0] = cebus_tensor_retain(first);
    for (int i = 0; i < BLOCKS; i++) {
        inner = cebus_tensor_retain(x[i]);
        for (int k = 0; k < DEPTH; k++) {
            OK(cebus_tanh(rt, inner, &next));
            cebus_tensor_release(inner);
            inner = next;
        }
        OK(cebus_add(rt, inner, x[i], &x[i + 1]));
        cebus_tensor_release(inner);
    }
    OK(cebus_exp(rt, x[BLOCKS], &g));
    for (int i = BLOCKS; i >= 0; i--) {
        OK(cebus_mul(rt, g, x[i], &next));
        cebus_tensor_release(g);
        cebus_tensor_release(x[i]);
        g = next;
    }
    return g;
}

/** A block's input, two maps within it, the gradient, and the first map. What a block made waits
 * for no input that would have to be made again, which would wait for the one before it. */
Test(rebuild, blocks_take_no_more_room_where_there_are_more_of_them)
{
    const int64_t n = 1024;
    cebus_runtime *rt = open_runtime(UINT64_C(256) * 4096, "dtr", CEBUS_DEBUG_HASH);
    cebus_tensor *first = leaf(rt, n, 0.3F), *g = through_blocks(rt, first);
    float wanted = at(g, 7);
    OK(cebus_runtime_trim(rt));
    OK(cebus_runtime_set_budget(rt, UINT64_C(5) * 4096));
    cr_expect_eq(at(g, 7), wanted);
    OK(cebus_runtime_check(rt));
    cebus_tensor_release(first);
    cebus_tensor_release(g);
    cebus_runtime_destroy(rt);
}

enum {
    STEPS = 16
};

static void read_all(cebus_runtime *rt, cebus_tensor *const *parts)
{
    cebus_tensor *all;
    OK(cebus_cat(rt, parts, STEPS, 0, &all));
    cebus_tensor_release(all);
}

static void hold_all(cebus_runtime *rt, cebus_tensor *const *parts)
{
    OK(cebus_residency_hold(rt, parts, STEPS));
    cebus_residency_unhold(rt, parts, STEPS);
}

/** A long way leaves something small at each step, all of which went: how many calls run until all
 * of it is there, what was made last first. */
static uint64_t calls_for_all(void (*bring)(cebus_runtime *, cebus_tensor *const *))
{
    cebus_runtime *rt = open_runtime(UINT64_C(256) * MAP, "dtr", 0);
    cebus_tensor *first = leaf(rt, N, 0.75F), *x = cebus_tensor_retain(first), *next, *part;
    cebus_tensor *parts[STEPS];
    for (int i = 0; i < STEPS; i++) {
        OK(cebus_tanh(rt, x, &next));
        cebus_tensor_release(x);
        x = next;
        OK(cebus_slice(rt, x, 0, 0, N / 64, 1, &part));
        OK(cebus_exp(rt, part, &parts[STEPS - 1 - i]));
        cebus_tensor_release(part);
    }
    cebus_tensor_release(x);
    float wanted = at(parts[0], 7);
    OK(cebus_runtime_set_budget(rt, UINT64_C(2) * MAP));
    cebus_tensor *other = vector(rt, N, 1);
    cebus_tensor_release(other);
    OK(cebus_runtime_set_budget(rt, UINT64_C(4) * MAP));
    for (int i = 0; i < STEPS; i++)
        cr_assert_not(cebus_tensor_is_resident(parts[i]));
    uint64_t before = stats_of(rt).recomputes;
    bring(rt, parts);
    uint64_t calls = stats_of(rt).recomputes - before;
    OK(cebus_runtime_check(rt));
    cr_expect_eq(at(parts[0], 7), wanted);
    for (int i = 0; i < STEPS; i++)
        cebus_tensor_release(parts[i]);
    cebus_tensor_release(first);
    cebus_runtime_destroy(rt);
    return calls;
}

/** One after the other, each would need most of the way again: 82. */
Test(rebuild, goes_a_way_once_for_all_that_is_wanted)
{
    cr_expect_leq(calls_for_all(read_all), 2 * STEPS);
    cr_expect_leq(calls_for_all(hold_all), 2 * STEPS);
}

/** That many calls from `first`, none of which holds what is in between. */
static cebus_tensor *go_far(cebus_runtime *rt, cebus_tensor *first, int calls)
{
    cebus_tensor *far = cebus_tensor_retain(first), *next;
    for (int i = 0; i < calls; i++) {
        OK(cebus_tanh(rt, far, &next));
        cebus_tensor_release(far);
        far = next;
    }
    return far;
}

/** One call has to be made again, and all that may go for it takes two hundred. */
Test(rebuild, gives_up_one_dear_value_rather_than_all)
{
    cebus_runtime *rt = open_runtime(UINT64_C(9) * MAP, "dtr", 0);
    cebus_tensor *first = leaf(rt, N, 0.5F), *near, *dear[DEAR];
    OK(cebus_exp(rt, first, &near));
    float wanted = at(near, 3);
    for (int i = 0; i < DEAR; i++)
        dear[i] = go_far(rt, first, 200);
    cebus_tensor *other = leaf(rt, N, 1), *another = leaf(rt, N, 2);
    cr_assert_not(cebus_tensor_is_resident(near));
    cr_expect_eq(at(near, 3), wanted);
    int left = 0;
    for (int i = 0; i < DEAR; i++)
        left += cebus_tensor_is_resident(dear[i]);
    cr_expect_eq(left, DEAR - 1);
    OK(cebus_runtime_check(rt));
    for (int i = 0; i < DEAR; i++)
        cebus_tensor_release(dear[i]);
    cebus_tensor_release(other);
    cebus_tensor_release(another);
    cebus_tensor_release(near);
    cebus_tensor_release(first);
    cebus_runtime_destroy(rt);
}
