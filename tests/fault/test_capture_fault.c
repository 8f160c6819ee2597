/**
 * Fails the n-th host allocation, launch and copy of a program that captures a step and launches
 * it: in the program's order, in another one, and by a plan; and of one that has the last step that
 * the runtime found. What fails must say so and succeed when it is called again; a launch goes on
 * where it stood; a watch that was disturbed may have no step to give, and the program none the
 * worse for it. The run ends with the bits of an undisturbed one, and nothing leaks. Prints TAP.
 */
#include <stdio.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/fault/trial.h"
#include "tests/support/slice.h"

#define ROWS 16
#define WIDTH 24

typedef struct run {
    cebus_trial trial;
    cebus_runtime *rt;
    cebus_capture *capture;
    uint64_t budget;
    bool watches;
    float result[WIDTH * WIDTH];
} run;

/** Two layers, dropout, a write in place, a backward, an update. */
static void step(run *r, cebus_tensor *x, cebus_tensor *w)
{
    cebus_tensor *y = NULL, *h = NULL, *z = NULL, *d = NULL, *loss = NULL, *grad = NULL;
    TRY(r, cebus_matmul(r->rt, x, w, &y));
    TRY(r, cebus_tanh(r->rt, y, &h));
    TRY(r, cebus_add_scalar_(r->rt, h, 0.125));
    TRY(r, cebus_matmul(r->rt, h, w, &z));
    TRY(r, cebus_dropout(r->rt, z, 0.25, true, &d));
    TRY(r, cebus_sum(r->rt, d, 0, NULL, false, &loss));
    TRY(r, cebus_backward(r->rt, loss, NULL, false));
    cebus_tensor *const made[] = {y, h, z, d, loss};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        cebus_tensor_release(made[i]);
    bool recorded = cebus_grad_enable(false);
    TRY(r, cebus_tensor_grad(w, &grad));
    TRY(r, cebus_add_(r->rt, w, grad, -0.001));
    TRY(r, cebus_tensor_set_grad(w, NULL));
    cebus_tensor_release(grad);
    cebus_grad_enable(recorded);
}

/** The search itself takes no memory of the runtime. */
static void follow_plan(run *r)
{
    const cebus_advise_link link = {1 << 30, 1 << 30, UINT32_C(1) << 31, 0};
    cebus_advise_options options = CEBUS_ADVISE_OPTIONS_INIT;
    cebus_advise_result result;
    cebus_advice *plan = NULL;
    options.memory = r->budget;
    options.link = link;
    options.generations = 1;
    if (cebus_advise(cebus_capture_program(r->capture), &options, &result, &plan) != CEBUS_OK ||
        plan == NULL) {
        snprintf(r->trial.why, sizeof r->trial.why, "no plan: %s",
                 result.why != NULL ? result.why : "");
        r->trial.broken = true;
    }
    TRY(r, cebus_capture_set_plan(r->capture, plan, &link));
    cebus_advice_destroy(plan);
}

static void launches(run *r)
{
    uint32_t order[64];
    size_t n = r->trial.broken ? 0 : cebus_capture_program(r->capture)->n_calls;
    for (uint32_t i = 0; i < n && i < 64; i++)
        order[i] = i;
    TRY(r, cebus_capture_launch(r->capture));
    TRY(r, cebus_capture_set_order(r->capture, order, n));
    TRY(r, cebus_capture_launch(r->capture));
    if (!r->trial.broken)
        follow_plan(r);
    TRY(r, cebus_capture_launch(r->capture));
    TRY(r, cebus_capture_launch(r->capture));
}

/** A step whose batch comes from the host, and its end. */
static void marked_step(run *r, cebus_tensor *w)
{
    static const int64_t rows[2] = {ROWS, WIDTH};
    static float host[ROWS * WIDTH];
    cebus_tensor *x = NULL;
    for (int i = 0; i < ROWS * WIDTH; i++)
        host[i] = 0.01F * (float)(i % 37);
    TRY(r, cebus_tensor_from_host(r->rt, host, CEBUS_F32, 2, rows, &x));
    step(r, x, w);
    TRY(r, cebus_iteration_mark(r->rt));
    cebus_tensor_release(x);
}

