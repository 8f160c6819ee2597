/**
 * bench_fragmentation.c: how much memory lies idle because it is in pieces, for policies and
 * layouts beside each other: networks of papers at their sizes on a simulated machine, and the
 * patterns of tests/support/patterns.h. All of it is virtual time and arithmetic: exact, whatever
 * the machine it runs on.
 *
 * usage: bench_fragmentation [--quick] [--system=PART] [networks|budgets|patterns] [NETWORK]
 *
 * Every run is a process of its own that is given up when it takes ten times the step's time
 * without a budget, or 20 seconds of the processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/support/patterns.h"

#define DEVICE "sim:a100-80g"
#define PLENTY (UINT64_C(1) << 40)

enum {
    LIMIT = 10,   /**< times the time without a budget */
    SECONDS = 20, /**< of the processor, a run */
    STEP = 10,    /**< percent, between budgets */
    STEPS = 2,    /**< of a run, the last of which is measured */
    PLANNED = 8   /**< the same where the first ones are for learning */
};

static const struct system {
    const char *name, *policy, *layout;
    bool plans; /**< the step that is measured follows a plan: nothing given up is no news */
} systems[] = {
    {"dtr, best-fit", "dtr", "best-fit"},
    {"dte, best-fit", "dte", "best-fit"},
    {"dtr, caching", "dtr", "caching"},
    {"dtr, expandable", "dtr", "caching-expandable"},
    {"coop policy, best-fit", "coop", "best-fit"},
    {"coop, coop", "coop", "coop"},
    {"coop policy, zones", "coop", "zones"},
    {"cebus, planned", "cebus", "planned", true},
};
enum {
    SYSTEMS = sizeof systems / sizeof *systems
};

/** Coop's eight networks; a U-Net, a NASNet and a GPT beside them. */
static const char *const networks[] = {"coop-resnet50", "coop-resnet152",   "coop-inceptionv3",
                                       "coop-unet",     "coop-bert-large",  "coop-swin-t",
                                       "coop-bilstm",   "coop-densenet121", "dtr-unet",
                                       "nasnet-large",  "gpt2-small"};
enum {
    NETWORKS = sizeof networks / sizeof *networks
};

typedef enum ending {
    FITS,
    NO_MEMORY,
    THRASHES
} ending;

typedef struct measured {
    ending how;
    cebus_memory_stats stats; /**< of the second step alone, where they count */
    uint64_t peak;
} measured;

/** Time of the running step that is left, virtual. */
static uint64_t left_ns;

static void on_event(void *context, const cebus_event *event)
{
    (void)context;
    if (event->kind != CEBUS_EVENT_CALLED && event->kind != CEBUS_EVENT_REPLAYED)
        return;
    if (event->ns > left_ns)
        _exit(THRASHES);
    left_ns -= event->ns;
}

static uint64_t per_million(uint64_t sum, uint64_t count)
{
    return count > 0 ? sum / count : 0;
}

static void subtract(cebus_memory_stats *now, const cebus_memory_stats *before)
{
    now->device_ns -= before->device_ns;
    now->forced_evictions -= before->forced_evictions;
    now->forced_free_ppm_sum -= before->forced_free_ppm_sum;
    now->unused_ppm_sum -= before->unused_ppm_sum;
    now->unused_with_request_ppm_sum -= before->unused_with_request_ppm_sum;
    now->moved_bytes -= before->moved_bytes;
    now->evictions -= before->evictions;
}

/** Some steps; the last is measured. */
static measured train(const cebus_model_preset *preset, const struct system *system,
                      uint64_t budget, uint64_t base_ns)
{
    cebus_runtime *rt;
    measured result = {.how = FITS};
    cebus_memory_stats before = CEBUS_MEMORY_STATS_INIT;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = DEVICE;
    options.policy = system->policy;
    options.layout = system->layout;
    options.memory_budget = budget;
    options.swap = CEBUS_SWAP_OFF;
    bench_must(cebus_runtime_create(&options, &rt));
    left_ns = base_ns > 0 ? UINT64_MAX : 0;
    if (base_ns > 0)
        cebus_runtime_set_event_hook(rt, on_event, NULL);
    cebus_model *model = cebus_model_create(rt, preset->model, &preset->config);
    cebus_status status = model != NULL ? CEBUS_OK : cebus_last_error()->status;
    for (int i = system->plans ? PLANNED : STEPS; i > 0 && status == CEBUS_OK; i--) {
        cebus_reset_peak_memory_stats(rt);
        before = bench_stats(rt);
        left_ns = LIMIT * base_ns;
        status = cebus_model_step(model, NULL);
        if (status == CEBUS_OK)
            status = cebus_runtime_synchronize(rt);
    }
    if (status == CEBUS_OUT_OF_MEMORY)
        result.how = NO_MEMORY;
    else
        bench_must(status);
    result.stats = bench_stats(rt);
    result.peak = result.stats.allocated_bytes_peak;
    subtract(&result.stats, &before);
    return result;
}

