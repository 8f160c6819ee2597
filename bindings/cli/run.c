#include "run.h"

#include <cebus/plan.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "machine.h"
#include "message.h"
#include "profile_file.h"

/** Room for rounding of a block, whatever the machine's alignment. */
#define ROUNDING UINT64_C(4096)

/** A pass that cannot end is given up once it took so many times its time without a budget. */
#define HOPELESS_TIMES 2.0
/** Passes in which a policy still learns may take so many times as long as later ones. */
#define FIRST_TIMES 2.0
/** A call that takes half of what a pass may take does not end, as far as can be told: in first
 * passes that do the longest takes less than a third (tests/bench/logs.md). */
#define CALL_PART 2.0

/** What both kinds of runs are told alike. */
static cebus_runtime_options base_options(const struct settings *settings,
                                          char device[DEVICE_BYTES])
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    machine_device(settings->of[SETTING_MACHINE].text, device);
    options.device = device;
    options.threads = 1;
    return options;
}

/** In so much nothing has to go, however small the values are. */
static uint64_t ample_bytes(const struct program *program)
{
    return 2 * program->figures.peak_bytes + ROUNDING * (program->n_storages + 1);
}

bool run_load(struct program *program, const char *trace, const struct settings *settings)
{
    return program_load(program, trace, settings->of[SETTING_FORMAT].text) &&
           profile_apply(program, settings->of[SETTING_PROFILE].text);
}

bool run_base(const struct program *program, const struct settings *settings, uint64_t *out_ns)
{
    char device[DEVICE_BYTES];
    struct replayer replayer;
    cebus_runtime_options options = base_options(settings, device);
    options.policy = "none";
    options.layout = "commodity";
    options.memory_budget = ample_bytes(program);
    enum replay_outcome outcome = replayer_begin(&replayer, program, &options, NULL, NULL);
    uint64_t start = outcome == REPLAY_DONE ? replayer_stats(&replayer).device_ns : 0;
    if (outcome == REPLAY_DONE)
        outcome = replayer_pass(&replayer, NULL);
    if (outcome == REPLAY_DONE)
        *out_ns = replayer_stats(&replayer).device_ns - start;
    else if (outcome == REPLAY_NO_MEMORY)
        complain_cebus("the pass without a budget");
    replayer_end(&replayer);
    return outcome == REPLAY_DONE;
}

bool run_options_begin(struct run_options *options, const struct program *program,
                       const struct settings *settings)
{
    *options = (struct run_options){
        .settings = settings,
        .policy = settings->of[SETTING_POLICY].text,
        .budget = settings->of[SETTING_BUDGET].text,
    };
    return run_base(program, settings, &options->base_ns);
}

/** A run on its way. */
struct running {
    const struct program *program;
    struct run_result *result;
    struct replayer replayer;
    cebus_memory_stats before; /**< the pass */
};

static void on_event(void *context, const cebus_event *event)
{
    const struct running *running = context;
    const struct observer *observer = running->result->options.observer;
    observer->event(observer->context, event, running->replayer.op);
}

static cebus_swap read_swap(const struct settings *settings)
{
    const char *text = settings->of[SETTING_SWAP].text;
    if (text == NULL)
        return CEBUS_SWAP_DEFAULT;
    return strcmp(text, "on") == 0 ? CEBUS_SWAP_ON : CEBUS_SWAP_OFF;
}

/** NULL: what suits the policy. */
static const char *layout_of(const struct settings *settings)
{
    const char *text = settings->of[SETTING_LAYOUT].text;
    return strcmp(text, "auto") != 0 ? text : NULL;
}

static bool learns_first(const struct settings *settings)
{
    return strcmp(settings->of[SETTING_LEARN].text, "ample") == 0;
}

static enum replay_outcome begin(struct running *running)
{
    char device[DEVICE_BYTES];
    struct run_result *result = running->result;
    const struct settings *settings = result->options.settings;
    const char *host = settings->of[SETTING_HOST_BUDGET].text;
    cebus_runtime_options options = base_options(settings, device);
    options.policy = result->options.policy;
    options.layout = layout_of(settings);
    options.memory_budget =
        learns_first(settings) ? ample_bytes(running->program) : result->asked_bytes;
    options.swap = read_swap(settings);
    options.host_budget = host != NULL ? settings_bytes(host, 0) : 0;
    enum replay_outcome outcome =
        replayer_begin(&running->replayer, running->program, &options,
                       result->options.observer != NULL ? on_event : NULL, running);
    if (outcome == REPLAY_DONE && result->options.load_plan != NULL &&
        cebus_plan_load(running->replayer.rt, result->options.load_plan) != CEBUS_OK) {
        complain("%s", cebus_last_error()->message);
        outcome = REPLAY_FAILED;
    }
    running->replayer.unmarked = strcmp(settings->of[SETTING_MARKS].text, "off") == 0;
    if (running->replayer.rt != NULL) {
        result->budget_bytes = cebus_runtime_budget(running->replayer.rt);
        result->layout = cebus_runtime_layout(running->replayer.rt);
    }
    return outcome;
}

