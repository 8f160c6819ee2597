/**
 * bench_many.c: many small tensors, as a Markdown table: 100,000 of one element, all alive, with
 * room for all of them and in 1 MiB (16,384 blocks), where every call but the first ones needs a
 * victim. CPU time of the process; policies one after the other, in one run.
 *
 * bench_many [CALLS [POLICY]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

typedef struct cost {
    double ns; /**< all calls */
    uint64_t decisions;
} cost;

static cost run(const char *policy, size_t calls, uint64_t budget)
{
    const int64_t shape[] = {1};
    cebus_runtime *rt = bench_open("cpu", policy, 1);
    cebus_tensor **made = calloc(calls, sizeof *made);
    if (made == NULL)
        exit(1);
    cebus_tensor *x = bench_ones(rt, 1, shape), *y = bench_ones(rt, 1, shape);
    bench_must(cebus_runtime_set_budget(rt, budget));
    double start = bench_now(1);
    for (size_t i = 0; i < calls; i++)
        bench_must(cebus_add(rt, i > 0 ? made[i - 1] : x, y, &made[i]));
    double ns = (bench_now(1) - start) * 1e6;
    cebus_memory_stats stats = bench_stats(rt);
    for (size_t i = 0; i < calls; i++)
        cebus_tensor_release(made[i]);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
    free(made);
    return (cost){ns, stats.searches};
}

static void measure(const char *policy, size_t calls)
{
    cost roomy = run(policy, calls, UINT64_C(1) << 30), tight = run(policy, calls, 1 << 20);
    double more = tight.ns - roomy.ns;
    printf("| %s | %.2f | %.2f | %" PRIu64 " | %.1f |\n", policy, roomy.ns / 1e3 / (double)calls,
           tight.ns / 1e9, tight.decisions,
           tight.decisions > 0 ? more / 1e3 / (double)tight.decisions : 0);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *const policies[] = {"coop", "dtr", "dtr-local", "dte", "lru"};
    size_t calls = (size_t)bench_number(argc, argv, 1, 100000);
    puts("| policy | us a call, room for all | s, in 1 MiB | decisions | us a decision |");
    puts("|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (argc < 3 || strcmp(argv[2], policies[i]) == 0)
            measure(policies[i], calls);
    }
    return 0;
}
