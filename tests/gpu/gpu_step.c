/**
 * gpu_step: what one training step of a published network takes on a device, without a limit and
 * under shares of its peak. One JSON object a line.
 *
 * usage: gpu_step [--trace FILE] [--warm N] [--settle MS] [--history FILE] DEVICE PRESET
 *        [PERCENT...]
 *
 * --trace: two more steps without a limit are recorded, with the costs that were measured. --warm:
 * so many steps come first under plans, 24 by default, and on a real device so many that they
 * take MS, 6000 by default: better plans are searched meanwhile, and two ways may be tried. Else
 * there are 6. --history: each of these steps on a line, and what was said about it.
 * ms_per_step is wall time, the median of STEPS after these; host_us_per_op the host's part of it:
 * from the start of a step to its last call's return, over the kernels run, so it counts what the
 * host is held up by a full queue, too. outside_bytes is all that the driver counts beside the
 * budget. Under a plan predicted_ms and measured_ms are the last guided step's, on the device.
 *
 * Each step ends with a number that the host reads, as programs read their loss: that waits for all
 * that is computed, and copies go on beside the next step. On a simulated device, which has no wall
 * time to tell, nothing waits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cebus/cebus.h>

#include "tests/support/models.h"

static int warm_plans = 24;
static int settling_ms = 6000;
static FILE *history;
static bool waits;

enum {
    WARM = 6,
    STEPS = 5,
    RECORDED = 2
};

/** What each budget is run under. */
static const struct setting {
    const char *policy;
    cebus_swap swap;
} settings[] = {
    {"coop", CEBUS_SWAP_OFF},
    {"coop", CEBUS_SWAP_ON},
    {"cebus", CEBUS_SWAP_OFF},
    {"cebus", CEBUS_SWAP_ON},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct figures {
    double wall_ms, host_us;
    cebus_memory_stats stats;     /**< at the end */
    uint64_t recomputes, swapped; /**< a step */
} figures;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static cebus_status stats_of(cebus_runtime *rt, cebus_memory_stats *out)
{
    *out = (cebus_memory_stats)CEBUS_MEMORY_STATS_INIT;
    return cebus_runtime_memory_stats(rt, out);
}

/** A network, and a number for the host to read once a step. */
typedef struct training {
    cebus_runtime *rt;
    cebus_model *model;
    cebus_tensor *read;
} training;

static cebus_status training_init(training *t, cebus_runtime *rt, const cebus_model_preset *preset)
{
    *t = (training){.rt = rt};
    cebus_status status = cebus_zeros(rt, CEBUS_F32, 0, NULL, &t->read);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_persistent(t->read);
    if (status == CEBUS_OK)
        t->model = cebus_model_create(rt, preset->model, &preset->config);
    if (status == CEBUS_OK && t->model == NULL)
        status = cebus_last_error()->status;
    return status;
}

static void training_deinit(training *t)
{
    cebus_model_destroy(t->model);
    cebus_tensor_release(t->read);
}

/** One step: wall and host time. */
static cebus_status step(training *t, double *out_wall_ms, double *out_host_us)
{
    cebus_memory_stats before, after;
    float read;
    cebus_status status = stats_of(t->rt, &before);
    double start = now_ms();
    if (status == CEBUS_OK)
        status = cebus_model_step(t->model, NULL);
    double asked = now_ms();
    if (status == CEBUS_OK)
        status = cebus_iteration_mark(t->rt);
    if (status == CEBUS_OK && waits)
        status = cebus_tensor_to_host(t->read, &read, sizeof read);
    *out_wall_ms = now_ms() - start;
    if (status == CEBUS_OK)
        status = stats_of(t->rt, &after);
    if (status != CEBUS_OK)
        return status;
    uint64_t ops = after.calls + after.recomputes - before.calls - before.recomputes;
    *out_host_us = (asked - start) * 1e3 / (double)(ops > 0 ? ops : 1);
    return CEBUS_OK;
}

static double ms_of(uint64_t ns)
{
    return (double)ns * 1e-6;
}

static cebus_status note(training *t, double wall_ms)
{
    cebus_memory_stats s;
    cebus_status status = stats_of(t->rt, &s);
    if (status == CEBUS_OK)
        fprintf(history,
                "%.3f ms, %" PRIu64 " guided, the last %.3f ms foretold, %.3f measured, %" PRIu64
                " actions, %" PRIu64 " missed, %" PRIu64 " unforeseen; %" PRIu64 " replans\n",
                wall_ms, s.guided_iterations, ms_of(s.guided_predicted_ns),
                ms_of(s.guided_measured_ns), s.guided_actions, s.guided_missed, s.guided_unforeseen,
                s.replans);
    return status;
}

static cebus_status steps(training *t, int n)
{
    double wall_ms, host_us;
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < n && status == CEBUS_OK; i++) {
        status = step(t, &wall_ms, &host_us);
        if (status == CEBUS_OK && history != NULL)
            status = note(t, wall_ms);
    }
    return status;
}

static cebus_status record(training *t, const char *trace)
{
    cebus_status status = cebus_trace_start(t->rt, trace), ended;
    if (status != CEBUS_OK)
        return status;
    status = steps(t, RECORDED);
    ended = cebus_trace_stop(t->rt);
    return status != CEBUS_OK ? status : ended;
}

static cebus_status warm_up(training *t, bool plans)
{
    double begun = now_ms();
    cebus_status status = steps(t, plans ? warm_plans : WARM);
    while (plans && waits && status == CEBUS_OK && now_ms() - begun < settling_ms)
        status = steps(t, 1);
    return status;
}