/** Counters of what happened since `before`; what is a level or a peak stays. */
static cebus_memory_stats counted_since(const cebus_memory_stats *before, cebus_memory_stats now)
{
    now.num_alloc_retries -= before->num_alloc_retries;
    now.num_ooms -= before->num_ooms;
    now.calls -= before->calls;
    now.evictions -= before->evictions;
    now.dropped_bytes -= before->dropped_bytes;
    now.eager_drops -= before->eager_drops;
    now.recomputes -= before->recomputes;
    now.recompute_ns -= before->recompute_ns;
    now.compute_ns -= before->compute_ns;
    now.searches -= before->searches;
    now.search_ns -= before->search_ns;
    now.compactions -= before->compactions;
    now.moved_bytes -= before->moved_bytes;
    now.fragmentation_ppm_sum -= before->fragmentation_ppm_sum;
    now.swap_outs -= before->swap_outs;
    now.swap_ins -= before->swap_ins;
    now.swapped_out_bytes -= before->swapped_out_bytes;
    now.swapped_in_bytes -= before->swapped_in_bytes;
    now.prefetches -= before->prefetches;
    now.iterations_repeated -= before->iterations_repeated;
    now.planned_replays -= before->planned_replays;
    now.planned_placements -= before->planned_placements;
    now.missed_placements -= before->missed_placements;
    now.device_ns -= before->device_ns;
    now.stall_ns -= before->stall_ns;
    return now;
}

static void note_last(struct running *running)
{
    struct run_result *result = running->result;
    cebus_memory_stats now = replayer_stats(&running->replayer);
    result->last = counted_since(&running->before, now);
    if (now.allocated_bytes_peak > result->peak_bytes)
        result->peak_bytes = now.allocated_bytes_peak;
}

/** One pass is learned, and a second shows that it comes again; without marks that is found out
 * when the fourth begins. Then the budget is what was asked. */
static enum replay_outcome learn(struct running *running)
{
    struct run_result *result = running->result;
    int passes = running->replayer.unmarked ? 4 : 2;
    enum replay_outcome outcome = REPLAY_DONE;
    for (int pass = 0; pass < passes && outcome == REPLAY_DONE; pass++)
        outcome = replayer_pass(&running->replayer, NULL);
    result->budget_bytes = result->asked_bytes;
    if (outcome != REPLAY_DONE)
        return outcome;
    if (cebus_runtime_set_budget(running->replayer.rt, result->asked_bytes) != CEBUS_OK)
        return REPLAY_NO_MEMORY;
    result->budget_bytes = cebus_runtime_budget(running->replayer.rt);
    return REPLAY_DONE;
}

/** Whether the budget is below what is proven to be needed, so that some op cannot run. */
static bool is_hopeless(const struct running *running)
{
    return running->result->asked_bytes < running->program->figures.proven_bytes &&
           !cebus_runtime_swaps(running->replayer.rt);
}

/** The first of several passes: a policy learns in it. So is one in which a first plan comes into
 * force: values are still where the pass before left them. */
static bool is_learning(const struct running *running, int pass)
{
    const cebus_memory_stats *last = &running->result->last;
    if (pass + 1 >= settings_iterations(running->result->options.settings, false))
        return false;
    return pass == 0 || (last->iterations_known > 0 && last->guided_iterations == 0);
}

/** Until it meets that op a pass may do nothing but give up and make again: it gets little time.
 * Those whose overhead counts get less than those before. */
static double limit_of(const struct running *running, int pass)
{
    const struct settings *settings = running->result->options.settings;
    double times = settings_limit(settings);
    if (is_hopeless(running))
        return fmin(times, HOPELESS_TIMES);
    return is_learning(running, pass) ? FIRST_TIMES * times : times;
}

