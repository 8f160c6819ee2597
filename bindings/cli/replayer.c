#include "replayer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/** What a call's record keeps of it: enough to tell its time and sizes. */
struct attributes {
    uint64_t cost_ns, workspace;
    uint64_t bytes[PROGRAM_MAX_OUTPUTS]; /**< as many as there are outputs */
};

/** Ops whose time is looked at together, so that looking costs nothing. */
enum {
    LOOK_EVERY = 16
};

static cebus_status infer(void *user, const void *attrs, const cebus_view *const *in, uint32_t n_in,
                          cebus_view *out)
{
    const cebus_custom_op *op = user;
    const struct attributes *attributes = attrs;
    (void)in;
    (void)n_in;
    for (uint32_t j = 0; j < op->n_out; j++) {
        out[j].dtype = CEBUS_U8;
        out[j].ndim = 1;
        out[j].shape[0] = (int64_t)attributes->bytes[j];
    }
    return CEBUS_OK;
}

static uint64_t cost(const cebus_custom_launch *launch)
{
    return ((const struct attributes *)launch->attrs)->cost_ns;
}

static uint64_t workspace(const cebus_custom_launch *launch)
{
    return ((const struct attributes *)launch->attrs)->workspace;
}

/** A simulated device takes the time instead. */
static cebus_status run(const cebus_custom_launch *launch)
{
    (void)launch;
    return CEBUS_OK;
}

static void describe(cebus_custom_op *op, const char *name, uint32_t n_out, uint32_t n_written,
                     bool replayable)
{
    *op = (cebus_custom_op){
        .struct_size = sizeof *op,
        .name = name,
        .flags = replayable ? 0 : CEBUS_CUSTOM_NONREPLAYABLE,
        .n_out = n_out > 0 ? n_out : 1,
        .mutates = n_written > 0 ? UINT64_MAX >> (64 - n_written) : 0,
        .user = op,
        .infer = infer,
        .workspace = workspace,
        .cost = cost,
        .run = run,
    };
}

static enum replay_outcome outcome_of(const struct replayer *r, cebus_status status, uint64_t line)
{
    const cebus_error *error = cebus_last_error();
    if (status == CEBUS_OK)
        return REPLAY_DONE;
    if (status == CEBUS_OUT_OF_MEMORY)
        return REPLAY_NO_MEMORY;
    complain_file(r->program->path, "line %" PRIu64 ": %s: %s (%s)", line, error->op,
                  error->message, cebus_status_name(status));
    return REPLAY_FAILED;
}

static enum replay_outcome make_leaf(struct replayer *r, uint32_t index)
{
    const struct program_storage *storage = &r->program->storages[index];
    struct attributes attributes = {.cost_ns = 1, .bytes = {storage->bytes}};
    cebus_status status = cebus_call_custom(
        r->rt, &r->leaf, &attributes, offsetof(struct attributes, bytes) + sizeof *attributes.bytes,
        NULL, 0, &r->handles[index]);
    return outcome_of(r, status, storage->line);
}

static int by_size(const void *a, const void *b, void *context)
{
    const struct program_storage *storages = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (storages[x].bytes != storages[y].bytes)
        return storages[x].bytes < storages[y].bytes ? 1 : -1;
    return x < y ? -1 : 1;
}

/** Largest first: each moves down to its place for good while there is room to copy it. */
static enum replay_outcome make_persistent(struct replayer *r)
{
    const struct program *program = r->program;
    uint32_t *order = take(NULL, program->n_storages, sizeof *order);
    size_t n = 0;
    for (uint32_t s = 0; s < program->n_storages; s++) {
        if (program->storages[s].persistent)
            order[n++] = s;
    }
    qsort_r(order, n, sizeof *order, by_size, program->storages);
    enum replay_outcome outcome = REPLAY_DONE;
    for (size_t i = 0; i < n && outcome == REPLAY_DONE; i++) {
        outcome = make_leaf(r, order[i]);
        if (outcome == REPLAY_DONE)
            outcome = outcome_of(r, cebus_tensor_set_persistent(r->handles[order[i]]),
                                 program->storages[order[i]].line);
    }
    free(order);
    return outcome;
}

