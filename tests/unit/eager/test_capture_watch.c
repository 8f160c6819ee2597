/**
 * Iterations that the runtime found, taken as captures.
 */
#include <criterion/criterion.h>

#include "program.h"

#define N 256
#define BLOCK (N * sizeof(float))
#define STEPS 9

static cebus_runtime *rt;

static void setup(void)
{
    rt = open_runtime(64 * BLOCK, "coop", CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
}

static void teardown(void)
{
    OK(cebus_capture_watch(rt, false)); /* lets go of what it keeps */
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

TestSuite(capture_watch, .init = setup, .fini = teardown);

/** How a program goes about it. */
typedef struct habits {
    const char *policy;
    bool marks, adam, lets_go_last, looks; /**< looks: reads the loss after each step */
    double dropout;
} habits;

typedef struct learner {
    cebus_runtime *rt;
    const habits *how;
    cebus_tensor *w, *loss;
    cebus_optimizer *optimizer;
    double seen;
} learner;

static learner create(cebus_runtime *on, const habits *how)
{
    learner l = {.rt = on, .how = how};
    cebus_sgd_options sgd = CEBUS_SGD_OPTIONS_INIT;
    sgd.lr = 0.01;
    sgd.momentum = 0.5;
    l.w = leaf(on, N, 1);
    OK(cebus_tensor_set_persistent(l.w));
    OK(cebus_tensor_set_requires_grad(l.w, true));
    OK(how->adam ? cebus_optimizer_create_adam(on, NULL, &l.optimizer)
                 : cebus_optimizer_create_sgd(on, &sgd, &l.optimizer));
    OK(cebus_optimizer_add(l.optimizer, l.w));
    return l;
}

static void destroy(learner *l)
{
    cebus_tensor_release(l->loss);
    cebus_tensor_release(l->w);
    cebus_optimizer_destroy(l->optimizer);
}

static float batch_at(int step)
{
    return 1 + 0.25F * (float)step;
}

/** As programs do it: batches are made anew in the iteration, the second one in the middle of it.
 */
static void step(learner *l, int number)
{
    cebus_tensor *y, *z, *d, *x = leaf(l->rt, N, batch_at(number));
    if (!l->how->lets_go_last)
        OK(cebus_optimizer_zero_grad(l->optimizer));
    OK(cebus_mul(l->rt, l->w, x, &y));
    cebus_tensor *t = leaf(l->rt, N, 0.5F * batch_at(number));
    OK(cebus_sub(l->rt, y, t, &z));
    OK(cebus_dropout(l->rt, z, l->how->dropout, true, &d));
    cebus_tensor_release(l->loss);
    OK(cebus_sum(l->rt, d, 0, NULL, false, &l->loss));
    cebus_tensor *const made[] = {x, t, y, z, d};
    for (int i = 0; i < 5; i++)
        cebus_tensor_release(made[i]);
    OK(cebus_backward(l->rt, l->loss, NULL, false));
    OK(cebus_optimizer_step(l->optimizer));
    if (l->how->lets_go_last)
        OK(cebus_optimizer_zero_grad(l->optimizer));
    if (l->how->marks)
        OK(cebus_iteration_mark(l->rt));
    if (l->how->looks)
        OK(cebus_tensor_item(l->loss, &l->seen));
}

static void feed(cebus_capture *capture, size_t i, float value)
{
    float host[N];
    cebus_tensor *input;
    for (int k = 0; k < N; k++)
        host[k] = value;
    OK(cebus_capture_input(capture, i, &input));
    OK(cebus_tensor_set_from_host(input, host, sizeof host));
    cebus_tensor_release(input);
}

/** What a program is left with, the last steps launched if it is `watched`. */
static float train(const habits *how, bool watched)
{
    cebus_runtime *on = open_runtime(64 * BLOCK, how->policy, CEBUS_DEBUG_WALK | CEBUS_DEBUG_HASH);
    learner l = create(on, how);
    cebus_capture *capture = NULL;
    if (watched)
        OK(cebus_capture_watch(on, true));
    for (int i = 0; i < STEPS; i++) {
        if (capture == NULL) {
            step(&l, i);
        } else {
            feed(capture, 0, batch_at(i));
            feed(capture, 1, 0.5F * batch_at(i));
            OK(cebus_capture_launch(capture));
        }
        if (watched && i == STEPS - 4) {
            OK(cebus_capture_last(on, &capture));
            cr_expect_eq(cebus_capture_input_count(capture), 2);
            OK(cebus_capture_watch(on, false));
        }
    }
    float result = at(l.w, 3) + 7 * at(l.loss, 0);
    cebus_capture_destroy(capture);
    destroy(&l);
    cr_expect_eq(cebus_memory_allocated(on), 0);
    cebus_runtime_destroy(on);
    return result;
}

Test(capture_watch, what_the_runtime_found_trains_as_the_program_does)
{
    static const habits all[] = {
        {"coop", true, false, false, false, 0},       {"coop", false, false, false, false, 0},
        {"none", false, false, true, false, 0},       {"dtr", false, true, false, true, 0.5},
        {"lru", true, true, true, true, 0.25},        {"cebus", false, false, false, true, 0.5},
        {"capuchin", true, true, false, false, 0.25},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_eq(train(&all[i], true), train(&all[i], false), "habits %zu", i);
}

Test(capture_watch, says_what_is_missing)
{
    const habits how = {"coop", false, false, false, false, 0};
    learner l = create(rt, &how);
    cebus_capture *capture;
    cebus_tensor *y;
    FAILS(CEBUS_INVALID_ARGUMENT, "nobody watches", cebus_capture_last(rt, &capture));
    FAILS(CEBUS_INVALID_ARGUMENT, "out is NULL", cebus_capture_last(rt, NULL));
    step(&l, 0);
    OK(cebus_capture_watch(rt, true));
    OK(cebus_capture_watch(rt, true));
    FAILS(CEBUS_CAPTURE_ERROR, "from its beginning", cebus_capture_last(rt, &capture));
    step(&l, 1); /* nothing is known yet: this one may have begun before */
    FAILS(CEBUS_CAPTURE_ERROR, "from its beginning", cebus_capture_last(rt, &capture));
    for (int i = 2; i < 5; i++)
        step(&l, i);
    OK(cebus_mul(rt, l.w, l.w, &y));
    cebus_tensor_release(y);
    FAILS(CEBUS_CAPTURE_ERROR, "1 calls into", cebus_capture_last(rt, &capture));
    cr_expect_null(capture);
    OK(cebus_iteration_mark(rt)); /* an iteration of one call, and a graph that is gone */
    OK(cebus_capture_last(rt, &capture));
    cr_expect_eq(cebus_capture_program(capture)->n_calls, 1);
    cr_expect_eq(cebus_capture_input_count(capture), 0, "parameters are no inputs");
    FAILS(CEBUS_INVALID_ARGUMENT, "input 0 of 0", cebus_capture_input(capture, 0, &y));
    FAILS(CEBUS_INVALID_ARGUMENT, "capture is NULL", cebus_capture_input(NULL, 0, &y));
    cr_expect_eq(cebus_capture_input_count(NULL), 0);
    cebus_capture_destroy(capture);
    FAILS(CEBUS_CAPTURE_ERROR, "from its beginning", cebus_capture_last(rt, &capture));
    destroy(&l);
}

/** One marked iteration, with something in its middle that a capture refuses. */
typedef void middle(cebus_tensor *x, cebus_tensor *y);

static void reads(cebus_tensor *x, cebus_tensor *y)
{
    double number;
    cebus_tensor *first;
    (void)x;
    OK(cebus_slice(rt, y, 0, 0, 1, 1, &first));
    OK(cebus_tensor_item(first, &number));
    cebus_tensor_release(first);
}

static void maps(cebus_tensor *x, cebus_tensor *y)
{
    const void *bytes;
    (void)y;
    OK(cebus_tensor_map(x, &bytes));
    cebus_tensor_unmap(x);
}

static void seeds(cebus_tensor *x, cebus_tensor *y)
{
    (void)x;
    (void)y;
    cebus_manual_seed(rt, 3);
}

static void persists(cebus_tensor *x, cebus_tensor *y)
{
    (void)x;
    OK(cebus_tensor_set_persistent(y));
}

static void iterate(cebus_tensor *x, middle *between)
{
    cebus_tensor *y, *z;
    OK(cebus_add_scalar(rt, x, 1, &y));
    if (between != NULL)
        between(x, y);
    OK(cebus_mul(rt, y, y, &z));
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    OK(cebus_iteration_mark(rt));
}

Test(capture_watch, goes_on_where_a_capture_refuses_and_says_so)
{
    static const struct {
        middle *between;
        const char *text;
    } all[] = {{reads, "item after 1 of its calls (the last: add_scalar): the host would read"},
               {maps, "map after 1 of its calls"},
               {seeds, "cebus_manual_seed()"},
               {persists, "set_persistent after 1 of its calls"}};
    cebus_capture *capture;
    cebus_tensor *x = leaf(rt, N, 2);
    OK(cebus_capture_watch(rt, true));
    OK(cebus_iteration_mark(rt));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        iterate(x, all[i].between);
        FAILS(CEBUS_CAPTURE_ERROR, all[i].text, cebus_capture_last(rt, &capture));
        iterate(x, NULL);
        OK(cebus_capture_last(rt, &capture));
        cr_expect_eq(cebus_capture_program(capture)->n_calls, 2);
        cebus_capture_destroy(capture);
    }
    cebus_tensor_release(x);
}

Test(capture_watch, inputs_are_whole_tensors)
{
    static float host[N];
    const int64_t shape[2] = {16, N / 16};
    cebus_capture *capture;
    cebus_tensor *flat = leaf(rt, N, 1), *part, *sum, *row, *input;
    OK(cebus_capture_watch(rt, true));
    OK(cebus_iteration_mark(rt));
    cebus_tensor *x;
    OK(cebus_tensor_from_host(rt, host, CEBUS_F32, 2, shape, &x));
    OK(cebus_slice(rt, flat, 0, 0, 16, 1, &part));
    OK(cebus_slice(rt, x, 1, 0, 1, 1, &row));
    OK(cebus_add(rt, row, part, &sum));
    cebus_tensor *const made[] = {part, row, x, flat};
    for (int i = 0; i < 4; i++)
        cebus_tensor_release(made[i]);
    OK(cebus_iteration_mark(rt));
    OK(cebus_capture_last(rt, &capture));
    cr_expect_eq(cebus_capture_input_count(capture), 2);
    OK(cebus_capture_input(capture, 0, &input));
    cr_expect_eq(cebus_tensor_ndim(input), 2, "as it was made");
    for (int i = 0; i < N; i++)
        host[i] = 3;
    OK(cebus_tensor_set_from_host(input, host, sizeof host));
    cebus_tensor_release(input);
    OK(cebus_capture_input(capture, 1, &input));
    cr_expect_eq(cebus_tensor_ndim(input), 1);
    cr_expect_eq(cebus_tensor_numel(input), N, "all of it, though a part was read");
    cebus_tensor_release(input);
    OK(cebus_capture_launch(capture));
    cr_expect_eq(at(sum, 5), 4);
    cebus_capture_destroy(capture);
    cebus_tensor_release(sum);
}

Test(capture_watch, captures_and_launches_of_the_programs_own_go_first)
{
    cebus_capture *own, *found, *capture;
    cebus_tensor *x = leaf(rt, N, 2), *y;
    OK(cebus_capture_watch(rt, true));
    OK(cebus_capture_begin(rt));
    OK(cebus_add(rt, x, x, &y));
    FAILS(CEBUS_CAPTURE_ERROR, "being recorded", cebus_capture_last(rt, &capture));
    OK(cebus_capture_end(rt, &own));
    FAILS(CEBUS_INVALID_ARGUMENT, "no calls", cebus_capture_end(rt, &capture));
    OK(cebus_iteration_mark(rt));
    iterate(x, NULL);
    OK(cebus_capture_last(rt, &found));
    OK(cebus_capture_launch(own)); /* while a watch is on */
    cr_expect_eq(at(y, 0), 4);
    FAILS(CEBUS_CAPTURE_ERROR, "from its beginning", cebus_capture_last(rt, &capture));
    OK(cebus_capture_launch(found));
    iterate(x, NULL);
    OK(cebus_capture_last(rt, &capture));
    cebus_capture_destroy(capture);
    OK(cebus_runtime_set_policy(rt, "cebus")); /* what is under way is no iteration any more */
    FAILS(CEBUS_CAPTURE_ERROR, "from its beginning", cebus_capture_last(rt, &capture));
    iterate(x, NULL);
    iterate(x, NULL);
    OK(cebus_capture_last(rt, &capture));
    cebus_capture_destroy(capture);
    cebus_capture_destroy(found);
    cebus_capture_destroy(own);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

Test(capture_watch, launches_do_not_keep_iterations_from_being_found)
{
    const habits how = {"coop", false, false, false, false, 0};
    cebus_capture *own, *found;
    cebus_tensor *x = leaf(rt, N, 2), *y;
    OK(cebus_capture_begin(rt));
    OK(cebus_add(rt, x, x, &y));
    OK(cebus_capture_end(rt, &own));
    OK(cebus_capture_watch(rt, true));
    for (int round = 0; round < 2; round++) {
        OK(cebus_capture_launch(own));
        learner l = create(rt, &how);
        for (int i = 0; i < 4; i++)
            step(&l, i);
        OK(cebus_capture_last(rt, &found));
        OK(cebus_capture_launch(found));
        cebus_capture_destroy(found);
        destroy(&l);
    }
    cebus_capture_destroy(own);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
}

Test(capture_watch, a_backward_from_before_and_one_to_come_are_refused)
{
    const habits how = {"coop", true, false, false, false, 0};
    learner l = create(rt, &how);
    cebus_capture *capture;
    cebus_tensor *y, *loss;
    OK(cebus_capture_watch(rt, true));
    step(&l, 0);
    OK(cebus_mul(rt, l.w, l.w, &y));
    OK(cebus_sum(rt, y, 0, NULL, false, &loss));
    cebus_tensor_release(y);
    OK(cebus_iteration_mark(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "a backward is still to come", cebus_capture_last(rt, &capture));
    OK(cebus_backward(rt, loss, NULL, false));
    OK(cebus_iteration_mark(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "before the capture began", cebus_capture_last(rt, &capture));
    cebus_tensor_release(loss);
    step(&l, 1);
    OK(cebus_capture_last(rt, &capture));
    cebus_capture_destroy(capture);
    destroy(&l);
}

Test(capture_watch, a_runtime_goes_while_it_watches)
{
    cebus_runtime *other = open_runtime(64 * BLOCK, "coop", 0);
    cebus_tensor *x = leaf(other, N, 1), *y;
    OK(cebus_capture_watch(other, true));
    OK(cebus_iteration_mark(other));
    OK(cebus_add(other, x, x, &y));
    cebus_runtime_destroy(other);
    cebus_tensor_release(y);
    OK(cebus_add(other, x, x, &y)); /* lives on with its tensors */
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

/** Of a program that marks its iterations none ends elsewhere, whatever policy comes meanwhile:
 * what is left of one after another policy came is none. */
Test(capture_watch, marks_count_on_under_another_policy)
{
    const habits how = {"coop", true, false, false, false, 0};
    learner l = create(rt, &how);
    cebus_tensor *more;
    cebus_capture *capture;
    OK(cebus_capture_watch(rt, true));
    for (int i = 0; i < 4; i++)
        step(&l, i);
    OK(cebus_runtime_set_policy(rt, "dtr"));
    OK(cebus_optimizer_step(l.optimizer)); /* a run of writes, as at the end of an iteration */
    OK(cebus_tanh(rt, l.loss, &more));
    cebus_tensor_release(more);
    OK(cebus_iteration_mark(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "no iteration has been seen from its beginning",
          cebus_capture_last(rt, &capture));
    step(&l, 4);
    OK(cebus_capture_last(rt, &capture));
    cebus_capture_destroy(capture);
    destroy(&l);
}
