/**
 * Models whose parameters, gradients and optimizer state are several times the budget: the same
 * bits as without one, and steps that fail in the middle go on where they stopped.
 */
#include <string.h>

#include <criterion/criterion.h>

#include "program.h"
#include "tests/support/faulty_io.h"
#include "tests/support/test_device.h"

TestSuite(larger);

enum {
    LAYERS = 12,
    WIDTH = 64,
    ROWS = 4,
    STEPS = 3,
    ELEMENTS = WIDTH * WIDTH
};
#define PARAMETER (ELEMENTS * sizeof(float))
/* Parameters, gradients, and two states each. */
#define MODEL (4 * LAYERS * PARAMETER)

typedef struct net {
    cebus_runtime *rt;
    cebus_tensor *w[LAYERS];
    cebus_optimizer *adam;
} net;

/** NULL: the default. */
static const char *policy;

static void open_net(net *n, const char *device, uint64_t budget)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.policy = policy;
    options.threads = 1;
    options.memory_budget = budget;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.swap = CEBUS_SWAP_ON;
    options.spill_budget = 4 * MODEL;
    options.host_budget = strcmp(device, "cpu") == 0 ? 0 : 8 * PARAMETER;
    options.debug = CEBUS_DEBUG_WALK;
    OK(cebus_runtime_create(&options, &n->rt));
    cebus_adam_options adam = CEBUS_ADAM_OPTIONS_INIT;
    OK(cebus_optimizer_create_adam(n->rt, &adam, &n->adam));
    for (int i = 0; i < LAYERS; i++) {
        OK(cebus_randn(n->rt, CEBUS_F32, 2, (int64_t[]){WIDTH, WIDTH}, &n->w[i]));
        OK(cebus_tensor_set_persistent(n->w[i]));
        OK(cebus_tensor_set_requires_grad(n->w[i], true));
        OK(cebus_optimizer_add(n->adam, n->w[i]));
    }
}

static void close_net(net *n)
{
    cebus_optimizer_destroy(n->adam);
    for (int i = 0; i < LAYERS; i++)
        cebus_tensor_release(n->w[i]);
    cr_expect_eq(cebus_memory_allocated(n->rt), 0);
    cebus_runtime_destroy(n->rt);
}

static void make_gradients(net *n)
{
    cebus_tensor *h, *y, *loss;
    OK(cebus_randn(n->rt, CEBUS_F32, 2, (int64_t[]){ROWS, WIDTH}, &h));
    for (int i = 0; i < LAYERS; i++) {
        OK(cebus_matmul(n->rt, h, n->w[i], &y));
        cebus_tensor_release(h);
        OK(cebus_tanh(n->rt, y, &h));
        cebus_tensor_release(y);
    }
    OK(cebus_mean(n->rt, h, 0, NULL, false, &loss));
    OK(cebus_backward(n->rt, loss, NULL, false));
    cebus_tensor_release(h);
    cebus_tensor_release(loss);
}

static void train(net *n)
{
    for (int step = 0; step < STEPS; step++) {
        make_gradients(n);
        OK(cebus_optimizer_step(n->adam));
        OK(cebus_optimizer_zero_grad(n->adam));
    }
}

/* Parameters, then the first moment of the last. */
static void read_net(net *n, float (*out)[ELEMENTS])
{
    cebus_tensor *moment;
    for (int i = 0; i < LAYERS; i++)
        OK(cebus_tensor_to_host(n->w[i], out[i], PARAMETER));
    OK(cebus_optimizer_state(n->adam, LAYERS - 1, CEBUS_ADAM_EXP_AVG, &moment));
    OK(cebus_tensor_to_host(moment, out[LAYERS], PARAMETER));
    cebus_tensor_release(moment);
}

static float wanted[LAYERS + 1][ELEMENTS], got[LAYERS + 1][ELEMENTS];

static void train_unlimited(void)
{
    net n;
    open_net(&n, "cpu", 16 * MODEL);
    train(&n);
    cr_expect_eq(stats_of(n.rt).swap_outs, 0);
    read_net(&n, wanted);
    close_net(&n);
}

static void train_in(const char *device, uint64_t budget)
{
    net n;
    open_net(&n, device, budget);
    train(&n);
    read_net(&n, got);
    cr_expect_arr_eq((char *)got, (char *)wanted, sizeof wanted, "%s, %llu bytes", device,
                     (unsigned long long)budget);
    cebus_memory_stats stats = stats_of(n.rt);
    cr_expect_leq(stats.allocated_bytes_peak, budget);
    cr_expect_gt(stats.spilled_bytes, 0);
    close_net(&n);
}

Test(larger, trains_with_the_same_bits)
{
    train_unlimited();
    train_in("cpu", 3 * LAYERS * PARAMETER / 3); /* parameters and state are three times that */
    train_in("cpu", 3 * LAYERS * PARAMETER / 6);
}

Test(larger, by_way_of_the_host_too)
{
    cebus_test_device_register();
    train_unlimited();
    train_in("test", 3 * LAYERS * PARAMETER / 3);
    train_in("test", 3 * LAYERS * PARAMETER / 5);
}

/* What leaves and when it comes is planned once an iteration is known: the same bits, and values
 * come before they are read. */
