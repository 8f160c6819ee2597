/** Functions of the user in the graph: hooks, gradients by any tensor, recorded functions. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "program.h"

static cebus_runtime *rt;

static void setup(void)
{
    rt = open_runtime(1 << 20, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
}

static void teardown(void)
{
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

TestSuite(hook, .init = setup, .fini = teardown);

/** What a hook was shown, and what it does about it. */
typedef struct watcher {
    int calls, released;
    float seen;
    double factor; /**< 0: it only looks */
    cebus_status status;
    cebus_tensor *other; /**< run a backward of its sum */
} watcher;

static cebus_status watch(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    watcher *w = context;
    w->calls++;
    w->seen = at(grad, 0);
    if (w->other != NULL) {
        cebus_grad_enable(true); /* it is off for hooks, and is again afterwards */
        backward_of_sum(rt, w->other);
    }
    if (w->status != CEBUS_OK)
        return w->status;
    return w->factor != 0 ? cebus_mul_scalar(rt, grad, w->factor, out) : CEBUS_OK;
}

static void forget(void *context)
{
    ((watcher *)context)->released++;
}

static cebus_grad_hook hook_of(watcher *w)
{
    return (cebus_grad_hook){
        .struct_size = sizeof(cebus_grad_hook), .call = watch, .release = forget, .context = w};
}

static uint64_t hang(cebus_tensor *x, watcher *w)
{
    uint64_t id = 0;
    cebus_grad_hook hook = hook_of(w);
    OK(cebus_tensor_register_hook(x, &hook, &id));
    cr_assert_neq(id, 0);
    return id;
}

Test(hook, sees_the_whole_gradient_of_an_inner_tensor_and_replaces_it)
{
    watcher first = {.factor = 10}, second = {0};
    cebus_tensor *x = variable(rt, 4, 3), *y, *z;
    OK(cebus_mul_scalar(rt, x, 2, &y));
    hang(y, &first);
    hang(y, &second);
    OK(cebus_mul(rt, y, y, &z));
    cebus_tensor_release(y);
    backward_of_sum(rt, z);
    cr_expect_eq(first.calls, 1, "once, with both terms of y y");
    cr_expect_eq(first.seen, 12);
    cr_expect_eq(second.seen, 120, "hooks follow each other");
    cr_expect_eq(grad_at(x, 0), 240);
    cr_expect_eq(first.released + second.released, 2, "the graph cannot be walked again");
    cebus_tensor_release(z);
    cebus_tensor_release(x);
}

Test(hook, of_a_leaf_sees_each_backward_before_it_is_added)
{
    watcher w = {.factor = -1}, after = {0};
    uint64_t last;
    cebus_tensor *x = variable(rt, 4, 3), *y;
    uint64_t id = hang(x, &w);
    cebus_grad_hook late = hook_of(&after);
    late.after = true;
    OK(cebus_tensor_register_hook(x, &late, &last));
    for (int step = 0; step < 2; step++) {
        OK(cebus_mul(rt, x, x, &y));
        backward_of_sum(rt, y);
        cebus_tensor_release(y);
    }
    cr_expect_eq(w.calls, 2);
    cr_expect_eq(w.seen, 6);
    cr_expect_eq(after.seen, -12, "it sees the sum");
    cr_expect_eq(grad_at(x, 0), -12);
    OK(cebus_tensor_remove_hook(x, id));
    cr_expect_eq(w.released, 1);
    FAILS(CEBUS_INVALID_ARGUMENT, "no such hook", cebus_tensor_remove_hook(x, id));
    OK(cebus_mul(rt, x, x, &y));
    backward_of_sum(rt, y);
    cr_expect_eq(w.calls, 2);
    cr_expect_eq(grad_at(x, 0), -6);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    cr_expect_eq(after.released, 1, "with the leaf");
}

Test(hook, that_fails_leaves_gradients_and_graph_as_they_were)
{
    watcher w = {.status = CEBUS_INVALID_ARGUMENT};
    cebus_tensor *x = variable(rt, 4, 3), *y, *sum, *grad;
    OK(cebus_mul(rt, x, x, &y));
    uint64_t id = hang(y, &w);
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    FAILS(CEBUS_INVALID_ARGUMENT, "no dimension", cebus_select(rt, x, 3, 0, &grad));
    FAILS(CEBUS_INVALID_ARGUMENT, "a hook failed, of a gradient of shape [4]",
          cebus_backward(rt, sum, NULL, false));
    OK(cebus_tensor_grad(x, &grad));
    cr_expect_null(grad);
    OK(cebus_tensor_remove_hook(y, id));
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 0), 6);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

