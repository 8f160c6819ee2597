/** Who bears the ordinals of persistent values, and who does no more. */
#include <criterion/criterion.h>

#include "eager/guidance/planning.h"
#include "eager/guidance/state.h"
#include "timed_layer.h"

TestSuite(shuttles);

enum {
    N = 1 << 12,
    PARAMETERS = 6,
    LAYERS = 13,
    STEPS = 8
};
#define BLOCK (N * sizeof(float))

static cebus_runtime *open_swapping_on(const char *device, uint64_t blocks)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = blocks * BLOCK;
    options.policy = "cebus";
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.swap = CEBUS_SWAP_ON;
    options.debug = CEBUS_DEBUG_HOST | CEBUS_DEBUG_WALK;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

/** x times all parameters twice, plus x. */
static float step(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *const *w)
{
    cebus_tensor *h = cebus_tensor_retain(x), *next;
    for (int k = 0; k < 2 * PARAMETERS; k++) {
        OK(cebus_mul(rt, h, w[k % PARAMETERS], &next));
        cebus_tensor_release(h);
        h = next;
    }
    OK(cebus_add(rt, h, x, &next));
    cebus_tensor_release(h);
    float result = at(next, 0);
    cebus_tensor_release(next);
    OK(cebus_iteration_mark(rt));
    return result;
}

/** A launch gives the tensor another version each time: nobody may bear its ordinal that is gone.
 */
