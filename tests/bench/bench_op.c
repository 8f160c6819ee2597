/**
 * bench_op.c: what one small operation costs on the host, with lineage, tracking and the graph of
 * gradients on, against the same call in PyTorch, in turn; and that a loop of a million calls
 * stays flat, in memory and in time. And what following the iterations of a loop adds to a call.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/bench/peer.h"

enum {
    BATCHES = 40,
    LAYERS = 64 /* of the loop that is followed */
};

static const char *const titles[BENCH_OP_COUNT] = {
    [BENCH_OP_ADD] = "add, 1 element, gradients on",
    [BENCH_OP_ADD_OFF] = "add, 1 element, gradients off",
    [BENCH_OP_MATMUL] = "matmul 8x8, gradients on",
    [BENCH_OP_VIEW] = "reshape 8x8 to 64, gradients on",
    [BENCH_OP_INPLACE] = "add_, 1 element, gradients off",
};

/** The operation `n` times; `x` and `y` as bench_peer_op() has them. */
static void run_op(cebus_runtime *rt, bench_op_kind kind, int64_t n, cebus_tensor *x,
                   cebus_tensor *y)
{
    const int64_t flat[] = {64};
    cebus_tensor *out = NULL;
    for (int64_t i = 0; i < n; i++, out = NULL) {
        switch (kind) {
        case BENCH_OP_MATMUL:
            bench_must(cebus_matmul(rt, x, y, &out));
            break;
        case BENCH_OP_VIEW:
            bench_must(cebus_reshape(rt, x, 1, flat, &out));
            break;
        case BENCH_OP_INPLACE:
            bench_must(cebus_add_(rt, y, x, 1));
            break;
        default:
            bench_must(cebus_add(rt, x, y, &out));
            break;
        }
        cebus_tensor_release(out);
    }
}

static void ours(cebus_runtime *rt, bench_op_kind kind, int64_t n)
{
    bool square = kind == BENCH_OP_MATMUL || kind == BENCH_OP_VIEW;
    bool grad = kind != BENCH_OP_ADD_OFF && kind != BENCH_OP_INPLACE;
    const int64_t shape[] = {square ? 8 : 1, 8};
    float ones[64] = {1};
    cebus_tensor *x = NULL, *y = NULL;
    bench_must(cebus_tensor_from_host(rt, ones, CEBUS_F32, square ? 2 : 1, shape, &x));
    bench_must(cebus_tensor_from_host(rt, ones, CEBUS_F32, square ? 2 : 1, shape, &y));
    bench_must(cebus_tensor_set_requires_grad(x, grad));
    bool was = cebus_grad_enable(grad);
    run_op(rt, kind, n, x, y);
    cebus_grad_enable(was);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
}

/** Microseconds a call. */
static double time_calls(cebus_runtime *rt, bench_op_kind kind, int64_t n)
{
    double start = bench_now(1);
    if (rt != NULL)
        ours(rt, kind, n);
    else
        bench_peer_op(kind, n);
    return (bench_now(1) - start) * 1e3 / (double)n;
}

static void measure(bench_op_kind kind, int64_t calls)
{
    cebus_runtime *rt = bench_open("cpu", NULL, 1);
    bench_times mine = {.n = 0}, theirs = {.n = 0}, ratios = {.n = 0};
    time_calls(rt, kind, calls / BATCHES);
    time_calls(NULL, kind, calls / BATCHES);
    for (int i = 0; i < BATCHES; i++) {
        double a = time_calls(rt, kind, calls / BATCHES);
        double b = bench_peer_version() != NULL ? time_calls(NULL, kind, calls / BATCHES) : NAN;
        bench_times_add(&mine, a);
        bench_times_add(&theirs, b);
        bench_times_add(&ratios, a / b);
    }
    printf("| %s | %.3f | %.1f%% | %.3f | %.1f%% | %.2f |\n", titles[kind],
           bench_times_median(&mine), bench_times_spread(&mine), bench_times_median(&theirs),
           bench_times_spread(&theirs), bench_times_median(&ratios));
    fflush(stdout);
    cebus_runtime_destroy(rt);
}

static void print_loop_line(cebus_runtime *rt, int64_t calls, double us)
{
    cebus_memory_stats stats = bench_stats(rt);
    printf("| %" PRId64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %.3f |\n", calls,
           stats.live_records, stats.host_bytes, stats.allocated_bytes_current, us);
    fflush(stdout);
}

