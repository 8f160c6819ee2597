#include <criterion/criterion.h>

#include "eager/guidance/guidance.h"
#include "eager/guidance/state.h"
#include "eager/runtime.h"
#include "evict/policy.h"
#include "program.h"

TestSuite(carry_out);

enum {
    LAYERS = 10,
    SIDE = 32,
    ROWS = 64,
    STEPS = 6
};

/** A plan that is a wild guess: any bits but the right ones would be the executor's fault. */
static uint64_t state;

static bool coin(unsigned percent)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % 100 < percent;
}

static bool guess(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    (void)terms;
    for (uint32_t k = 0; k <= iteration->n_calls; k++) {
        for (uint32_t v = 0; v < iteration->n_values; v++) {
            const cebus_iteration_value *value = &iteration->values[v];
            if (value->persistent || !coin(6))
                continue;
            cebus_action_kind kind = coin(50) ? CEBUS_ACTION_DROP : CEBUS_ACTION_REPLAY;
            if (coin(10))
                kind = coin(50) ? CEBUS_ACTION_SWAP_OUT : CEBUS_ACTION_SWAP_IN;
            if (!cebus_plan_add(out, kind, k, v))
                return false;
        }
    }
    return true;
}

/** The idle stretch of a value that crosses the turn from forward to backward. */
typedef struct span {
    uint32_t from, to;
} span;

static bool find_span(const cebus_iteration *iteration, uint32_t v, span *out)
{
    const cebus_iteration_value *value = &iteration->values[v];
    for (uint32_t i = 1; value->replayable && i < value->n_uses; i++) {
        *out =
            (span){cebus_iteration_use(iteration, v, i - 1), cebus_iteration_use(iteration, v, i)};
        if (out->to - out->from > 4)
            return true;
    }
    return false;
}

static bool made_by(const cebus_iteration *iteration, uint32_t v, const char *op)
{
    const uint32_t born = iteration->values[v].born;
    return born != CEBUS_ITERATION_NONE && strcmp(iteration->calls[born].op, op) == 0;
}

static uint64_t planned;
static cebus_swap swaps = CEBUS_SWAP_ON;
static bool copies; /**< to the host, before they go */
static bool loose;  /**< on the simulated device, without places */
static bool places; /**< as the plan says, on a simulated machine */

/** Every other output of tanh goes for that time. It comes back by way of its product, whose inputs
 * are there: the other outputs stay. */
static bool drop_and_replay(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                            cebus_plan *out)
{
    span idle;
    bool ok = true;
    (void)terms;
    planned = 0;
    for (uint32_t k = 0; k < iteration->n_calls; k++) {
        for (uint32_t v = 0, tanhs = 0; v < iteration->n_values; v++) {
            const cebus_iteration_value *value = &iteration->values[v];
            if (!made_by(iteration, v, "tanh") || tanhs++ % 2 == 0 ||
                !find_span(iteration, v, &idle))
                continue;
            if (copies && idle.from + 1 == k)
                ok = ok && cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, k, v);
            if (idle.from + 1 + copies == k)
                ok = ok && cebus_plan_add(out, CEBUS_ACTION_DROP, k, v);
            if (idle.to != k)
                continue;
            uint32_t product = iteration->refs[iteration->calls[value->born].refs];
            ok = ok && cebus_plan_add(out, CEBUS_ACTION_REPLAY, k, product) &&
                 cebus_plan_add(out, CEBUS_ACTION_REPLAY, k, v) &&
                 cebus_plan_add(out, CEBUS_ACTION_DROP, k, product);
            planned++;
        }
    }
    return ok;
}

static cebus_policy policy_with(bool (*plan)(const cebus_iteration *, const cebus_plan_terms *,
                                             cebus_plan *))
{
    cebus_policy policy = cebus_policy_coop;
    policy.name = "under test";
    policy.plan = plan;
    return policy;
}

static cebus_runtime *open_with(uint64_t budget, const cebus_policy *policy)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = places ? "sim:titanv-12g" : copies ? "cpu:link=2GB" : "cpu";
    options.layout = loose ? "zones" : places ? "planned" : NULL;
    options.memory_budget = budget;
    options.threads = 1;
    options.swap = swaps;
    options.cost_model = CEBUS_COST_ESTIMATED;
    OK(cebus_runtime_create(&options, &rt));
    if (policy != NULL) {
        rt->policy = policy;
        rt->learning = CEBUS_LEARNS;
        cebus_guidance_start(rt);
    }
    return rt;
}

