#include "tests/support/patterns.h"

#include <cebus/cebus.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICE "sim:a100-80g"

static void must(cebus_status status)
{
    if (status == CEBUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", cebus_last_error()->op, cebus_last_error()->message);
    exit(1);
}

static cebus_runtime *open_runtime(const char *layout, const char *policy, uint64_t budget)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = DEVICE;
    options.layout = layout;
    options.policy = policy;
    options.memory_budget = budget;
    must(cebus_runtime_create(&options, &rt));
    return rt;
}

static cebus_memory_stats stats_of(cebus_runtime *rt)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    must(cebus_runtime_memory_stats(rt, &stats));
    return stats;
}

/** NULL when there is no memory. */
static cebus_tensor *make(cebus_runtime *rt, uint64_t bytes)
{
    cebus_tensor *tensor = NULL;
    int64_t shape[] = {(int64_t)bytes};
    cebus_status status = cebus_full(rt, 1, CEBUS_U8, 1, shape, &tensor);
    if (status != CEBUS_OUT_OF_MEMORY)
        must(status);
    return tensor;
}

/* --- comb ------------------------------------------------------------------------------------ */

enum {
    TEETH = 340,
    TOOTH = 3 << 20
};
#define COMB_BUDGET (UINT64_C(1) << 30)

/** A leaf cannot be made again. */
static cebus_tensor *make_tooth(cebus_runtime *rt, bool rebuildable)
{
    static const unsigned char zeros[TOOTH];
    cebus_tensor *tensor = NULL;
    int64_t shape[] = {TOOTH};
    if (rebuildable)
        return make(rt, TOOTH);
    cebus_status status = cebus_tensor_from_host(rt, zeros, CEBUS_U8, 1, shape, &tensor);
    if (status != CEBUS_OUT_OF_MEMORY)
        must(status);
    return tensor;
}

cebus_pattern cebus_pattern_comb(const char *layout, const char *policy, bool rebuildable)
{
    cebus_tensor *teeth[TEETH];
    cebus_pattern result = {.requests = 1, .budget = COMB_BUDGET};
    cebus_runtime *rt = open_runtime(layout, policy, COMB_BUDGET);
    int n = 0;
    while (n < TEETH && cebus_memory_allocated(rt) + TOOTH <= COMB_BUDGET) {
        teeth[n] = make_tooth(rt, rebuildable);
        if (teeth[n] == NULL)
            break;
        n++;
    }
    for (int i = 1; i < n; i += 2)
        cebus_tensor_release(teeth[i]);
    result.asked_bytes = COMB_BUDGET - cebus_memory_allocated(rt);
    cebus_tensor *huge = make(rt, result.asked_bytes);
    cebus_memory_stats stats = stats_of(rt);
    result.failures = huge == NULL;
    result.moved_bytes = stats.moved_bytes;
    result.evictions = stats.evictions;
    result.stranded_late = stats.inactive_split_bytes;
    cebus_tensor_release(huge);
    for (int i = 0; i < n; i += 2)
        cebus_tensor_release(teeth[i]);
    cebus_runtime_destroy(rt);
    return result;
}

/* --- variable sizes -------------------------------------------------------------------------- */

enum {
    LAYERS = 8,
    PARAMETERS = 6,
    SHORTEST = 16,
    LONGEST = 512
};

/** Bytes of layer k's output for each unit of length. */
static const uint64_t widths[LAYERS] = {3072, 4096, 12288, 4096, 4096, 16384, 4096, 20000};

typedef struct trainer {
    cebus_runtime *rt;
    cebus_tensor *parameters[PARAMETERS], *batch;
    bool squared;
    uint64_t random;
    cebus_pattern *result;
    uint64_t stranded; /**< at the peak of the last step */
} trainer;

static uint64_t draw(uint64_t *random, uint64_t bound)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*random >> 33) % bound;
}

static uint64_t bytes_of(const trainer *t, uint64_t length, int layer)
{
    uint64_t units = t->squared ? length * length / LONGEST : length;
    return units * widths[layer] + 64;
}

