/** Programs without a mark: where their iterations end is found out, and that they come again. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "eager/guidance/state.h"
#include "program.h"
#include "tests/support/models.h"

TestSuite(detect);

enum {
    WIDTH = 8,
    MOST_LAYERS = 8
};

static cebus_tensor *noise(cebus_runtime *rt, int64_t rows, int64_t columns)
{
    cebus_tensor *out;
    OK(cebus_randn(rt, CEBUS_F32, 2, (int64_t[]){rows, columns}, &out));
    return out;
}

typedef struct net {
    cebus_runtime *rt;
    int layers;
    cebus_tensor *w[MOST_LAYERS];
    cebus_optimizer *optimizer;
} net;

static net make_net(cebus_runtime *rt, int layers)
{
    net n = {.rt = rt, .layers = layers};
    OK(cebus_optimizer_create_adam(rt, NULL, &n.optimizer));
    for (int i = 0; i < MOST_LAYERS; i++) {
        n.w[i] = noise(rt, WIDTH, WIDTH);
        OK(cebus_tensor_set_persistent(n.w[i]));
        OK(cebus_tensor_set_requires_grad(n.w[i], true));
        OK(cebus_optimizer_add(n.optimizer, n.w[i]));
    }
    return n;
}

static void free_net(net *n)
{
    for (int i = 0; i < MOST_LAYERS; i++)
        cebus_tensor_release(n->w[i]);
    cebus_optimizer_destroy(n->optimizer);
}

static cebus_runtime *open_unmarked(void)
{
    return open_runtime(1 << 20, "odswap", CEBUS_DEBUG_WALK);
}

/** Of a batch from the host. */
static cebus_tensor *batch(cebus_runtime *rt, int64_t rows)
{
    static const float host[64 * WIDTH] = {1, -2, 3};
    cebus_tensor *out;
    OK(cebus_tensor_from_host(rt, host, CEBUS_F32, 2, (int64_t[]){rows, WIDTH}, &out));
    return out;
}

/** Layers [0, layers) of x; x goes. */
static cebus_tensor *pass(net *n, cebus_tensor *x, int layers)
{
    cebus_tensor *y;
    for (int i = 0; i < layers; i++) {
        OK(cebus_matmul(n->rt, x, n->w[i], &y));
        cebus_tensor_release(x);
        OK(cebus_tanh(n->rt, y, &x));
        cebus_tensor_release(y);
    }
    return x;
}

static void learn_from(cebus_runtime *rt, cebus_tensor *y)
{
    cebus_tensor *loss;
    OK(cebus_sum(rt, y, 0, NULL, false, &loss));
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);
    cebus_tensor_release(y);
}

static void update(net *n)
{
    OK(cebus_optimizer_step(n->optimizer));
    OK(cebus_optimizer_zero_grad(n->optimizer));
}

/** An iteration: so many batches, then the optimizer's step. */
static void train(net *n, int64_t rows, int batches)
{
    for (int i = 0; i < batches; i++)
        learn_from(n->rt, pass(n, batch(n->rt, rows), n->layers));
    update(n);
}

static void evaluate(net *n, int64_t rows)
{
    bool recorded = cebus_grad_enable(false);
    cebus_tensor_release(pass(n, batch(n->rt, rows), n->layers));
    cebus_grad_enable(recorded);
}

/** Of the last call. */
static uint64_t signature(cebus_runtime *rt)
{
    return rt->guidance->detector.access.signature;
}

static uint64_t of_sum(cebus_runtime *rt, cebus_tensor *x, int dim)
{
    cebus_tensor *y;
    OK(cebus_sum(rt, x, 1, &dim, false, &y));
    cebus_tensor_release(y);
    return signature(rt);
}

static uint64_t of_product(cebus_runtime *rt, cebus_tensor *x, double factor)
{
    cebus_tensor *y;
    OK(cebus_mul_scalar(rt, x, factor, &y));
    cebus_tensor_release(y);
    return signature(rt);
}

