/**
 * bench_step.c: a training step in cebus against the same step in PyTorch, in turn. The first
 * losses are compared: networks, parameters and batches are the same, so they agree to rounding.
 */
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/peer.h"

enum {
    WARM_UP = 3
};

/** The twin must have as many parameters and, before training moved apart, the same loss. */
static void check_twin(const bench_setup *setup, cebus_model *model, bench_peer *peer)
{
    int64_t count = 0;
    for (size_t i = 0; i < cebus_model_parameter_count(model); i++)
        count += cebus_tensor_numel(cebus_model_parameter(model, i));
    float ours = bench_train(model, 1), theirs = bench_peer_step(peer);
    if (count != bench_peer_parameters(peer) || !(fabsf(ours - theirs) <= 1e-3f * fabsf(ours))) {
        fprintf(stderr, "%s: the twins differ: %lld and %lld parameters, loss %g and %g\n",
                setup->title, (long long)count, (long long)bench_peer_parameters(peer),
                (double)ours, (double)theirs);
        exit(1);
    }
}

static double time_ours(cebus_model *model, int threads)
{
    double start = bench_now(threads);
    bench_train(model, 1);
    return bench_now(threads) - start;
}

static double time_theirs(bench_peer *peer, int threads)
{
    double start = bench_now(threads);
    bench_peer_step(peer);
    return bench_now(threads) - start;
}

static void measure(const bench_setup *setup, int threads, bool channels_last, int rounds)
{
    cebus_runtime *rt = bench_open("cpu", NULL, threads);
    cebus_model *model = bench_model(rt, setup);
    bench_peer *peer = bench_peer_create(model, threads, channels_last);
    bench_times ours = {.n = 0}, theirs = {.n = 0}, ratios = {.n = 0};
    if (peer != NULL)
        check_twin(setup, model, peer);
    for (int i = 0; i < rounds + WARM_UP; i++) {
        double a = time_ours(model, threads);
        double b = peer != NULL ? time_theirs(peer, threads) : NAN;
        if (i < WARM_UP)
            continue;
        bench_times_add(&ours, a);
        bench_times_add(&theirs, b);
        bench_times_add(&ratios, a / b);
    }
    printf("| %s%s | %d | %.1f | %.1f%% | %.1f | %.1f%% | %.3f |\n", setup->title,
           channels_last ? ", PyTorch channels-last" : "", threads, bench_times_median(&ours),
           bench_times_spread(&ours), bench_times_median(&theirs), bench_times_spread(&theirs),
           bench_times_median(&ratios));
    fflush(stdout);
    bench_peer_destroy(peer);
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
}

int main(int argc, char **argv)
{
    int rounds = bench_number(argc, argv, 1, 15);
    int most = bench_number(argc, argv, 2, 2);
    bench_print_machine();
    puts("| training step | threads | cebus ms | spread | PyTorch ms | spread | ratio |");
    puts("|---|---:|---:|---:|---:|---:|---:|");
    for (int threads = 1; threads <= most; threads++) {
        measure(&bench_setups[BENCH_GPT], threads, false, rounds);
        measure(&bench_setups[BENCH_RESNET18], threads, false, rounds);
        measure(&bench_setups[BENCH_RESNET18], threads, true, rounds);
    }
    puts("\nratio: median of the ratios of neighbouring steps, below 1 cebus is faster (target "
         "0.9);\nspread: half the distance of the quartiles; 1 thread CPU time, else wall time");
    return 0;
}
