#include "plan_launch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "message.h"
#include "replayer.h"

/** Launches before the one that is measured: the first moves everything to where the plan begins.
 */
#define WARM_UP 2
#define NONE UINT32_MAX

struct launch {
    const struct program *trace;
    const struct plan_program *program;
    const struct plan_file *file;
    struct replayer replayer;
    cebus_capture *capture;
    uint32_t *map;     /**< by value of the trace: one of the capture, of the same buffer; NONE */
    cebus_advice plan; /**< the file's, in the capture's numbers */
};

static bool fails(const struct launch *launch, cebus_status status)
{
    if (status != CEBUS_OK)
        complain_file(launch->trace->path, "%s: %s", cebus_last_error()->op,
                      cebus_last_error()->message);
    return status != CEBUS_OK;
}

/** Everything at once, and as much again. */
static uint64_t plenty(const struct launch *launch)
{
    uint64_t bytes = launch->file->plan.memory;
    for (size_t i = 0; i < launch->trace->n_storages; i++)
        bytes += 2 * launch->trace->storages[i].bytes + 4096;
    return bytes;
}

static bool capture(struct launch *launch)
{
    char device[DEVICE_BYTES];
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    machine_device(launch->file->machine, device);
    options.device = device;
    options.threads = 1;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_ON;
    options.memory_budget = plenty(launch);
    options.host_budget = options.memory_budget;
    enum replay_outcome outcome =
        replayer_begin(&launch->replayer, launch->trace, &options, NULL, NULL);
    if (outcome == REPLAY_DONE)
        outcome = replayer_capture(&launch->replayer, &launch->capture);
    if (outcome == REPLAY_NO_MEMORY)
        complain_cebus("the pass that is captured");
    return outcome == REPLAY_DONE;
}

/** Values of the trace and of the capture stand in the same places of the same calls. */
static bool map_values(struct launch *launch)
{
    const cebus_advise_program *from = &launch->program->program;
    const cebus_advise_program *to = cebus_capture_program(launch->capture);
    launch->map = take(NULL, from->n_values + 1, sizeof *launch->map);
    for (size_t i = 0; i < from->n_values; i++)
        launch->map[i] = NONE;
    for (size_t k = 0; k < from->n_calls; k++) {
        const cebus_advise_call *a = &from->calls[k], *b = &to->calls[k];
        const uint32_t *x = from->refs + a->refs, *y = to->refs + b->refs;
        if (k >= to->n_calls || a->n_in != b->n_in || a->n_out > b->n_out) {
            complain_file(launch->trace->path,
                          "line %" PRIu64 ": this call was captured as another one; --check runs "
                          "the plan on paper",
                          launch->trace->ops[k].line);
            return false;
        }
        for (uint32_t i = 0; i < a->n_in + a->n_out; i++) {
            if (launch->map[x[i]] == NONE)
                launch->map[x[i]] = y[i];
        }
    }
    return true;
}

/** What no call reads was not captured: its room stays, itself it goes. */
static void drop_unread(struct launch *launch)
{
    cebus_tensor **handles = launch->replayer.handles;
    for (size_t i = 0; i < launch->trace->n_storages; i++) {
        if (launch->map[i] != NONE)
            continue;
        cebus_tensor_release(handles[i]);
        handles[i] = NULL;
    }
}

/** Blocks of what was captured. */
static void map_blocks(struct launch *launch, cebus_advice *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->n_blocks; i++) {
        cebus_advice_block block = plan->blocks[i];
        if (block.value != UINT32_MAX && launch->map[block.value] == NONE)
            continue;
        if (block.value != UINT32_MAX)
            block.value = launch->map[block.value];
        plan->blocks[kept++] = block;
    }
    plan->n_blocks = kept;
}

/** How many values the calls of the capture make that those of the trace do not: a call of the
 * trace that only makes views makes nothing, but has one result of no bytes when it is captured. */
static size_t count_more(const struct launch *launch)
{
    const cebus_advise_program *from = &launch->program->program;
    const cebus_advise_program *to = cebus_capture_program(launch->capture);
    size_t more = 0;
    for (size_t k = 0; k < from->n_calls; k++)
        more += to->calls[k].n_out - from->calls[k].n_out;
    return more;
}