Test(detect, a_call_is_told_by_attributes_and_shapes_but_not_by_numbers)
{
    cebus_runtime *rt = open_unmarked();
    cebus_tensor *x = noise(rt, WIDTH, WIDTH), *wide = noise(rt, WIDTH, 2 * WIDTH);
    cr_expect_eq(of_product(rt, x, 2), of_product(rt, x, 3));
    cr_expect_neq(of_product(rt, x, 2), of_product(rt, wide, 2));
    cr_expect_eq(of_sum(rt, x, 0), of_sum(rt, x, 0));
    cr_expect_neq(of_sum(rt, x, 0), of_sum(rt, x, 1));
    uint64_t plain = of_sum(rt, x, 0);
    OK(cebus_tensor_set_requires_grad(x, true));
    cr_expect_neq(of_sum(rt, x, 0), plain, "a backward will want it");
    cebus_tensor_release(x);
    cebus_tensor_release(wide);
    cebus_runtime_destroy(rt);
}

/** What was found since the last time it was asked. */
typedef struct found {
    uint64_t ended, repeated;
} found;

static found look(cebus_runtime *rt)
{
    static found before;
    cebus_memory_stats now = stats_of(rt);
    if (now.iterations_found < before.ended)
        before = (found){0};
    found since = {now.iterations_found - before.ended, now.iterations_repeated - before.repeated};
    before = (found){now.iterations_found, now.iterations_repeated};
    return since;
}

static void expect_found(cebus_runtime *rt, uint64_t ended, uint64_t repeated, const char *what,
                         int step)
{
    found since = look(rt);
    cr_expect_eq(since.ended, ended, "%s, step %d: %lu ended", what, step, since.ended);
    cr_expect_eq(since.repeated, repeated, "%s, step %d: %lu repeated", what, step, since.repeated);
}

static uint64_t kinds(cebus_runtime *rt)
{
    return stats_of(rt).iterations_known;
}

static bool is_followed(cebus_runtime *rt)
{
    return rt->guidance->log.following;
}

/** That an iteration ended is known when the next begins. */
Test(detect, a_plain_loop_is_followed_from_its_second_iteration)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 4);
    train(&n, 4, 1); /* the making of the weights is no part of it */
    look(rt);
    for (int i = 0; i < 6; i++) {
        OK(cebus_optimizer_set_lr(n.optimizer, 0.1 / (i + 1)));
        train(&n, 4, 1);
        cr_expect(is_followed(rt), "step %d", i);
        expect_found(rt, 1, i > 0, "plain", i); /* the end of the first was not known yet */
    }
    free_net(&n);
    cebus_runtime_destroy(rt);
}

Test(detect, micro_batches_of_one_step_are_one_iteration)
{
    for (int k = 1; k <= 16; k++) {
        cebus_runtime *rt = open_unmarked();
        net n = make_net(rt, 3);
        train(&n, 4, k);
        train(&n, 4, k);
        look(rt);
        for (int i = 0; i < 4; i++) {
            train(&n, 4, k);
            expect_found(rt, 1, 1, "accumulated", k);
        }
        cr_expect_leq(kinds(rt), 2);
        free_net(&n);
        cebus_runtime_destroy(rt);
    }
}

Test(detect, numbers_of_micro_batches_may_change)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 3);
    for (int i = 0; i < 8; i++)
        train(&n, 4, 1 + i % 4);
    look(rt);
    for (int i = 0; i < 12; i++) {
        train(&n, 4, 1 + i % 4);
        cr_expect(is_followed(rt));
        expect_found(rt, 1, 1, "1 to 4", i);
    }
    free_net(&n);
    cebus_runtime_destroy(rt);
}

