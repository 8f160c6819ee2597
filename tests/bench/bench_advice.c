/**
 * bench_advice.c: what plans of cebus_advise() foretell on the CPU, against what launches by them
 * take there, as a Markdown table.
 *
 *     bench_advice [--link GBPS] [--rounds N] [--generations N] [--only resnet18|gpt|mlp]
 *
 * A plan is searched for a part of the peak and a link of that rate (played by the device,
 * "cpu:link=1GB"). Then rounds: launches without a plan, which say what calls cost just now, and
 * with that what the plan foretells; launches by it. What is compared is of one round; medians over
 * the rounds, and half the distance of the quartiles. `rest` is what launches without a plan take
 * beyond their calls: the host's own work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cebus/cebus.h>

#include "tests/support/models.h"

#define LAUNCHES 6 /**< before a plan is made */

static struct {
    double link; /**< 10^9 bytes a second */
    unsigned long rounds, generations;
    const char *only;
} how = {1, 25, 20, NULL};

typedef struct subject {
    cebus_runtime *rt;
    cebus_model *model;
    cebus_capture *capture;
    cebus_advise_link link;
    uint64_t peak;
} subject;

static void expect(cebus_status status, const char *what)
{
    if (status == CEBUS_OK)
        return;
    fprintf(stderr, "bench_advice: %s: %s: %s\n", what, cebus_last_error()->op,
            cebus_last_error()->message);
    exit(1);
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void capture_step(subject *s)
{
    bool more;
    cebus_model_begin_part(s->model);
    expect(cebus_capture_begin(s->rt), "begin");
    expect(cebus_model_run_part(s->model, NULL, &more), "step");
    expect(cebus_capture_end(s->rt, &s->capture), "end");
    cebus_model_end_part(s->model, more);
    for (int i = 0; i < LAUNCHES; i++)
        expect(cebus_capture_launch(s->capture), "launch");
}

static uint64_t sum_of(const cebus_capture *capture)
{
    const cebus_advise_program *program = cebus_capture_program(capture);
    uint64_t ns = 0;
    for (size_t k = 0; k < program->n_calls; k++)
        ns += program->calls[k].cost_ns;
    return ns;
}

static void create(subject *s, const char *name, const cebus_model_config *config)
{
    char device[64];
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    const uint64_t rate = (uint64_t)(how.link * 1e9);
    snprintf(device, sizeof device, "cpu:link=%lluMB", (unsigned long long)(rate / 1000000));
    options.device = device;
    options.threads = 1;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_ON;
    options.memory_budget = UINT64_C(4) << 30;
    expect(cebus_runtime_create(&options, &s->rt), "runtime");
    s->model = cebus_model_create(s->rt, name, config);
    if (s->model == NULL)
        expect(CEBUS_INTERNAL, name);
    for (int i = 0; i < 2; i++)
        expect(cebus_model_step(s->model, NULL), "step");
    expect(cebus_runtime_memory_stats(s->rt, &stats), "stats");
    s->peak = stats.allocated_bytes_peak;
    s->link = (cebus_advise_link){.out = rate, .in = rate, .both = 2 * rate, .latency_ns = 60000};
    capture_step(s);
}

static double launch(subject *s)
{
    const double start = milliseconds();
    expect(cebus_capture_launch(s->capture), "launch");
    return milliseconds() - start;
}

/** NULL: there is none. */
static cebus_advice *plan_for(const subject *s, uint64_t memory)
{
    cebus_advise_options options = CEBUS_ADVISE_OPTIONS_INIT;
    cebus_advise_result result;
    cebus_advice *plan = NULL;
    options.memory = memory;
    options.link = s->link;
    options.generations = how.generations;
    if (cebus_advise(cebus_capture_program(s->capture), &options, &result, &plan) != CEBUS_OK)
        exit(1);
    return plan;
}

/** What a round came to, all in ms. */
typedef struct round {
    double calls, foretold, unplanned, planned;
} round_of_launches;

/** Whether the plan holds at what calls cost now: if not, the round does not count. */
static bool foretell(const subject *s, cebus_advice *plan, round_of_launches *out)
{
    const cebus_advise_program *now = cebus_capture_program(s->capture);
    out->calls = (double)sum_of(s->capture) * 1e-6;
    if (cebus_advice_time(now, &s->link, plan, NULL, 0) != CEBUS_OK)
        return false;
    out->foretold = (double)plan->time_ns * 1e-6;
    return true;
}

static bool take_round(subject *s, cebus_advice *plan, uint64_t memory, round_of_launches *out)
{
    expect(cebus_capture_set_plan(s->capture, NULL, NULL), "no plan");
    expect(cebus_runtime_set_budget(s->rt, UINT64_C(4) << 30), "budget");
    for (int k = 0; k < 3; k++) /* the first one finds values elsewhere */
        out->unplanned = launch(s);
    const bool holds = foretell(s, plan, out);
    expect(cebus_runtime_set_budget(s->rt, memory), "budget");
    expect(cebus_capture_set_plan(s->capture, plan, &s->link), "plan");
    for (int k = 0; k < 3; k++)
        out->planned = launch(s);
    return holds;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** "median (spread)" of numbers, which are sorted. */
static void print_median(double *numbers, size_t n, const char *format)
{
    qsort(numbers, n, sizeof *numbers, compare);
    printf(format, numbers[n / 2], (numbers[n * 3 / 4] - numbers[n / 4]) / 2);
}

static void print_rounds(const round_of_launches *rounds, size_t n)
{
    static const char ms[] = " %.2f (%.2f) |", percent[] = " %+.1f%% (%.1f) |";
    double *numbers = malloc((n + 1) * sizeof *numbers);
    for (int column = 0; column < 6 && numbers != NULL; column++) {
        for (size_t i = 0; i < n; i++) {
            const round_of_launches *r = &rounds[i];
            const double rest = r->unplanned - r->calls;
            const double values[] = {r->calls,
                                     rest / r->calls * 100,
                                     r->foretold,
                                     r->planned,
                                     (r->planned / r->foretold - 1) * 100,
                                     (r->planned / (r->foretold + rest) - 1) * 100};
            numbers[i] = values[column];
        }
        print_median(numbers, n, column == 0 || column == 2 || column == 3 ? ms : percent);
    }
    printf("\n");
    fflush(stdout);
    free(numbers);
}

static void measure(subject *s, const char *name, int percent)
{
    const uint64_t memory = s->peak / 100 * (uint64_t)percent;
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    cebus_advice *plan = plan_for(s, memory);
    round_of_launches *rounds = calloc(how.rounds, sizeof *rounds);
    size_t n = 0;
    for (unsigned long i = 0; plan != NULL && rounds != NULL && i < how.rounds; i++)
        n += take_round(s, plan, memory, &rounds[n]);
    printf("| %s | %d | %zu | %zu |", name, percent, plan != NULL ? plan->n_copies : 0, n);
    if (n > 0)
        print_rounds(rounds, n);
    else
        printf(" - | | | | | |\n");
    expect(cebus_runtime_memory_stats(s->rt, &stats), "stats");
    fprintf(stderr, "%s %d: missed places %llu so far\n", name, percent,
            (unsigned long long)stats.missed_placements);
    free(rounds);
    cebus_advice_destroy(plan);
}

static void run(const char *name, const char *model, const cebus_model_config *config)
{
    subject s = {0};
    if (how.only != NULL && strcmp(how.only, name) != 0)
        return;
    create(&s, model, config);
    for (int percent = 80; percent >= 50; percent -= 15)
        measure(&s, name, percent);
    cebus_capture_destroy(s.capture);
    cebus_model_destroy(s.model);
    cebus_runtime_destroy(s.rt);
}

int main(int argc, char **argv)
{
    const cebus_model_config resnet = {.seed = 1, .batch = 4, .drawn = true};
    const cebus_model_config gpt = {
        .seed = 1, .batch = 4, .length = 64, .width = 256, .depth = 4, .heads = 4, .drawn = true};
    const cebus_model_config mlp = {
        .seed = 1, .batch = 64, .width = 512, .depth = 6, .drawn = true};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--link") == 0)
            how.link = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--rounds") == 0)
            how.rounds = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            how.only = argv[i + 1];
        else if (strcmp(argv[i], "--generations") == 0)
            how.generations = strtoul(argv[i + 1], NULL, 10);
    }
    if (!(how.link > 0) || how.rounds < 1)
        return 2;
    printf("| network | memory, %% of peak | copies | rounds | calls, ms | rest | foretold, ms | "
           "took, ms | off | off, the rest counted |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    run("resnet18", "resnet18", &resnet);
    run("gpt", "gpt", &gpt);
    run("mlp", "mlp", &mlp);
    return 0;
}
