/**
 * Fails the n-th copy, launch and host allocation while parameters and optimizer state shuttle
 * between host and device by plan (evict/shuttle.h): copies out and in are on their way when it
 * strikes, and go on beside the calls that follow. What fails ahead of need is not reported; a call
 * that fails says so, leaves every invariant intact and goes through when it is made again. Then
 * the bits are those of an undisturbed run, and nothing leaks. Host memory fails from where the
 * iteration is learned on, the rest from where the plan acts.
 *
 * Parameters, gradients and two states each take some times the budget, activations next to
 * nothing: what comes ahead of need is persistent. The plan is searched once and loaded from a file
 * then. A sample of the n is drawn; CEBUS_TEST_ALL: every one.
 *
 * Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cebus/cebus.h>

#include "tests/fault/trial.h"
#include "tests/support/slice.h"

enum {
    LAYERS = 5,
    WIDTH = 32,
    ROWS = 2,
    ELEMENTS = WIDTH * WIDTH,
    PARAMETER = ELEMENTS * 4, /* bytes */
    LEARNED = 1,              /* steps: the next one is known when it ends, and planned */
    PLANNED = 2,              /* steps before those by the plan */
    STEPS = 5
};

typedef struct setting {
    const char *policy;
    bool spill; /* nothing goes to the host */
    uint64_t budget;
} setting;

static setting settings[] = {
    {"cebus", false, 5 * PARAMETER},
    {"cebus", true, 5 * PARAMETER},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct run {
    cebus_trial trial;
    cebus_runtime *rt;
    const setting *setting;
    cebus_tensor *w[LAYERS];
    cebus_optimizer *adam;
    uint64_t prefetches, loaded; /* plans */
    float result[LAYERS][ELEMENTS];
} run;

static void make_parameters(run *r)
{
    static const int64_t square[2] = {WIDTH, WIDTH};
    TRY(r, cebus_optimizer_create_adam(r->rt, NULL, &r->adam));
    for (int i = 0; i < LAYERS; i++) {
        TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, square, &r->w[i]));
        TRY(r, cebus_tensor_set_persistent(r->w[i]));
        TRY(r, cebus_tensor_set_requires_grad(r->w[i], true));
        TRY(r, cebus_optimizer_add(r->adam, r->w[i]));
    }
}

static void step(run *r)
{
    static const int64_t rows[2] = {ROWS, WIDTH};
    cebus_tensor *h = NULL, *y = NULL, *loss = NULL;
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, rows, &h));
    for (int i = 0; i < LAYERS; i++) {
        TRY(r, cebus_matmul(r->rt, h, r->w[i], &y));
        cebus_tensor_release(h);
        h = NULL;
        TRY(r, cebus_tanh(r->rt, y, &h));
        cebus_tensor_release(y);
        y = NULL;
    }
    TRY(r, cebus_mean(r->rt, h, 0, NULL, false, &loss));
    TRY(r, cebus_backward(r->rt, loss, NULL, false));
    TRY(r, cebus_optimizer_step(r->adam));
    TRY(r, cebus_optimizer_zero_grad(r->adam));
    cebus_tensor_release(loss);
    cebus_tensor_release(h);
    TRY(r, cebus_iteration_mark(r->rt));
}

static void open_runtime(run *r)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "test";
    options.policy = r->setting->policy;
    options.threads = 1;
    options.memory_budget = r->setting->budget;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.swap = CEBUS_SWAP_ON;
    options.host_budget = r->setting->spill ? 1 : 0;
    options.spill_budget = r->setting->spill ? UINT64_C(1) << 22 : 0;
    options.debug = CEBUS_DEBUG_HOST | CEBUS_DEBUG_WALK;
    options.host = &r->trial.host.allocator;
    TRY(r, cebus_runtime_create(&options, &r->rt));
}

static void close_run(run *r)
{
    for (int i = 0; i < LAYERS; i++) {
        TRY(r, cebus_tensor_to_host(r->w[i], r->result[i], PARAMETER));
        cebus_tensor_release(r->w[i]);
    }
    TRY(r, cebus_runtime_check(r->rt));
    cebus_optimizer_destroy(r->adam);
    cebus_runtime_destroy(r->rt);
    r->rt = NULL;
}

