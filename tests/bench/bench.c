#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cebus_config.h"
#include "tests/bench/peer.h"
#ifdef CEBUS_HAVE_ONEDNN
#include <dnnl.h>
#endif
#ifdef CEBUS_HAVE_OPENBLAS
#include <cblas.h>
#endif

const bench_setup bench_setups[] = {
    [BENCH_GPT] = {"char-GPT",
                   "gpt",
                   {.seed = 1,
                    .batch = 16,
                    .width = 128,
                    .depth = 12,
                    .length = 128,
                    .classes = 256,
                    .heads = 4,
                    .dropout = -1,
                    .untied = true}},
    [BENCH_RESNET18] = {"ResNet-18", "resnet18", {.seed = 1}},
    {"MLP", "mlp", {.seed = 1, .batch = 2048, .width = 256, .depth = 8}},
    {"CNN", "cnn", {.seed = 1, .batch = 64, .width = 16, .depth = 3, .length = 32}},
    {"LSTM", "lstm", {.seed = 1, .batch = 64, .width = 96, .depth = 2, .length = 48}},
    {"U-Net", "unet", {.seed = 1, .batch = 8, .width = 16, .depth = 3, .length = 64}},
    {"TreeLSTM", "tree", {.seed = 1, .batch = 32, .width = 64, .length = 32}},
    {.title = NULL},
};

double bench_now(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void bench_times_add(bench_times *times, double value)
{
    if (times->n < sizeof times->values / sizeof *times->values)
        times->values[times->n++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_times_quantile(const bench_times *times, double q)
{
    bench_times sorted = *times;
    if (sorted.n == 0)
        return 0;
    qsort(sorted.values, sorted.n, sizeof *sorted.values, compare);
    double at = q * (double)(sorted.n - 1);
    size_t low = (size_t)at;
    size_t high = low + 1 < sorted.n ? low + 1 : low;
    return sorted.values[low] + (at - (double)low) * (sorted.values[high] - sorted.values[low]);
}

double bench_times_spread(const bench_times *times)
{
    double distance = bench_times_quantile(times, 0.75) - bench_times_quantile(times, 0.25);
    return distance / 2 / bench_times_median(times) * 100;
}

void bench_must(cebus_status status)
{
    if (status == CEBUS_OK)
        return;
    const cebus_error *error = cebus_last_error();
    fprintf(stderr, "%s: %s\n", error->op, error->message);
    exit(1);
}

int bench_number(int argc, char **argv, int i, int otherwise)
{
    if (i >= argc)
        return otherwise;
    char *end;
    const long number = strtol(argv[i], &end, 10);
    if (*end == '\0' && number >= 1 && number <= 1000000000)
        return (int)number;
    fprintf(stderr, "%s: argument %d is \"%s\", not a number from 1 on (tests/bench/README.md)\n",
            argv[0], i, argv[i]);
    exit(1);
}

cebus_runtime *bench_open(const char *device, const char *policy, int threads)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_runtime *rt = NULL;
    options.device = device;
    options.memory_budget = UINT64_C(8) << 30;
    options.policy = policy;
    options.threads = threads;
    bench_must(cebus_runtime_create(&options, &rt));
    return rt;
}

cebus_model *bench_model(cebus_runtime *rt, const bench_setup *setup)
{
    cebus_model *model = cebus_model_create(rt, setup->model, &setup->config);
    if (model == NULL) {
        fprintf(stderr, "%s: %s\n", setup->title, cebus_last_error()->message);
        exit(1);
    }
    return model;
}

float bench_train(cebus_model *model, int steps)
{
    float loss = 0;
    for (int i = 0; i < steps; i++)
        bench_must(cebus_model_step(model, &loss));
    return loss;
}

static cebus_tensor *leaf(void *model, size_t i)
{
    return cebus_model_parameter(model, i);
}

cebus_meter bench_meter(const bench_setup *setup, int steps, uint64_t *out_peak)
{
    static const cebus_subject subject = {.leaf = leaf};
    cebus_runtime *rt = bench_open("cpu", NULL, 1);
    cebus_meter meter;
    cebus_meter_attach(&meter, rt, &subject);
    cebus_model *model = meter.self = bench_model(rt, setup);
    bench_train(model, steps);
    *out_peak = cebus_max_memory_allocated(rt);
    cebus_model_destroy(model);
    cebus_runtime_destroy(rt);
    return meter;
}

cebus_memory_stats bench_stats(cebus_runtime *rt)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    bench_must(cebus_runtime_memory_stats(rt, &stats));
    return stats;
}

cebus_tensor *bench_ones(cebus_runtime *rt, int ndim, const int64_t *shape)
{
    cebus_tensor *out = NULL;
    bench_must(cebus_full(rt, 1, CEBUS_F32, ndim, shape, &out));
    return out;
}

/** "model name : X" of the first processor. */
static void print_processor(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            line[strcspn(line, "\n")] = '\0';
            printf("%s", strchr(line, ':') + 2);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
    printf(", %ld cores", sysconf(_SC_NPROCESSORS_ONLN));
}

void bench_print_machine(void)
{
    print_processor();
#ifdef CEBUS_HAVE_ONEDNN
    const dnnl_version_t *dnnl = dnnl_version();
    printf("; oneDNN %d.%d.%d", dnnl->major, dnnl->minor, dnnl->patch);
#endif
#ifdef CEBUS_HAVE_OPENBLAS
    printf("; OpenBLAS (%s)", openblas_get_corename());
#endif
    printf("; PyTorch %s\n\n", bench_peer_version() != NULL ? bench_peer_version() : "left out");
}
