/**
 * bench_spill.c: what training costs in a part of the memory it needs where values may go to the
 * spill file: wall time against the unlimited run, step by step in turn, and the same bits checked
 * by the loss of every step. Beside it the same policy without a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

enum {
    THREADS = 1,
    WARM_UP = 2
};

typedef struct setting {
    const char *name, *policy;
    bool spill;
} setting;

static const setting settings[] = {
    {"coop", "coop", false},
    {"coop + file", "coop", true},
    {"dtr + file", "dtr", true},
    {"odswap + file", "odswap", true},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

/** A network in training. */
typedef struct run {
    cebus_runtime *rt;
    cebus_model *model;
    float loss;
} run;

/** With all the memory it wants, for now. */
static run run_open(const bench_setup *setup, const setting *chosen)
{
    run r = {.loss = 0};
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = UINT64_C(8) << 30;
    options.policy = chosen->policy;
    options.threads = THREADS;
    options.swap = chosen->spill ? CEBUS_SWAP_ON : CEBUS_SWAP_OFF;
    options.spill_budget = chosen->spill ? UINT64_C(4) << 30 : 0;
    bench_must(cebus_runtime_create(&options, &r.rt));
    r.model = bench_model(r.rt, setup);
    return r;
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
    return status == CEBUS_OK ? bench_now(BENCH_WALL) - start : -1;
}

static void print_usage(const cebus_memory_stats *before, const cebus_memory_stats *now, int rounds)
{
    double n = rounds, mib = 0x1p20;
    printf(" %.1f | %.1f | %.0f | %.0f%% |\n",
           (double)(now->spilled_bytes - before->spilled_bytes) / n / mib,
           (double)(now->unspilled_bytes - before->unspilled_bytes) / n / mib,
           (double)(now->recomputes - before->recomputes) / n,
           1e2 * (double)(now->stall_ns - before->stall_ns) /
               (double)(now->device_ns - before->device_ns + 1));
}

/** One line: `percent` of `peak` beside the unlimited run, both from the same start. */
static void measure(const bench_setup *setup, const setting *chosen, uint64_t peak, int percent,
                    int rounds)
{
    static const setting none = {"none", "none", false};
    run whole = run_open(setup, &none);
    run limited = run_open(setup, chosen);
    cebus_memory_stats before = bench_stats(limited.rt);
    bench_times ratios = {.n = 0};
    uint64_t budget = peak / 100 * (uint64_t)percent;
    bool fits = cebus_runtime_set_budget(limited.rt, budget) == CEBUS_OK, same = true;
    for (int i = 0; i < rounds + WARM_UP && fits; i++) {
        if (i == WARM_UP)
            before = bench_stats(limited.rt);
        double a = run_step(&limited), b = run_step(&whole);
        fits = a > 0;
        same = same && memcmp(&limited.loss, &whole.loss, sizeof(float)) == 0;
        if (i >= WARM_UP && fits)
            bench_times_add(&ratios, a / b);
    }
    cebus_memory_stats now = bench_stats(limited.rt);
    printf("| %s | %s | %d%% | ", setup->title, chosen->name, percent);
    if (fits) {
        printf("%.2f | %.0f%% | %s |", bench_times_median(&ratios), bench_times_spread(&ratios),
               same ? "yes" : "NO");
        print_usage(&before, &now, rounds);
    } else {
        puts("does not fit | | | | | | |");
    }
    fflush(stdout);
    run_close(&limited);
    run_close(&whole);
}

static void sweep(const bench_setup *setup, int rounds)
{
    static const int percents[] = {60, 40, 25};
    uint64_t peak;
    cebus_meter meter = bench_meter(setup, rounds + WARM_UP, &peak);
    printf("| **%s** | peak %.1f MiB, floor %d%% | | | | | | | | |\n", setup->title,
           (double)peak / 0x1p20, (int)(meter.floor * 100 / peak));
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        for (size_t s = 0; s < SETTINGS; s++)
            measure(setup, &settings[s], peak, percents[i], rounds);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    bench_print_machine();
    puts("| network | policy | of peak | time, unlimited = 1 | spread | same bits | MiB written a "
         "step | MiB read a step | recomputes a step | waiting |\n"
         "|---|---|---:|---:|---:|---|---:|---:|---:|---:|");
    for (const bench_setup *setup = bench_setups; setup->title != NULL; setup++) {
        bool wanted = argc > 2
                          ? strcmp(argv[2], setup->model) == 0
                          : strcmp(setup->model, "gpt") == 0 || strcmp(setup->model, "lstm") == 0 ||
                                strcmp(setup->model, "resnet18") == 0;
        if (wanted)
            sweep(setup, rounds);
    }
    puts("\ntime: median of the ratios of neighbouring steps, one thread of kernels, wall time; "
         "waiting: share of the\ntime in which the program waited for copies");
    return 0;
}