/** What steps take once the first are over. */
static cebus_status measure_steps(training *t, bool plans, figures *out)
{
    double wall[STEPS], host[STEPS];
    cebus_memory_stats before;
    cebus_status status = warm_up(t, plans);
    if (status == CEBUS_OK)
        status = stats_of(t->rt, &before);
    for (int i = 0; i < STEPS && status == CEBUS_OK; i++)
        status = step(t, &wall[i], &host[i]);
    if (status == CEBUS_OK)
        status = stats_of(t->rt, &out->stats);
    if (status != CEBUS_OK)
        return status;
    qsort(wall, STEPS, sizeof *wall, by_value);
    qsort(host, STEPS, sizeof *host, by_value);
    out->wall_ms = wall[STEPS / 2];
    out->host_us = host[STEPS / 2];
    out->recomputes = (out->stats.recomputes - before.recomputes) / STEPS;
    out->swapped = (out->stats.swapped_out_bytes + out->stats.swapped_in_bytes -
                    before.swapped_out_bytes - before.swapped_in_bytes) /
                   STEPS;
    return CEBUS_OK;
}

static cebus_status train(cebus_runtime *rt, const cebus_model_preset *preset, bool plans,
                          const char *trace, figures *out)
{
    training t;
    cebus_status status = training_init(&t, rt, preset);
    if (status == CEBUS_OK)
        status = measure_steps(&t, plans, out);
    if (status == CEBUS_OK && trace != NULL)
        status = record(&t, trace);
    training_deinit(&t);
    return status;
}

static void print(const figures *f)
{
    const cebus_memory_stats *s = &f->stats;
    printf(", \"status\": \"ok\", \"ms_per_step\": %.3f, \"host_us_per_op\": %.3f, "
           "\"peak_bytes\": %" PRIu64 ", \"outside_bytes\": %" PRIu64
           ", \"recomputes_per_step\": %" PRIu64 ", \"copied_bytes_per_step\": %" PRIu64,
           f->wall_ms, f->host_us, s->allocated_bytes_peak, s->outside_bytes, f->recomputes,
           f->swapped);
    if (s->guided_iterations > 0)
        printf(", \"guided_iterations\": %" PRIu64
               ", \"predicted_ms\": %.3f, \"measured_ms\": %.3f, \"unforeseen\": %" PRIu64,
               s->guided_iterations, ms_of(s->guided_predicted_ns), ms_of(s->guided_measured_ns),
               s->guided_unforeseen);
    printf("}\n");
}

/** Opens, trains, prints. The peak in *peak, 0 when it did not fit. */
static int measure(const char *device, const cebus_model_preset *preset, struct setting setting,
                   const char *trace, uint64_t budget, uint64_t *peak)
{
    figures f;
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.policy = setting.policy;
    options.swap = setting.swap;
    options.memory_budget = budget;
    if (history != NULL)
        fprintf(history, "%s, %s, swap %s, %" PRIu64 " bytes\n", preset->name, setting.policy,
                setting.swap == CEBUS_SWAP_ON ? "on" : "off", budget);
    cebus_status status = cebus_runtime_create(&options, &rt);
    if (status == CEBUS_OK) {
        char plan[512];
        bool plans = strcmp(setting.policy, "cebus") == 0;
        status = train(rt, preset, plans, trace, &f);
        if (status == CEBUS_OK && f.stats.guided_iterations > 0 &&
            cebus_plan_summary(rt, plan, sizeof plan) > 0)
            fprintf(stderr, "%s\n", plan);
        cebus_runtime_destroy(rt);
    }
    *peak = status == CEBUS_OK ? f.stats.allocated_bytes_peak : 0;
    printf("{\"model\": \"%s\", \"device\": \"%s\", \"policy\": \"%s\", \"swap\": %s, "
           "\"budget_bytes\": %" PRIu64,
           preset->name, device, setting.policy, setting.swap == CEBUS_SWAP_ON ? "true" : "false",
           budget);
    if (status != CEBUS_OK)
        printf(", \"status\": \"%s\"}\n", cebus_status_name(status));
    else
        print(&f);
    fflush(stdout);
    if (status != CEBUS_OK)
        fprintf(stderr, "%s: %s\n", cebus_last_error()->op, cebus_last_error()->message);
    return status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY;
}

int main(int argc, char **argv)
{
    const char *trace = NULL;
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--trace") == 0)
            trace = argv[at + 1];
        else if (strcmp(argv[at], "--warm") == 0)
            warm_plans = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--settle") == 0)
            settling_ms = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--history") == 0 && (history = fopen(argv[at + 1], "w")) == NULL)
            return perror(argv[at + 1]), 2;
    }
    const cebus_model_preset *preset = argc > at + 1 ? cebus_model_preset_find(argv[at + 1]) : NULL;
    if (preset == NULL)
        return fprintf(stderr, "usage: gpu_step [--trace FILE] [--warm N] [--settle MS] "
                               "[--history FILE] DEVICE PRESET [PERCENT...]\n"),
               2;
    uint64_t peak, ignored;
    const struct setting unlimited = {"none", CEBUS_SWAP_OFF};
    waits = strncmp(argv[at], "sim:", 4) != 0;
    int failed = measure(argv[at], preset, unlimited, trace, 0, &peak);
    for (int i = at + 2; i < argc && peak > 0; i++) {
        uint64_t budget = peak / 100 * strtoull(argv[i], NULL, 10);
        for (int j = 0; j < SETTINGS; j++)
            failed |= measure(argv[at], preset, settings[j], NULL, budget, &ignored);
    }
    return failed;
}