Test(detect, two_optimizers_are_two_iterations)
{
    cebus_runtime *rt = open_unmarked();
    net generator = make_net(rt, 2), critic = make_net(rt, 3);
    for (int i = 0; i < 8; i++) {
        bool recorded = cebus_grad_enable(false);
        cebus_tensor *fake = pass(&generator, noise(rt, 4, WIDTH), 2);
        cebus_grad_enable(recorded);
        learn_from(rt, pass(&critic, fake, 3));
        learn_from(rt, pass(&critic, batch(rt, 4), 3));
        update(&critic);
        learn_from(rt, pass(&critic, pass(&generator, noise(rt, 4, WIDTH), 2), 3));
        OK(cebus_optimizer_step(generator.optimizer));
        OK(cebus_optimizer_zero_grad(critic.optimizer));
        OK(cebus_optimizer_zero_grad(generator.optimizer));
        if (i > 2)
            expect_found(rt, 2, 2, "two", i);
        else
            look(rt);
    }
    free_net(&generator);
    free_net(&critic);
    cebus_runtime_destroy(rt);
}

/** Training, then evaluation of so many batches, again and again. */
static void take_turns(int evaluations, int *out_unguided)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 4);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) {
            train(&n, 4, 1);
            *out_unguided += i > 4 && !is_followed(rt);
        }
        for (int k = 0; k < evaluations; k++) {
            evaluate(&n, 16);
            *out_unguided += i > 4 && !is_followed(rt);
        }
    }
    cr_expect_leq(kinds(rt), 6, "%lu kinds with %d evaluations", kinds(rt), evaluations);
    free_net(&n);
    cebus_runtime_destroy(rt);
}

Test(detect, training_and_evaluation_take_turns)
{
    for (int evaluations = 1; evaluations <= 12; evaluations++) {
        int unguided = 0;
        take_turns(evaluations, &unguided);
        cr_expect_eq(unguided, 0, "%d evaluations: %d unguided", evaluations, unguided);
    }
}

Test(detect, each_length_of_sequences_is_an_iteration_of_its_own)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 3);
    int seen[8] = {0};
    uint32_t state = 7;
    train(&n, 20, 1);
    look(rt);
    for (int i = 0; i < 80; i++) {
        state = state * 1664525U + 1013904223U;
        int bucket = (int)(state >> 29);
        train(&n, 4 + bucket, 1);
        cr_expect_eq(is_followed(rt), seen[bucket] > 0, "step %d", i);
        seen[bucket]++;
        found since = look(rt);
        cr_expect_eq(since.ended, 1);
    }
    cr_expect_leq(kinds(rt), 10);
    free_net(&n);
    cebus_runtime_destroy(rt);
}

Test(detect, inference_is_found_within_three_repetitions)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 5);
    look(rt);
    for (int i = 0; i < 10; i++) {
        evaluate(&n, 4);
        found since = look(rt);
        if (i > 3)
            cr_expect_eq(since.ended, 1, "step %d: %lu", i, since.ended);
        cr_expect(i < 4 || is_followed(rt), "step %d", i);
    }
    free_net(&n);
    cebus_runtime_destroy(rt);
}

Test(detect, inference_that_stops_early_is_followed_again)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 5);
    bool recorded = cebus_grad_enable(false);
    for (int i = 0; i < 20; i++) {
        int layers = i > 8 && i % 3 == 0 ? 2 : 5;
        cebus_tensor_release(pass(&n, batch(rt, 4), layers));
        cr_expect(i < 5 || is_followed(rt), "step %d", i);
        if (i > 5)
            expect_found(rt, 1, i < 10 || i % 3 != 1, "early", i);
        else
            look(rt);
    }
    cebus_grad_enable(recorded);
    free_net(&n);
    cebus_runtime_destroy(rt);
}

/** With the gradient recorded: the same until the graph goes unused. */
Test(detect, a_call_that_fails_in_the_middle_of_an_iteration_is_got_over)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 4);
    for (int i = 0; i < 4; i++)
        train(&n, 4, 1);
    look(rt);
    cebus_tensor *y = pass(&n, batch(rt, 4), 2), *wrong = noise(rt, 3, 3), *out;
    cr_expect_neq(cebus_matmul(rt, y, wrong, &out), CEBUS_OK);
    cebus_tensor_release(wrong);
    cebus_tensor_release(y);
    train(&n, 4, 1);
    look(rt);
    for (int i = 0; i < 3; i++) {
        train(&n, 4, 1);
        cr_expect(is_followed(rt));
        expect_found(rt, 1, i > 0, "after a failure", i);
    }
    free_net(&n);
    cebus_runtime_destroy(rt);
}

