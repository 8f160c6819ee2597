/**
 * bench_floor.c: the smallest budget each policy trains in, against the floor that no policy of
 * this kind can go below: persistent bytes, leaf gradients and batches that nothing can rebuild,
 * and the inputs, outputs and workspace of the largest single call on top of them.
 *
 * The floor is metered in an unlimited run. A budget is tried from the very start, parameters
 * included, on a fresh runtime; halving the distance between what failed and what did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

enum {
    STEPS = 3,
    TRIES = 9
};

/** Whether a fresh run of `name` gets through its first steps. */
static bool fits(const char *name, const char *policy, uint64_t budget)
{
    cebus_runtime *rt = bench_open("cpu", policy, 1);
    cebus_status status = cebus_runtime_set_budget(rt, budget);
    cebus_model *model = status == CEBUS_OK ? cebus_model_create(rt, name, NULL) : NULL;
    float loss;
    for (int i = 0; i < STEPS && model != NULL && status == CEBUS_OK; i++)
        status = cebus_model_step(model, &loss);
    if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
        bench_must(status);
    bool done = model != NULL && status == CEBUS_OK;
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
    return done;
}

/** Between `low`, which does not do, and `high`, which does. */
static uint64_t smallest(const char *name, const char *policy, uint64_t low, uint64_t high)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t middle = low + (high - low) / 2;
        if (fits(name, policy, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void measure(const char *name)
{
    uint64_t peak;
    cebus_meter meter = bench_meter(&(bench_setup){.title = name, .model = name}, STEPS, &peak);
    printf("| %s | %.0f | %.0f | %s |", name, (double)peak / 1024, (double)meter.floor / 1024,
           meter.floor_op);
    for (size_t i = 0; cebus_policy_name(i) != NULL; i++) {
        const char *policy = cebus_policy_name(i);
        if (strcmp(policy, "none") == 0)
            continue;
        uint64_t least = smallest(name, policy, meter.least / 2, peak + peak / 4);
        printf(" %.3f |", (double)least / (double)meter.floor);
        fflush(stdout);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    bench_print_machine();
    printf("| network | peak KiB | floor KiB | set by |");
    for (size_t i = 0; cebus_policy_name(i) != NULL; i++) {
        if (strcmp(cebus_policy_name(i), "none") != 0)
            printf(" %s |", cebus_policy_name(i));
    }
    printf("\n|---|---:|---:|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; cebus_model_name(i) != NULL; i++) {
        const char *name = cebus_model_name(i);
        if (argc > 1 ? strcmp(argv[1], name) == 0 : strcmp(name, "resnet18") != 0)
            measure(name);
    }
    puts("\nsmallest budget / floor, the models at the sizes of the tests (target 1.3 for coop)");
    return 0;
}
