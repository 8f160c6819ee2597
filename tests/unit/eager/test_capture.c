#include <criterion/criterion.h>

#include "eager/capture/capture.h"
#include "program.h"

#define N 256
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

TestSuite(capture, .init = setup, .fini = teardown);

static void fill(cebus_tensor *x, float value)
{
    float host[N];
    for (int i = 0; i < N; i++)
        host[i] = value;
    OK(cebus_tensor_set_from_host(x, host, sizeof host));
}

/** w, as trained by SGD with momentum or by Adam. */
/** sum(w x w): what an iteration computes. */
static cebus_tensor *loss_of(cebus_tensor *w, cebus_tensor *x)
{
    cebus_tensor *y, *z, *loss;
    OK(cebus_mul(rt, w, x, &y));
    OK(cebus_mul(rt, y, w, &z));
    OK(cebus_sum(rt, z, 0, NULL, false, &loss));
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    return loss;
}

Test(capture, inputs_are_read_anew_and_outputs_keep_their_handles)
{
    cebus_tensor *x = leaf(rt, N, 2), *y, *z, *first;
    cebus_capture *capture;
    const int64_t half = N / 2;
    OK(cebus_capture_begin(rt));
    OK(cebus_add_scalar(rt, x, 1, &y));
    OK(cebus_mul(rt, y, y, &z));
    cebus_tensor_release(y);
    OK(cebus_capture_end(rt, &capture));
    OK(cebus_slice(rt, z, 0, 0, half, 1, &first));
    cr_expect_eq(at(z, 0), 9);
    fill(x, 4);
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(z, N - 1), 25);
    cr_expect_eq(at(first, 0), 25, "a view of an output sees the launch");
    cr_expect_eq(cebus_capture_program(capture)->n_calls, 2);
    cr_expect_str_eq(cebus_capture_call_name(capture, 1), "mul");
    cr_expect_str_eq(cebus_capture_call_name(capture, 2), "");
    cebus_capture_destroy(capture);
    cr_expect_eq(at(z, 0), 25, "outputs outlive the capture");
    cebus_tensor_release(first);
    cebus_tensor_release(z);
    cebus_tensor_release(x);
}

Test(capture, writes_in_place_to_inputs_stay)
{
    cebus_tensor *x = leaf(rt, N, 1), *y;
    cebus_capture *capture;
    OK(cebus_capture_begin(rt));
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_add_(rt, x, y, 1));
    cebus_tensor_release(y);
    OK(cebus_capture_end(rt, &capture));
    cr_expect_eq(at(x, 0), 3);
    for (int i = 0; i < 3; i++)
        OK(cebus_capture_launch(capture));
    cr_expect_eq(at(x, 7), 81);
    cebus_capture_destroy(capture);
    cebus_tensor_release(x);
}

/** Steps of a program, the first two its own, all but one launched if `captured`. */
static float train(bool captured, bool adam, cebus_optimizer **optimizer)
{
    cebus_sgd_options sgd = CEBUS_SGD_OPTIONS_INIT;
    cebus_tensor *w = parameter(rt, N, 1), *x = leaf(rt, N, 1), *loss = NULL;
    cebus_capture *capture = NULL;
    sgd.lr = 0.01;
    sgd.momentum = 0.5;
    OK(adam ? cebus_optimizer_create_adam(rt, NULL, optimizer)
            : cebus_optimizer_create_sgd(rt, &sgd, optimizer));
    OK(cebus_optimizer_add(*optimizer, w));
    for (int step = 0; step < 5; step++) {
        fill(x, 1 + 0.25F * (float)step);
        OK(cebus_optimizer_set_lr(*optimizer, 0.01 / (step + 1)));
        if (capture != NULL) {
            OK(cebus_capture_launch(capture));
            continue;
        }
        if (captured)
            OK(cebus_capture_begin(rt));
        cebus_tensor_release(loss);
        loss = loss_of(w, x);
        OK(cebus_backward(rt, loss, NULL, false));
        OK(cebus_optimizer_step(*optimizer));
        OK(cebus_optimizer_zero_grad(*optimizer));
        if (captured)
            OK(cebus_capture_end(rt, &capture));
    }
    float result = at(w, 3) + at(loss, 0);
    cebus_capture_destroy(capture);
    cebus_tensor_release(loss);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
    return result;
}

Test(capture, launches_train_as_the_program_does)
{
    for (int adam = 0; adam < 2; adam++) {
        cebus_optimizer *a, *b;
        int64_t steps;
        float wanted = train(false, adam, &a);
        cr_expect_eq(train(true, adam, &b), wanted, "adam: %d", adam);
        OK(cebus_optimizer_step_count(b, 0, &steps));
        cr_expect_eq(steps, 5, "launches count as steps");
        cebus_optimizer_destroy(a);
        cebus_optimizer_destroy(b);
    }
}

