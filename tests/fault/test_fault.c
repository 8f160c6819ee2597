/**
 * Fails the n-th host allocation, launch, copy and slab reservation, for every n until a run gets
 * through untouched. The failing call must say so, leave every invariant intact, and succeed
 * when it is made again; the run then ends with the bits of an undisturbed one, and nothing leaks.
 *
 * Most settings plan ahead: their iterations are learned, planned and guided meanwhile, by swaps,
 * by replays and by both, at chosen places, over a slow link to the host and through a spill file,
 * by plans that were loaded and are saved. What fails in the planning or in a copy ahead of need is
 * not reported at all. Of the planner that plans most a sample of the n is drawn; CEBUS_TEST_ALL:
 * every n.
 *
 * CEBUS_DEBUG_HOST makes each record a host allocation of its own, so that every one is reached.
 * Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cebus/cebus.h>

#include "tests/fault/trial.h"
#include "tests/support/slice.h"

#define ROWS 16
#define WIDTH 24

typedef struct setting {
    const char *policy;
    uint64_t budget;
    int steps;
    bool plans; /**< and must have brought something back ahead of need, in a budget found first */
    bool spill; /**< to the file, parameters too; nothing to the host */
    bool unmarked; /**< the program does not say where its steps end */
    bool saved;    /**< its plans are loaded from a file first, and saved in the end */
    bool narrow;   /**< products of bf16, a scaled loss, Adam */
    bool replays;  /**< of a plan that must have run something again ahead of need */
    cebus_swap swap;
    const char *device; /**< NULL: "test", which knows all faults; others fail host allocations */
} setting;

static setting settings[] = {
    {"coop", 1 << 20, 2, false},
    {"coop", 20 << 10, 2, false},
    {"odswap", 14 << 10, 4, true},
    {"odswap", 14 << 10, 5, true, .unmarked = true},
    {"odswap", 14 << 10, 4, true, .saved = true},
    {"lru", 14 << 10, 2, false, true},
    {"coop", 40 << 10, 2, false, .narrow = true},
    {"cebus", 12 << 10, 5, true, .swap = CEBUS_SWAP_ON},
    {"cebus", 12 << 10, 5, .replays = true, .swap = CEBUS_SWAP_OFF},
    {"cebus", 12 << 10, 5, true, .swap = CEBUS_SWAP_ON, .saved = true},
    {"cebus", 12 << 10, 6, true, .swap = CEBUS_SWAP_ON, .unmarked = true},
    {"cebus", 12 << 10, 5, true, .spill = true},
    {"cebus", 12 << 10, 5, true, .swap = CEBUS_SWAP_ON, .device = "cpu:link=4GB"},
    {"capuchin", 12 << 10, 5, true},
    {"capuchin", 12 << 10, 5, true, .spill = true},
    {"capuchin", 12 << 10, 5, true, .device = "cpu:link=4GB"},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct run {
    cebus_trial trial;
    cebus_runtime *rt;
    const setting *setting;
    cebus_optimizer *optimizer; /**< where the loss is scaled */
    cebus_grad_scaler *scaler;
    uint64_t prefetches, planned_replays;
    float result[WIDTH * WIDTH];
} run;

static cebus_tensor *parameter(run *r, const int64_t *shape)
{
    cebus_tensor *w = NULL;
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, shape, &w));
    TRY(r, cebus_tensor_set_persistent(w));
    TRY(r, cebus_tensor_set_requires_grad(w, true));
    return w;
}

static cebus_status halve(void *context, cebus_tensor *grad, cebus_tensor **out)
{
    return cebus_mul_scalar(context, grad, 0.5, out);
}

/** Every gradient of the parameter passes a hook. */
static void watch(run *r, cebus_tensor *w)
{
    uint64_t id = 0;
    cebus_grad_hook hook = {.struct_size = sizeof hook, .call = halve, .context = r->rt};
    TRY(r, cebus_tensor_register_hook(w, &hook, &id));
}