/** As many as are asked for; by default more from when a plan is followed that swaps. */
static int passes_now(struct run_result *result)
{
    bool swaps = result->last.guided_iterations > 0 && result->last.guided_swap_outs > 0;
    int now = settings_iterations(result->options.settings, swaps);
    if (now > result->iterations)
        result->iterations = now;
    return result->iterations;
}

static enum replay_outcome run_passes(struct running *running)
{
    struct run_result *result = running->result;
    const struct observer *observer = result->options.observer;
    const struct settings *settings = result->options.settings;
    enum replay_outcome outcome = REPLAY_DONE;
    for (int pass = 0; outcome == REPLAY_DONE && pass < passes_now(result); pass++) {
        cebus_reset_peak_memory_stats(running->replayer.rt);
        running->before = replayer_stats(&running->replayer);
        if (observer != NULL && observer->pass != NULL)
            observer->pass(observer->context, pass);
        double call_times = fmax(settings_limit(settings) / CALL_PART, 1);
        struct replay_limit limit = {limit_of(running, pass), call_times, result->options.base_ns};
        uint64_t start = clock_ns();
        outcome = replayer_pass(&running->replayer, &limit);
        result->host_ns = clock_ns() - start;
        note_last(running);
        if (outcome == REPLAY_DONE)
            result->pass_ns[result->passes++] = result->last.device_ns;
    }
    return outcome;
}

static enum replay_outcome save_plan(const struct running *running)
{
    const char *path = running->result->options.save_plan;
    if (path == NULL || cebus_plan_save(running->replayer.rt, path) == CEBUS_OK)
        return REPLAY_DONE;
    complain("%s", cebus_last_error()->message);
    return REPLAY_FAILED;
}

static void explain_need(const struct program *program, struct run_result *result)
{
    const struct program_figures *figures = &program->figures;
    char op[128] = "the end of a pass";
    if (figures->proven_at < program->n_ops) {
        const struct program_op *at = &program->ops[figures->proven_at];
        snprintf(op, sizeof op, "%s (line %" PRIu64 ")", program_op_name(program, at), at->line);
    }
    snprintf(result->oom, sizeof result->oom,
             "%s: needs %" PRIu64 " bytes at once, with what cannot be made again; budget %" PRIu64,
             op, figures->proven_bytes, result->asked_bytes);
}

static void explain_outcome(const struct running *running, enum replay_outcome outcome)
{
    struct run_result *result = running->result;
    bool hopeless = outcome == REPLAY_THRASHED && is_hopeless(running);
    const cebus_error *error = cebus_last_error();
    result->feasible = outcome == REPLAY_DONE;
    if (outcome == REPLAY_THRASHED && !hopeless)
        result->reason = "thrashed";
    if (outcome == REPLAY_NO_MEMORY || hopeless)
        result->reason = "out of memory";
    if (outcome == REPLAY_NO_MEMORY)
        snprintf(result->oom, sizeof result->oom, "%s: %s", error->op, error->message);
    if (hopeless)
        explain_need(running->program, result);
}

static int most_passes(const struct settings *settings)
{
    const int few = settings_iterations(settings, false),
              more = settings_iterations(settings, true);
    return few > more ? few : more;
}

bool run_program(const struct program *program, const struct run_options *options,
                 struct run_result *out)
{
    const struct settings *settings = options->settings;
    *out = (struct run_result){
        .options = *options,
        .asked_bytes = settings_bytes(options->budget, program->figures.peak_bytes),
        .iterations = settings_iterations(settings, false),
        .pass_ns = take(NULL, (size_t)most_passes(settings), sizeof(uint64_t)),
    };
    if (out->asked_bytes < LEAST_BUDGET) {
        out->budget_bytes = out->asked_bytes;
        out->reason = "out of memory";
        snprintf(out->oom, sizeof out->oom, "a budget below 4 KiB holds no program");
        return true;
    }
    struct running running = {.program = program, .result = out};
    enum replay_outcome outcome = begin(&running);
    if (outcome == REPLAY_DONE && learns_first(settings))
        outcome = learn(&running);
    if (outcome == REPLAY_DONE)
        outcome = run_passes(&running);
    if (outcome == REPLAY_DONE)
        outcome = save_plan(&running);
    explain_outcome(&running, outcome);
    if (out->last.guided_iterations > 0)
        cebus_plan_summary(running.replayer.rt, out->summary, sizeof out->summary);
    replayer_end(&running.replayer);
    return outcome != REPLAY_FAILED;
}

void run_result_free(struct run_result *result)
{
    free(result->pass_ns);
    *result = (struct run_result){0};
}