/**
 * Updates without an optimizer, `turns` an iteration: the number of the step goes on, too, also
 * past iterations that the program runs itself.
 */
static float update(bool captured, int turns)
{
    cebus_tensor *w = parameter(rt, N, 1), *g = leaf(rt, N, 0.5F), *m = leaf(rt, N, 0),
                 *v = leaf(rt, N, 0);
    cebus_capture *capture = NULL;
    const cebus_adam_tensors tensors = {w, g, m, v};
    for (int i = 0; i < 6; i++) {
        const bool itself = i == 0 || i == 3;
        if (capture != NULL && !itself) {
            OK(cebus_capture_launch(capture));
            continue;
        }
        if (captured && i == 0)
            OK(cebus_capture_begin(rt));
        for (int turn = 1; turn <= turns; turn++)
            OK(cebus_adam_step(rt, &tensors, i * turns + turn, NULL));
        if (captured && i == 0)
            OK(cebus_capture_end(rt, &capture));
        else if (captured)
            OK(cebus_capture_count_on(capture, 1));
    }
    cr_expect_eq(cebus_capture_count_on(NULL, 1), CEBUS_INVALID_ARGUMENT);
    float result = at(w, 0);
    cebus_capture_destroy(capture);
    cebus_tensor_release(v);
    cebus_tensor_release(m);
    cebus_tensor_release(g);
    cebus_tensor_release(w);
    return result;
}

Test(capture, steps_of_adam_count_on)
{
    for (int turns = 1; turns <= 3; turns++) {
        float wanted = update(false, turns);
        cr_expect_eq(update(true, turns), wanted, "%d", turns);
    }
}

Test(capture, random_numbers_go_on)
{
    const int64_t n = N;
    cebus_tensor *drawn[4], *x = NULL, *gap;
    cebus_capture *capture;
    cebus_manual_seed(rt, 5);
    for (int i = 0; i < 4; i++) {
        OK(cebus_randn(rt, CEBUS_F32, 1, &n, &drawn[i]));
        if (i == 2) /* the program draws once on its own between the last two */
            OK(cebus_randn(rt, CEBUS_F32, 1, &n, &gap));
    }
    cebus_manual_seed(rt, 5);
    OK(cebus_capture_begin(rt));
    OK(cebus_randn(rt, CEBUS_F32, 1, &n, &x));
    OK(cebus_capture_end(rt, &capture));
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(at(x, 9), at(drawn[i], 9), "round %d", i);
        if (i == 2) {
            cebus_tensor_release(gap);
            OK(cebus_randn(rt, CEBUS_F32, 1, &n, &gap));
        }
        if (i < 3)
            OK(cebus_capture_launch(capture));
        cebus_tensor_release(drawn[i]);
    }
    cebus_tensor_release(gap);
    cebus_tensor_release(x);
    cebus_capture_destroy(capture);
}

Test(capture, gradients_are_bound_and_added_to)
{
    cebus_tensor *w = parameter(rt, N, 2), *x = leaf(rt, N, 3), *loss, *grad, *same;
    cebus_capture *capture;
    loss = loss_of(w, x); /* a gradient that is there before: 2 w x */
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);
    OK(cebus_capture_begin(rt));
    loss = loss_of(w, x);
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);
    OK(cebus_capture_end(rt, &capture));
    OK(cebus_capture_launch(capture));
    OK(cebus_capture_launch(capture));
    OK(cebus_tensor_grad(w, &grad));
    cr_expect_eq(at(grad, 1), 4 * 12, "each round adds 12");
    OK(cebus_tensor_set_grad(w, NULL));
    FAILS(CEBUS_CAPTURE_ERROR, "no longer has", cebus_capture_launch(capture));
    cr_expect_eq(at(grad, 1), 48, "nothing has changed");
    cebus_capture_destroy(capture);
    cebus_tensor_release(grad);

    OK(cebus_capture_begin(rt)); /* let go, and made anew */
    OK(cebus_tensor_set_grad(w, NULL));
    loss = loss_of(w, x);
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);
    OK(cebus_capture_end(rt, &capture));
    OK(cebus_tensor_grad(w, &grad));
    OK(cebus_tensor_set_grad(w, NULL));
    fill(x, 1);
    OK(cebus_capture_launch(capture));
    OK(cebus_tensor_grad(w, &same));
    cr_expect_eq(at(same, 1), 4);
    cr_expect_eq(at(grad, 1), 4, "the handle from before sees it");
    cebus_tensor_release(same);
    cebus_tensor_release(grad);
    cebus_capture_destroy(capture);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

