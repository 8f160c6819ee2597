#include <criterion/criterion.h>

#include "eager/guidance/guidance.h"
#include "eager/tensor.h"
#include "program.h"
#include "tests/support/test_device.h"

TestSuite(guidance);

enum {
    LAYERS = 12,
    SIDE = 4096, /* of the weights; a map is four times as large as one of them: its copy takes less
                    than the product that makes it */
    ROWS = 4
};
#define MAP (UINT64_C(4) * ROWS * SIDE * SIDE)

static const char *const planners[] = {"sublinear", "vdnn",   "vdnn-all", "superneurons",
                                       "tflms",     "odswap", "capuchin"};
enum {
    PLANNERS = sizeof planners / sizeof *planners
};

/** A stack of products and tanh that trains. */
typedef struct net {
    cebus_runtime *rt;
    int64_t side;
    int layers;
    cebus_tensor *w[LAYERS];
} net;

static cebus_runtime *open_on(const char *device, const char *policy, uint64_t budget)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.policy = policy;
    options.memory_budget = budget;
    options.threads = 1;
    options.cost_model =
        strncmp(device, "sim", 3) == 0 ? CEBUS_COST_MEASURED : CEBUS_COST_ESTIMATED;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static cebus_tensor *noise(cebus_runtime *rt, int64_t rows, int64_t side)
{
    cebus_tensor *out;
    OK(cebus_uniform(rt, (cebus_uniform_range){-0.1, 0.1}, CEBUS_F32, 2, (int64_t[]){rows, side},
                     &out));
    return out;
}

static net make_net(cebus_runtime *rt, int64_t side, int layers)
{
    net n = {.rt = rt, .side = side, .layers = layers};
    for (int i = 0; i < layers; i++) {
        n.w[i] = noise(rt, side, side);
        OK(cebus_tensor_set_persistent(n.w[i]));
        OK(cebus_tensor_set_requires_grad(n.w[i], true));
    }
    return n;
}

static void free_net(net *n)
{
    for (int i = 0; i < n->layers; i++)
        cebus_tensor_release(n->w[i]);
    cebus_runtime_destroy(n->rt);
}

/** The maps of a forward; [0] is the input. */
static cebus_tensor *forward(net *n, int layers)
{
    cebus_tensor *h = noise(n->rt, ROWS * n->side, n->side), *y, *loss;
    for (int i = 0; i < layers; i++) {
        OK(cebus_matmul(n->rt, h, n->w[i], &y));
        cebus_tensor_release(h);
        OK(cebus_tanh(n->rt, y, &h));
        cebus_tensor_release(y);
    }
    OK(cebus_sum(n->rt, h, 0, NULL, false, &loss));
    cebus_tensor_release(h);
    return loss;
}

static void update(net *n)
{
    bool recorded = cebus_grad_enable(false);
    for (int i = 0; i < n->layers; i++) {
        cebus_tensor *grad;
        OK(cebus_tensor_grad(n->w[i], &grad));
        if (grad != NULL)
            OK(cebus_add_(n->rt, n->w[i], grad, -0.01));
        cebus_tensor_release(grad);
        OK(cebus_tensor_set_grad(n->w[i], NULL));
    }
    cebus_grad_enable(recorded);
}

static void step_of(net *n, int layers)
{
    cebus_tensor *loss = forward(n, layers);
    OK(cebus_backward(n->rt, loss, NULL, false));
    cebus_tensor_release(loss);
    update(n);
    OK(cebus_iteration_mark(n->rt));
}

static void step(net *n)
{
    step_of(n, n->layers);
}

/** What an iteration cost. */
static cebus_memory_stats measure(net *n)
{
    cebus_memory_stats before = stats_of(n->rt);
    step(n);
    cebus_memory_stats after = stats_of(n->rt);
    after.device_ns -= before.device_ns;
    after.stall_ns -= before.stall_ns;
    after.swap_ins -= before.swap_ins;
    after.swap_outs -= before.swap_outs;
    after.prefetches -= before.prefetches;
    after.evictions -= before.evictions;
    after.recomputes -= before.recomputes;
    return after;
}

/** Weights and their gradients, and about half of the maps. */
static uint64_t tight(void)
{
    return 2 * LAYERS * MAP / ROWS + 7 * MAP;
}