static cebus_tensor *noise(cebus_runtime *rt, int64_t rows)
{
    cebus_tensor *out;
    OK(cebus_uniform(rt, (cebus_uniform_range){-0.2, 0.2}, CEBUS_F32, 2, (int64_t[]){rows, SIDE},
                     &out));
    return out;
}

static void update(cebus_runtime *rt, cebus_tensor **w)
{
    bool recorded = cebus_grad_enable(false);
    for (int i = 0; i < LAYERS; i++) {
        cebus_tensor *grad;
        OK(cebus_tensor_grad(w[i], &grad));
        OK(cebus_add_(rt, w[i], grad, -0.01));
        cebus_tensor_release(grad);
        OK(cebus_tensor_set_grad(w[i], NULL));
    }
    cebus_grad_enable(recorded);
}

static void step(cebus_runtime *rt, cebus_tensor **w, int layers)
{
    cebus_tensor *h = noise(rt, ROWS), *y, *loss;
    for (int i = 0; i < layers; i++) {
        OK(cebus_matmul(rt, h, w[i], &y));
        cebus_tensor_release(h);
        OK(cebus_tanh(rt, y, &h));
        cebus_tensor_release(y);
    }
    OK(cebus_sum(rt, h, 0, NULL, false, &loss));
    cebus_tensor_release(h);
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);
    if (layers == LAYERS)
        update(rt, w);
    OK(cebus_iteration_mark(rt));
}

/** Trains; `strays`: some steps are cut short. The last weights go to `out`. */
static cebus_memory_stats train(uint64_t budget, const cebus_policy *policy, bool strays,
                                float out[SIDE * SIDE])
{
    cebus_runtime *rt = open_with(budget, policy);
    cebus_tensor *w[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        w[i] = noise(rt, SIDE);
        OK(cebus_tensor_set_persistent(w[i]));
        OK(cebus_tensor_set_requires_grad(w[i], true));
    }
    for (int i = 0; i < STEPS; i++)
        step(rt, w, strays && i % 3 == 2 ? LAYERS / 2 : LAYERS);
    OK(cebus_tensor_to_host(w[0], out, sizeof(float) * SIDE * SIDE));
    OK(cebus_runtime_check(rt));
    cebus_memory_stats stats = stats_of(rt);
    for (int i = 0; i < LAYERS; i++)
        cebus_tensor_release(w[i]);
    cebus_runtime_destroy(rt);
    return stats;
}

static float expected[2][SIDE * SIDE], got[SIDE * SIDE];

static void expect_bits(bool strays)
{
    cr_expect_arr_eq(got, expected[strays], sizeof got);
}

Test(carry_out, wild_plans_change_no_bit)
{
    cebus_policy policy = policy_with(guess);
    uint64_t peak = train(64 << 20, NULL, false, expected[false]).allocated_bytes_peak;
    (void)train(64 << 20, NULL, true, expected[true]);
    uint64_t replays = 0;
    for (uint64_t seed = 0; seed < 24; seed++) {
        state = seed;
        uint64_t budget = seed % 3 == 0 ? 64 << 20 : peak * (seed % 3 == 1 ? 70 : 50) / 100;
        replays += train(budget, &policy, seed % 2 == 0, got).planned_replays;
        expect_bits(seed % 2 == 0);
    }
    cr_expect_gt(replays, 100);
}

Test(carry_out, replays_what_it_is_told_when_it_is_told)
{
    cebus_policy policy = policy_with(drop_and_replay);
    (void)train(64 << 20, NULL, false, expected[false]);
    cebus_memory_stats stats = train(64 << 20, &policy, false, got);
    expect_bits(false);
    cr_expect_gt(planned, 0);
    uint64_t guided = STEPS - 1; /* all but the first: making the weights is no part of it */
    cr_expect_eq(stats.planned_replays, 2 * planned * guided);
    cr_expect_eq(stats.recomputes, stats.planned_replays, "nothing else was missing");
    cr_expect_eq(stats.evictions, planned * guided);
}

Test(carry_out, makes_again_what_lies_on_the_host_if_told_to)
{
    cebus_policy policy = policy_with(drop_and_replay);
    (void)train(64 << 20, NULL, false, expected[false]);
    copies = true;
    cebus_memory_stats stats = train(64 << 20, &policy, false, got);
    expect_bits(false);
    uint64_t guided = STEPS - 1;
    cr_expect_eq(stats.swap_outs, planned * guided);
    cr_expect_eq(stats.swap_ins, 0, "the plan has other uses for the link");
    cr_expect_eq(stats.planned_replays, 2 * planned * guided);
}

/** The output of exp is copied out, and the program lets go of it; that of tanh, made of it, goes
 * and is made again, for which exp runs again. */