Test(capture, what_a_gradient_saved_before_a_write_is_there)
{
    cebus_tensor *w = parameter(rt, N, 2), *x = leaf(rt, N, 3), *y, *z, *loss, *grad;
    cebus_capture *capture;
    static const uint32_t late[] = {1, 0};
    OK(cebus_capture_begin(rt));
    OK(cebus_tensor_set_grad(w, NULL));
    OK(cebus_mul(rt, w, x, &y));
    OK(cebus_mul(rt, y, y, &z)); /* saves y */
    cebus_grad_enable(false);
    OK(cebus_mul_scalar_(rt, y, 0));
    cebus_grad_enable(true);
    OK(cebus_sum(rt, z, 0, NULL, false, &loss));
    OK(cebus_backward(rt, loss, NULL, false));
    OK(cebus_capture_end(rt, &capture));
    fill(x, 5);
    OK(cebus_capture_launch(capture));
    OK(cebus_tensor_grad(w, &grad));
    cr_expect_eq(at(grad, 0), 2 * 2 * 5 * 5);
    cr_expect_eq(at(y, 0), 0);
    FAILS(CEBUS_INVALID_ARGUMENT, "were captured", cebus_capture_set_order(capture, late, 2));
    cebus_capture_destroy(capture);
    cebus_tensor_release(grad);
    cebus_tensor_release(loss);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

Test(capture, refuses_what_passes_between_host_and_device)
{
    static float host[N];
    const int64_t n = N;
    const void *mapped;
    double number;
    cebus_tensor *x = leaf(rt, N, 2), *w = parameter(rt, N, 1), *y = NULL;
    cebus_capture *capture = NULL;
    OK(cebus_capture_begin(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "the host would read", cebus_tensor_to_host(x, host, sizeof host));
    FAILS(CEBUS_CAPTURE_ERROR, "the host would read", cebus_tensor_map(x, &mapped));
    FAILS(CEBUS_CAPTURE_ERROR, "the host would write",
          cebus_tensor_from_host(rt, host, CEBUS_F32, 1, &n, &y));
    FAILS(CEBUS_CAPTURE_ERROR, "the host would write",
          cebus_tensor_set_from_host(x, host, sizeof host));
    FAILS(CEBUS_CAPTURE_ERROR, "the norm", cebus_clip_grad_norm(rt, &w, 1, 1, NULL));
    FAILS(CEBUS_CAPTURE_ERROR, "persistent once", cebus_tensor_set_persistent(x));
    FAILS(CEBUS_CAPTURE_ERROR, "already", cebus_capture_begin(rt));
    OK(cebus_sum(rt, x, 0, NULL, false, &y));
    FAILS(CEBUS_CAPTURE_ERROR, "the host would read", cebus_tensor_item(y, &number));
    cr_expect_str_eq(cebus_last_error()->op, "item");
    OK(cebus_capture_end(rt, &capture));
    cr_expect_eq(cebus_capture_program(capture)->n_calls, 1, "what was refused left nothing");
    OK(cebus_tensor_map(y, &mapped));
    FAILS(CEBUS_CAPTURE_ERROR, "mapped", cebus_capture_launch(capture));
    cebus_tensor_unmap(y);
    OK(cebus_capture_launch(capture));
    OK(cebus_capture_begin(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "being recorded", cebus_capture_launch(capture));
    OK(cebus_capture_end(rt, NULL));
    cebus_capture_destroy(capture);
    cebus_tensor_release(y);
    cebus_tensor_release(w);
    cebus_tensor_release(x);
}

Test(capture, refuses_iterations_that_cannot_come_again)
{
    cebus_tensor *w = parameter(rt, N, 1), *x = leaf(rt, N, 1), *loss, *y;
    cebus_capture *capture;
    FAILS(CEBUS_INVALID_ARGUMENT, "no calls are being recorded", cebus_capture_end(rt, &capture));
    OK(cebus_capture_begin(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "no call was made", cebus_capture_end(rt, &capture));
    cr_expect_null(capture);

    OK(cebus_capture_begin(rt));
    cebus_manual_seed(rt, 1);
    OK(cebus_add(rt, x, x, &y));
    cebus_tensor_release(y);
    FAILS(CEBUS_CAPTURE_ERROR, "manual_seed", cebus_capture_end(rt, &capture));

    OK(cebus_capture_begin(rt));
    loss = loss_of(w, x);
    FAILS(CEBUS_CAPTURE_ERROR, "a backward is still to come", cebus_capture_end(rt, &capture));

    OK(cebus_capture_begin(rt)); /* of a forward from before */
    FAILS(CEBUS_CAPTURE_ERROR, "before the capture began", cebus_backward(rt, loss, NULL, false));
    OK(cebus_capture_end(rt, NULL));
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);

    OK(cebus_tensor_set_grad(w, NULL));
    OK(cebus_capture_begin(rt)); /* the first of a row that adds up */
    loss = loss_of(w, x);
    OK(cebus_backward(rt, loss, NULL, false));
    FAILS(CEBUS_CAPTURE_ERROR, "would add", cebus_capture_end(rt, &capture));
    cebus_tensor_release(loss);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

Test(capture, adds_to_a_gradient_that_something_else_holds)
{
    cebus_tensor *w = parameter(rt, N, 1), *x = leaf(rt, N, 1), *loss = loss_of(w, x), *held;
    cebus_capture *capture;
    OK(cebus_backward(rt, loss, NULL, false));
    cebus_tensor_release(loss);
    OK(cebus_tensor_grad(w, &held));
    const float once = at(held, 0);
    OK(cebus_capture_begin(rt));
    loss = loss_of(w, x);
    OK(cebus_backward(rt, loss, NULL, false));
    OK(cebus_capture_end(rt, &capture));
    cr_expect_eq(at(held, 0), 2 * once);
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(held, 0), 3 * once);
    cr_expect_eq(grad_at(w, 0), 3 * once);
    cebus_capture_destroy(capture);
    cebus_tensor_release(loss);
    cebus_tensor_release(held);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
}

Test(capture, orders_are_checked)
{
    cebus_tensor *x = leaf(rt, N, 1), *y, *z;
    cebus_capture *capture;
    static const uint32_t good[] = {1, 0, 2}, twice[] = {0, 0, 2}, beyond[] = {0, 1, 3};
    static const uint32_t early[] = {0, 2, 1};
    OK(cebus_capture_begin(rt));
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_mul(rt, x, x, &z));
    OK(cebus_add_(rt, x, z, 1));
    OK(cebus_capture_end(rt, &capture));
    OK(cebus_capture_set_order(capture, good, 3));
    FAILS(CEBUS_INVALID_ARGUMENT, "comes twice", cebus_capture_set_order(capture, twice, 3));
    FAILS(CEBUS_INVALID_ARGUMENT, "only 3", cebus_capture_set_order(capture, beyond, 3));
    FAILS(CEBUS_INVALID_ARGUMENT, "call 2 (add_) comes at step 1, before call 1 (mul)",
          cebus_capture_set_order(capture, early, 3));
    FAILS(CEBUS_INVALID_ARGUMENT, "2 calls", cebus_capture_set_order(capture, good, 2));
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(y, 0), 4);
    cr_expect_eq(at(z, 0), 4);
    cr_expect_eq(at(x, 0), 6);
    OK(cebus_capture_set_order(capture, NULL, 0));
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_capture_set_order(NULL, good, 3));
    FAILS(CEBUS_INVALID_ARGUMENT, "NULL", cebus_capture_launch(NULL));
    cebus_capture_destroy(capture);
    cebus_capture_destroy(NULL);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

static float counted;

static cebus_status count_up(const cebus_custom_launch *launch)
{
    ((float *)launch->out[0].data)[0] = ++counted;
    return CEBUS_OK;
}

static cebus_status one_number(void *user, const void *attrs, const cebus_view *const *in,
                               uint32_t n_in, cebus_view *out)
{
    (void)user, (void)attrs, (void)in, (void)n_in;
    out[0].dtype = CEBUS_F32;
    out[0].ndim = 1;
    out[0].shape[0] = 1;
    return CEBUS_OK;
}

/** What has a state of its own gives other bits in another order. */
Test(capture, calls_that_cannot_be_replayed_keep_their_order)
{
    static const cebus_custom_op op = {.struct_size = sizeof op,
                                       .name = "count",
                                       .flags = CEBUS_CUSTOM_NONREPLAYABLE,
                                       .n_out = 1,
                                       .infer = one_number,
                                       .run = count_up};
    cebus_tensor *first, *second;
    cebus_capture *capture;
    static const uint32_t swapped[] = {1, 0};
    OK(cebus_capture_begin(rt));
    OK(cebus_call_custom(rt, &op, NULL, 0, NULL, 0, &first));
    OK(cebus_call_custom(rt, &op, NULL, 0, NULL, 0, &second));
    OK(cebus_capture_end(rt, &capture));
    FAILS(CEBUS_INVALID_ARGUMENT, "which it must follow",
          cebus_capture_set_order(capture, swapped, 2));
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(first, 0), 3);
    cr_expect_eq(at(second, 0), 4);
    cebus_capture_destroy(capture);
    cebus_tensor_release(second);
    cebus_tensor_release(first);
}