Test(shuttles, an_output_of_a_launch_that_persists_is_no_bearer)
{
    cebus_runtime *rt = open_swapping_on("cpu", 64);
    cebus_tensor *x = leaf(rt, N, 2), *y, *w[PARAMETERS];
    cebus_capture *capture;
    for (int i = 0; i < PARAMETERS; i++) {
        w[i] = leaf(rt, N, 0.5F);
        OK(cebus_tensor_set_persistent(w[i]));
    }
    OK(cebus_capture_begin(rt));
    OK(cebus_add_scalar(rt, x, 1, &y));
    OK(cebus_capture_end(rt, &capture));
    OK(cebus_tensor_set_persistent(y));
    OK(cebus_capture_launch(capture));
    OK(cebus_runtime_set_budget(rt, 5 * BLOCK));
    for (int i = 0; i < STEPS; i++) {
        cr_expect_eq(step(rt, y, w), 3 + 3.0F / (1 << 2 * PARAMETERS));
        if (i >= STEPS / 2)
            OK(cebus_capture_launch(capture));
    }
    cr_expect_gt(stats_of(rt).prefetches, PARAMETERS, "what persists shuttles");
    OK(cebus_runtime_check(rt));
    cebus_capture_destroy(capture);
    for (int i = 0; i < PARAMETERS; i++)
        cebus_tensor_release(w[i]);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

/** A layer for each parameter, and the way back. */
static void train(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *const *w)
{
    cebus_tensor *map[LAYERS + 1] = {cebus_tensor_retain(x)}, *gradient, *next;
    for (int k = 0; k < LAYERS; k++)
        map[k + 1] = call_layer(rt, map[k], w[k]);
    gradient = cebus_tensor_retain(map[LAYERS]);
    for (int k = LAYERS; k-- > 0;) {
        next = call_layer(rt, gradient, map[k + 1]);
        cebus_tensor_release(map[k + 1]);
        cebus_tensor_release(gradient);
        gradient = call_layer(rt, next, w[k]);
        cebus_tensor_release(next);
    }
    cebus_tensor_release(map[0]);
    cebus_tensor_release(gradient);
    OK(cebus_iteration_mark(rt));
}

static uint64_t plans;

static bool count_plans(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    plans++;
    return cebus_policy_cebus.plan(iteration, terms, out);
}

/** What a step lost, with places of its own for what shuttles, and without. */
typedef struct tried {
    uint64_t with, without, last;
    uint64_t planned; /**< what was planned by the last step without */
} tried;

/** Each way is settled after a few steps. */
static tried try_both(uint64_t blocks, uint64_t each_ns)
{
    tried lost = {0};
    cebus_tensor *w[LAYERS];
    cebus_runtime *rt = open_swapping_on("sim:titanv-12g", blocks);
    cebus_policy counting = cebus_policy_cebus;
    counting.plan = count_plans;
    rt->policy = &counting;
    cebus_guidance_start(rt);
    cebus_tensor *x = leaf(rt, N, 1);
    layer_ns = each_ns;
    for (int i = 0; i < LAYERS; i++) {
        w[i] = leaf(rt, N, 0.5F);
        OK(cebus_tensor_set_persistent(w[i]));
    }
    for (int i = 0; i < 3 * STEPS; i++) {
        train(rt, x, w);
        const cebus_scheme *scheme = &rt->guidance->schemes[rt->guidance->log.last];
        lost.last = stats_of(rt).guided_lost_ns;
        if (scheme->placed_lost == 0)
            lost.with = lost.last;
        else if (scheme->placeless)
            lost.without = lost.last, lost.planned = plans;
    }
    OK(cebus_runtime_check(rt));
    for (int i = 0; i < LAYERS; i++)
        cebus_tensor_release(w[i]);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
    return lost;
}

Test(shuttles, places_of_their_own_stand_where_they_are_better)
{
    tried lost = try_both(5, 10000);
    cr_expect_lt(lost.with, lost.without);
    cr_expect_eq(lost.last, lost.with);
    cr_expect_eq(lost.planned, plans, "they come back as they were");
}

Test(shuttles, places_of_their_own_go_where_none_are_better)
{
    tried lost = try_both(5, 2000);
    cr_expect_gt(lost.without, 0, "it was tried");
    cr_expect_lt(lost.without, lost.with);
    cr_expect_eq(lost.last, lost.without);
}

Test(shuttles, what_by_its_own_account_is_no_better_without_places_is_not_tried)
{
    tried lost = try_both(6, 2000);
    cr_expect_gt(lost.with, 0);
    cr_expect_eq(lost.without, 0);
    cr_expect_leq(lost.last, lost.with);
}

/** Places that were missed are chosen anew only where the plan loses more than it foretold. */
Test(shuttles, places_that_were_missed_stay_where_nothing_is_lost_by_it)
{
    for (int foretold = 0; foretold <= 1; foretold++) {
        cebus_tensor *w[LAYERS];
        cebus_runtime *rt = open_swapping_on("sim:titanv-12g,issue=0ns", 7);
        cebus_guidance_start(rt);
        cebus_tensor *x = leaf(rt, N, 1);
        layer_ns = 2000;
        for (int i = 0; i < LAYERS; i++) {
            w[i] = leaf(rt, N, 0.5F);
            OK(cebus_tensor_set_persistent(w[i]));
        }
        for (int i = 0; i < 3 * STEPS; i++)
            train(rt, x, w);
        cebus_scheme *scheme = &rt->guidance->schemes[rt->guidance->log.last];
        cr_assert(scheme->shuttling && scheme->spots != NULL);
        scheme->doubted = true;
        rt->stats.missed_placements += 1000;
        rt->stats.recompute_ns += foretold ? 0 : scheme->predicted_ns / 10;
        train(rt, x, w);
        train(rt, x, w);
        cr_expect_eq(scheme->guided == 1, !foretold, "%u iterations by these places",
                     scheme->guided);
        for (int i = 0; i < LAYERS; i++)
            cebus_tensor_release(w[i]);
        cebus_tensor_release(x);
        cebus_runtime_destroy(rt);
    }
}

/* --- where they lie as the first iteration by a plan begins ---------------------------------- */

enum {
    DEEP = 12,
    SIDE = 2048,
    BATCH = 512
};

static cebus_tensor *noise(cebus_runtime *rt, int64_t rows)
{
    cebus_tensor *out;
    OK(cebus_uniform(rt, (cebus_uniform_range){-0.1, 0.1}, CEBUS_F32, 2, (int64_t[]){rows, SIDE},
                     &out));
    return out;
}

/** A stack of products, and its gradients. */
static void find_gradients(cebus_runtime *rt, cebus_tensor *const *w, int64_t batch)
{
    cebus_tensor *h = noise(rt, batch), *next;
    for (int i = 0; i < DEEP; i++) {
        OK(cebus_matmul(rt, h, w[i], &next));
        cebus_tensor_release(h);
        h = next;
    }
    backward_of_sum(rt, h);
    cebus_tensor_release(h);
}

/** It trains. */
static void learn(cebus_runtime *rt, cebus_tensor *const *w)
{
    cebus_tensor *next;
    find_gradients(rt, w, BATCH);
    bool recorded = cebus_grad_enable(false);
    for (int i = 0; i < DEEP; i++) {
        OK(cebus_tensor_grad(w[i], &next));
        OK(cebus_add_(rt, w[i], next, -0.01));
        cebus_tensor_release(next);
        OK(cebus_tensor_set_grad(w[i], NULL));
    }
    cebus_grad_enable(recorded);
    OK(cebus_iteration_mark(rt));
}

/** In percent of so many bytes for each number in a weight. */
static cebus_runtime *open_for_weights(uint64_t bytes, uint64_t percent, cebus_tensor **w)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:titanv-12g";
    options.memory_budget = bytes * DEEP * SIDE * SIDE / 100 * percent;
    options.policy = "cebus";
    options.swap = CEBUS_SWAP_ON;
    OK(cebus_runtime_create(&options, &rt));
    for (int i = 0; i < DEEP; i++) {
        w[i] = noise(rt, SIDE);
        OK(cebus_tensor_set_persistent(w[i]));
        OK(cebus_tensor_set_requires_grad(w[i], true));
    }
    return rt;
}