/** s += tanh(x), a tenth of the calls at a time. */
static void measure_loop(int64_t calls)
{
    const int64_t one = 1;
    cebus_runtime *rt = bench_open("cpu", NULL, 1);
    cebus_tensor *s = bench_ones(rt, 1, &one), *x = bench_ones(rt, 1, &one), *f = NULL;
    puts("\n| calls of s += tanh(x) | live records | host bytes | arena bytes | us a call |");
    puts("|---:|---:|---:|---:|---:|");
    for (int part = 1; part <= 10; part++) {
        double start = bench_now(1);
        for (int64_t i = 0; i < calls / 20; i++) {
            bench_must(cebus_tanh(rt, x, &f));
            bench_must(cebus_add_(rt, s, f, 1));
            cebus_tensor_release(f);
        }
        print_loop_line(rt, part * calls / 10, (bench_now(1) - start) * 1e3 * 10 / (double)calls);
    }
    cebus_tensor_release(s);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

/** An inference loop without marks, 128 calls a round; microseconds a call. */
static double time_rounds(cebus_runtime *rt, cebus_tensor *const *w, int rounds)
{
    float ones[64] = {1};
    double start = bench_now(1);
    for (int i = 0; i < rounds; i++) {
        cebus_tensor *x, *y;
        bench_must(cebus_tensor_from_host(rt, ones, CEBUS_F32, 2, (int64_t[]){8, 8}, &x));
        for (int k = 0; k < LAYERS; k++) {
            bench_must(cebus_mul(rt, x, w[k], &y));
            cebus_tensor_release(x);
            bench_must(cebus_tanh(rt, y, &x));
            cebus_tensor_release(y);
        }
        cebus_tensor_release(x);
    }
    return (bench_now(1) - start) * 1e3 / (2.0 * LAYERS * rounds);
}

static cebus_runtime *open_loop(const char *policy, cebus_tensor **w)
{
    cebus_runtime *rt = bench_open("cpu", policy, 1);
    for (int k = 0; k < LAYERS; k++) {
        w[k] = bench_ones(rt, 2, (int64_t[]){8, 8});
        bench_must(cebus_tensor_set_persistent(w[k]));
    }
    return rt;
}

/** What it costs to follow iterations: a policy that plans against one that does not, in turn. */
static void measure_tracking(void)
{
    cebus_tensor *w[2][LAYERS];
    bench_times times[2] = {{.n = 0}, {.n = 0}}, more = {.n = 0};
    cebus_runtime *rt[2] = {open_loop("lru", w[0]), open_loop("odswap", w[1])};
    for (int i = 0; i < BATCHES; i++) {
        double us[2];
        for (int p = 0; p < 2; p++)
            bench_times_add(&times[p], us[p] = time_rounds(rt[p], w[p], 50));
        bench_times_add(&more, us[1] - us[0]);
    }
    cebus_memory_stats stats = bench_stats(rt[1]);
    puts("\n| us a call, `lru` | `odswap` | more | iterations | of them followed |");
    puts("|---:|---:|---:|---:|---:|");
    printf("| %.3f | %.3f | %.3f | %" PRIu64 " | %" PRIu64 " |\n", bench_times_median(&times[0]),
           bench_times_median(&times[1]), bench_times_median(&more), stats.iterations_found,
           stats.iterations_repeated);
    for (int p = 0; p < 2; p++) {
        for (int k = 0; k < LAYERS; k++)
            cebus_tensor_release(w[p][k]);
        cebus_runtime_destroy(rt[p]);
    }
}

int main(int argc, char **argv)
{
    int64_t calls = bench_number(argc, argv, 1, 1000000);
    bench_print_machine();
    puts("| one call | cebus us | spread | PyTorch us | spread | ratio |");
    puts("|---|---:|---:|---:|---:|---:|");
    for (int kind = 0; kind < BENCH_OP_COUNT; kind++)
        measure((bench_op_kind)kind, calls);
    measure_loop(calls);
    measure_tracking();
    puts("\none thread, CPU time, results freed at once; targets for the first line: 0.4 us, and "
         "half of PyTorch's");
    return 0;
}