/** The same in another process, which may not come to an end by itself. */
static measured run(const cebus_model_preset *preset, const struct system *system, uint64_t budget,
                    uint64_t base_ns)
{
    int pipe_ends[2], status;
    measured result = {.how = THRASHES};
    fflush(stdout);
    if (pipe(pipe_ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit most = {SECONDS, SECONDS};
        setrlimit(RLIMIT_CPU, &most);
        result = train(preset, system, budget, base_ns);
        _exit(write(pipe_ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(pipe_ends[1]);
    if (child < 0 || read(pipe_ends[0], &result, sizeof result) != sizeof result)
        result.how = THRASHES;
    close(pipe_ends[0]);
    waitpid(child, &status, 0);
    return result;
}

static measured run_free(const cebus_model_preset *preset)
{
    static const struct system without = {"none", "none", "zones"};
    return run(preset, &without, PLENTY, 0);
}

/** Means over the runs of a system, over all budgets and networks. */
typedef struct tally {
    double unused, with_request, before, moved;
    uint64_t unused_max, before_max, stranded_max, runs;
} tally;

static void keep_most(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static void add(tally *sum, const measured *m, bool plans)
{
    const cebus_memory_stats *s = &m->stats;
    if (m->how != FITS || (s->forced_evictions == 0 && !plans))
        return;
    sum->unused += (double)per_million(s->unused_ppm_sum, s->forced_evictions);
    sum->with_request += (double)per_million(s->unused_with_request_ppm_sum, s->forced_evictions);
    sum->before += (double)per_million(s->forced_free_ppm_sum, s->forced_evictions);
    sum->moved += (double)s->moved_bytes / 0x1p30;
    keep_most(&sum->unused_max, s->unused_ppm_max);
    keep_most(&sum->before_max, s->forced_free_ppm_max);
    keep_most(&sum->stranded_max, s->stranded_bytes_max);
    sum->runs++;
}

static double percent(double ppm, uint64_t runs)
{
    return runs > 0 ? ppm / (double)runs / 1e4 : 0;
}

static void print_tally(const char *name, const char *system, const tally *t)
{
    printf("| %s | %s | %.2f%% | %.1f%% | %.2f%% | %.1f%% | %.2f%% | %.2f | %.2f |", name, system,
           percent(t->before, t->runs), (double)t->before_max / 1e4, percent(t->unused, t->runs),
           (double)t->unused_max / 1e4, percent(t->with_request, t->runs),
           (double)t->stranded_max / 0x1p30, t->runs > 0 ? t->moved / (double)t->runs : 0);
    fflush(stdout);
}

static void print_overhead(const measured *m, uint64_t base_ns)
{
    if (m->how != FITS)
        printf(" %s |", m->how == NO_MEMORY ? "OOM" : "thrashes");
    else
        printf(" %.3f |", (double)m->stats.device_ns / (double)base_ns);
}

/** Whether a network is asked for. */
static const cebus_model_preset *preset_at(size_t i, const char *only)
{
    if (strstr(networks[i], only) == NULL)
        return NULL;
    return cebus_model_preset_find(networks[i]);
}

static void bench_networks(bool quick, const char *only, const char *which)
{
    tally all[SYSTEMS] = {0};
    int step = quick ? 3 * STEP : STEP;
    printf(
        "\n%s; percent of the budget at requests that something was given up for: free beyond the "
        "request when it came (mean, most); unused once it had its place (mean, most); the same "
        "with the request; GiB stranded at most, and moved a step; then time over that without "
        "a budget, at percents of the peak\n\n",
        DEVICE);
    printf("| network | policy, layout | before | most | after | most | with request | stranded | "
           "moved |");
    for (int ratio = 90; ratio >= 20; ratio -= step)
        printf(" %d%% |", ratio);
    printf("\n|---|---|---:|---:|---:|---:|---:|---:|---:|");
    for (int ratio = 90; ratio >= 20; ratio -= step)
        printf("---:|");
    putchar('\n');
    for (size_t n = 0; n < NETWORKS; n++) {
        const cebus_model_preset *preset = preset_at(n, only);
        if (preset == NULL)
            continue;
        measured base = run_free(preset);
        for (size_t s = 0; s < SYSTEMS; s++) {
            if (strstr(systems[s].name, which) == NULL)
                continue;
            measured at[8];
            tally sum = {0};
            int count = 0;
            for (int ratio = 90; ratio >= 20; ratio -= step) {
                at[count] = run(preset, &systems[s], base.peak / 100 * (uint64_t)ratio,
                                base.stats.device_ns);
                add(&sum, &at[count], systems[s].plans);
                add(&all[s], &at[count], systems[s].plans);
                count++;
            }
            print_tally(preset->name, systems[s].name, &sum);
            for (int i = 0; i < count; i++)
                print_overhead(&at[i], base.stats.device_ns);
            putchar('\n');
        }
    }
    for (size_t s = 0; s < SYSTEMS; s++) {
        print_tally("**all**", systems[s].name, &all[s]);
        printf(" %llu runs |\n", (unsigned long long)all[s].runs);
    }
}

/** The smallest budget that a step fits in, in thousandths of the peak; upwards of it some may not,
 * either: bisection believes that none does. */
static int smallest(const cebus_model_preset *preset, const struct system *system,
                    const measured *base)
{
    int bad = 0, good = 1001;
    while (good - bad > 5) {
        int middle = (good + bad) / 2;
        measured m =
            run(preset, system, base->peak / 1000 * (uint64_t)middle, base->stats.device_ns);
        if (m.how == FITS)
            good = middle;
        else
            bad = middle;
    }
    return good;
}

static void bench_budgets(bool quick, const char *only, const char *which)
{
    printf("\nSmallest budget that a step fits in, of the peak, within half a percent\n\n");
    printf("| network | peak GiB |");
    for (size_t s = 0; s < SYSTEMS; s++) {
        if (strstr(systems[s].name, which) != NULL)
            printf(" %s |", systems[s].name);
    }
    printf("\n|---|---:|");
    for (size_t s = 0; s < SYSTEMS; s++) {
        if (strstr(systems[s].name, which) != NULL)
            printf("---:|");
    }
    putchar('\n');
    for (size_t n = 0; n < (quick ? 1 : NETWORKS); n++) {
        const cebus_model_preset *preset = preset_at(n, only);
        if (preset == NULL)
            continue;
        measured base = run_free(preset);
        printf("| %s | %.2f |", preset->name, (double)base.peak / 0x1p30);
        for (size_t s = 0; s < SYSTEMS; s++) {
            if (strstr(systems[s].name, which) == NULL)
                continue;
            int least = smallest(preset, &systems[s], &base);
            if (least > 1000)
                printf(" above 100%% |");
            else
                printf(" %.1f%% |", least / 10.0);
            fflush(stdout);
        }
        putchar('\n');
    }
}

static void print_pattern(const char *name, const char *layout, const cebus_pattern *p)
{
    double budget = (double)p->budget;
    printf("| %s | %s | %llu | %llu | %.4f | %.2f%% | %.2f%% |\n", name, layout,
           (unsigned long long)p->requests, (unsigned long long)p->failures,
           (double)p->moved_bytes / (double)p->asked_bytes,
           100 * (double)p->stranded_early / budget, 100 * (double)p->stranded_late / budget);
    fflush(stdout);
}

static void bench_patterns(bool quick)
{
    static const char *const layouts[] = {"zones", "coop", "best-fit", "caching",
                                          "caching-expandable"};
    uint64_t steps = quick ? 2000 : 100000, requests = quick ? 200000 : 10000000;
    puts("\n| pattern | layout | requests | failures | bytes moved / asked for | stranded, first "
         "half | second half |");
    puts("|---|---|---:|---:|---:|---:|---:|");
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        cebus_pattern p = cebus_pattern_comb(layouts[i], "coop", false);
        print_pattern("comb, leaves", layouts[i], &p);
        p = cebus_pattern_comb(layouts[i], "coop", true);
        print_pattern("comb, rebuildable", layouts[i], &p);
        p = cebus_pattern_variable(layouts[i], false, steps, 1);
        print_pattern("sequence lengths", layouts[i], &p);
        p = cebus_pattern_variable(layouts[i], true, steps, 2);
        print_pattern("image sizes", layouts[i], &p);
        p = cebus_pattern_server(layouts[i], UINT64_C(2) << 30, requests, 3);
        print_pattern("server", layouts[i], &p);
    }
}

int main(int argc, char **argv)
{
    bool quick = false;
    const char *part = "", *only = "", *which = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strncmp(argv[i], "--system=", 9) == 0)
            which = argv[i] + 9;
        else if (part[0] == '\0')
            part = argv[i];
        else
            only = argv[i];
    }
    bench_print_machine();
    if (strstr("patterns", part) != NULL)
        bench_patterns(quick);
    if (strstr("networks", part) != NULL)
        bench_networks(quick, only, which);
    if (strstr("budgets", part) != NULL)
        bench_budgets(quick, only, which);
    return 0;
}
