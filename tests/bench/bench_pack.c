/**
 * bench_pack.c: what offline placement costs and how low it gets, as Markdown tables: heuristics on
 * many blocks, how a time limit is kept, the search on rectangles cut into pieces, and on files
 * given as arguments (the columns of `cebus pack`, id,lower,upper,size, with a line of names;
 * capacity 1048576).
 *
 * CPU time of one thread; packings are checked by the sweep of the unit tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/layout/pack_model.h"
#include "tests/unit/layout/random.h"

/** CPU seconds after which a search is given up. */
#define LIMIT_MS 10000.0
#define SHORT_LIMIT_MS 1000.0

enum {
    MOST = 1000000, /* blocks */
};

static double limit_ms = LIMIT_MS;

static double milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static bool go_on(void *context)
{
    return milliseconds() < *(double *)context;
}

/** Packs and checks; out_ms: the time it took. */
static cebus_pack_result pack(pack_model *model, uint64_t capacity, uint64_t steps, double *out_ms)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    double start = milliseconds(), end = start + limit_ms;
    uint64_t height;
    options.capacity = capacity;
    options.max_steps = steps;
    options.go_on = go_on;
    options.context = &end;
    options.at_least_one = true;
    options.presets = model->has_presets ? model->presets : NULL;
    cebus_status status = cebus_pack(model->blocks, model->n, &options, model->offsets, &result);
    *out_ms = milliseconds() - start;
    const char *fault = status == CEBUS_OK ? NULL : cebus_status_name(status);
    if (fault == NULL && result.verdict == CEBUS_PACK_SOLVED)
        fault = pack_model_check(model, model->offsets, &height);
    if (fault != NULL) {
        fprintf(stderr, "%s\n", fault);
        exit(1);
    }
    return result;
}

/* --- many blocks ----------------------------------------------------------------------------- */

/** Sizes of every magnitude, lives of every length: a few long, most short. */
static void fill_tailed(pack_model *model, size_t n, uint64_t *seed)
{
    pack_model_clear(model);
    for (size_t i = 0; i < n; i++) {
        uint64_t lower = random_below(seed, 10 * n);
        uint64_t life = 1 + random_below(seed, UINT64_C(1) << random_below(seed, 16));
        uint64_t bytes = 1 + random_below(seed, UINT64_C(1) << random_below(seed, 14));
        pack_model_add(model, lower, lower + life, bytes * 512, 512);
    }
}

/** As random, every tenth block staying where it was put before. */
static void fill_preset(pack_model *model, size_t n, uint64_t *seed)
{
    double ms;
    pack_model_fill_random(model, n, seed);
    (void)pack(model, 0, 0, &ms);
    for (size_t i = 0; i < n; i += 10)
        model->presets[i] = model->offsets[i];
    model->has_presets = true;
}

static void measure_many(pack_model *model, const char *what,
                         void (*fill)(pack_model *, size_t, uint64_t *), size_t n)
{
    double times[5], ratio = 0;
    for (int round = 0; round < 5; round++) {
        uint64_t seed = (uint64_t)round + 1;
        fill(model, n, &seed);
        cebus_pack_result result = pack(model, 0, 0, &times[round]);
        double is = (double)result.height / (double)result.max_load;
        ratio = is > ratio ? is : ratio;
    }
    for (int i = 1; i < 5; i++) {
        for (int j = i; j > 0 && times[j] < times[j - 1]; j--) {
            double time = times[j];
            times[j] = times[j - 1];
            times[j - 1] = time;
        }
    }
    printf("| %s | %zu | %.1f | %.4f |\n", what, n, times[2], ratio);
}

typedef struct kind {
    const char *what;
    void (*fill)(pack_model *, size_t, uint64_t *);
} kind;

