/**
 * A backward that fails while calls are recorded or watched: the capture of the iteration is right,
 * or there is none.
 */
#include <criterion/criterion.h>

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
    OK(cebus_capture_watch(rt, false));
    cr_expect_eq(cebus_memory_allocated(rt), 0);
    cebus_runtime_destroy(rt);
}

TestSuite(capture_failed, .init = setup, .fini = teardown);

/** What a hook does before the backward fails, and what it keeps. */
typedef enum deed {
    NOTHING,
    LETS_GO, /**< of what it makes */
    KEEPS,   /**< a gradient */
    WRITES,  /**< to `outside` */
    DRAWS,   /**< random numbers */
} deed;

typedef struct saboteur {
    deed deed;
    bool fails;
    cebus_tensor *outside, *kept;
} saboteur;

static cebus_status act(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    saboteur *s = context;
    const int64_t n = N;
    cebus_tensor *made = NULL;
    (void)out;
    if (!s->fails)
        return CEBUS_OK;
    if (s->deed == LETS_GO)
        OK(cebus_mul_scalar(rt, grad, 2, &made));
    if (s->deed == DRAWS)
        OK(cebus_randn(rt, CEBUS_F32, 1, &n, &made));
    if (s->deed == KEEPS)
        OK(cebus_mul_scalar(rt, grad, 2, &s->kept));
    if (s->deed == WRITES)
        OK(cebus_add_scalar_(rt, s->outside, 1));
    cebus_tensor_release(made);
    return CEBUS_DEVICE_ERROR;
}

typedef struct learner {
    saboteur s;
    cebus_tensor *w, *x, *loss;
} learner;

static learner create(deed what)
{
    learner l = {.s = {.deed = what}, .w = leaf(rt, N, 2), .x = leaf(rt, N, 3)};
    OK(cebus_tensor_set_persistent(l.w));
    OK(cebus_tensor_set_requires_grad(l.w, true));
    return l;
}

static void destroy(learner *l)
{
    cebus_tensor *const all[] = {l->w, l->x, l->loss, l->s.outside, l->s.kept};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cebus_tensor_release(all[i]);
}

/** A step whose first backward fails half way, if so, and is made again. */
static void step(learner *l, bool fails)
{
    cebus_tensor *y, *z, *grad;
    cebus_grad_hook hook = {.struct_size = sizeof hook, .call = act, .context = &l->s};
    uint64_t id;
    l->s.fails = fails;
    OK(cebus_mul(rt, l->w, l->x, &y));
    OK(cebus_tensor_register_hook(y, &hook, &id));
    cebus_tensor_release(l->s.outside);
    OK(cebus_add_scalar(rt, l->x, 0, &l->s.outside));
    OK(cebus_tanh(rt, y, &z));
    cebus_tensor_release(l->loss);
    OK(cebus_sum(rt, z, 0, NULL, false, &l->loss));
    if (fails)
        FAILS(CEBUS_DEVICE_ERROR, "a hook failed", cebus_backward(rt, l->loss, NULL, false));
    l->s.fails = false;
    OK(cebus_backward(rt, l->loss, NULL, false));
    bool recorded = cebus_grad_enable(false);
    OK(cebus_tensor_grad(l->w, &grad));
    OK(cebus_add_(rt, l->w, grad, -0.5));
    OK(cebus_tensor_set_grad(l->w, NULL));
    cebus_grad_enable(recorded);
    cebus_tensor *const made[] = {grad, y, z};
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(made[i]);
}

/** What two steps by the program leave. */
static float by_itself(void)
{
    learner l = create(NOTHING);
    step(&l, false);
    step(&l, false);
    float w = at(l.w, 0);
    destroy(&l);
    return w;
}

Test(capture_failed, a_backward_made_again_is_there_once)
{
    static const deed deeds[] = {NOTHING, LETS_GO};
    const float wanted = by_itself();
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        learner l = create(deeds[i]);
        cebus_capture *capture;
        OK(cebus_capture_begin(rt));
        step(&l, true);
        OK(cebus_capture_end(rt, &capture));
        OK(cebus_capture_launch(capture));
        cr_expect_eq(at(l.w, 0), wanted, "deed %zu", i);
        cebus_capture_destroy(capture);
        destroy(&l);
    }
}