static bool make_again_what_was_let_go(const cebus_iteration *iteration,
                                       const cebus_plan_terms *terms, cebus_plan *out)
{
    span idle;
    bool ok = true;
    (void)terms;
    for (uint32_t v = 0; v < iteration->n_values && ok; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (!made_by(iteration, v, "tanh") || !find_span(iteration, v, &idle))
            continue;
        uint32_t input = iteration->refs[iteration->calls[value->born].refs];
        ok = cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, value->born, input) &&
             cebus_plan_add(out, CEBUS_ACTION_DROP, idle.from + 1, v) &&
             cebus_plan_add(out, CEBUS_ACTION_REPLAY, idle.to, input) &&
             cebus_plan_add(out, CEBUS_ACTION_REPLAY, idle.to, v) &&
             cebus_plan_add(out, CEBUS_ACTION_DROP, idle.to, input);
    }
    return ok;
}

/** Sums, of which the first and the last read `held`, the others x. Takes over `held`, and ends the
 * iteration. */
static void sum_at_both_ends(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *held)
{
    cebus_tensor *sums[8];
    for (int i = 0; i < 8; i++)
        OK(cebus_sum(rt, i % 7 == 0 ? held : x, 0, NULL, false, &sums[i]));
    cebus_tensor_release(held);
    for (int i = 0; i < 8; i++)
        cebus_tensor_release(sums[i]);
    OK(cebus_iteration_mark(rt));
}

static void step_let_go(cebus_runtime *rt, cebus_tensor *x)
{
    cebus_tensor *made, *held;
    OK(cebus_exp(rt, x, &made));
    OK(cebus_tanh(rt, made, &held));
    cebus_tensor_release(made);
    sum_at_both_ends(rt, x, held);
}

/** Its copy outlives its bytes, but is not what the plan reckons with. */
Test(carry_out, makes_again_what_the_program_let_go_and_lies_on_the_host)
{
    cebus_policy policy = policy_with(make_again_what_was_let_go);
    copies = true;
    cebus_runtime *rt = open_with(64 << 20, &policy);
    cebus_tensor *x = noise(rt, ROWS);
    OK(cebus_tensor_set_persistent(x));
    OK(cebus_iteration_mark(rt));
    for (int i = 0; i < STEPS; i++)
        step_let_go(rt, x);
    OK(cebus_runtime_check(rt));
    cebus_memory_stats stats = stats_of(rt);
    uint64_t guided = STEPS - 1;
    cr_expect_eq(stats.swap_outs, guided);
    cr_expect_eq(stats.swap_ins, 0, "the plan has other uses for the link");
    cr_expect_eq(stats.planned_replays, 2 * guided);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

static uint32_t gradients;

/** What updates add to weights are gradients. */
static bool look_at_gradients(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                              cebus_plan *out)
{
    (void)terms;
    (void)out;
    for (uint32_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        const uint32_t *in = &iteration->refs[call->refs];
        if (call->n_in < 2 || !iteration->values[in[0]].persistent || strcmp(call->op, "add_") != 0)
            continue;
        gradients++;
        cr_expect_not(iteration->values[in[1]].replayable, "its record is gone by then");
    }
    return true;
}

Test(carry_out, plans_know_that_gradients_are_not_made_again)
{
    cebus_policy policy = policy_with(look_at_gradients);
    (void)train(64 << 20, &policy, false, got);
    cr_expect_gt(gradients, 0);
}

static bool plan_nothing(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                         cebus_plan *out)
{
    (void)iteration;
    (void)terms;
    (void)out;
    return true;
}

/** Its last sum goes for others, and what that is made of loses its last holder before it is read.
 */
static void step_absent(cebus_runtime *rt, cebus_tensor *first)
{
    cebus_tensor *dear = cebus_tensor_retain(first), *next, *later, *other, *another;
    float read[ROWS * SIDE];
    for (int i = 0; i < 8; i++) {
        OK(cebus_tanh(rt, dear, &next));
        cebus_tensor_release(dear);
        dear = next;
    }
    OK(cebus_add_scalar(rt, dear, 1, &next));
    OK(cebus_add_scalar(rt, next, 1, &later));
    cebus_tensor_release(next);
    OK(cebus_exp(rt, dear, &other));
    OK(cebus_exp(rt, other, &another));
    cr_expect_not(cebus_tensor_is_resident(later));
    cebus_tensor_release(dear);
    cebus_tensor_release(other);
    cebus_tensor_release(another);
    OK(cebus_tensor_to_host(later, read, sizeof read));
    cebus_tensor_release(later);
    OK(cebus_iteration_mark(rt));
}

static cebus_memory_stats repeat_absent(const cebus_policy *policy)
{
    cebus_runtime *rt = open_with(4 * ROWS * SIDE * sizeof(float), policy);
    cebus_tensor *first = noise(rt, ROWS);
    OK(cebus_tensor_set_persistent(first));
    OK(cebus_iteration_mark(rt));
    for (int i = 0; i < STEPS; i++)
        step_absent(rt, first);
    OK(cebus_runtime_check(rt));
    cebus_memory_stats stats = stats_of(rt);
    cebus_tensor_release(first);
    cebus_runtime_destroy(rt);
    return stats;
}

/** As where a plan was given up: what is known of the iteration is no reason to let go what absent
 * values are made of. */
Test(carry_out, an_iteration_without_a_plan_runs_as_if_it_were_unknown)
{
    cebus_policy policy = cebus_policy_dtr;
    policy.plan = plan_nothing;
    swaps = CEBUS_SWAP_OFF;
    cebus_memory_stats unknown = repeat_absent(&cebus_policy_dtr), known = repeat_absent(&policy);
    cr_expect_eq(known.iterations_repeated, STEPS - 1);
    cr_expect_gt(unknown.recomputes, 0);
    cr_expect_eq(known.recomputes, unknown.recomputes);
}

/* ---- with places -------------------------------------------------------------------------- */

/** All outputs of tanh may leave when they were read, and are to come back some time after. */
static bool leave_and_come(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                           cebus_plan *out)
{
    span idle;
    bool ok = true;
    (void)terms;
    for (uint32_t v = 0; v < iteration->n_values && ok; v++) {
        if (!made_by(iteration, v, "tanh") || !find_span(iteration, v, &idle))
            continue;
        ok = cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, idle.from + 1, v) &&
             cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, idle.from + 2, v) &&
             cebus_plan_add(out, CEBUS_ACTION_SWAP_IN,
                            idle.from + 3 + (uint32_t)((state * 7 + v) % 5), v);
    }
    return ok && cebus_plan_sort(out, iteration);
}