/** Blocks for those, while their calls run. */
static void add_blocks(const struct launch *launch, cebus_advice *plan)
{
    const cebus_advise_program *from = &launch->program->program;
    const cebus_advise_program *to = cebus_capture_program(launch->capture);
    for (uint32_t k = 0; k < plan->n_steps; k++) {
        const cebus_advise_call *taken = &to->calls[plan->steps[k].call];
        const uint32_t known = from->calls[plan->steps[k].call].n_out;
        for (uint32_t j = known; j < taken->n_out && !plan->steps[k].again; j++) {
            plan->blocks[plan->n_blocks++] =
                (cebus_advice_block){.value = to->refs[taken->refs + taken->n_in + j],
                                     .born = CEBUS_ADVICE_STEP,
                                     .born_at = k,
                                     .dies = CEBUS_ADVICE_STEP,
                                     .dies_at = k};
        }
    }
}

/** A copy of `items`, with room for `more` of them. */
static void *copy(const void *items, size_t n, size_t more, size_t bytes)
{
    void *copied = take(NULL, n + more + 1, bytes);
    if (n > 0)
        memcpy(copied, items, n * bytes);
    return copied;
}

static bool translate(struct launch *launch)
{
    cebus_advice *plan = &launch->plan;
    *plan = launch->file->plan;
    plan->steps = copy(plan->steps, plan->n_steps, 0, sizeof *plan->steps);
    plan->copies = copy(plan->copies, plan->n_copies, 0, sizeof *plan->copies);
    plan->blocks = copy(plan->blocks, plan->n_blocks, count_more(launch), sizeof *plan->blocks);
    plan->print = cebus_advise_print(cebus_capture_program(launch->capture));
    for (size_t i = 0; i < plan->n_copies; i++) {
        const uint32_t from = plan->copies[i].value;
        plan->copies[i].value = launch->map[from];
        if (launch->map[from] == NONE) {
            complain_file(launch->trace->path,
                          "line %" PRIu64 ": no call reads this value, but the plan copies it; "
                          "--check runs the plan on paper",
                          launch->trace->storages[from].line);
            return false;
        }
    }
    map_blocks(launch, plan);
    add_blocks(launch, plan);
    drop_unread(launch);
    return true;
}

static bool launch_once(struct launch *launch)
{
    return !fails(launch, cebus_capture_launch(launch->capture)) &&
           !fails(launch, cebus_runtime_synchronize(launch->replayer.rt));
}

/** The budget shrinks once what the plan keeps on the host is there. */
static bool measure(struct launch *launch, const cebus_advise_link *link, struct plan_measure *out)
{
    cebus_runtime *rt = launch->replayer.rt;
    if (fails(launch, cebus_capture_set_plan(launch->capture, &launch->plan, link)) ||
        !launch_once(launch) || fails(launch, cebus_runtime_set_budget(rt, launch->plan.memory)))
        return false;
    for (int i = 1; i < WARM_UP; i++) {
        if (!launch_once(launch))
            return false;
    }
    cebus_reset_peak_memory_stats(rt);
    const cebus_memory_stats before = replayer_stats(&launch->replayer);
    if (!launch_once(launch))
        return false;
    const cebus_memory_stats after = replayer_stats(&launch->replayer);
    *out = (struct plan_measure){
        .ns = after.device_ns - before.device_ns,
        .peak_bytes = after.allocated_bytes_peak,
        .missed = after.missed_placements - before.missed_placements,
        .replays = after.recomputes - before.recomputes,
        .swap_ins = after.swap_ins - before.swap_ins,
        .swap_outs = after.swap_outs - before.swap_outs,
    };
    return true;
}

bool plan_launch(const struct program *trace, const struct plan_program *program,
                 const struct plan_file *file, const cebus_advise_link *link,
                 struct plan_measure *out)
{
    struct launch launch = {.trace = trace, .program = program, .file = file};
    const bool good = capture(&launch) && map_values(&launch) && translate(&launch) &&
                      measure(&launch, link, out);
    cebus_capture_destroy(launch.capture);
    replayer_end(&launch.replayer);
    free(launch.map);
    if (launch.plan.steps != NULL) {
        free(launch.plan.steps);
        free(launch.plan.copies);
        free(launch.plan.blocks);
    }
    return good;
}