static cebus_status wrong_shape(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    (void)context;
    return cebus_sum(rt, grad, 0, NULL, false, out);
}

Test(hook, must_answer_a_gradient_of_the_same_shape)
{
    uint64_t id;
    cebus_grad_hook hook = {.struct_size = sizeof hook, .call = wrong_shape};
    cebus_tensor *x = variable(rt, 4, 3), *sum;
    OK(cebus_tensor_register_hook(x, &hook, &id));
    OK(cebus_sum(rt, x, 0, NULL, false, &sum));
    FAILS(CEBUS_AUTOGRAD_ERROR, "a hook answered [] of f32 for a gradient of shape [4]",
          cebus_backward(rt, sum, NULL, false));
    cebus_tensor *plain = leaf(rt, 4, 1);
    FAILS(CEBUS_AUTOGRAD_ERROR, "requires no gradient",
          cebus_tensor_register_hook(plain, &hook, &id));
    hook.struct_size = 0;
    FAILS(CEBUS_INVALID_ARGUMENT, "struct_size", cebus_tensor_register_hook(x, &hook, &id));
    cebus_tensor_release(plain);
    cebus_tensor_release(sum);
    cebus_tensor_release(x);
}

Test(hook, may_run_a_backward_that_meets_the_same_leaf)
{
    watcher w = {0};
    cebus_tensor *x = variable(rt, 4, 3), *y, *z;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_mul_scalar(rt, x, 100, &w.other));
    hang(y, &w);
    OK(cebus_add(rt, y, x, &z));
    backward_of_sum(rt, z);
    cr_expect_eq(grad_at(x, 0), 107, "its own 7 and the hook's 100");
    cebus_tensor_release(w.other);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

static cebus_status walk_again(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    (void)grad;
    (void)out;
    cebus_tensor *root = context;
    FAILS(CEBUS_AUTOGRAD_ERROR, "not ended yet", cebus_backward(rt, root, NULL, false));
    return CEBUS_OK;
}

Test(hook, cannot_walk_the_graph_that_is_being_walked)
{
    uint64_t id;
    cebus_tensor *x = variable(rt, 4, 3), *y, *sum;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_sum(rt, y, 0, NULL, false, &sum));
    cebus_grad_hook hook = {.struct_size = sizeof hook, .call = walk_again, .context = sum};
    OK(cebus_tensor_register_hook(y, &hook, &id));
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 0), 6);
    cebus_tensor_release(sum);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

/** Takes the runtime's lock from another thread: it would wait forever if the hook held it. */
static void *ask_from_outside(void *context)
{
    (void)cebus_tensor_requires_grad(context);
    return NULL;
}

static cebus_status wait_for_a_thread(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    pthread_t thread;
    (void)context;
    (void)out;
    cr_assert_eq(pthread_create(&thread, NULL, ask_from_outside, grad), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    return CEBUS_OK;
}

Test(hook, runs_without_the_lock)
{
    uint64_t id;
    cebus_grad_hook hook = {.struct_size = sizeof hook, .call = wait_for_a_thread};
    cebus_tensor *x = variable(rt, 4, 3), *y;
    OK(cebus_tensor_register_hook(x, &hook, &id));
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_tensor_register_hook(y, &hook, &id));
    backward_of_sum(rt, y);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(hook, goes_with_a_graph_that_was_never_walked)
{
    watcher w[100] = {0};
    cebus_tensor *x = variable(rt, 4, 3), *y = cebus_tensor_retain(x), *z;
    for (int i = 0; i < 100; i++) {
        OK(cebus_mul_scalar(rt, y, 1, &z));
        hang(z, &w[i]);
        cebus_tensor_release(y);
        y = z;
    }
    cebus_tensor_release(y);
    cebus_tensor_release(x);
    for (int i = 0; i < 100; i++)
        cr_expect_eq(w[i].released, 1);
}

Test(hook, gradients_by_any_tensor_touch_no_leaf)
{
    watcher w = {0};
    cebus_tensor *x = variable(rt, 4, 3), *u = variable(rt, 4, 5), *y, *z, *sum, *out[3], *none;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_mul(rt, y, u, &z));
    OK(cebus_sum(rt, z, 0, NULL, false, &sum));
    hang(u, &w);
    cebus_tensor *alone = variable(rt, 4, 1), *inputs[3] = {y, x, alone};
    cebus_gradients what = CEBUS_GRADIENTS_INIT;
    what.roots = &sum, what.n_roots = 1;
    what.inputs = inputs, what.n_inputs = 3;
    what.retain_graph = true;
    OK(cebus_gradients_compute(rt, &what, out));
    cr_expect_eq(at(out[0], 0), 5);
    cr_expect_eq(at(out[1], 0), 30);
    cr_expect_null(out[2], "the root does not depend on it");
    cr_expect_eq(w.calls, 0, "nothing was asked of u");
    OK(cebus_tensor_grad(x, &none));
    cr_expect_null(none);
    what.inputs = inputs + 1, what.n_inputs = 1, what.retain_graph = false;
    OK(cebus_gradients_compute(rt, &what, NULL));
    cr_expect_eq(grad_at(x, 0), 30);
    OK(cebus_tensor_grad(u, &none));
    cr_expect_null(none, "only x accumulates");
    FAILS(CEBUS_AUTOGRAD_ERROR, "freed", cebus_backward(rt, sum, NULL, false));
    what.inputs = &y;
    FAILS(CEBUS_AUTOGRAD_ERROR, "not a leaf", cebus_gradients_compute(rt, &what, NULL));
    cebus_tensor_release(out[0]);
    cebus_tensor_release(out[1]);
    cebus_tensor_release(alone);
    cebus_tensor_release(sum);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(u);
    cebus_tensor_release(x);
}