Test(guidance, a_policy_that_does_not_plan_pays_for_nothing)
{
    cebus_runtime *rt = open_on("cpu", "coop", 1 << 20);
    OK(cebus_iteration_mark(rt));
    cr_expect_null(rt->guidance);
    OK(cebus_runtime_set_policy(rt, "odswap"));
    cr_expect_not_null(rt->guidance);
    OK(cebus_runtime_set_policy(rt, "lru"));
    cr_expect_null(rt->guidance);
    cebus_runtime_destroy(rt);
}

/** Nobody asked for a policy: it learns from the first iteration in which memory was short on. */
Test(guidance, by_default_learning_begins_when_memory_is_short)
{
    net n = make_net(open_on("sim:titanv-12g", NULL, 4 * tight()), SIDE, LAYERS);
    step(&n);
    step(&n);
    cr_expect_null(n.rt->guidance);
    OK(cebus_runtime_set_budget(n.rt, tight()));
    cr_expect_null(n.rt->guidance);
    cebus_memory_stats reactive = measure(&n);
    cr_expect_gt(reactive.evictions, 0);
    cr_expect_not_null(n.rt->guidance);
    step(&n); /* the first that is seen from its beginning */
    step(&n);
    uint64_t guided = measure(&n).device_ns;
    cr_expect_lt(guided, reactive.device_ns);
    cr_expect_eq(measure(&n).device_ns, guided);
    free_net(&n);
}

Test(guidance, by_default_a_policy_that_is_chosen_or_a_watch_learn_at_once)
{
    cebus_runtime *rt = open_on("cpu", NULL, 1 << 20);
    OK(cebus_capture_watch(rt, true));
    cr_expect_not_null(rt->guidance);
    OK(cebus_capture_watch(rt, false));
    cr_expect_null(rt->guidance);
    OK(cebus_runtime_set_policy(rt, "cebus"));
    cr_expect_not_null(rt->guidance);
    cebus_runtime_destroy(rt);
}

/** From the third iteration on the plan is there, and every iteration takes the same time. */
Test(guidance, reaches_its_steady_state_after_one_measured_iteration)
{
    for (int p = 0; p < PLANNERS; p++) {
        net n = make_net(open_on("sim:titanv-12g", planners[p], tight()), SIDE, LAYERS);
        step(&n);
        step(&n);
        uint64_t guided = measure(&n).device_ns;
        for (int i = 0; i < 3; i++)
            cr_expect_eq(measure(&n).device_ns, guided, "%s, iteration %d", planners[p], i);
        free_net(&n);
    }
}

/** The products take longer than the copies: then what is planned is hidden. */
Test(guidance, copies_overlap_with_compute)
{
    static const char *const swapping[] = {"vdnn-all", "tflms", "odswap"};
    for (int p = 0; p < 3; p++) {
        net n = make_net(open_on("sim:titanv-12g", swapping[p], tight()), SIDE, LAYERS);
        cebus_memory_stats reactive = measure(&n);
        step(&n);
        cebus_memory_stats guided = measure(&n);
        cr_expect_gt(reactive.swap_ins, 0);
        cr_expect_eq(reactive.prefetches, 0);
        cr_expect_gt(guided.prefetches, 0, "%s", swapping[p]);
        cr_expect_lt(10 * guided.stall_ns, guided.device_ns, "%s: %lu of %lu", swapping[p],
                     guided.stall_ns, guided.device_ns);
        cr_expect_lt(guided.stall_ns, reactive.stall_ns, "%s", swapping[p]);
        free_net(&n);
    }
}

Test(guidance, sublinear_makes_segments_again)
{
    net n = make_net(open_on("sim:titanv-12g", "sublinear", tight()), SIDE, LAYERS);
    step(&n);
    step(&n);
    cebus_memory_stats guided = measure(&n);
    cr_expect_gt(guided.recomputes, 0);
    cr_expect_leq(guided.recomputes, 2 * LAYERS, "each call at most once more");
    cr_expect_eq(guided.swap_outs, 0);
    free_net(&n);
}

Test(guidance, a_stray_iteration_runs_unguided_and_the_next_is_guided_again)
{
    net n = make_net(open_on("sim:titanv-12g", "odswap", tight()), SIDE, LAYERS);
    for (int i = 0; i < 3; i++)
        step(&n);
    uint64_t guided = measure(&n).device_ns;
    step_of(&n, LAYERS - 1);
    cr_expect_eq(measure(&n).device_ns, guided);
    free_net(&n);
}