static void count(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    TRY(r, cebus_runtime_memory_stats(r->rt, &stats));
    r->prefetches = stats.prefetches;
    r->loaded = stats.plans_used;
}

static char plan_path[64];

/** The first run finds no file. */
static void load_plan(run *r)
{
    if (access(plan_path, R_OK) == 0)
        TRY(r, cebus_plan_load(r->rt, plan_path));
}

static void start(run *r, const setting *chosen, cebus_fault kind, uint64_t n)
{
    int from = kind == CEBUS_FAULT_HOST ? LEARNED : PLANNED;
    memset(r, 0, sizeof *r);
    r->setting = chosen;
    cebus_trial_begin(&r->trial, kind, 0);
    open_runtime(r);
    if (r->rt == NULL)
        return;
    load_plan(r);
    make_parameters(r);
    for (int i = 0; i < STEPS; i++) {
        if (i == from)
            cebus_trial_arm(&r->trial, n);
        step(r);
    }
    cebus_trial_arm(&r->trial, 0);
    count(r);
    if (kind == CEBUS_FAULT_NONE)
        TRY(r, cebus_plan_save(r->rt, plan_path));
    close_run(r);
}

/** Every n of one kind that is in the slice; the number of faults delivered, or -1. */
static int sweep(const setting *chosen, cebus_fault kind, const run *wanted)
{
    static const uint64_t strides[] = {
        [CEBUS_FAULT_HOST] = 97, [CEBUS_FAULT_LAUNCH] = 11, [CEBUS_FAULT_COPY] = 7};
    static run r;
    int delivered = 0;
    uint64_t item = 0, stride = getenv("CEBUS_TEST_ALL") == NULL ? strides[kind] : 1;
    for (uint64_t n = 1;; n += stride) {
        if (!cebus_test_slice_has(item++))
            continue;
        start(&r, chosen, kind, n);
        if (!cebus_trial_passed(&r.trial, r.result, wanted->result, sizeof r.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return delivered;
        delivered++;
    }
}

/** Whether most of what persists comes ahead of need in every step by the plan. */
static bool shuttles(const run *r)
{
    return !r->trial.broken && r->prefetches >= (STEPS - PLANNED) * 2 * LAYERS;
}

/** The undisturbed run, in the first budget from a small one on in which the plan acts, then again
 * by that plan. */
static bool undisturbed(setting *chosen, run *out)
{
    for (int tries = 0; tries < 8; tries++, chosen->budget += PARAMETER / 2) {
        unlink(plan_path);
        start(out, chosen, CEBUS_FAULT_NONE, 0);
        if (!shuttles(out))
            continue;
        start(out, chosen, CEBUS_FAULT_NONE, 0);
        return shuttles(out) && out->loaded > 0 && chosen->budget < 3 * LAYERS * PARAMETER;
    }
    return false;
}

int main(void)
{
    static const cebus_fault kinds[] = {CEBUS_FAULT_COPY, CEBUS_FAULT_LAUNCH, CEBUS_FAULT_HOST};
    static run wanted;
    int failed = 0, number = 0;
    cebus_test_device_register();
    snprintf(plan_path, sizeof plan_path, "/tmp/cebus-shuttle-plan-%ld", (long)getpid());
    printf("TAP version 13\n1..%d\n", SETTINGS * 3);
    for (size_t i = 0; i < SETTINGS; i++) {
        if (!undisturbed(&settings[i], &wanted)) {
            printf("Bail out! nothing shuttles under %s: %llu prefetches: %s\n", settings[i].policy,
                   (unsigned long long)wanted.prefetches, wanted.trial.why);
            return 1;
        }
        for (size_t k = 0; k < 3; k++) {
            int delivered = sweep(&settings[i], kinds[k], &wanted);
            bool passed = delivered > 0 || (delivered == 0 && cebus_test_slice_is_part());
            failed += !passed;
            printf("%sok %d - every %s fails once while what persists shuttles%s under %s in "
                   "%llu bytes (%d)\n",
                   passed ? "" : "not ", ++number, cebus_fault_name(kinds[k]),
                   settings[i].spill ? " through the spill file" : "", settings[i].policy,
                   (unsigned long long)settings[i].budget, delivered);
            fflush(stdout);
        }
        unlink(plan_path);
    }
    return failed > 0;
}