Test(capture, plans_are_checked)
{
    const cebus_advise_link link = {1 << 30, 1 << 30, UINT32_C(1) << 31, 0};
    cebus_advise_options options = CEBUS_ADVISE_OPTIONS_INIT;
    cebus_advise_result result;
    cebus_advice *plan;
    cebus_tensor *x = leaf(rt, N, 1), *y, *z;
    cebus_capture *capture;
    OK(cebus_capture_begin(rt));
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_mul(rt, y, x, &z));
    OK(cebus_capture_end(rt, &capture));
    options.memory = 32 * BLOCK;
    options.link = link;
    OK(cebus_advise(cebus_capture_program(capture), &options, &result, &plan));
    cr_assert_not_null(plan);
    OK(cebus_capture_set_plan(capture, plan, &link));
    fill(x, 3);
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(z, 0), 18);
    FAILS(CEBUS_INVALID_ARGUMENT, "link", cebus_capture_set_plan(capture, plan, NULL));
    plan->steps[0].call = 1;
    FAILS(CEBUS_INVALID_ARGUMENT, "does not hold", cebus_capture_set_plan(capture, plan, &link));
    plan->steps[0].call = 0;
    plan->height = 65 * BLOCK;
    FAILS(CEBUS_INVALID_ARGUMENT, "the budget is", cebus_capture_set_plan(capture, plan, &link));
    plan->print++;
    FAILS(CEBUS_INVALID_ARGUMENT, "another program", cebus_capture_set_plan(capture, plan, &link));
    OK(cebus_capture_launch(capture));
    OK(cebus_capture_set_plan(capture, NULL, NULL));
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(z, 0), 18);
    cebus_advice_destroy(plan);
    cebus_capture_destroy(capture);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(capture, launches_say_what_calls_cost)
{
    const uint64_t far = UINT64_C(3600) * 1000000000; /* an hour */
    cebus_tensor *x = leaf(rt, N, 1), *y;
    cebus_capture *capture;
    OK(cebus_capture_begin(rt));
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_capture_end(rt, &capture));
    const cebus_advise_call *call = cebus_capture_program(capture)->calls;
    const uint64_t print = cebus_advise_print(cebus_capture_program(capture));
    const uint64_t recorded = call->cost_ns;
    cebus_capture_learn(capture, 0, far);
    cr_expect_eq(call->cost_ns, recorded, "one run that was interrupted does not count");
    cebus_capture_learn(capture, 0, far);
    cr_expect_eq(call->cost_ns, far, "two in a row do");
    OK(cebus_capture_launch(capture));
    OK(cebus_capture_launch(capture));
    cr_expect_lt(call->cost_ns, far, "what launches took counts");
    cr_expect_eq(cebus_advise_print(cebus_capture_program(capture)), print);
    cebus_capture_destroy(capture);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(capture, a_launch_without_room_goes_on_with_more)
{
    cebus_tensor *x = leaf(rt, N, 1), *y[8], *sum;
    cebus_capture *capture;
    OK(cebus_capture_begin(rt));
    for (int i = 0; i < 8; i++)
        OK(cebus_add_scalar(rt, x, i, &y[i]));
    OK(cebus_cat(rt, y, 8, 0, &sum));
    for (int i = 0; i < 8; i++)
        cebus_tensor_release(y[i]);
    OK(cebus_capture_end(rt, &capture));
    fill(x, 2);
    OK(cebus_runtime_set_budget(rt, 12 * BLOCK));
    cr_expect_eq(cebus_capture_launch(capture), CEBUS_OUT_OF_MEMORY);
    FAILS(CEBUS_CAPTURE_ERROR, "half done", cebus_capture_set_order(capture, NULL, 0));
    OK(cebus_runtime_set_budget(rt, 64 * BLOCK));
    cr_expect_eq(at(sum, 0), 0, "not made yet");
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(sum, 7 * N), 9);
    cebus_capture_destroy(capture);
    cebus_tensor_release(sum);
    cebus_tensor_release(x);
}

Test(capture, a_runtime_goes_while_it_records)
{
    cebus_runtime *other = open_runtime(64 * BLOCK, "coop", 0);
    cebus_tensor *x = leaf(other, N, 1), *y;
    OK(cebus_capture_begin(other));
    OK(cebus_add(other, x, x, &y));
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cebus_runtime_destroy(other);
}