static cebus_status square_gradient(void *context, const cebus_function_step *step)
{
    (void)context;
    return cebus_mul(step->rt, step->grad_out[0], step->saved[0], &step->grad_in[0]);
}

/** y y / 2, whose gradient is a function of the program. */
static void square_half(run *r, cebus_tensor *y, cebus_tensor **out)
{
    cebus_tensor *result = NULL;
    bool recorded = cebus_grad_enable(false);
    TRY(r, cebus_mul(r->rt, y, y, &result));
    TRY(r, cebus_mul_scalar_(r->rt, result, 0.5));
    cebus_grad_enable(recorded);
    if (r->trial.broken)
        return;
    cebus_function function = {.struct_size = sizeof function,
                               .name = "square_half",
                               .in = &y,
                               .n_in = 1,
                               .saved = &y,
                               .n_saved = 1,
                               .results = &result,
                               .n_out = 1,
                               .gradient = square_gradient};
    TRY(r, cebus_function_record(r->rt, &function, out));
    cebus_tensor_release(result);
}

/** As it is, or a copy in bf16. */
static cebus_tensor *narrowed(run *r, cebus_tensor *x)
{
    cebus_tensor *out = NULL;
    if (!r->setting->narrow)
        return cebus_tensor_retain(x);
    TRY(r, cebus_cast(r->rt, x, CEBUS_BF16, &out));
    return out;
}

static void forward(run *r, cebus_tensor *x, cebus_tensor *master, cebus_tensor **loss)
{
    cebus_tensor *h = narrowed(r, x), *y = NULL, *part = NULL, *square = NULL;
    for (int layer = 0; layer < 4; layer++) {
        cebus_tensor *w = narrowed(r, master);
        TRY(r, cebus_matmul(r->rt, h, w, &y));
        cebus_tensor_release(w);
        TRY(r, cebus_add_scalar_(r->rt, y, 0.125));
        cebus_tensor_release(h);
        h = NULL;
        TRY(r, cebus_tanh(r->rt, y, &h));
        cebus_tensor_release(y);
        y = NULL;
    }
    TRY(r, cebus_dropout(r->rt, h, 0.25, true, &y));
    TRY(r, cebus_slice(r->rt, y, 0, 0, ROWS / 2, 1, &part));
    TRY(r, cebus_mul_(r->rt, part, part));
    square_half(r, y, &square);
    TRY(r, cebus_sum(r->rt, square, 0, NULL, false, loss));
    cebus_tensor_release(part);
    cebus_tensor_release(square);
    cebus_tensor_release(y);
    cebus_tensor_release(h);
}

static void update(run *r, cebus_tensor *w)
{
    cebus_tensor *grad = NULL;
    bool recorded = cebus_grad_enable(false);
    TRY(r, cebus_tensor_grad(w, &grad));
    TRY(r, cebus_add_(r->rt, w, grad, -0.001));
    TRY(r, cebus_tensor_set_grad(w, NULL));
    cebus_tensor_release(grad);
    cebus_grad_enable(recorded);
}

static void make_scaler(run *r, cebus_tensor *w)
{
    cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    how.growth_interval = 1;
    if (!r->setting->narrow)
        return;
    TRY(r, cebus_optimizer_create_adam(r->rt, NULL, &r->optimizer));
    TRY(r, cebus_optimizer_add(r->optimizer, w));
    TRY(r, cebus_grad_scaler_create(r->rt, &how, &r->scaler));
}

/** Backward and update. */
static void learn(run *r, cebus_tensor *loss, cebus_tensor *w)
{
    cebus_tensor *scaled = NULL;
    if (!r->setting->narrow) {
        TRY(r, cebus_backward(r->rt, loss, NULL, false));
        update(r, w);
        return;
    }
    TRY(r, cebus_grad_scaler_scale(r->scaler, loss, &scaled));
    TRY(r, cebus_backward(r->rt, scaled, NULL, false));
    TRY(r, cebus_grad_scaler_step(r->scaler, r->optimizer));
    TRY(r, cebus_grad_scaler_update(r->scaler));
    TRY(r, cebus_optimizer_zero_grad(r->optimizer));
    cebus_tensor_release(scaled);
}

