/**
 * What stays for good is written where it lies: parameters, gradients, optimizer state and running
 * statistics keep their addresses on every path that writes them, and no second copy is made.
 */
#include <criterion/criterion.h>

#include "eager/storage.h"
#include "eager/tensor.h"
#include "program.h"

#define N 1024
#define BLOCK (N * sizeof(float))

static cebus_runtime *rt;

static void setup(void)
{
    rt = open_runtime(64 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
}

static void teardown(void)
{
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

TestSuite(address, .init = setup, .fini = teardown);

static uint64_t offset_of(const cebus_tensor *tensor)
{
    return tensor->storage->now->block->offset;
}

/** The sum of (p x)^2 over all elements, and its gradient. */
static void run_backward(cebus_tensor *p, cebus_tensor *x)
{
    cebus_tensor *y, *z, *loss;
    OK(cebus_mul(rt, p, x, &y));
    OK(cebus_mul(rt, y, y, &z));
    OK(cebus_sum(rt, z, 0, NULL, false, &loss));
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    cebus_tensor_release(loss);
}

static void train(cebus_optimizer *optimizer, const cebus_optimizer_buffer *kinds, size_t n)
{
    cebus_tensor *p = parameter(rt, N, 0.5F), *x = leaf(rt, N, 1), *state[2];
    OK(cebus_optimizer_add(optimizer, p));
    uint64_t at_first = offset_of(p), states[2];
    for (size_t i = 0; i < n; i++) {
        OK(cebus_optimizer_state(optimizer, 0, kinds[i], &state[i]));
        states[i] = offset_of(state[i]);
    }
    for (int step = 0; step < 5; step++) {
        run_backward(p, x);
        OK(cebus_optimizer_step(optimizer));
        OK(cebus_optimizer_zero_grad(optimizer));
        OK(cebus_runtime_trim(rt));
        cr_expect_eq(offset_of(p), at_first);
        for (size_t i = 0; i < n; i++)
            cr_expect_eq(offset_of(state[i]), states[i]);
        cr_expect_eq(stats_of(rt).active_bytes_persistent, (1 + n) * BLOCK);
    }
    cr_expect_neq(at(p, 0), 0.5F, "it learned something");
    for (size_t i = 0; i < n; i++)
        cebus_tensor_release(state[i]);
    cebus_optimizer_destroy(optimizer);
    cebus_tensor_release(p);
    cebus_tensor_release(x);
}

Test(address, parameters_and_momentum_stay_through_sgd)
{
    cebus_optimizer *optimizer;
    cebus_sgd_options options = CEBUS_SGD_OPTIONS_INIT;
    options.lr = 0.1;
    options.momentum = 0.9;
    OK(cebus_optimizer_create_sgd(rt, &options, &optimizer));
    train(optimizer, (cebus_optimizer_buffer[]){CEBUS_SGD_MOMENTUM}, 1);
}

Test(address, parameters_and_moments_stay_through_adam)
{
    cebus_optimizer *optimizer;
    cebus_adam_options options = CEBUS_ADAM_OPTIONS_INIT;
    options.lr = 0.1;
    OK(cebus_optimizer_create_adam(rt, &options, &optimizer));
    train(optimizer, (cebus_optimizer_buffer[]){CEBUS_ADAM_EXP_AVG, CEBUS_ADAM_EXP_AVG_SQ}, 2);
}

Test(address, gradients_of_leaves_add_up_in_place)
{
    cebus_tensor *p = parameter(rt, N, 1), *x = leaf(rt, N, 1), *grad;
    run_backward(p, x);
    OK(cebus_tensor_grad(p, &grad));
    uint64_t first = offset_of(grad);
    cebus_tensor_release(grad);
    for (int step = 2; step < 6; step++) {
        run_backward(p, x);
        OK(cebus_tensor_grad(p, &grad));
        cr_expect_eq(offset_of(grad), first);
        cr_expect_eq(at(grad, 7), 2.0F * (float)step);
        cebus_tensor_release(grad);
    }
    cebus_tensor_release(p);
    cebus_tensor_release(x);
}

Test(address, writes_through_views_of_parameters_stay_there)
{
    cebus_tensor *p = leaf(rt, N, 3), *x = leaf(rt, N / 2, 1), *half, *rows, *column, *before;
    OK(cebus_tensor_set_persistent(p));
    uint64_t first = offset_of(p);
    OK(cebus_mul_scalar(rt, p, 2, &before));
    OK(cebus_slice(rt, p, 0, N / 2, N, 1, &half));
    OK(cebus_reshape(rt, p, 2, (int64_t[]){N / 4, 4}, &rows));
    OK(cebus_slice(rt, rows, 1, 1, 2, 1, &column));
    OK(cebus_runtime_trim(rt));
    cr_assert_not(cebus_tensor_is_resident(before));
    OK(cebus_add_(rt, half, x, 1));
    OK(cebus_mul_scalar_(rt, column, 10));
    OK(cebus_fill_(rt, rows, 9));
    OK(cebus_copy_(rt, half, x));
    for (int i = 0; i < 4; i++) {
        cebus_tensor *views[] = {p, half, rows, column};
        cr_expect_eq(offset_of(views[i]), first);
        cr_expect_eq(cebus_tensor_version(views[i]), 4);
    }
    cr_expect_eq(at(before, N - 1), 6, "made again before the first write");
    cr_expect_eq(at(p, 0), 9);
    cr_expect_eq(at(p, N - 1), 1);
    cr_expect_eq(stats_of(rt).active_bytes_persistent, BLOCK);
    cebus_tensor *all[] = {p, x, half, rows, column, before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cebus_tensor_release(all[i]);
}

Test(address, uploads_to_parameters_stay_there)
{
    static float host[N];
    cebus_tensor *p = leaf(rt, N, 3), *half;
    OK(cebus_tensor_set_persistent(p));
    uint64_t first = offset_of(p);
    host[5] = 42;
    OK(cebus_tensor_set_from_host(p, host, sizeof host));
    cr_expect_eq(offset_of(p), first);
    cr_expect_eq(at(p, 5), 42);
    OK(cebus_slice(rt, p, 0, 0, N / 2, 1, &half));
    host[5] = 43;
    OK(cebus_tensor_set_from_host(half, host, sizeof host / 2));
    cr_expect_eq(offset_of(p), first);
    cr_expect_eq(at(p, 5), 43);
    cebus_tensor_release(half);
    cebus_tensor_release(p);
}

Test(address, running_statistics_stay_and_move_once)
{
    int64_t shape[] = {4, 8, 4, 8};
    cebus_tensor *flat = leaf(rt, N, 2), *x, *y, *mean = leaf(rt, 8, 0), *var = leaf(rt, 8, 1);
    OK(cebus_tensor_set_persistent(mean));
    OK(cebus_tensor_set_persistent(var));
    OK(cebus_reshape(rt, flat, 4, shape, &x));
    uint64_t first = offset_of(mean), second = offset_of(var);
    cebus_batch_norm_options options = {
        .running_mean = mean, .running_var = var, .training = true, .momentum = 0.5};
    float wanted = 0;
    for (int step = 0; step < 4; step++) {
        OK(cebus_batch_norm(rt, x, NULL, NULL, &options, &y));
        wanted += (2 - wanted) / 2;
        OK(cebus_runtime_trim(rt));
        cr_expect_eq(at(y, 0), 0, "rebuilt");
        cr_expect_eq(at(mean, 3), wanted, "and not counted again");
        cr_expect_eq(offset_of(mean), first);
        cr_expect_eq(offset_of(var), second);
        cebus_tensor_release(y);
    }
    cebus_tensor *all[] = {flat, x, mean, var};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cebus_tensor_release(all[i]);
}

Test(address, of_what_calls_made_stay_when_written_to)
{
    cebus_tensor *x = leaf(rt, N, 1), *y, *half;
    OK(cebus_add(rt, x, x, &y));
    uint64_t first = offset_of(y);
    OK(cebus_slice(rt, y, 0, 0, N / 2, 1, &half));
    for (int i = 0; i < 3; i++) {
        OK(cebus_add_scalar_(rt, half, 1));
        cr_expect_eq(offset_of(y), first, "a new version takes over the bytes");
    }
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(y, 0), 5);
    cr_expect_eq(at(y, N - 1), 2);
    cebus_tensor_release(half);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}