Test(hook, several_roots_are_one_walk)
{
    watcher w = {0};
    cebus_tensor *x = variable(rt, 4, 3), *y, *halves[2], *roots[3], *ones;
    OK(cebus_mul(rt, x, x, &y));
    hang(y, &w);
    OK(cebus_slice(rt, y, 0, 0, 2, 1, &halves[0]));
    OK(cebus_slice(rt, y, 0, 2, 4, 1, &halves[1]));
    OK(cebus_sum(rt, halves[0], 0, NULL, false, &roots[0]));
    OK(cebus_sum(rt, halves[1], 0, NULL, false, &roots[1]));
    roots[2] = y;
    ones = leaf(rt, 4, 1);
    cebus_tensor *seeds[3] = {NULL, NULL, ones};
    cebus_gradients what = CEBUS_GRADIENTS_INIT;
    what.roots = roots, what.seeds = seeds, what.n_roots = 3;
    OK(cebus_gradients_compute(rt, &what, NULL));
    cr_expect_eq(w.calls, 1);
    cr_expect_eq(w.seen, 2, "from its half and as a root");
    cr_expect_eq(grad_at(x, 3), 12);
    cebus_tensor_release(ones);
    for (int i = 0; i < 2; i++) {
        cebus_tensor_release(roots[i]);
        cebus_tensor_release(halves[i]);
    }
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

/** d(a b): what was saved, by the gradient, with the factors of a watcher. */
static cebus_status product_gradient(void *context, const cebus_function_step *step)
{
    watcher *w = context;
    w->calls++;
    cr_assert_eq(step->n_saved, 2);
    cr_assert_eq(step->n_in, 2);
    if (w->status != CEBUS_OK)
        return w->status;
    cebus_status status = CEBUS_OK;
    for (uint32_t i = 0; i < 2 && status == CEBUS_OK; i++) {
        if ((step->needs >> i) & 1)
            status = cebus_mul(step->rt, step->grad_out[0], step->saved[1 - i], &step->grad_in[i]);
    }
    return status;
}

static cebus_function product_of(cebus_tensor **in, cebus_tensor **result, watcher *w)
{
    return (cebus_function){.struct_size = sizeof(cebus_function),
                            .name = "product",
                            .in = in,
                            .n_in = 2,
                            .saved = in,
                            .n_saved = 2,
                            .results = result,
                            .n_out = 1,
                            .gradient = product_gradient,
                            .release = forget,
                            .context = w};
}

static cebus_tensor *product(cebus_tensor *a, cebus_tensor *b, watcher *w)
{
    cebus_tensor *in[2] = {a, b}, *result, *out;
    bool recorded = cebus_grad_enable(false);
    OK(cebus_mul(rt, a, b, &result));
    cebus_grad_enable(recorded);
    cebus_function f = product_of(in, &result, w);
    OK(cebus_function_record(rt, &f, &out));
    cebus_tensor_release(result);
    return out;
}

Test(hook, a_recorded_function_computes_its_own_gradient)
{
    watcher w = {0};
    cebus_tensor *x = variable(rt, 4, 3), *c = leaf(rt, 4, 7), *y, *z;
    OK(cebus_mul_scalar(rt, x, 2, &y));
    z = product(y, c, &w);
    cr_expect(cebus_tensor_requires_grad(z));
    OK(cebus_fill_(rt, y, 0));
    OK(cebus_runtime_trim(rt));
    backward_of_sum(rt, z);
    cr_expect_eq(grad_at(x, 0), 14, "what was saved is found as it was");
    cr_expect_eq(w.calls, 1);
    cr_expect_eq(w.released, 1);
    cebus_tensor_release(z);
    z = product(c, c, &w);
    cr_expect_not(cebus_tensor_requires_grad(z));
    cr_expect_eq(w.released, 2, "nothing was recorded, so nothing is needed");
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(c);
    cebus_tensor_release(x);
}

Test(hook, a_recorded_function_may_show_or_write_its_input)
{
    watcher w = {0};
    cebus_tensor *x = variable(rt, 4, 3), *y, *in[2], *out;
    OK(cebus_mul_scalar(rt, x, 2, &y));
    in[0] = in[1] = y;
    bool recorded = cebus_grad_enable(false);
    cebus_tensor *saved;
    OK(cebus_clone(rt, y, &saved));
    OK(cebus_mul_(rt, y, y));
    cebus_grad_enable(recorded);
    cebus_function f = product_of(in, in, &w);
    cebus_tensor *both[2] = {saved, saved};
    f.saved = both;
    OK(cebus_function_record(rt, &f, &out));
    cr_expect_eq(out, y, "it was written in place");
    backward_of_sum(rt, y);
    cr_expect_eq(grad_at(x, 0), 24, "d(4 x^2) at 3");
    cebus_tensor_release(out);
    in[0] = x;
    f.in = f.results = in;
    FAILS(CEBUS_AUTOGRAD_ERROR, "cannot be written in place", cebus_function_record(rt, &f, &out));
    cebus_tensor_release(saved);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(hook, a_recorded_function_that_fails_can_be_tried_again)
{
    watcher w = {.status = CEBUS_DEVICE_ERROR};
    cebus_tensor *x = variable(rt, 4, 3), *z = product(x, x, &w), *sum, *grad;
    OK(cebus_sum(rt, z, 0, NULL, false, &sum));
    FAILS(CEBUS_DEVICE_ERROR, "its gradient failed", cebus_backward(rt, sum, NULL, false));
    OK(cebus_tensor_grad(x, &grad));
    cr_expect_null(grad);
    w.status = CEBUS_OK;
    OK(cebus_backward(rt, sum, NULL, false));
    cr_expect_eq(grad_at(x, 0), 6);
    cebus_tensor_release(sum);
    cebus_tensor_release(z);
    cebus_tensor_release(x);
    cebus_function none = {0};
    cebus_tensor *out;
    FAILS(CEBUS_INVALID_ARGUMENT, "struct_size", cebus_function_record(rt, &none, &out));
}

/** All that it makes goes at once. */
static cebus_status vanishing_gradient(void *context, const cebus_function_step *step)
{
    cebus_status status = product_gradient(context, step);
    return status == CEBUS_OK ? cebus_runtime_trim(step->rt) : status;
}

static cebus_tensor *vanishing_product(cebus_tensor *a, cebus_tensor *b, watcher *w)
{
    cebus_tensor *in[2] = {a, b}, *result, *out;
    bool recorded = cebus_grad_enable(false);
    OK(cebus_mul(rt, a, b, &result));
    cebus_grad_enable(recorded);
    cebus_function f = product_of(in, &result, w);
    f.gradient = vanishing_gradient;
    OK(cebus_function_record(rt, &f, &out));
    cebus_tensor_release(result);
    return out;
}

static void count_in_place(void *context, const cebus_event *event)
{
    int *sums = context;
    if (event->kind == CEBUS_EVENT_CALLED && strcmp(event->op, "add_") == 0)
        ++*sums;
}

Test(hook, a_gradient_that_is_gone_comes_back_to_be_added_to)
{
    watcher w = {0};
    int sums = 0;
    cebus_tensor *x = variable(rt, 4096, 3), *c = vector(rt, 4096, 5), *total;
    cebus_tensor *one = vanishing_product(x, c, &w), *two = vanishing_product(x, c, &w);
    OK(cebus_add(rt, one, two, &total));
    cebus_runtime_set_event_hook(rt, count_in_place, &sums);
    backward_of_sum(rt, total);
    cebus_runtime_set_event_hook(rt, NULL, NULL);
    cr_expect_eq(grad_at(x, 0), 10);
    cr_expect_eq(sums, 1, "and not beside it, which takes more room");
    cebus_tensor_release(total);
    cebus_tensor_release(one);
    cebus_tensor_release(two);
    cebus_tensor_release(c);
    cebus_tensor_release(x);
}