/** Nobody needs the room of some, so they do not leave; but the place that each has next is
 * another.
 */
Test(carry_out, what_never_left_goes_on_to_the_place_it_is_to_have)
{
    cebus_policy policy = policy_with(leave_and_come);
    uint64_t placed = 0, missed = 0;
    places = true;
    for (state = 1; state <= 12; state++) {
        cebus_memory_stats stats = train(64 << 20, &policy, false, got);
        placed += stats.planned_placements;
        missed += stats.missed_placements;
    }
    cr_expect_gt(placed, 1000);
    cr_expect_eq(missed, 0, "%lu of %lu", missed, placed);
}

enum {
    LARGE = 1 << 14 /* numbers */
};

/** The output of exp goes where it is not read, and is made again. */
static bool drop_large(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                       cebus_plan *out)
{
    span idle;
    bool ok = true;
    (void)terms;
    for (uint32_t v = 0; v < iteration->n_values && ok; v++) {
        if (made_by(iteration, v, "exp") && find_span(iteration, v, &idle))
            ok = cebus_plan_add(out, CEBUS_ACTION_DROP, idle.from + 1, v) &&
                 cebus_plan_add(out, CEBUS_ACTION_REPLAY, idle.to, v);
    }
    return ok && cebus_plan_sort(out, iteration);
}

/** exp reads and makes more than half of the memory. */
static void step_large(cebus_runtime *rt, cebus_tensor *x)
{
    cebus_tensor *h;
    OK(cebus_exp(rt, x, &h));
    sum_at_both_ends(rt, x, h);
}

/** Which nobody would choose to drop who could copy it; a plan that was searched for knows that
 * there is room, with places for its values or without. */
Test(carry_out, drops_what_takes_half_of_memory_to_make_where_the_plan_makes_it_again)
{
    for (int with = 0; with < 2; with++) {
        cebus_policy policy = policy_with(drop_large);
        policy.searches = true;
        places = true;
        loose = with == 0;
        cebus_runtime *rt = open_with(5 * LARGE * sizeof(float) / 2, &policy);
        cebus_tensor *x;
        OK(cebus_full(rt, 1, CEBUS_F32, 1, (int64_t[]){LARGE}, &x));
        OK(cebus_tensor_set_persistent(x));
        for (int i = 0; i < STEPS; i++)
            step_large(rt, x);
        cebus_memory_stats stats = stats_of(rt);
        cr_expect_gt(stats.planned_replays, 0, "places %d", with);
        cr_expect_eq(stats.swap_ins, 0, "places %d", with);
        cebus_tensor_release(x);
        cebus_runtime_destroy(rt);
    }
}
