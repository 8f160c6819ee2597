/**
 * bench_spill.c: what training costs for real in a part of the memory it needs, where values may
 * leave for the spill file, or for host memory at the end of a slow link. All runs of a network at
 * a budget take their steps in turn, one after the other, beside the unlimited run; losses are
 * compared step by step, parameters, buffers and optimizer state at the end. For plans: what
 * was foretold beside what came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

enum {
    THREADS = 1,
    WARM_UP = 10 /* by then plans were made, in the background too, and values have places */
};

#define LINK "2GB"

typedef enum tier {
    NOWHERE,
    TO_FILE,
    OVER_LINK,
    TIERS
} tier;

static const char *const tier_names[] = {"", " + file", " + link"};

typedef struct setting {
    const char *name, *policy;
    tier tier;
} setting;

static const setting settings[] = {
    {"coop", "coop", NOWHERE},     {"coop", "coop", TO_FILE},   {"capuchin", "capuchin", TO_FILE},
    {"cebus", "cebus", TO_FILE},   {"coop", "coop", OVER_LINK}, {"capuchin", "capuchin", OVER_LINK},
    {"cebus", "cebus", OVER_LINK},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

/** A network in training. */
typedef struct run {
    const setting *chosen; /**< NULL: all the memory it wants */
    cebus_runtime *rt;
    cebus_model *model;
    float loss;
    bool fits, same;
    bench_times ms, ratios;           /**< a step; over the unlimited run's of the same round */
    bench_times predicted, foretold;  /**< ms of guided steps; over what was measured */
    cebus_memory_stats before, after; /**< the measured rounds */
} run;

/** With all the memory it wants, for now. */
static void run_open(run *r, const bench_setup *setup, const setting *chosen)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    tier to = chosen != NULL ? chosen->tier : NOWHERE;
    memset(r, 0, sizeof *r);
    options.memory_budget = UINT64_C(8) << 30;
    options.policy = chosen != NULL ? chosen->policy : "none";
    options.device = to == OVER_LINK ? "cpu:link=" LINK : "cpu";
    options.threads = THREADS;
    options.swap = to != NOWHERE ? CEBUS_SWAP_ON : CEBUS_SWAP_OFF;
    options.spill_budget = to == TO_FILE ? UINT64_C(4) << 30 : 0;
    options.host_budget = to == OVER_LINK ? UINT64_C(4) << 30 : 0;
    bench_must(cebus_runtime_create(&options, &r->rt));
    r->model = bench_model(r->rt, setup);
    r->chosen = chosen;
    r->fits = r->same = true;
}

static void run_close(run *r)
{
    cebus_model_destroy(r->model);
    cebus_runtime_destroy(r->rt);
}

/** Milliseconds of a step; negative when memory did not do. */
static double run_step(run *r)
{
    double start = bench_now(BENCH_WALL);
    cebus_status status = cebus_model_step(r->model, &r->loss);
    if (status == CEBUS_OK)
        status = cebus_iteration_mark(r->rt);
    if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
        bench_must(status);
    r->fits = status == CEBUS_OK;
    return bench_now(BENCH_WALL) - start;
}

/** What the plan said of the step, if it went by one. */
static void run_compare(run *r, uint64_t guided)
{
    cebus_memory_stats now = bench_stats(r->rt);
    if (now.guided_iterations == guided || now.guided_predicted_ns == 0)
        return;
    bench_times_add(&r->predicted, (double)now.guided_predicted_ns * 1e-6);
    bench_times_add(&r->foretold, (double)now.guided_predicted_ns / (double)now.guided_measured_ns);
}

static void run_round(run *runs, size_t n, bool counts)
{
    double whole = 0;
    for (size_t i = 0; i < n; i++) {
        run *r = &runs[i];
        uint64_t guided = bench_stats(r->rt).guided_iterations;
        if (!r->fits)
            continue;
        double ms = run_step(r);
        whole = i == 0 ? ms : whole;
        r->same = r->same && memcmp(&r->loss, &runs[0].loss, sizeof(float)) == 0;
        if (!counts || !r->fits)
            continue;
        bench_times_add(&r->ms, ms);
        bench_times_add(&r->ratios, ms / whole);
        run_compare(r, guided);
    }
}

static void compare_state(run *runs, size_t n)
{
    uint64_t wanted, found;
    bench_must(cebus_model_hash(runs[0].model, &wanted));
    for (size_t i = 1; i < n; i++) {
        if (!runs[i].fits)
            continue;
        bench_must(cebus_model_hash(runs[i].model, &found));
        runs[i].same = runs[i].same && found == wanted;
    }
}

static void print_plan(const run *r)
{
    if (r->foretold.n == 0) {
        printf(" | | |\n");
        return;
    }
    printf(" %.1f | %+.0f%% (%+.0f .. %+.0f) | %.0f |\n", bench_times_median(&r->predicted),
           100 * (bench_times_median(&r->foretold) - 1),
           100 * (bench_times_quantile(&r->foretold, 0.25) - 1),
           100 * (bench_times_quantile(&r->foretold, 0.75) - 1),
           100 * (double)r->foretold.n / (double)r->ms.n);
}

