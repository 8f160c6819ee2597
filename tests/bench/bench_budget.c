/**
 * bench_budget.c: what training costs in a part of the memory it needs: time against the unlimited
 * run, step by step in turn, under each policy. Both compute the same bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

enum {
    THREADS = 1,
    WARM_UP = 2, /* one step unlimited, one in the budget */
    LEARN = 4    /* and so many until a policy that plans has its plan */
};

/** What happened between two looks at the statistics, per step. */
typedef struct usage {
    double evictions, recomputes;
    double search; /**< percent of the wall time */
    double rerun;  /**< time of kernels run again, percent of that of the program's own */
    double hole;   /**< fragmentation: max(0, free - request) / budget, mean, in percent */
} usage;

static usage usage_between(cebus_memory_stats before, cebus_memory_stats after, double steps,
                           double wall_ms)
{
    double retries = (double)(after.num_alloc_retries - before.num_alloc_retries);
    double parts = (double)(after.fragmentation_ppm_sum - before.fragmentation_ppm_sum);
    return (usage){
        .evictions = (double)(after.evictions - before.evictions) / steps,
        .recomputes = (double)(after.recomputes - before.recomputes) / steps,
        .search = (double)(after.search_ns - before.search_ns) * 1e-6 / wall_ms * 100,
        .rerun = (double)(after.recompute_ns - before.recompute_ns) /
                 (double)(after.compute_ns - before.compute_ns) * 100,
        .hole = retries > 0 ? parts / retries * 1e-4 : 0,
    };
}

/** A network in training, unlimited at first. */
typedef struct run {
    cebus_runtime *rt;
    cebus_model *model;
} run;

static run run_open(const bench_setup *setup, const char *policy)
{
    cebus_runtime *rt = bench_open("cpu", policy, THREADS);
    return (run){.rt = rt, .model = bench_model(rt, setup)};
}

static void run_close(run r)
{
    cebus_model_destroy(r.model);
    cebus_runtime_destroy(r.rt);
}

/** Milliseconds of a step; negative when memory did not do. */
static double run_step(run r)
{
    float loss = 0;
    double start = bench_now(THREADS);
    cebus_status status = cebus_model_step(r.model, &loss);
    if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
        bench_must(status);
    return status == CEBUS_OK ? bench_now(THREADS) - start : -1;
}

/** One line of the table: `percent` of `peak` against `whole`. */
static void measure(run whole, const bench_setup *setup, const char *policy, uint64_t peak,
                    int percent, int rounds)
{
    run limited = run_open(setup, policy);
    uint64_t budget = peak / 100 * (uint64_t)percent;
    bench_times ratios = {.n = 0};
    bool fits = run_step(limited) > 0 && cebus_runtime_set_budget(limited.rt, budget) == CEBUS_OK;
    fits = fits && run_step(limited) > 0;
    for (int i = 0; i < LEARN && fits && strcmp(policy, "cebus") == 0; i++)
        fits = run_step(limited) > 0;
    cebus_memory_stats before = bench_stats(limited.rt);
    double wall = 0;
    for (int i = 0; i < rounds && fits; i++) {
        double start = bench_now(BENCH_WALL), a = run_step(limited);
        wall += bench_now(BENCH_WALL) - start;
        double b = run_step(whole);
        fits = a > 0;
        bench_times_add(&ratios, a / b);
    }
    usage u = usage_between(before, bench_stats(limited.rt), rounds, wall);
    printf("| %s | %s | %d%% | ", setup->title, policy, percent);
    if (fits)
        printf("%.3f | %.1f%% | %.0f | %.0f | %.2f%% | %.2f%% | %.1f%% |\n",
               bench_times_median(&ratios), bench_times_spread(&ratios), u.evictions, u.recomputes,
               u.search, u.hole, u.rerun);
    else
        puts("does not fit | | | | | | |");
    fflush(stdout);
    run_close(limited);
}

/** What to measure; NULL and 0: all there is. */
typedef struct choice {
    const char *model, *policy;
    int percent;
} choice;

static void sweep(const bench_setup *setup, int rounds, choice only)
{
    static const char *const policies[] = {"coop", "dtr", "dte", "lru", "cebus"};
    static const int percents[] = {100, 70, 50, 40, 30};
    uint64_t peak;
    cebus_meter meter = bench_meter(setup, rounds + WARM_UP, &peak);
    uint64_t floor_percent = meter.floor * 100 / peak;
    printf("| **%s** | peak %.1f MiB, floor %d%% | | | | | | | | |\n", setup->title,
           (double)peak / (1 << 20), (int)floor_percent);
    run whole = run_open(setup, NULL);
    bench_train(whole.model, WARM_UP);
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
            bool chosen = only.policy == NULL || strcmp(only.policy, policies[p]) == 0;
            chosen = chosen && (only.percent == 0 || only.percent == percents[i]);
            if (chosen && (uint64_t)percents[i] > floor_percent)
                measure(whole, setup, policies[p], peak, percents[i], rounds);
        }
    }
    run_close(whole);
}

int main(int argc, char **argv)
{
    int rounds = bench_number(argc, argv, 1, 5);
    choice only = {.model = argc > 2 ? argv[2] : NULL,
                   .policy = argc > 3 ? argv[3] : NULL,
                   .percent = bench_number(argc, argv, 4, 0)};
    bench_print_machine();
    puts("| network | policy | of peak | time, unlimited = 1 | spread | evictions a step | "
         "recomputes a step | search | fragmentation "
         "| rerun |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (const bench_setup *setup = bench_setups; setup->title != NULL; setup++) {
        if (only.model == NULL || strcmp(only.model, setup->model) == 0)
            sweep(setup, rounds, only);
    }
    puts("\ntime: median of the ratios of neighbouring steps, one thread, CPU time; search: share "
         "of the step spent\nchoosing victims; fragmentation: mean of max(0, free - request) / "
         "budget "
         "at each request that had to evict. Budgets below the "
         "floor\n(persistent bytes, leaf gradients and the largest single call) are left out; "
         "rerun: time of the\nkernels run again over that of the program's own, as the runtime "
         "measured them (wall)");
    return 0;
}