static void train_planned(const char *device, uint64_t budget)
{
    net n;
    policy = "cebus";
    open_net(&n, device, budget);
    for (int i = 0; i < 3; i++)
        train(&n);
    read_net(&n, got);
    cr_expect_arr_eq((char *)got, (char *)wanted, sizeof wanted, "%s, %llu bytes", device,
                     (unsigned long long)budget);
    cebus_memory_stats stats = stats_of(n.rt);
    cr_expect_gt(stats.iterations_repeated, 0);
    cr_expect_gt(stats.prefetches, 2 * LAYERS, "%s, %llu bytes: %llu", device,
                 (unsigned long long)budget, (unsigned long long)stats.prefetches);
    cr_expect_leq(stats.allocated_bytes_peak, budget);
    OK(cebus_runtime_set_budget(n.rt, budget + 4 * PARAMETER));
    train(&n);
    OK(cebus_runtime_set_budget(n.rt, budget));
    OK(cebus_runtime_check(n.rt));
    close_net(&n);
    policy = NULL;
}

Test(larger, parameters_shuttle_by_plan)
{
    net n;
    cebus_test_device_register();
    open_net(&n, "cpu", 16 * MODEL);
    for (int i = 0; i < 3; i++)
        train(&n);
    read_net(&n, wanted);
    close_net(&n);
    train_planned("test", LAYERS * PARAMETER);
}

/* Every ninth read fails: what failed is called again. */
Test(larger, a_step_that_failed_goes_on)
{
    net n, still;
    int failures = 0;
    cebus_faulty_io_start(NULL);
    open_net(&still, "cpu", 16 * MODEL);
    make_gradients(&still);
    OK(cebus_optimizer_step(still.adam));
    read_net(&still, wanted);
    close_net(&still);
    open_net(&n, "cpu", 10 * PARAMETER);
    make_gradients(&n);
    atomic_store(&cebus_io_faults.every, 9); /* a parameter takes four, and the rehearsal */
    atomic_store(&cebus_io_faults.at, 3);
    atomic_store(&cebus_io_faults.fault, CEBUS_IO_FAULT_READ);
    while (cebus_optimizer_step(n.adam) != CEBUS_OK) {
        cr_assert_eq(cebus_last_error()->status, CEBUS_IO_ERROR, "%s", cebus_last_error()->message);
        cr_assert_lt(failures++, 100);
        OK(cebus_runtime_check(n.rt));
    }
    atomic_store(&cebus_io_faults.fault, CEBUS_IO_FAULT_NONE);
    cr_expect_gt(failures, 2);
    for (size_t i = 0; i < LAYERS; i++) {
        int64_t steps;
        OK(cebus_optimizer_step_count(n.adam, i, &steps));
        cr_expect_eq(steps, 1);
    }
    read_net(&n, got);
    cr_expect_arr_eq((char *)got, (char *)wanted, sizeof wanted);
    close_net(&n);
    cebus_faulty_io_stop();
}

Test(larger, what_one_parameter_takes_must_fit)
{
    net n;
    open_net(&n, "cpu", 6 * PARAMETER);
    make_gradients(&n);
    OK(cebus_runtime_set_budget(n.rt, 3 * PARAMETER));
    cr_assert_eq(cebus_optimizer_step(n.adam), CEBUS_OUT_OF_MEMORY);
    for (size_t i = 0; i < LAYERS; i++) {
        int64_t steps;
        OK(cebus_optimizer_step_count(n.adam, i, &steps));
        cr_expect_eq(steps, 0, "nothing was written");
    }
    OK(cebus_runtime_set_budget(n.rt, 4 * PARAMETER));
    OK(cebus_optimizer_step(n.adam));
    close_net(&n);
}

enum {
    LARGE = 9, /* gradients of 2 MiB each: more than one group of them */
    LARGE_WIDTH = 724
};

/* The norm, and element 5 of every clipped gradient. */
static double clip_in(uint64_t budget, float *out)
{
    cebus_runtime *rt;
    cebus_tensor *w[LARGE], *x;
    double norm;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = budget;
    options.swap = CEBUS_SWAP_ON;
    options.spill_budget = UINT64_C(128) << 20;
    OK(cebus_runtime_create(&options, &rt));
    for (int i = 0; i < LARGE; i++) {
        OK(cebus_zeros(rt, CEBUS_F32, 2, (int64_t[]){LARGE_WIDTH, LARGE_WIDTH}, &w[i]));
        OK(cebus_tensor_set_persistent(w[i]));
        OK(cebus_randn(rt, CEBUS_F32, 2, (int64_t[]){LARGE_WIDTH, LARGE_WIDTH}, &x));
        OK(cebus_tensor_set_requires_grad(w[i], true));
        OK(cebus_tensor_set_grad(w[i], x));
        cebus_tensor_release(x);
    }
    OK(cebus_clip_grad_norm(rt, w, LARGE, 1, &norm));
    for (int i = 0; i < LARGE; i++) {
        static float data[LARGE_WIDTH * LARGE_WIDTH];
        OK(cebus_tensor_grad(w[i], &x));
        OK(cebus_tensor_to_host(x, data, sizeof data));
        out[i] = data[5];
        cebus_tensor_release(x);
        cebus_tensor_release(w[i]);
    }
    cebus_runtime_destroy(rt);
    return norm;
}

Test(larger, gradients_are_clipped_in_groups)
{
    float all[LARGE], parts[LARGE];
    double norm = clip_in(UINT64_C(256) << 20, all);
    cr_expect_float_eq(norm, LARGE_WIDTH * 3.0, 10, "%g", norm);
    cr_expect(clip_in(UINT64_C(17) << 20, parts) == norm);
    cr_expect_arr_eq((char *)parts, (char *)all, sizeof all);
}