Test(detect, a_layer_added_between_steps_is_a_new_iteration)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 3);
    for (int i = 0; i < 4; i++)
        train(&n, 4, 1);
    for (; n.layers < 6; n.layers++) {
        train(&n, 4, 1);
        look(rt);
        for (int i = 0; i < 3; i++) {
            train(&n, 4, 1);
            cr_expect(is_followed(rt), "%d layers, step %d", n.layers, i);
            expect_found(rt, 1, i > 0 || n.layers == 3, "more layers", n.layers);
        }
    }
    free_net(&n);
    cebus_runtime_destroy(rt);
}

/** p -= lr m / (sqrt(v) + eps), call by call, its state in tensors of the program's own. */
static void own_adam(cebus_runtime *rt, cebus_tensor *p, cebus_tensor *m, cebus_tensor *v)
{
    cebus_tensor *grad, *square, *root, *step;
    OK(cebus_tensor_grad(p, &grad));
    OK(cebus_lerp_(rt, m, grad, 0.1));
    OK(cebus_mul(rt, grad, grad, &square));
    OK(cebus_lerp_(rt, v, square, 0.001));
    OK(cebus_sqrt(rt, v, &root));
    OK(cebus_add_scalar_(rt, root, 1e-8));
    OK(cebus_div(rt, m, root, &step));
    OK(cebus_mul_scalar_(rt, p, 0.999));
    OK(cebus_add_(rt, p, step, -0.01));
    OK(cebus_tensor_set_grad(p, NULL));
    cebus_tensor_release(grad);
    cebus_tensor_release(square);
    cebus_tensor_release(root);
    cebus_tensor_release(step);
}

Test(detect, an_optimizer_of_the_programs_own_is_one_run_of_writes)
{
    cebus_runtime *rt = open_unmarked();
    net n = make_net(rt, 3);
    cebus_tensor *state[2][3];
    for (int i = 0; i < 6; i++) {
        state[i % 2][i / 2] = noise(rt, WIDTH, WIDTH);
        OK(cebus_tensor_set_persistent(state[i % 2][i / 2]));
    }
    for (int i = 0; i < 6; i++) {
        learn_from(rt, pass(&n, batch(rt, 4), 3));
        bool recorded = cebus_grad_enable(false);
        for (int k = 0; k < 3; k++)
            own_adam(rt, n.w[k], state[0][k], state[1][k]);
        cebus_grad_enable(recorded);
        if (i > 0)
            expect_found(rt, 1, i > 1, "own", i);
        else
            look(rt);
    }
    for (int i = 0; i < 6; i++)
        cebus_tensor_release(state[i % 2][i / 2]);
    free_net(&n);
    cebus_runtime_destroy(rt);
}

/** A model of tests/support that trains: one iteration a step, and no other. */
static void expect_one_a_step(const char *name, int repeats_from)
{
    cebus_runtime *rt = open_runtime(256 << 20, "odswap", 0);
    cebus_model *model = cebus_model_create(rt, name, NULL);
    cr_assert_not_null(model);
    float loss;
    OK(cebus_model_step(model, &loss));
    look(rt);
    for (int i = 1; i < 6; i++) {
        OK(cebus_model_step(model, &loss));
        found since = look(rt);
        cr_expect_eq(since.ended, 1, "%s, step %d: %lu", name, i, since.ended);
        if (i >= repeats_from)
            cr_expect_eq(since.repeated, 1, "%s, step %d", name, i);
    }
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
}

Test(detect, models_that_train_have_one_iteration_a_step)
{
    expect_one_a_step("mlp", 3);
    expect_one_a_step("cnn", 3);
    expect_one_a_step("lstm", 3);
    expect_one_a_step("lstm-cells", 3);
    expect_one_a_step("gpt", 3);
    expect_one_a_step("unet", 3);
    expect_one_a_step("resnet-cifar", 3);
}

Test(detect, trees_that_never_repeat_are_not_taken_for_anything)
{
    expect_one_a_step("tree", 99);
}
