/** Rebuilds planned with what may follow, where rebuilding took several times the program's time.
 */
#include <criterion/criterion.h>

#include "eager/tensor.h"
#include "program.h"

TestSuite(foresight);

enum {
    N = 1 << 12,
    MAP = N * 4,
    LAYERS = 150,
    WAYS = 4
};

typedef struct outcome {
    uint64_t calls, steps; /* run again; of plans */
    float result;
} outcome;

/** Forward through layers and back in several ways at once, in `maps` maps: their gradients wait
 * for each other. A third of the layers is made under another policy. */
static outcome there_and_back_after(uint64_t maps, const char *policy)
{
    cebus_runtime *rt = open_runtime(maps * MAP, policy, 0);
    rt->foresight.begun = strcmp(policy, "dtr") != 0;
    cebus_tensor *x[LAYERS + 1], *g[WAYS], *next;
    x[0] = leaf(rt, N, 0.75F);
    for (int i = 0; i < LAYERS; i++) {
        if (i == LAYERS / 3)
            OK(cebus_runtime_set_policy(rt, "dtr"));
        OK(cebus_tanh(rt, x[i], &x[i + 1]));
    }
    for (int way = 0; way < WAYS; way++)
        OK(cebus_exp(rt, x[LAYERS], &g[way]));
    for (int i = LAYERS; i >= 0; i--) {
        for (int way = 0; way < WAYS; way++) {
            OK(cebus_mul(rt, g[way], x[i], &next));
            cebus_tensor_release(g[way]);
            OK(cebus_add_scalar(rt, next, 0.5, &g[way]));
            cebus_tensor_release(next);
        }
        cebus_tensor_release(x[i]);
    }
    outcome out = {.calls = stats_of(rt).recomputes, .steps = rt->foresight.steps};
    OK(cebus_runtime_check(rt));
    out.result = at(g[WAYS - 1], 7);
    for (int way = 0; way < WAYS; way++)
        cebus_tensor_release(g[way]);
    cebus_runtime_destroy(rt);
    return out;
}

static outcome there_and_back(uint64_t maps)
{
    return there_and_back_after(maps, "dtr");
}

/** One after the other they would be 6430: more than four times the program. */
Test(foresight, rebuilds_for_what_follows_too)
{
    outcome plenty = there_and_back(LAYERS + 2 * WAYS), less = there_and_back(8),
            again = there_and_back(8);
    cr_expect_eq(plenty.calls, 0);
    cr_expect_gt(less.steps, 0);
    cr_expect_leq(less.calls, 5800);
    cr_expect_eq(less.result, plenty.result);
    cr_expect_eq(again.calls, less.calls);
    cr_expect_eq(again.steps, less.steps);
}

Test(foresight, leaves_alone_what_takes_less)
{
    outcome out = there_and_back(9);
    cr_expect_gt(out.calls, LAYERS);
    cr_expect_eq(out.steps, 0);
}

/** What the former policy copied to the host is there for the plans of a policy that drops. */
Test(foresight, finds_copies_of_a_policy_before)
{
    outcome plenty = there_and_back(LAYERS + 2 * WAYS), less = there_and_back_after(8, "odswap");
    cr_expect_gt(less.steps, 0);
    cr_expect_eq(less.result, plenty.result);
}