static void describe_ops(struct replayer *r)
{
    const struct program *program = r->program;
    r->ops = take(NULL, program->n_forms, sizeof *r->ops);
    for (size_t f = 0; f < program->n_forms; f++) {
        const struct program_form *form = &program->forms[f];
        describe(&r->ops[f], program->names[form->name], form->n_out, form->n_written,
                 form->replayable);
    }
    describe(&r->leaf, "constant", 1, 0, false);
}

enum replay_outcome replayer_begin(struct replayer *r, const struct program *program,
                                   const cebus_runtime_options *options, cebus_event_hook hook,
                                   void *context)
{
    *r = (struct replayer){.program = program, .op = program->n_ops};
    describe_ops(r);
    r->handles = take(NULL, program->n_storages, sizeof(cebus_tensor *));
    memset(r->handles, 0, program->n_storages * sizeof(cebus_tensor *));
    cebus_status status = cebus_runtime_create(options, &r->rt);
    if (status != CEBUS_OK) {
        complain_cebus(options->device);
        return REPLAY_FAILED;
    }
    if (hook != NULL)
        cebus_runtime_set_event_hook(r->rt, hook, context);
    return make_persistent(r);
}

static void drop(struct replayer *r, uint32_t storage)
{
    cebus_tensor_release(r->handles[storage]);
    r->handles[storage] = NULL;
}

/** Outputs of a call in place are its written inputs' tensors: their storages go by them now. */
static void keep_outputs(struct replayer *r, const struct program_op *op, cebus_tensor **out)
{
    const uint32_t *in = program_inputs(r->program, op), *to = program_outputs(r->program, op);
    for (uint32_t j = 0; j < op->n_written; j++)
        drop(r, in[j]);
    for (uint32_t j = 0; j < op->n_out; j++)
        r->handles[to[j]] = out[j];
    if (op->n_out == 0)
        cebus_tensor_release(out[0]);
}

static enum replay_outcome run_op(struct replayer *r, const struct program_op *op,
                                  cebus_tensor ***in, size_t *in_room)
{
    struct attributes attributes;
    cebus_tensor *out[PROGRAM_MAX_OUTPUTS];
    const struct program *program = r->program;
    const cebus_custom_op *custom = &r->ops[op->form];
    uint32_t n_in = op->is_view ? 0 : op->n_in;
    while (*in_room < n_in)
        *in = take_more(*in, in_room, *in_room, sizeof **in);
    for (uint32_t i = 0; i < n_in; i++)
        (*in)[i] = r->handles[program_inputs(program, op)[i]];
    /* Zero would leave the time to the machine. */
    attributes.cost_ns = op->cost_ns > 0 ? op->cost_ns : 1;
    attributes.workspace = op->workspace;
    attributes.bytes[0] = 0;
    for (uint32_t j = 0; j < op->n_out; j++)
        attributes.bytes[j] = program->storages[program_outputs(program, op)[j]].bytes;
    size_t bytes = offsetof(struct attributes, bytes) + custom->n_out * sizeof *attributes.bytes;
    cebus_status status = cebus_call_custom(r->rt, custom, &attributes, bytes, *in, n_in, out);
    if (status == CEBUS_OK)
        keep_outputs(r, op, out);
    return outcome_of(r, status, op->line);
}

static uint64_t device_now(const struct replayer *r)
{
    return replayer_stats(r).device_ns;
}

/** Where a pass stands. */
struct pass {
    uint64_t limit_ns; /**< of the device's clock; 0: none */
    cebus_tensor **in; /**< of the running call */
    size_t in_room;
};