static void count_planned(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    TRY(r, cebus_runtime_memory_stats(r->rt, &stats));
    r->prefetches = stats.prefetches;
    r->planned_replays = stats.planned_replays;
}

static char plan_path[64];

/** The first run finds no file. */
static void load_plan(run *r)
{
    if (r->setting->saved && access(plan_path, R_OK) == 0)
        TRY(r, cebus_plan_load(r->rt, plan_path));
}

/** Where the fault was in the learning there may be nothing to save. */
static void save_plan(run *r)
{
    if (!r->setting->saved || r->trial.broken)
        return;
    cebus_status status = cebus_plan_save(r->rt, plan_path);
    if (status != CEBUS_INVALID_ARGUMENT || !cebus_trial_fired(&r->trial)) {
        if (cebus_trial_may_retry(&r->trial, r->rt, status, "cebus_plan_save"))
            TRY(r, cebus_plan_save(r->rt, plan_path));
    }
}

static void scenario(run *r)
{
    static const int64_t square[2] = {WIDTH, WIDTH}, rows[2] = {ROWS, WIDTH};
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = r->setting->device != NULL ? r->setting->device : "test";
    options.threads = 1;
    options.memory_budget = r->setting->budget;
    options.policy = r->setting->policy;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = CEBUS_DEBUG_HOST;
    options.host = &r->trial.host.allocator;
    options.swap = r->setting->spill ? CEBUS_SWAP_ON : r->setting->swap;
    options.spill_budget = r->setting->spill ? 1 << 20 : 0;
    options.host_budget = r->setting->spill ? 1 : 0;
    TRY(r, cebus_runtime_create(&options, &r->rt));
    if (r->rt == NULL)
        return;
    load_plan(r);
    cebus_tensor *w = parameter(r, square), *x = NULL, *loss = NULL;
    watch(r, w);
    make_scaler(r, w);
    for (int step = 0; step < r->setting->steps; step++) {
        TRY(r, cebus_uniform(r->rt, (cebus_uniform_range){-1, 1}, CEBUS_F32, 2, rows, &x));
        forward(r, x, w, &loss);
        learn(r, loss, w);
        cebus_tensor_release(loss);
        cebus_tensor_release(x);
        loss = x = NULL;
        if (!r->setting->unmarked)
            TRY(r, cebus_iteration_mark(r->rt));
    }
    count_planned(r);
    save_plan(r);
    TRY(r, cebus_tensor_to_host(w, r->result, sizeof r->result));
    TRY(r, cebus_runtime_check(r->rt));
    cebus_grad_scaler_destroy(r->scaler);
    cebus_optimizer_destroy(r->optimizer);
    cebus_tensor_release(w);
    cebus_runtime_destroy(r->rt);
    r->rt = NULL;
}

static void start(run *r, const setting *chosen, cebus_fault kind, uint64_t n)
{
    memset(r, 0, sizeof *r);
    r->setting = chosen;
    cebus_trial_begin(&r->trial, kind, n);
    scenario(r);
}

/** Plans that ask for host memory so often take seconds, where none is loaded. Which are made
 * depends on the workspace that kernels take, and so on the processor. */
#define MANY_REQUESTS 40000
/** What is tried of those. */
#define FEW 24

/** From one n to the next: of what takes long a sample. */
static uint64_t stride(const setting *chosen, cebus_fault kind, uint64_t requests)
{
    static const uint64_t strides[] = {
        [CEBUS_FAULT_HOST] = 97, [CEBUS_FAULT_LAUNCH] = 23, [CEBUS_FAULT_COPY] = 7};
    bool takes_long = strcmp(chosen->policy, "cebus") == 0;
    bool sampled = takes_long && kind != CEBUS_FAULT_RESERVE && getenv("CEBUS_TEST_ALL") == NULL;
    if (sampled && !chosen->saved && kind == CEBUS_FAULT_HOST && requests > MANY_REQUESTS)
        return requests / FEW;
    return sampled ? strides[kind] : 1;
}

