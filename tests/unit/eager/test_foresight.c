/** Rebuilds planned with what may follow, where rebuilding took several times the program's time.
 */
#include <criterion/criterion.h>

#include "eager/strain.h"
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

/** Forward through layers and back in several ways at once: their gradients wait for each other. A
 * third of the layers is made under another policy. */
static float go_there_and_back(cebus_runtime *rt)
{
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
    OK(cebus_runtime_check(rt));
    float result = at(g[WAYS - 1], 7);
    for (int way = 0; way < WAYS; way++)
        cebus_tensor_release(g[way]);
    return result;
}

/** In `maps` maps. */
static outcome there_and_back_after(uint64_t maps, const char *policy)
{
    cebus_runtime *rt = open_runtime(maps * MAP, policy, 0);
    rt->foresight.begun = strcmp(policy, "dtr") != 0;
    outcome out = {.result = go_there_and_back(rt)};
    out.calls = stats_of(rt).recomputes;
    out.steps = rt->foresight.steps;
    cebus_runtime_destroy(rt);
    return out;
}

static outcome there_and_back(uint64_t maps)
{
    return there_and_back_after(maps, "dtr");
}

/** In less memory rebuilds are planned, to the same bits in so many calls at most, each time the
 * same. */
static void expect_planned(const outcome *plenty, const outcome *less, const outcome *again,
                           uint64_t most_calls)
{
    cr_expect_eq(plenty->calls, 0);
    cr_expect_gt(less->steps, 0);
    cr_expect_leq(less->calls, most_calls);
    cr_expect_eq(less->result, plenty->result);
    cr_expect_eq(again->calls, less->calls);
    cr_expect_eq(again->steps, less->steps);
}

/** One after the other they would be 628738. */
Test(foresight, rebuilds_for_what_follows_too)
{
    outcome plenty = there_and_back(LAYERS + 2 * WAYS), less = there_and_back(7),
            again = there_and_back(7);
    expect_planned(&plenty, &less, &again, 16000);
}

/** What waits and a step of the forward fit. Were gradients to go, it would be over 5000, with
 * plans. */
Test(foresight, keeps_gradients_where_rebuilds_have_room)
{
    outcome plenty = there_and_back(LAYERS + 2 * WAYS), less = there_and_back(8);
    cr_expect_leq(less.calls, 2100);
    cr_expect_eq(less.steps, 0);
    cr_expect_eq(less.result, plenty.result);
}

static uint64_t calls_after_calm(bool marks)
{
    cebus_runtime *rt = open_runtime((LAYERS + 2 * WAYS) * MAP, "dtr", 0);
    float plenty = 0;
    for (int calm = 0; calm < 20; calm++) {
        plenty = go_there_and_back(rt);
        if (marks)
            OK(cebus_iteration_mark(rt));
    }
    cr_expect_eq(stats_of(rt).recomputes, 0);
    OK(cebus_runtime_set_budget(rt, 8 * MAP));
    cr_expect_eq(go_there_and_back(rt), plenty);
    uint64_t calls = stats_of(rt).recomputes;
    cebus_runtime_destroy(rt);
    return calls;
}

/** Were all calm passes to count, gradients would not stay: 6430. */
Test(foresight, feels_a_budget_that_falls)
{
    cr_expect_leq(calls_after_calm(false), 3400);
    cr_expect_leq(calls_after_calm(true), 3400);
}

/** What rebuilds take falls by what is done about it. */
Test(foresight, strain_holds_until_an_iteration_is_calm)
{
    cebus_runtime *rt = open_runtime(UINT64_C(8) * MAP, "dtr", 0);
    rt->stats.compute_ns = 100;
    rt->stats.recompute_ns = 90;
    cr_expect_not(cebus_strain_holds(rt));
    rt->stats.recompute_ns = 110;
    cr_expect(cebus_strain_holds(rt));
    rt->stats.compute_ns = 200;
    cr_expect_not(cebus_strain_exceeds(rt, 1, 1));
    cebus_strain_end(rt);
    cr_expect(cebus_strain_holds(rt), "more than half");
    rt->stats.compute_ns = 300;
    cebus_strain_end(rt);
    cr_expect_not(cebus_strain_holds(rt));
    cebus_runtime_destroy(rt);
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

enum {
    STEPS = 100,
    ROW = N / 4 /* elements of a leaf */
};

/** N elements in rows of ROW. */
static cebus_tensor *table(cebus_runtime *rt, float value)
{
    cebus_tensor *flat = leaf(rt, N, value), *out;
    OK(cebus_reshape(rt, flat, 2, (int64_t[]){N / ROW, ROW}, &out));
    cebus_tensor_release(flat);
    return out;
}

/** The gradients of one step: of its leaf, which stays, and of what came before. */
static void step_back(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *before, cebus_tensor *after,
                      cebus_tensor **g, cebus_tensor **gx)
{
    static const int dims[] = {0};
    cebus_tensor *through, *product;
    OK(cebus_mul(rt, *g, after, &through));
    cebus_tensor_release(*g);
    OK(cebus_mul(rt, through, before, &product));
    OK(cebus_sum(rt, product, 1, dims, false, gx));
    OK(cebus_mul(rt, through, x, g));
    cebus_tensor_release(product);
    cebus_tensor_release(through);
}

/** A recurrence there and back over a leaf of its own at each step. Their gradients stay to the
 * end, and nobody reads them; `maps`: of memory, beside the leaves. */
static outcome recur_under(uint64_t maps, const char *policy)
{
    cebus_runtime *rt = open_runtime(maps * MAP + STEPS * ROW * 4, policy, 0);
    cebus_tensor *x[STEPS], *h[STEPS + 1] = {table(rt, 0.75F)}, *gx[STEPS], *g, *product;
    for (int i = 0; i < STEPS; i++) {
        x[i] = leaf(rt, ROW, 0.5F + 0.125F * (float)(i % 3));
        OK(cebus_mul(rt, h[i], x[i], &product));
        OK(cebus_tanh(rt, product, &h[i + 1]));
        cebus_tensor_release(product);
    }
    OK(cebus_exp(rt, h[STEPS], &g));
    for (int i = STEPS - 1; i >= 0; i--) {
        step_back(rt, x[i], h[i], h[i + 1], &g, &gx[i]);
        cebus_tensor_release(h[i + 1]);
    }
    outcome out = {.calls = stats_of(rt).recomputes, .steps = rt->foresight.steps};
    OK(cebus_runtime_check(rt));
    out.result = at(g, 7);
    for (int i = 0; i < STEPS; i++) {
        cebus_tensor_release(gx[i]);
        cebus_tensor_release(x[i]);
    }
    cebus_tensor_release(h[0]);
    cebus_tensor_release(g);
    cebus_runtime_destroy(rt);
    return out;
}

static outcome recur(uint64_t maps)
{
    return recur_under(maps, "dtr");
}

/** Made again before the end, as if they were read there, it would be 4410. */
Test(foresight, forgets_gradients_that_nobody_reads)
{
    outcome plenty = recur(4 * STEPS), less = recur(12), again = recur(12);
    expect_planned(&plenty, &less, &again, 3300);
}

/** One that plans has no plan in its first iteration. */
Test(foresight, serves_policies_that_plan_until_they_do)
{
    outcome plenty = recur(4 * STEPS), less = recur_under(12, "cebus");
    cr_expect_gt(less.steps, 0);
    cr_expect_leq(less.calls, 3300);
    cr_expect_eq(less.result, plenty.result);
}
