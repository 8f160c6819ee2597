/**
 * Fails the n-th copy, launch and host allocation while parameters and optimizer state shuttle
 * between host and device by plan (evict/planner/shuttle.h): copies out and in are on their way
 * when it strikes, and go on beside the calls that follow. What fails ahead of need is not
 * reported; a call that fails says so, leaves every invariant intact and goes through when it is
 * made again. Then the bits are those of an undisturbed run, and nothing leaks. Host memory fails
 * from where the iteration is learned on, the rest from where the plan acts.
 *
 * Parameters, gradients and two states each take some times the budget, activations next to
 * nothing: what comes ahead of need is persistent. Or all but gradients fit, and what a step wrote
 * waits for the next one. The plan is searched once and loaded from a file
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
#include "tests/support/heavy_net.h"
#include "tests/support/slice.h"

enum {
    WIDTH = 32,
    ROWS = 2,
    PARAMETER = WIDTH * WIDTH * 4, /* bytes */
    LEARNED = 1,                   /* steps: the next one is known when it ends, and planned */
    PLANNED = 2,                   /* steps before those by the plan */
    STEPS = 5
};

typedef struct setting {
    const char *policy;
    bool spill;   /* nothing goes to the host */
    bool crosses; /* parameters and states fit where iterations meet */
    uint64_t budget;
} setting;

static setting settings[] = {
    {"cebus", false, false, 5 * PARAMETER},
    {"cebus", true, false, 5 * PARAMETER},
    {"cebus", false, true, 16 * PARAMETER},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct run {
    cebus_trial trial;
    cebus_heavy_net net;
    const setting *setting;
    uint64_t prefetches, loaded; /* plans */
} run;

static bool again(cebus_heavy_net *net, cebus_status status, const char *what)
{
    run *r = net->owner;
    return cebus_trial_may_retry(&r->trial, net->rt, status, what);
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
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_create(&options, &r->net.rt));
}

static void count(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_memory_stats(r->net.rt, &stats));
    r->prefetches = stats.prefetches;
    r->loaded = stats.plans_used;
}

static char plan_path[64];

/** The first run finds no file. */
static void load_plan(run *r)
{
    if (access(plan_path, R_OK) == 0)
        CEBUS_HEAVY_TRY(&r->net, cebus_plan_load(r->net.rt, plan_path));
}

static void start(run *r, const setting *chosen, cebus_fault kind, uint64_t n)
{
    int from = kind == CEBUS_FAULT_HOST ? LEARNED : PLANNED;
    memset(r, 0, sizeof *r);
    r->setting = chosen;
    r->net = (cebus_heavy_net){.width = WIDTH, .rows = ROWS, .again = again, .owner = r};
    cebus_trial_begin(&r->trial, kind, 0);
    open_runtime(r);
    if (r->net.rt == NULL)
        return;
    load_plan(r);
    cebus_heavy_net_open(&r->net);
    for (int i = 0; i < STEPS; i++) {
        if (i == from)
            cebus_trial_arm(&r->trial, n);
        cebus_heavy_net_step(&r->net);
    }
    cebus_trial_arm(&r->trial, 0);
    count(r);
    if (kind == CEBUS_FAULT_NONE)
        CEBUS_HEAVY_TRY(&r->net, cebus_plan_save(r->net.rt, plan_path));
    cebus_heavy_net_close(&r->net);
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
        if (!cebus_trial_passed(&r.trial, r.net.result, wanted->net.result, sizeof r.net.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return delivered;
        delivered++;
    }
}

/** Whether most of what persists comes ahead of need in every step by the plan. */
static bool shuttles(const run *r)
{
    return !r->trial.broken && r->prefetches >= (STEPS - PLANNED) * 2 * CEBUS_HEAVY_LAYERS;
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
        return shuttles(out) && out->loaded > 0 &&
               chosen->budget < (chosen->crosses ? 4U : 3U) * CEBUS_HEAVY_LAYERS * PARAMETER;
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
