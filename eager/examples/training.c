#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "options.h"
#include "parameters.h"
#include "report.h"

/* What a run works with. */
struct trainer {
    const struct task *task;
    cebus_runtime *rt;
    struct parameters params;
    void *model;
    cebus_optimizer *optimizer;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* One step: forward, backward, update. */
static int train_step(struct trainer *t, uint64_t step, float *out_loss)
{
    cebus_tensor *loss = NULL;
    int failed = t->task->loss(t->model, step, &loss) ||
                 cebus_tensor_to_host(loss, out_loss, sizeof *out_loss) ||
                 cebus_backward(t->rt, loss, NULL, false) || cebus_optimizer_step(t->optimizer) ||
                 cebus_optimizer_zero_grad(t->optimizer);
    cebus_tensor_release(loss);
    return failed;
}

/* Up in a straight line over the first tenth of the steps, then down half a cosine to a tenth. */
static double schedule(int step, int steps)
{
    double done = (step + 1.0) / steps;
    if (done < 0.1)
        return done / 0.1;
    return 0.55 + 0.45 * cos(M_PI * (done - 0.1) / 0.9);
}

static int train_steps(struct trainer *t, struct run *run, double *times)
{
    for (int i = 0; i < run->steps; i++) {
        double begin = now_ms();
        double rate = t->task->learning_rate * schedule(i, run->steps);
        if (cebus_optimizer_set_lr(t->optimizer, rate) ||
            train_step(t, (uint64_t)i, &run->losses[i]))
            return 1;
        times[i] = now_ms() - begin;
        progress_show(run, i + 1);
    }
    progress_clear();
    return 0;
}

static int create_trainer(struct trainer *t, const struct options *options, uint64_t budget)
{
    cebus_runtime_options settings = CEBUS_RUNTIME_OPTIONS_INIT;
    settings.memory_budget = budget;
    settings.policy = options->policy;
    settings.cost_model = options->estimate ? CEBUS_COST_ESTIMATED : CEBUS_COST_MEASURED;
    settings.threads = options->threads;
    settings.seed = options->seed;
    settings.spill_budget = options->spill;
    settings.swap = options->spill > 0 ? CEBUS_SWAP_ON : CEBUS_SWAP_DEFAULT;
    if (cebus_runtime_create(&settings, &t->rt))
        return 1;
    t->params.rt = t->rt;
    if (t->task->create(t->task, &t->params, &t->model) ||
        t->task->create_optimizer(t->rt, &t->optimizer))
        return 1;
    for (size_t i = 0; i < t->params.count; i++) {
        cebus_tensor *tensor = t->params.list[i];
        if (cebus_tensor_requires_grad(tensor) && cebus_optimizer_add(t->optimizer, tensor))
            return 1;
    }
    return 0;
}

static void destroy_trainer(struct trainer *t)
{
    cebus_optimizer_destroy(t->optimizer);
    if (t->model != NULL)
        t->task->destroy(t->model);
    parameters_free(&t->params);
    cebus_runtime_destroy(t->rt);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values`. */
static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return (values[n / 2] + values[(n - 1) / 2]) / 2;
}

/* Everything a run reports but the losses. */
static int measure(struct trainer *t, struct run *run)
{
    run->stats = (cebus_memory_stats)CEBUS_MEMORY_STATS_INIT;
    run->policy = cebus_runtime_policy(t->rt);
    run->threads = cebus_runtime_threads(t->rt);
    run->parameters = parameters_numel(&t->params);
    if (cebus_runtime_memory_stats(t->rt, &run->stats))
        return 1;
    if (run->stats.guided_iterations > 0)
        cebus_plan_summary(t->rt, run->plan, sizeof run->plan);
    return parameters_sha256(&t->params, run->sha256) ||
           t->task->conclude(t->model, &run->conclusion);
}

int train(const struct task *task, const struct options *options, uint64_t budget,
          struct run *out_run)
{
    struct trainer t = {.task = task};
    size_t steps = (size_t)options->steps;
    double *times = calloc(steps, sizeof *times);
    *out_run = (struct run){.budget = budget, .steps = options->steps};
    out_run->losses = calloc(steps, sizeof *out_run->losses);
    int failed = times == NULL || out_run->losses == NULL || create_trainer(&t, options, budget) ||
                 train_steps(&t, out_run, times) || measure(&t, out_run);
    if (failed)
        report_failure(t.rt);
    else
        out_run->ms_per_step = median(times, steps);
    free(times);
    destroy_trainer(&t);
    return failed;
}

void run_free(struct run *run)
{
    free(run->losses);
    free(run->conclusion);
    *run = (struct run){0};
}

bool runs_identical(const struct run *a, const struct run *b)
{
    return a->steps == b->steps && strcmp(a->sha256, b->sha256) == 0 &&
           memcmp(a->losses, b->losses, (size_t)a->steps * sizeof *a->losses) == 0;
}

/* The run within the budget that the options ask for, a share of `peak` or a number of bytes. */
static int train_within(const struct task *task, const struct options *options, uint64_t peak,
                        struct run *out_run)
{
    uint64_t budget;
    if (cebus_size_parse(options->budget, peak, &budget)) {
        report_failure(NULL);
        return 1;
    }
    return train(task, options, budget, out_run);
}

int train_and_compare(const struct task *task, const struct options *options)
{
    struct run unlimited = {0};
    struct run limited = {0};
    struct report report = {task, options, NULL, NULL};
    int failed = 0;
    if (options->budget == NULL || !options->no_reference) {
        failed = train(task, options, 0, &unlimited);
        report.unlimited = &unlimited;
    }
    if (!failed && options->budget != NULL) {
        failed = train_within(task, options, unlimited.stats.allocated_bytes_peak, &limited);
        report.limited = &limited;
    }
    failed = failed || report_print(&report);
    run_free(&unlimited);
    run_free(&limited);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