static enum replay_outcome run_step(struct replayer *r, const struct program_step *step,
                                    struct pass *pass)
{
    enum replay_outcome outcome = REPLAY_DONE;
    switch ((enum program_step_kind)step->kind) {
    case STEP_LEAF:
        return make_leaf(r, step->index);
    case STEP_OP:
        r->op = step->index;
        outcome = run_op(r, &r->program->ops[step->index], &pass->in, &pass->in_room);
        if (outcome == REPLAY_DONE && pass->limit_ns > 0 && step->index % LOOK_EVERY == 0 &&
            device_now(r) > pass->limit_ns)
            outcome = REPLAY_THRASHED;
        return outcome;
    case STEP_FREE:
        drop(r, step->index);
        return REPLAY_DONE;
    case STEP_MARK:
        return outcome_of(r, cebus_iteration_mark(r->rt), 0);
    }
    return outcome;
}

/** Everything that lives must be there at once. What is there is kept first, so that bringing back
 * the rest cannot take it away. */
static enum replay_outcome map_all(struct replayer *r, uint32_t *mapped, size_t *n_mapped)
{
    const struct program *program = r->program;
    enum replay_outcome outcome = REPLAY_DONE;
    for (int absent = 0; absent < 2; absent++) {
        for (uint32_t s = 0; s < program->n_storages && outcome == REPLAY_DONE; s++) {
            const void *address;
            if (r->handles[s] == NULL || program->storages[s].persistent ||
                (absent == 0) != cebus_tensor_is_resident(r->handles[s]))
                continue;
            outcome =
                outcome_of(r, cebus_tensor_map(r->handles[s], &address), program->storages[s].line);
            if (outcome == REPLAY_DONE)
                mapped[(*n_mapped)++] = s;
        }
    }
    return outcome;
}

static void drop_all(struct replayer *r, bool persistent)
{
    for (uint32_t s = 0; s < r->program->n_storages; s++) {
        if (r->handles[s] != NULL && (persistent || !r->program->storages[s].persistent))
            drop(r, s);
    }
}

static enum replay_outcome end_pass(struct replayer *r)
{
    uint32_t *mapped = take(NULL, r->program->n_storages, sizeof *mapped);
    size_t n_mapped = 0;
    enum replay_outcome outcome = map_all(r, mapped, &n_mapped);
    for (size_t i = 0; i < n_mapped; i++)
        cebus_tensor_unmap(r->handles[mapped[i]]);
    free(mapped);
    return outcome;
}

enum replay_outcome replayer_pass(struct replayer *r, uint64_t limit_ns)
{
    const struct program *program = r->program;
    struct pass pass = {.limit_ns = limit_ns > 0 ? device_now(r) + limit_ns : 0};
    enum replay_outcome outcome = REPLAY_DONE;
    for (size_t i = 0; i < program->n_steps && outcome == REPLAY_DONE; i++)
        outcome = run_step(r, &program->steps[i], &pass);
    free(pass.in);
    r->op = program->n_ops;
    if (outcome == REPLAY_DONE)
        outcome = end_pass(r);
    drop_all(r, false);
    if (outcome == REPLAY_DONE)
        outcome = outcome_of(r, cebus_iteration_mark(r->rt), 0);
    if (outcome == REPLAY_DONE)
        outcome = outcome_of(r, cebus_runtime_synchronize(r->rt), 0);
    if (outcome == REPLAY_DONE && pass.limit_ns > 0 && device_now(r) > pass.limit_ns)
        outcome = REPLAY_THRASHED;
    return outcome;
}

cebus_memory_stats replayer_stats(const struct replayer *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    if (r->rt != NULL && cebus_runtime_memory_stats(r->rt, &stats) != CEBUS_OK)
        complain_cebus("statistics");
    return stats;
}

void replayer_end(struct replayer *r)
{
    if (r->rt != NULL)
        drop_all(r, true);
    cebus_runtime_destroy(r->rt);
    free(r->handles);
    free(r->ops);
    *r = (struct replayer){0};
}