Test(guidance, a_new_program_is_learned)
{
    net n = make_net(open_on("sim:titanv-12g", "odswap", tight()), SIDE, LAYERS);
    for (int i = 0; i < 4; i++)
        step_of(&n, LAYERS - 1);
    cr_expect_gt(stats_of(n.rt).prefetches, 0);
    step(&n);
    step(&n);
    cr_expect_gt(measure(&n).prefetches, 0, "two strays, then it is followed");
    free_net(&n);
}

/** A batch too many is tried, and refused, in the middle of every iteration. */
Test(guidance, calls_that_fail_are_no_part_of_an_iteration)
{
    cebus_runtime *rt = open_on("sim:titanv-12g", "odswap", tight());
    net n = make_net(rt, SIDE, LAYERS);
    for (int i = 0; i < 6; i++) {
        cebus_tensor *loss = forward(&n, LAYERS), *more;
        cr_expect_eq(cebus_zeros(rt, CEBUS_F32, 1, (int64_t[]){(int64_t)tight()}, &more),
                     CEBUS_OUT_OF_MEMORY);
        OK(cebus_backward(rt, loss, NULL, false));
        cebus_tensor_release(loss);
        update(&n);
        OK(cebus_iteration_mark(rt));
    }
    cr_expect_eq(stats_of(rt).iterations_repeated, 5);
    cr_expect_eq(stats_of(rt).guided_iterations, 5);
    free_net(&n);
}

Test(guidance, an_iteration_broken_off_is_forgotten)
{
    net n = make_net(open_on("sim:titanv-12g", "odswap", tight()), SIDE, LAYERS);
    for (int i = 0; i < 3; i++)
        step(&n);
    uint64_t guided = measure(&n).device_ns;
    cebus_tensor_release(forward(&n, LAYERS));
    OK(cebus_iteration_mark(n.rt));
    cr_expect_eq(measure(&n).device_ns, guided);
    free_net(&n);
}

Test(guidance, a_larger_budget_is_planned_for_at_the_next_mark)
{
    net n = make_net(open_on("sim:titanv-12g", "odswap", tight()), SIDE, LAYERS);
    for (int i = 0; i < 3; i++)
        step(&n);
    OK(cebus_runtime_set_budget(n.rt, 24 * MAP));
    step(&n);
    cebus_memory_stats roomy = measure(&n);
    cr_expect_eq(roomy.swap_outs, 0);
    cr_expect_eq(roomy.stall_ns, 0);
    free_net(&n);
}

/** Between iterations the next one already goes by a plan for the new budget; the unplanned one in
 * between would be the dearest of all. */
Test(guidance, a_smaller_budget_is_planned_for_at_once)
{
    for (int odd = 0; odd < 2; odd++) {
        net n = make_net(open_on("sim:titanv-12g", "cebus", 64 * MAP), SIDE, LAYERS);
        for (int i = 0; i < 3; i++)
            step(&n);
        cebus_tensor *loss = odd ? forward(&n, 1) : NULL;
        OK(cebus_runtime_set_budget(n.rt, tight()));
        cebus_tensor_release(loss);
        if (odd) /* within an iteration: not yet */
            OK(cebus_iteration_mark(n.rt));
        cebus_memory_stats first = measure(&n);
        cr_expect_gt(stats_of(n.rt).planned_replays, 0, "odd: %d", odd);
        cr_expect_leq(stats_of(n.rt).allocated_bytes_current, tight());
        for (int i = 0; i < 3; i++)
            cr_expect_eq(measure(&n).device_ns, first.device_ns, "odd: %d, %d", odd, i);
        free_net(&n);
    }
}

Test(guidance, swapping_turned_off_is_respected)
{
    for (int p = 0; p < PLANNERS; p++) {
        cebus_runtime *rt;
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        options.device = "sim:titanv-12g";
        options.policy = planners[p];
        options.memory_budget = tight();
        options.swap = CEBUS_SWAP_OFF;
        OK(cebus_runtime_create(&options, &rt));
        net n = make_net(rt, SIDE, LAYERS);
        for (int i = 0; i < 4; i++)
            step(&n);
        cr_expect_eq(stats_of(rt).swap_outs, 0, "%s", planners[p]);
        free_net(&n);
    }
}