static void print_usage(const run *r)
{
    const cebus_memory_stats *a = &r->before, *b = &r->after;
    double n = (double)r->ms.n, mib = 0x1p20, wall = 0;
    for (size_t i = 0; i < r->ms.n; i++)
        wall += r->ms.values[i];
    printf(" %.1f | %.1f | %.0f | %.1f | %.0f%% |",
           (double)(b->swapped_out_bytes - a->swapped_out_bytes) / n / mib,
           (double)(b->swapped_in_bytes - a->swapped_in_bytes) / n / mib,
           (double)(b->recomputes - a->recomputes) / n, (double)(b->replans - a->replans),
           1e-4 * (double)(b->stall_ns - a->stall_ns) / wall);
}

static void print_run(const bench_setup *setup, const run *r, int percent)
{
    printf("| %s | %d%% | %s%s | ", setup->title, percent, r->chosen->name,
           tier_names[r->chosen->tier]);
    if (!r->fits) {
        puts("does not fit | | | | | | | | | | |");
        return;
    }
    printf("%.2f | %.0f%% | %s |", bench_times_median(&r->ratios), bench_times_spread(&r->ratios),
           r->same ? "yes" : "NO");
    print_usage(r);
    print_plan(r);
}

/** The unlimited run and those of the wanted policy (NULL: all), all at the start. */
static size_t open_runs(const bench_setup *setup, uint64_t budget, const char *policy, run *out)
{
    size_t n = 1;
    run_open(&out[0], setup, NULL);
    for (size_t i = 0; i < SETTINGS; i++) {
        if (policy != NULL && strcmp(policy, settings[i].policy) != 0)
            continue;
        run_open(&out[n], setup, &settings[i]);
        out[n].fits = cebus_runtime_set_budget(out[n].rt, budget) == CEBUS_OK;
        n++;
    }
    return n;
}

/** One budget: `percent` of `peak`. */
static void measure(const bench_setup *setup, uint64_t peak, int percent, int rounds,
                    const char *policy)
{
    run *runs = calloc(SETTINGS + 1, sizeof *runs);
    if (runs == NULL)
        exit(1);
    size_t n = open_runs(setup, peak / 100 * (uint64_t)percent, policy, runs);
    for (int k = 0; k < WARM_UP; k++)
        run_round(runs, n, false);
    for (size_t i = 0; i < n; i++)
        runs[i].before = bench_stats(runs[i].rt);
    for (int k = 0; k < rounds; k++)
        run_round(runs, n, true);
    for (size_t i = 0; i < n; i++)
        runs[i].after = bench_stats(runs[i].rt);
    compare_state(runs, n);
    printf("| **%s** | %d%% | unlimited: %.1f ms | | %.0f%% | | | | | | | | | |\n", setup->title,
           percent, bench_times_median(&runs[0].ms), bench_times_spread(&runs[0].ms));
    for (size_t i = 1; i < n; i++)
        print_run(setup, &runs[i], percent);
    fflush(stdout);
    for (size_t i = 0; i < n; i++)
        run_close(&runs[i]);
    free(runs);
}

static void sweep(const bench_setup *setup, int rounds, int only, const char *policy)
{
    static const int percents[] = {60, 40, 25};
    uint64_t peak;
    cebus_meter meter = bench_meter(setup, 3, &peak);
    printf("| **%s** | | peak %.1f MiB, floor %d%% | | | | | | | | | | | |\n", setup->title,
           (double)peak / 0x1p20, (int)(meter.floor * 100 / peak));
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        if (only == 0 || only == percents[i])
            measure(setup, peak, percents[i], rounds, policy);
    }
}

int main(int argc, char **argv)
{
    int rounds = bench_number(argc, argv, 1, 9), only = bench_number(argc, argv, 3, 0);
    bench_print_machine();
    puts("| network | of peak | policy | time, unlimited = 1 | spread | same bits | MiB out a step "
         "| MiB in | recomputes | replans | waiting | predicted ms | over measured (quartiles) | "
         "guided % |\n"
         "|---|---:|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (const bench_setup *setup = bench_setups; setup->title != NULL; setup++) {
        bool wanted = argc > 2
                          ? strcmp(argv[2], setup->model) == 0
                          : strcmp(setup->model, "gpt") == 0 || strcmp(setup->model, "lstm") == 0 ||
                                strcmp(setup->model, "resnet18") == 0;
        if (wanted)
            sweep(setup, rounds, only, argc > 4 ? argv[4] : NULL);
    }
    puts(
        "\ntime: median of the ratios of neighbouring steps, one thread of kernels, wall time; "
        "waiting: share of the\ntime in which the program waited for copies; the link carries " LINK
        "/s each way");
    return 0;
}
