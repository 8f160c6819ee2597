/**
 * bench_overhead.c: what the runtime adds when memory is not short: training steps against the
 * same kernels called in a row, with the same arguments and addresses, in turn.
 *
 * The kernels of one step are recorded by a device between the runtime and the CPU and then run
 * without the runtime. They go on training, on the batch of the recorded step. What the program
 * does itself in a step, the making of its batch above all, counts against the runtime here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/bench/recorder.h"

enum {
    THREADS = 1,
    WARM_UP = 5 /* until the arena's pages have all been touched */
};

static double time_step(cebus_model *model)
{
    double start = bench_now(THREADS);
    bench_train(model, 1);
    return bench_now(THREADS) - start;
}

/** Of one step, the wall time that no kernel ran in, in parts of the time that one did. */
static double share_outside(cebus_runtime *rt, cebus_model *model)
{
    uint64_t before = bench_stats(rt).compute_ns;
    double start = bench_now(BENCH_WALL);
    bench_train(model, 1);
    double wall = bench_now(BENCH_WALL) - start;
    double inside = (double)(bench_stats(rt).compute_ns - before) * 1e-6;
    return wall / inside - 1;
}

static double time_kernels(void)
{
    double start = bench_now(THREADS);
    bench_recorder_play();
    return bench_now(THREADS) - start;
}

static void measure(const bench_setup *setup, int rounds)
{
    cebus_runtime *rt = bench_open("recorder", NULL, THREADS);
    cebus_model *model = bench_model(rt, setup);
    bench_times whole = {.n = 0}, bare = {.n = 0}, ratios = {.n = 0}, outside = {.n = 0};
    bench_train(model, WARM_UP);
    bench_recorder_start();
    bench_train(model, 1);
    bench_recorder_stop();
    for (int i = 0; i < rounds; i++) {
        double a = time_step(model), b = time_kernels();
        bench_times_add(&whole, a);
        bench_times_add(&bare, b);
        bench_times_add(&ratios, a / b);
        bench_times_add(&outside, share_outside(rt, model));
    }
    printf("| %s | %zu | %.2f | %.2f | %.2f%% | %.2f%% | %.2f%% |\n", setup->title,
           bench_recorder_launches(), bench_times_median(&whole), bench_times_median(&bare),
           (bench_times_median(&ratios) - 1) * 100, bench_times_spread(&ratios),
           bench_times_median(&outside) * 100);
    fflush(stdout);
    bench_recorder_clear();
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
}

int main(int argc, char **argv)
{
    int rounds = bench_number(argc, argv, 1, 25);
    bench_print_machine();
    bench_recorder_register();
    puts("| network | kernels a step | step ms | kernels in a row ms | runtime adds | spread | "
         "outside kernels |\n|---|---:|---:|---:|---:|---:|---:|");
    measure(&bench_setups[BENCH_GPT], rounds);
    measure(&bench_setups[BENCH_RESNET18], rounds);
    puts("\none thread, CPU time; adds: median of the ratios of neighbours, less 1 (target 1%); "
         "outside kernels: the\nsame from within, wall time of a step that no kernel ran in");
    return 0;
}