static void measure_all(pack_model *model)
{
    const kind kinds[] = {
        {"training step", pack_model_fill_training},
        {"random, lives of one scale", pack_model_fill_random},
        {"random, lives of all scales", fill_tailed},
        {"random, a tenth preset", fill_preset},
    };
    puts("| heuristics | blocks | ms, median of 5 | height / load, worst of 5 "
         "|\n|---|---:|---:|---:|");
    for (size_t n = 1000; n <= 100000; n *= 10) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            measure_many(model, kinds[i].what, kinds[i].fill, n);
    }
}

/* --- a time limit ---------------------------------------------------------------------------- */

/** Within the load, within somewhat more, and as low as can be. */
static void measure_limited(pack_model *model, const char *what)
{
    const uint64_t load = pack_model_load(model);
    const uint64_t capacities[] = {load, load + load / 20, 0};
    static const char *const names[] = {"load", "1.05 x load", "none"};
    for (int i = 0; i < 3; i++) {
        double ms;
        cebus_pack_result result = pack(model, capacities[i], UINT64_MAX, &ms);
        printf("| %s | %zu | %s | %.0f | %.4f |\n", what, model->n, names[i], ms,
               (double)result.height / (double)load);
        fflush(stdout);
    }
}

static void measure_limits(pack_model *model)
{
    const kind kinds[] = {
        {"training step", pack_model_fill_training},
        {"random, lives of one scale", pack_model_fill_random},
        {"random, lives of all scales", fill_tailed},
    };
    limit_ms = SHORT_LIMIT_MS;
    puts("\n| limit of a second | blocks | capacity | ms | height / load "
         "|\n|---|---:|---|---:|---:|");
    for (size_t n = 100000; n <= MOST; n *= 10) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            uint64_t seed = 1;
            kinds[i].fill(model, n, &seed);
            measure_limited(model, kinds[i].what);
        }
    }
    limit_ms = LIMIT_MS;
}

/* --- the search ------------------------------------------------------------------------------ */

static void print_search(const char *what, const pack_model *model, cebus_pack_result result,
                         double ms)
{
    static const char *const verdicts[] = {"solved", "infeasible", "undecided"};
    printf("| %s | %zu | %s | %.0f | %llu |\n", what, model->n, verdicts[result.verdict], ms,
           (unsigned long long)result.steps);
    fflush(stdout);
}

static void search_cut(pack_model *model, size_t n, uint64_t width, uint64_t height)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        char what[80];
        double ms;
        uint64_t draw = seed;
        pack_model_fill_cut(model, n, width, height, 1, &draw);
        cebus_pack_result result = pack(model, height, UINT64_MAX, &ms);
        snprintf(what, sizeof what, "%llu x %llu, cut, number %llu", (unsigned long long)width,
                 (unsigned long long)height, (unsigned long long)seed);
        print_search(what, model, result, ms);
    }
}

static void search_file(pack_model *model, const char *path)
{
    unsigned long long lower, upper, bytes;
    char line[256];
    double ms;
    FILE *file = fopen(path, "r");
    pack_model_clear(model);
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        perror(path);
        exit(1);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%*[^,],%llu,%llu,%llu", &lower, &upper, &bytes) == 3)
            pack_model_add(model, lower, upper, bytes, 0);
    }
    fclose(file);
    cebus_pack_result result = pack(model, 1048576, UINT64_MAX, &ms);
    const char *name = strrchr(path, '/');
    print_search(name != NULL ? name + 1 : path, model, result, ms);
}

int main(int argc, char **argv)
{
    pack_model *model = pack_model_create(MOST);
    if (argc < 2) {
        measure_all(model);
        measure_limits(model);
    }
    puts(
        "\n| search, no room to waste | blocks | verdict | ms | nodes |\n|---|---:|---|---:|---:|");
    for (int i = 1; i < argc; i++)
        search_file(model, argv[i]);
    if (argc < 2) {
        search_cut(model, 250, 1000000, 1048576);
        search_cut(model, 450, 1000000, 1048576);
        search_cut(model, 250, 50, 50);
        search_cut(model, 350, 200, 1000);
        search_cut(model, 350, 40, 1048576);
        search_cut(model, 450, 100, 1048576);
    }
    pack_model_destroy(model);
    return 0;
}