/* ---- real bytes, late and out of order ------------------------------------------------------ */

enum {
    SMALL = 32
};
#define SMALL_MAP (UINT64_C(4) * ROWS * SMALL * SMALL)

static void train(const char *policy, uint64_t budget, float *out)
{
    net n = make_net(open_on("test", policy, budget), SMALL, LAYERS);
    for (int i = 0; i < 5; i++)
        step(&n);
    OK(cebus_runtime_check(n.rt));
    OK(cebus_tensor_to_host(n.w[0], out, SMALL_MAP / ROWS));
    free_net(&n);
}

Test(guidance, guided_training_has_the_bits_of_an_unlimited_one)
{
    static float wanted[SMALL * SMALL], got[SMALL * SMALL];
    cebus_test_device_register();
    train("none", 1 << 22, wanted);
    for (int p = 0; p < PLANNERS; p++) {
        for (uint64_t maps = 11; maps < 20; maps += 2) {
            train(planners[p], maps * SMALL_MAP, got);
            cr_expect_arr_eq(got, wanted, sizeof wanted, "%s in %lu maps", planners[p], maps);
        }
    }
}

/** Writes a value in place while its copy to the host is under way: the copy has the old bytes. */
static void write_after_copy(cebus_runtime *rt, float *out)
{
    const int64_t n = 4096;
    cebus_tensor *kept[8], *y;
    for (int i = 0; i < 8; i++) {
        cebus_tensor *x = vector(rt, n, i + 1);
        OK(cebus_mul_scalar(rt, x, 2, &kept[i]));
        cebus_tensor_release(x);
    }
    for (int i = 0; i < 8; i++) {
        OK(cebus_add_scalar(rt, kept[i], 1, &y));
        cebus_tensor_release(y);
        OK(cebus_add_scalar_(rt, kept[i], 0.5));
    }
    for (int i = 8; i-- > 0;) {
        out[i] = at(kept[i], n - 1);
        cebus_tensor_release(kept[i]);
    }
    OK(cebus_iteration_mark(rt));
}

Test(guidance, a_write_in_place_waits_for_the_copy)
{
    cebus_test_device_register();
    for (int p = 0; p < PLANNERS; p++) {
        cebus_runtime *rt = open_on("test", planners[p], 6 * 16384);
        for (int i = 0; i < 4; i++) {
            float got[8];
            write_after_copy(rt, got);
            for (int j = 0; j < 8; j++)
                cr_expect_eq(got[j], 2 * ((float)j + 1) + 0.5F, "%s", planners[p]);
        }
        cebus_runtime_destroy(rt);
    }
}

Test(guidance, what_is_mapped_stays)
{
    cebus_test_device_register();
    cebus_runtime *rt = open_on("test", "odswap", 8 * 16384);
    for (int i = 0; i < 4; i++) {
        const void *map;
        cebus_tensor *x = vector(rt, 4096, 3), *y, *kept[8];
        OK(cebus_mul_scalar(rt, x, 2, &y));
        if (i == 3)
            OK(cebus_tensor_map(y, &map));
        for (int j = 0; j < 4; j++)
            OK(cebus_mul_scalar(rt, x, j, &kept[j]));
        OK(cebus_add_(rt, x, y, 1));
        if (i == 3) {
            cr_expect_eq(((const float *)map)[4095], 6);
            cebus_tensor_unmap(y);
        }
        cr_expect_eq(at(x, 7), 9);
        for (int j = 0; j < 4; j++)
            cebus_tensor_release(kept[j]);
        cebus_tensor_release(x);
        cebus_tensor_release(y);
        OK(cebus_iteration_mark(rt));
    }
    cebus_runtime_destroy(rt);
}

Test(guidance, a_policy_chosen_in_the_middle_learns_from_there)
{
    net n = make_net(open_on("sim:titanv-12g", "odswap", tight()), SIDE, LAYERS);
    for (int i = 0; i < 3; i++)
        step(&n);
    cebus_tensor *loss = forward(&n, LAYERS);
    OK(cebus_runtime_set_policy(n.rt, "tflms"));
    OK(cebus_backward(n.rt, loss, NULL, false));
    cebus_tensor_release(loss);
    update(&n);
    OK(cebus_iteration_mark(n.rt));
    step(&n);
    cr_expect_gt(measure(&n).prefetches, 0);
    free_net(&n);
}