/** Without a step to launch the program makes it itself. */
static void watched_steps(run *r, cebus_tensor *w)
{
    cebus_tensor *input = NULL;
    TRY(r, cebus_capture_watch(r->rt, true));
    TRY(r, cebus_iteration_mark(r->rt));
    marked_step(r, w);
    cebus_status status = r->trial.broken ? CEBUS_OK : cebus_capture_last(r->rt, &r->capture);
    bool spoiled = status == CEBUS_CAPTURE_ERROR && cebus_trial_fired(&r->trial);
    if (!spoiled && cebus_trial_may_retry(&r->trial, r->rt, status, "cebus_capture_last"))
        TRY(r, cebus_capture_last(r->rt, &r->capture));
    if (r->capture != NULL)
        TRY(r, cebus_capture_input(r->capture, 0, &input));
    cebus_tensor_release(input);
    for (int i = 0; i < 2; i++) {
        if (r->capture != NULL)
            TRY(r, cebus_capture_launch(r->capture));
        else
            marked_step(r, w);
    }
}

static void captured_steps(run *r, cebus_tensor *w)
{
    static const int64_t rows[2] = {ROWS, WIDTH};
    cebus_tensor *x = NULL;
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, rows, &x));
    TRY(r, cebus_capture_begin(r->rt));
    step(r, x, w);
    TRY(r, cebus_capture_end(r->rt, &r->capture));
    launches(r);
    cebus_tensor_release(x);
}

static void scenario(run *r)
{
    static const int64_t square[2] = {WIDTH, WIDTH};
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "test";
    options.threads = 1;
    options.memory_budget = r->budget;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_ON;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = CEBUS_DEBUG_HOST;
    options.host = &r->trial.host.allocator;
    TRY(r, cebus_runtime_create(&options, &r->rt));
    if (r->rt == NULL)
        return;
    cebus_tensor *w = NULL;
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, square, &w));
    TRY(r, cebus_tensor_set_persistent(w));
    TRY(r, cebus_tensor_set_requires_grad(w, true));
    if (r->watches)
        watched_steps(r, w);
    else
        captured_steps(r, w);
    cebus_capture_destroy(r->capture);
    TRY(r, cebus_tensor_to_host(w, r->result, sizeof r->result));
    TRY(r, cebus_runtime_check(r->rt));
    cebus_tensor_release(w);
    cebus_runtime_destroy(r->rt);
    r->rt = NULL;
}

typedef struct setting {
    uint64_t budget;
    bool watches;
} setting;

static void start(run *r, const setting *how, cebus_fault kind, uint64_t n)
{
    memset(r, 0, sizeof *r);
    r->watches = how->watches;
    r->budget = how->budget;
    cebus_trial_begin(&r->trial, kind, n);
    scenario(r);
}

/** Every n of one kind that is in the slice; the number of faults delivered, or -1. */
static int sweep(const setting *how, cebus_fault kind, const float *wanted)
{
    static run r;
    int delivered = 0;
    for (uint64_t n = 1;; n++) {
        if (!cebus_test_slice_has(n - 1))
            continue;
        start(&r, how, kind, n);
        if (!cebus_trial_passed(&r.trial, r.result, wanted, sizeof r.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return delivered;
        delivered++;
    }
}

int main(void)
{
    static const setting settings[] = {
        {1 << 20, false}, {14 << 10, false}, {1 << 20, true}, {14 << 10, true}};
    static const cebus_fault kinds[] = {CEBUS_FAULT_HOST, CEBUS_FAULT_LAUNCH, CEBUS_FAULT_COPY};
    static run reference;
    int failed = 0, number = 0;
    cebus_test_device_register();
    printf("TAP version 13\n1..12\n");
    for (size_t i = 0; i < 4; i++) {
        start(&reference, &settings[i], CEBUS_FAULT_NONE, 0);
        if (reference.trial.broken) {
            printf("Bail out! the undisturbed run fails: %s\n", reference.trial.why);
            return 1;
        }
        for (size_t k = 0; k < 3; k++) {
            int delivered = sweep(&settings[i], kinds[k], reference.result);
            bool passed = delivered > 0 || (delivered == 0 && cebus_test_slice_is_part());
            failed += !passed;
            printf("%sok %d - every %s fails once under a %s in %llu bytes (%d)\n",
                   passed ? "" : "not ", ++number, cebus_fault_name(kinds[k]),
                   settings[i].watches ? "watch" : "capture",
                   (unsigned long long)settings[i].budget, delivered);
        }
    }
    return failed > 0;
}
