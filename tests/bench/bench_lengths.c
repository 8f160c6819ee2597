/**
 * bench_lengths.c: a program whose iterations come at many lengths, each a kind of its own to a
 * policy that plans, as a Markdown table: us an iteration in the first and in the next ten rounds
 * under the default policy, and beside `coop`, which plans nothing, in turn within one run. A round
 * has every length once, in an order of its own. CPU time of the process: what is planned on a
 * thread counts, too.
 *
 * bench_lengths [LENGTHS [TURNS]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"

enum {
    LAYERS = 10, /**< there and back: 20 calls */
    WIDTH = 64,
    SHORTEST = 32,
    ROUNDS = 10,
    MOST_LENGTHS = 4096
};

/** us an iteration, in the first rounds and in the next ones. */
typedef struct figures {
    double first, next;
} figures;

/** Ten maps, each read once more on the way back. */
static void iterate(cebus_runtime *rt, int64_t length)
{
    const int64_t shape[] = {length, WIDTH};
    cebus_tensor *map[LAYERS], *gradient, *next;
    map[0] = bench_ones(rt, 2, shape);
    for (int i = 1; i < LAYERS; i++)
        bench_must(cebus_tanh(rt, map[i - 1], &map[i]));
    bench_must(cebus_tanh(rt, map[LAYERS - 1], &gradient));
    for (int i = LAYERS - 1; i >= 0; i--) {
        bench_must(cebus_mul(rt, gradient, map[i], &next));
        cebus_tensor_release(gradient);
        cebus_tensor_release(map[i]);
        gradient = next;
    }
    cebus_tensor_release(gradient);
    bench_must(cebus_iteration_mark(rt));
}

/** The orders are the same in every run. */
static void shuffle(int64_t *lengths, int n)
{
    static uint64_t state;
    state = lengths[0] == SHORTEST ? 1 : state;
    for (int i = n - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int j = (int)((state >> 33) % (uint64_t)(i + 1));
        int64_t kept = lengths[i];
        lengths[i] = lengths[j];
        lengths[j] = kept;
    }
}

static double run_rounds(cebus_runtime *rt, int64_t *lengths, int n)
{
    double start = bench_now(1);
    for (int round = 0; round < ROUNDS; round++) {
        shuffle(lengths, n);
        for (int i = 0; i < n; i++)
            iterate(rt, lengths[i]);
    }
    return (bench_now(1) - start) * 1e3 / ROUNDS / n;
}

/** The longest need twice the budget. */
static figures run(const char *policy, int n)
{
    static int64_t lengths[MOST_LENGTHS];
    for (int i = 0; i < n; i++)
        lengths[i] = SHORTEST + i;
    cebus_runtime *rt = bench_open("cpu", policy, 1);
    uint64_t longest = (uint64_t)lengths[n - 1] * WIDTH * sizeof(float);
    bench_must(cebus_runtime_set_budget(rt, longest * (LAYERS + 2) / 2));
    double first = run_rounds(rt, lengths, n);
    double next = run_rounds(rt, lengths, n);
    cebus_runtime_destroy(rt);
    return (figures){first, next};
}

static void measure(int n, int turns)
{
    enum {
        SIDES = 2
    };
    static const char *const policies[SIDES] = {"cebus", "coop"};
    bench_times first[SIDES] = {{.n = 0}}, next[SIDES] = {{.n = 0}}, ratios[2] = {{.n = 0}};
    for (int turn = 0; turn < turns; turn++) {
        figures took[SIDES];
        for (int i = 0; i < SIDES; i++) {
            took[i] = run(policies[i], n);
            bench_times_add(&first[i], took[i].first);
            bench_times_add(&next[i], took[i].next);
        }
        bench_times_add(&ratios[0], took[0].first / took[1].first);
        bench_times_add(&ratios[1], took[0].next / took[1].next);
    }
    printf("| %d | %.0f / %.0f | %.0f / %.0f | %.2f / %.2f |\n", n, bench_times_median(&first[0]),
           bench_times_median(&next[0]), bench_times_median(&first[1]),
           bench_times_median(&next[1]), bench_times_median(&ratios[0]),
           bench_times_median(&ratios[1]));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {32, 97, 512};
    int only = bench_number(argc, argv, 1, MOST_LENGTHS), turns = bench_number(argc, argv, 2, 3);
    puts("us an iteration, first / next ten rounds\n");
    puts("| lengths | `cebus` | `coop` | ratio |");
    puts("|---:|---:|---:|---:|");
    if (argc > 1 && only <= MOST_LENGTHS)
        measure(only, turns);
    for (size_t i = 0; argc <= 1 && i < sizeof lengths / sizeof *lengths; i++)
        measure(lengths[i], turns);
    return 0;
}