/** Training in a part of what weights and gradients take: us of each step. */
static void time_steps(uint64_t percent, uint64_t *out, int steps)
{
    cebus_tensor *w[DEEP];
    cebus_runtime *rt = open_for_weights(8, percent, w);
    for (int i = 0; i < steps; i++) {
        uint64_t before = stats_of(rt).device_ns;
        learn(rt, w);
        out[i] = (stats_of(rt).device_ns - before) / 1000;
    }
    cr_expect_gt(stats_of(rt).planned_placements, 0);
    for (int i = 0; i < DEEP; i++)
        cebus_tensor_release(w[i]);
    cebus_runtime_destroy(rt);
}

/** To their places they move on the device where these are free: the link would take longer than
 * going on without a plan. */
Test(shuttles, what_lies_elsewhere_moves_to_its_place_on_the_device)
{
    for (uint64_t percent = 80; percent <= 100; percent += 10) {
        uint64_t us[4];
        time_steps(percent, us, 4);
        cr_expect_lt(us[1], us[0], "%lu%%: %lu us by the plan, %lu before", percent, us[1], us[0]);
        cr_expect_lt(us[2], us[1], "%lu%%", percent);
        cr_expect_eq(us[3], us[2], "%lu%%: all that shuttles is where it is to be", percent);
    }
}

/* --- and while an optimizer updates them ----------------------------------------------------- */

/** Training in so many percent of what weights, gradients and momentum take. Where places were set
 * aside as it would wait for them, it is told to half way, if `patient`; out: whether they were. */
static cebus_memory_stats step_in(uint64_t percent, bool patient, bool *out_aside)
{
    cebus_tensor *w[DEEP];
    cebus_runtime *rt = open_for_weights(12, percent, w);
    cebus_optimizer *optimizer;
    cebus_sgd_options how = CEBUS_SGD_OPTIONS_INIT;
    how.momentum = 0.9;
    OK(cebus_optimizer_create_sgd(rt, &how, &optimizer));
    for (int i = 0; i < DEEP; i++)
        OK(cebus_optimizer_add(optimizer, w[i]));
    for (int i = 0; i < 2 * STEPS; i++) {
        find_gradients(rt, w, 8 * BATCH);
        OK(cebus_optimizer_step(optimizer));
        OK(cebus_optimizer_zero_grad(optimizer));
        OK(cebus_iteration_mark(rt));
        cebus_scheme *scheme = &rt->guidance->schemes[rt->guidance->log.last];
        if (i != STEPS)
            continue;
        *out_aside = scheme->aside_lost > 0;
        scheme->patient = patient;
        cebus_planning_reconsider(rt, rt->guidance->log.last);
    }
    cebus_memory_stats stats = stats_of(rt);
    cebus_optimizer_destroy(optimizer);
    for (int i = 0; i < DEEP; i++)
        cebus_tensor_release(w[i]);
    cebus_runtime_destroy(rt);
    return stats;
}

/** All that a step touches would fit, but then none of it could go, nor come in its time. */
Test(shuttles, an_optimizers_step_goes_in_parts_as_the_plan_has_it)
{
    for (uint64_t percent = 107; percent <= 113; percent += 3) {
        bool aside;
        cebus_memory_stats stats = step_in(percent, false, &aside);
        cr_expect_gt(stats.guided_swap_outs, 0, "%lu%%", percent);
        cr_expect_eq(stats.guided_missed, 0, "%lu%%: %lu", percent, stats.guided_missed);
        cr_expect_eq(stats.guided_unforeseen, 0, "%lu%%: %lu", percent, stats.guided_unforeseen);
        cr_expect_eq(stats.guided_measured_ns, stats.guided_predicted_ns, "%lu%%: %lu, not %lu",
                     percent, stats.guided_measured_ns, stats.guided_predicted_ns);
    }
}

Test(shuttles, who_waits_for_places_has_those_that_were_set_aside)
{
    bool aside = false;
    for (uint64_t percent = 80; percent <= 96 && !aside; percent += 4) {
        bool again;
        uint64_t without = step_in(percent, false, &aside).planned_placements;
        if (!aside)
            continue;
        cr_expect_gt(step_in(percent, true, &again).planned_placements, without, "%lu%%", percent);
    }
    cr_expect(aside);
}
