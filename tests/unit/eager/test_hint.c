/** Hints: what goes first, how it comes back, and that nothing else depends on them. */
#include <criterion/criterion.h>

#include "program.h"

#define N 1024
#define BLOCK (N * sizeof(float))

TestSuite(hint);

static cebus_tensor *made(cebus_runtime *rt, cebus_tensor *x, cebus_hint hint)
{
    cebus_tensor *y;
    OK(cebus_hint_push(hint));
    OK(cebus_mul_scalar(rt, x, 2, &y));
    OK(cebus_hint_pop());
    cr_expect_eq(cebus_tensor_hint(y), hint);
    return y;
}

/** Of two equal values one is dressed with `hint`, the older or the younger; which is left when
 * there is room for one. */
static bool survives(const char *policy, cebus_hint hint, bool older)
{
    cebus_runtime *rt = open_runtime(4 * BLOCK, policy, CEBUS_DEBUG_WALK);
    cebus_tensor *x = leaf(rt, N, 3);
    cebus_tensor *a = made(rt, x, older ? hint : CEBUS_HINT_NONE);
    cebus_tensor *b = made(rt, x, older ? CEBUS_HINT_NONE : hint), *c, *d;
    OK(cebus_mul_scalar(rt, x, 5, &c));
    OK(cebus_mul_scalar(rt, x, 7, &d));
    bool left = cebus_tensor_is_resident(older ? a : b);
    cr_expect_eq(at(a, 0), 6);
    cr_expect_eq(at(b, 5), 6);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(c);
    cebus_tensor_release(d);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
    return left;
}

Test(hint, moves_what_goes_first)
{
    static const char *const policies[] = {"coop", "dtr", "lru", "dte"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        cr_expect_not(survives(policies[i], CEBUS_HINT_NONE, true), "the older goes");
        cr_expect(survives(policies[i], CEBUS_HINT_MUST_SAVE, true), "%s", policies[i]);
        cr_expect(survives(policies[i], CEBUS_HINT_PREFER_SAVE, true), "%s", policies[i]);
        cr_expect(survives(policies[i], CEBUS_HINT_NONE, false), "the younger stays");
        cr_expect_not(survives(policies[i], CEBUS_HINT_PREFER_RECOMPUTE, false), "%s", policies[i]);
    }
}

Test(hint, never_makes_a_call_fail)
{
    cebus_runtime *rt = open_runtime(3 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 1), *kept[8];
    for (int i = 0; i < 8; i++)
        kept[i] = made(rt, x, CEBUS_HINT_MUST_SAVE);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(at(kept[i], i), 2);
    cr_expect_gt(stats_of(rt).evictions, 0);
    for (int i = 0; i < 8; i++)
        cebus_tensor_release(kept[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(hint, must_recompute_goes_as_soon_as_only_the_graph_holds_it)
{
    cebus_runtime *rt = open_runtime(64 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    cebus_tensor *x = leaf(rt, N, 3), *y, *z, *sum, *grad;
    OK(cebus_tensor_set_requires_grad(x, true));
    y = made(rt, x, CEBUS_HINT_MUST_RECOMPUTE);
    OK(cebus_mul(rt, y, y, &z));
    cr_expect(cebus_tensor_is_resident(y), "the program has it in hand");
    uint64_t used = cebus_memory_allocated(rt);
    cebus_tensor_release(y);
    cr_expect_eq(cebus_memory_allocated(rt), used - BLOCK);
    OK(cebus_sum(rt, z, 0, NULL, false, &sum));
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(stats_of(rt).recomputes, 1);
    OK(cebus_tensor_grad(x, &grad));
    cr_expect_eq(at(grad, 0), 24);
    cebus_tensor_release(grad);
    cebus_tensor_release(sum);
    cebus_tensor_release(z);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** How the only value that can go left: dropped, or swapped out. A call takes less than half of
 * memory, so that either may be. */
static uint64_t swaps_with(cebus_hint hint)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = 5 * BLOCK;
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.swap = CEBUS_SWAP_ON;
    OK(cebus_runtime_create(&options, &rt));
    cebus_tensor *x = leaf(rt, N, 1), *rest = leaf(rt, 2 * N, 1), *y, *z;
    OK(cebus_tensor_set_persistent(x));
    OK(cebus_tensor_set_persistent(rest));
    y = made(rt, x, hint);
    cebus_tensor *more;
    OK(cebus_mul_scalar(rt, x, 3, &z));
    OK(cebus_mul_scalar(rt, x, 4, &more));
    uint64_t swaps = stats_of(rt).swap_outs;
    cr_expect_eq(at(y, 0), 2);
    cebus_tensor_release(rest);
    cebus_tensor_release(more);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
    return swaps;
}

Test(hint, chooses_between_copying_and_making_again)
{
    cr_expect_eq(swaps_with(CEBUS_HINT_MUST_CPU_OFFLOAD), 1);
    cr_expect_eq(swaps_with(CEBUS_HINT_PREFER_CPU_OFFLOAD), 1);
    cr_expect_eq(swaps_with(CEBUS_HINT_MUST_RECOMPUTE), 0);
    cr_expect_eq(swaps_with(CEBUS_HINT_PREFER_RECOMPUTE), 0);
}

Test(hint, scopes_nest_and_are_checked)
{
    cr_expect_eq(cebus_hint_current(), CEBUS_HINT_NONE);
    OK(cebus_hint_push(CEBUS_HINT_PREFER_SAVE));
    OK(cebus_hint_push(CEBUS_HINT_NONE));
    cr_expect_eq(cebus_hint_current(), CEBUS_HINT_NONE);
    OK(cebus_hint_pop());
    cr_expect_eq(cebus_hint_current(), CEBUS_HINT_PREFER_SAVE);
    OK(cebus_hint_pop());
    FAILS(CEBUS_INVALID_ARGUMENT, "in no scope", cebus_hint_pop());
    FAILS(CEBUS_INVALID_ARGUMENT, "is no hint", cebus_hint_push(CEBUS_HINT_COUNT));
    for (int i = 0; i < 64; i++)
        OK(cebus_hint_push(CEBUS_HINT_MUST_SAVE));
    FAILS(CEBUS_INVALID_ARGUMENT, "64 scopes", cebus_hint_push(CEBUS_HINT_MUST_SAVE));
    for (int i = 0; i < 64; i++)
        OK(cebus_hint_pop());
    cebus_runtime *rt = open_runtime(64 * BLOCK, "coop", 0);
    cebus_tensor *x = leaf(rt, N, 1), *y;
    OK(cebus_mul_scalar(rt, x, 2, &y));
    OK(cebus_tensor_set_hint(y, CEBUS_HINT_MUST_SAVE));
    OK(cebus_add_scalar_(rt, y, 1));
    cr_expect_eq(cebus_tensor_hint(y), CEBUS_HINT_MUST_SAVE, "a write keeps it");
    FAILS(CEBUS_INVALID_ARGUMENT, "is no hint", cebus_tensor_set_hint(y, (cebus_hint)99));
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_tensor_set_hint(NULL, CEBUS_HINT_NONE));
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}