Test(capture_failed, what_it_left_behind_is_refused)
{
    static const deed deeds[] = {KEEPS, WRITES, DRAWS};
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        learner l = create(deeds[i]);
        cebus_capture *capture;
        cebus_tensor *y = NULL;
        OK(cebus_capture_begin(rt));
        step(&l, true);
        if (l.s.kept != NULL)
            OK(cebus_add_scalar(rt, l.s.kept, 1, &y));
        cebus_tensor_release(y);
        FAILS(CEBUS_CAPTURE_ERROR, "a backward failed half way", cebus_capture_end(rt, &capture));
        cr_expect_null(capture);
        destroy(&l);
    }
}

Test(capture_failed, a_watched_iteration_says_so_and_the_next_is_right)
{
    const float wanted = by_itself();
    for (int marks = 0; marks < 2; marks++) {
        for (deed what = NOTHING; what <= DRAWS; what++) {
            learner l = create(what);
            cebus_capture *capture;
            OK(cebus_capture_watch(rt, true));
            for (int i = 0; i < 6; i++) {
                step(&l, i == 4);
                if (marks)
                    OK(cebus_iteration_mark(rt));
                if (i == 4)
                    cr_expect_eq(cebus_capture_last(rt, &capture), CEBUS_CAPTURE_ERROR);
                if (i == 4 && marks)
                    FAILS(CEBUS_CAPTURE_ERROR, "failed half way", cebus_capture_last(rt, &capture));
            }
            OK(cebus_capture_last(rt, &capture));
            float fresh[N];
            for (int i = 0; i < N; i++)
                fresh[i] = 2;
            bool recorded = cebus_grad_enable(false);
            OK(cebus_tensor_set_from_host(l.w, fresh, sizeof fresh));
            cebus_grad_enable(recorded);
            OK(cebus_capture_launch(capture));
            OK(cebus_capture_launch(capture));
            cr_expect_eq(at(l.w, 0), wanted, "deed %d", (int)what);
            cebus_capture_destroy(capture);
            OK(cebus_capture_watch(rt, false));
            destroy(&l);
        }
    }
}

Test(capture_failed, a_backward_that_is_refused_before_it_begins_changes_nothing)
{
    learner l = create(NOTHING);
    cebus_capture *capture;
    OK(cebus_capture_watch(rt, true));
    OK(cebus_iteration_mark(rt));
    for (int between = 0; between < 2; between++) {
        step(&l, false);
        if (!between)
            FAILS(CEBUS_AUTOGRAD_ERROR, "does not depend", cebus_backward(rt, l.x, NULL, false));
        OK(cebus_iteration_mark(rt));
        if (between)
            FAILS(CEBUS_AUTOGRAD_ERROR, "does not depend", cebus_backward(rt, l.x, NULL, false));
        OK(cebus_capture_last(rt, &capture));
        cr_expect_eq(cebus_capture_input_count(capture), 1);
        cebus_capture_destroy(capture);
        OK(cebus_iteration_mark(rt));
    }
    destroy(&l);
}

Test(capture_failed, a_backward_that_begins_an_iteration_is_all_in_it)
{
    cebus_tensor *w = leaf(rt, N, 1), *g = leaf(rt, N, 1), *grad;
    cebus_capture *capture;
    OK(cebus_tensor_set_requires_grad(w, true));
    OK(cebus_capture_watch(rt, true));
    OK(cebus_iteration_mark(rt));
    OK(cebus_backward(rt, w, g, false)); /* no call is made before it touches w */
    OK(cebus_iteration_mark(rt));
    FAILS(CEBUS_CAPTURE_ERROR, "a leaf had no gradient", cebus_capture_last(rt, &capture));
    OK(cebus_backward(rt, w, g, false)); /* and adds to what was there */
    OK(cebus_iteration_mark(rt));
    OK(cebus_capture_last(rt, &capture));
    OK(cebus_capture_launch(capture));
    OK(cebus_tensor_grad(w, &grad));
    cr_expect_eq(at(grad, 3), 3);
    cebus_capture_destroy(capture);
    cebus_tensor *const all[] = {grad, g, w};
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(all[i]);
}
