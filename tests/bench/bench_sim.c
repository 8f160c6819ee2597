/**
 * bench_sim.c: how fast a simulated machine is simulated: one step of each network that papers
 * measured, at their size, in real time; and what the budget costs in virtual time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

/** One step, after one that warms up. */
typedef struct step {
    double real_ms;
    uint64_t ops; /**< kernels launched, replays included */
    uint64_t ns;  /**< virtual */
    uint64_t peak;
    bool fits;
} step;

static step measure(const char *device, const cebus_model_preset *preset, const char *policy,
                    uint64_t budget)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_runtime *rt;
    step result = {.fits = true};
    options.device = device;
    options.policy = policy;
    options.memory_budget = budget;
    bench_must(cebus_runtime_create(&options, &rt));
    cebus_model *model = cebus_model_create(rt, preset->model, &preset->config);
    result.fits = model != NULL;
    if (model == NULL && cebus_last_error()->status != CEBUS_OUT_OF_MEMORY)
        bench_must(cebus_last_error()->status);
    for (int i = 0; i < 2 && result.fits; i++) {
        cebus_memory_stats before = bench_stats(rt);
        double start = bench_now(1);
        cebus_status status = cebus_model_step(model, NULL);
        result.fits = status == CEBUS_OK;
        if (status != CEBUS_OUT_OF_MEMORY)
            bench_must(status);
        bench_must(cebus_runtime_synchronize(rt));
        cebus_memory_stats after = bench_stats(rt);
        result.real_ms = bench_now(1) - start;
        result.ops = after.calls + after.recomputes - before.calls - before.recomputes;
        result.ns = after.device_ns - before.device_ns;
        result.peak = after.allocated_bytes_peak;
    }
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
    return result;
}

static void print(const cebus_model_preset *preset, const char *policy, const step *s,
                  const step *whole)
{
    if (!s->fits) {
        printf("| %s | %s | - | - | - | - | out of memory |\n", preset->label, policy);
        return;
    }
    printf("| %s | %s | %.2f | %llu | %.2f | %.1f | %.3f |\n", preset->label, policy,
           (double)s->peak / 0x1p30, (unsigned long long)s->ops, s->real_ms * 1000 / (double)s->ops,
           (double)s->ns * 1e-6, (double)s->ns / (double)whole->ns);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const policies[] = {"coop", "dtr"};
    const char *device = argc > 1 ? argv[1] : "sim:a100-80g";
    uint64_t percent = (uint64_t)bench_number(argc, argv, 2, 50);
    const char *only = argc > 3 ? argv[3] : "";
    bench_print_machine();
    printf("%s, budget %llu%% of the peak\n\n", device, (unsigned long long)percent);
    puts("| network | policy | peak GiB | ops | real ms per 1000 ops | virtual ms | overhead |");
    puts("|---|---|---:|---:|---:|---:|---:|");
    for (size_t i = 0; cebus_model_preset_at(i) != NULL; i++) {
        const cebus_model_preset *preset = cebus_model_preset_at(i);
        if (strstr(preset->name, only) == NULL)
            continue;
        step whole = measure(device, preset, "none", UINT64_C(1) << 44);
        print(preset, "none", &whole, &whole);
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
            step tight = measure(device, preset, policies[p], whole.peak * percent / 100);
            print(preset, policies[p], &tight, &whole);
        }
    }
    return 0;
}