static cebus_tensor *take(trainer *t, uint64_t bytes)
{
    cebus_tensor *tensor = make(t->rt, bytes);
    t->result->requests++;
    t->result->asked_bytes += bytes;
    return tensor;
}

static void drop(cebus_tensor **tensor)
{
    cebus_tensor_release(*tensor);
    *tensor = NULL;
}

/** False when memory ran out. */
static bool forward(trainer *t, uint64_t length, cebus_tensor **kept)
{
    for (int k = 0; k < LAYERS; k++) {
        cebus_tensor *inner = take(t, bytes_of(t, length, k) / 2);
        kept[k] = inner != NULL ? take(t, bytes_of(t, length, k)) : NULL;
        cebus_tensor_release(inner);
        if (kept[k] == NULL)
            return false;
    }
    t->stranded = stats_of(t->rt).inactive_split_bytes;
    return true;
}

static bool backward(trainer *t, uint64_t length, cebus_tensor **kept)
{
    cebus_tensor *gradient = NULL;
    for (int k = LAYERS - 1; k >= 0; k--) {
        cebus_tensor *next = take(t, bytes_of(t, length, k));
        if (next == NULL) {
            cebus_tensor_release(gradient);
            return false;
        }
        cebus_tensor_release(gradient);
        gradient = next;
        drop(&kept[k]);
    }
    cebus_tensor_release(gradient);
    return true;
}

/** The batch for `next` is made before this step ends. */
static bool step(trainer *t, uint64_t length, uint64_t next)
{
    cebus_tensor *kept[LAYERS] = {0}, *batch = NULL;
    bool fits = forward(t, length, kept);
    if (fits) {
        batch = take(t, bytes_of(t, next, 0));
        fits = batch != NULL && backward(t, length, kept);
    }
    for (int k = 0; k < LAYERS; k++)
        drop(&kept[k]);
    cebus_tensor_release(t->batch);
    t->batch = batch;
    for (int p = 0; p < PARAMETERS; p++)
        must(cebus_add_scalar_(t->rt, t->parameters[p], 0));
    return fits;
}

static void begin(trainer *t, const char *layout, uint64_t budget)
{
    t->rt = open_runtime(layout, "none", budget);
    for (int p = 0; p < PARAMETERS; p++) {
        t->parameters[p] = make(t->rt, widths[p] * 96);
        must(cebus_tensor_set_persistent(t->parameters[p]));
    }
}

static void end(trainer *t)
{
    for (int p = 0; p < PARAMETERS; p++)
        drop(&t->parameters[p]);
    drop(&t->batch);
    cebus_runtime_destroy(t->rt);
}

/** What the longest input needs at most. */
static uint64_t measure_peak(bool squared)
{
    cebus_pattern ignored = {0};
    trainer t = {.squared = squared, .result = &ignored};
    begin(&t, "zones", UINT64_C(1) << 34);
    t.batch = take(&t, bytes_of(&t, LONGEST, 0));
    (void)step(&t, LONGEST, LONGEST);
    uint64_t peak = cebus_max_memory_allocated(t.rt);
    end(&t);
    return peak;
}

cebus_pattern cebus_pattern_variable(const char *layout, bool squared, uint64_t steps,
                                     uint64_t seed)
{
    cebus_pattern result = {.budget = measure_peak(squared) / 97 * 100};
    trainer t = {.squared = squared, .random = seed, .result = &result};
    uint64_t length = LONGEST;
    double sums[2] = {0};
    begin(&t, layout, result.budget);
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t next = SHORTEST + draw(&t.random, LONGEST - SHORTEST + 1);
        result.failures += !step(&t, length, next);
        sums[2 * i >= steps] += (double)t.stranded;
        length = next;
    }
    result.moved_bytes = stats_of(t.rt).moved_bytes;
    result.stranded_early = (uint64_t)(sums[0] / ((double)(steps + 1) / 2));
    result.stranded_late = (uint64_t)(sums[1] / ((double)(steps + 1) / 2));
    end(&t);
    return result;
}