/** Every n of one kind that is in the slice; the number of faults delivered, or -1. */
static int sweep(const setting *chosen, cebus_fault kind, const run *reference)
{
    static run r;
    int delivered = 0;
    uint64_t item = 0;
    const uint64_t step = stride(chosen, kind, reference->trial.host.requests);
    for (uint64_t n = 1;; n += step) {
        if (!cebus_test_slice_has(item++))
            continue;
        start(&r, chosen, kind, n);
        if (!cebus_trial_passed(&r.trial, r.result, reference->result, sizeof r.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return delivered;
        delivered++;
    }
}

/** Whether the program gets through where nothing foresees anything and nothing is copied: then no
 * fault of a plan or a copy can leave it without room. */
static bool fits_without_plan(const setting *chosen)
{
    static run bare;
    setting reactive = {.policy = "coop",
                        .budget = chosen->budget,
                        .steps = 2,
                        .swap = CEBUS_SWAP_OFF,
                        .device = chosen->device};
    start(&bare, &reactive, CEBUS_FAULT_NONE, 0);
    return !bare.trial.broken;
}

/** The undisturbed run. How much workspace kernels take differs between processors, so a setting
 * that plans grows from a budget that is too small to the first where it fetches ahead of need,
 * and would fit without that. */
static bool undisturbed(setting *chosen, run *out)
{
    start(out, chosen, CEBUS_FAULT_NONE, 0);
    bool wanted = chosen->plans || chosen->replays;
    for (int tries = 0; wanted && tries < 64; tries++) {
        bool planned = (!chosen->plans || out->prefetches > 0) &&
                       (!chosen->replays || out->planned_replays > 0);
        if (!out->trial.broken && planned && fits_without_plan(chosen))
            return true;
        chosen->budget += 256;
        unlink(plan_path); /* it is for less memory */
        start(out, chosen, CEBUS_FAULT_NONE, 0);
    }
    return !out->trial.broken && !wanted;
}

/** Host memory first: of some devices nothing else can be made to fail. */
static const cebus_fault kinds[] = {CEBUS_FAULT_HOST, CEBUS_FAULT_LAUNCH, CEBUS_FAULT_COPY,
                                    CEBUS_FAULT_RESERVE};
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

static int tests, failed;

/** All kinds of faults under one setting. */
static bool test_setting(setting *chosen)
{
    static run reference;
    size_t known = chosen->device == NULL ? KINDS : 1;
    if (!undisturbed(chosen, &reference)) {
        printf("Bail out! the undisturbed run fails under %s: %s\n", chosen->policy,
               reference.trial.broken ? reference.trial.why
                                      : "nothing is brought back ahead of need");
        return false;
    }
    for (size_t k = 0; k < known; k++) {
        int delivered = sweep(chosen, kinds[k], &reference);
        bool passed = delivered > 0 || (delivered == 0 && cebus_test_slice_is_part());
        failed += !passed;
        printf("%sok %d - every %s fails once under %s in %llu bytes (%d)\n", passed ? "" : "not ",
               ++tests, cebus_fault_name(kinds[k]), chosen->policy,
               (unsigned long long)chosen->budget, delivered);
        fflush(stdout);
    }
    unlink(plan_path);
    return true;
}

/** usage: test_fault [NUMBER OF THE SETTING] */
int main(int argc, char **argv)
{
    size_t only = argc > 1 ? strtoull(argv[1], NULL, 10) : SETTINGS;
    cebus_test_device_register();
    snprintf(plan_path, sizeof plan_path, "/tmp/cebus-fault-plan-%ld", (long)getpid());
    printf("TAP version 13\n");
    for (size_t i = 0; i < SETTINGS; i++) {
        if ((only == SETTINGS || only == i) && !test_setting(&settings[i]))
            return 1;
    }
    printf("1..%d\n", tests);
    return failed > 0;
}
