#include "replayer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/** What a call's record keeps of it: enough to tell its time and sizes. */
struct attributes {
    uint64_t cost_ns, workspace, n_out;
    uint64_t bytes[PROGRAM_MAX_OUTPUTS]; /**< as many as there are outputs */
};

enum {
    LOOK_EVERY = 16,    /**< ops: whether a pass takes too long; looking at each would cost more */
    MOST_INPUTS = 1024, /**< of a call (cebus/custom.h) */
    LAUNCH_FACTOR = 10, /**< launches a pass may have, beside what its time may be */
    FREE_LAUNCHES = 1000,
};

/** Bytes that no budget has. */
#define TOO_MUCH (UINT64_C(1) << 58)

static cebus_status infer(void *user, const void *attrs, const cebus_view *const *in, uint32_t n_in,
                          cebus_view *out)
{
    const struct attributes *attributes = attrs;
    (void)user;
    (void)in;
    (void)n_in;
    for (uint32_t j = 0; j < attributes->n_out; j++) {
        out[j].dtype = CEBUS_U8;
        out[j].ndim = 1;
        out[j].shape[0] = (int64_t)attributes->bytes[j];
    }
    return CEBUS_OK;
}

/** Asked once a launch, replays included: here a pass's work is counted. */
static uint64_t cost(const cebus_custom_launch *launch)
{
    struct replay_work *work = launch->user;
    uint64_t ns = ((const struct attributes *)launch->attrs)->cost_ns;
    work->ns += ns;
    work->launches++;
    return ns;
}

static bool is_too_much(const struct replay_work *work)
{
    return work->ns > work->limit_ns || work->launches > work->limit_launches ||
           work->ns > work->call_end_ns;
}

/**
 * One call can start millions of replays. When they took longer than the pass may, no launch finds
 * the workspace it asks for any more, and the call fails.
 */
static uint64_t workspace(const cebus_custom_launch *launch)
{
    if (is_too_much(launch->user))
        return TOO_MUCH;
    return ((const struct attributes *)launch->attrs)->workspace;
}

/** A simulated device takes the time instead. */
static cebus_status run(const cebus_custom_launch *launch)
{
    (void)launch;
    return CEBUS_OK;
}

static void describe(struct replayer *r, cebus_custom_op *op, const char *name, uint32_t n_out,
                     uint32_t n_written, bool replayable)
{
    *op = (cebus_custom_op){
        .struct_size = sizeof *op,
        .name = name,
        .flags = CEBUS_CUSTOM_SPARING | (replayable ? 0 : CEBUS_CUSTOM_NONREPLAYABLE),
        .n_out = n_out > 0 ? n_out : 1,
        .mutates = n_written > 0 ? UINT64_MAX >> (64 - n_written) : 0,
        .user = &r->work,
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
        return is_too_much(&r->work) ? REPLAY_THRASHED : REPLAY_NO_MEMORY;
    complain_file(r->program->path, "line %" PRIu64 ": %s: %s (%s)", line, error->op,
                  error->message, cebus_status_name(status));
    return REPLAY_FAILED;
}

static enum replay_outcome make_leaf(struct replayer *r, uint32_t index)
{
    const struct program_storage *storage = &r->program->storages[index];
    struct attributes attributes = {.cost_ns = 1, .n_out = 1, .bytes = {storage->bytes}};
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
        describe(r, &r->ops[f], program->names[form->name], form->n_out, form->n_written,
                 form->replayable);
    }
    describe(r, &r->leaf, "constant", 1, 0, false);
    describe(r, &r->end, "end of pass", 1, 0, false);
}

enum replay_outcome replayer_begin(struct replayer *r, const struct program *program,
                                   const cebus_runtime_options *options, cebus_event_hook hook,
                                   void *context)
{
    *r = (struct replayer){.program = program, .op = program->n_ops};
    r->work = (struct replay_work){.limit_ns = UINT64_MAX,
                                   .limit_launches = UINT64_MAX,
                                   .call_ns = UINT64_MAX,
                                   .call_end_ns = UINT64_MAX};
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
    attributes.n_out = custom->n_out;
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
    uint64_t end_ns;   /**< of the device's clock: later is too long */
    cebus_tensor **in; /**< of the running call */
    size_t in_room;
};

static enum replay_outcome mark(struct replayer *r)
{
    return r->unmarked ? REPLAY_DONE : outcome_of(r, cebus_iteration_mark(r->rt), 0);
}

static void begin_call(struct replay_work *work)
{
    work->call_end_ns =
        work->call_ns < UINT64_MAX - work->ns ? work->ns + work->call_ns : UINT64_MAX;
}

static enum replay_outcome run_step(struct replayer *r, const struct program_step *step,
                                    struct pass *pass)
{
    enum replay_outcome outcome = REPLAY_DONE;
    switch ((enum program_step_kind)step->kind) {
    case STEP_LEAF:
        return make_leaf(r, step->index);
    case STEP_OP:
        r->op = step->index;
        begin_call(&r->work);
        outcome = run_op(r, &r->program->ops[step->index], &pass->in, &pass->in_room);
        if (outcome == REPLAY_DONE && step->index % LOOK_EVERY == 0 && device_now(r) > pass->end_ns)
            outcome = REPLAY_THRASHED;
        return outcome;
    case STEP_FREE:
        drop(r, step->index);
        return REPLAY_DONE;
    case STEP_MARK:
        return mark(r);
    }
    return outcome;
}

/** What lives and is not persistent, in the order it was made. */
static size_t list_survivors(const struct replayer *r, cebus_tensor **out)
{
    size_t n = 0;
    for (size_t s = 0; s < r->program->n_storages; s++) {
        if (r->handles[s] != NULL && !r->program->storages[s].persistent)
            out[n++] = r->handles[s];
    }
    return n;
}

/** Maps tensors, so that they stay; answers how many it mapped. */
static enum replay_outcome map_all(struct replayer *r, cebus_tensor **tensors, size_t n,
                                   size_t *out_mapped)
{
    const void *address;
    enum replay_outcome outcome = REPLAY_DONE;
    for (*out_mapped = 0; *out_mapped < n && outcome == REPLAY_DONE; *out_mapped += 1) {
        outcome = outcome_of(r, cebus_tensor_map(tensors[*out_mapped], &address), 0);
        if (outcome != REPLAY_DONE)
            break;
    }
    return outcome;
}

/** A call that reads them all. */
static enum replay_outcome read_all(struct replayer *r, cebus_tensor **tensors, uint32_t n)
{
    cebus_tensor *out;
    struct attributes attributes = {.cost_ns = 1, .n_out = 1};
    cebus_status status = cebus_call_custom(
        r->rt, &r->end, &attributes, offsetof(struct attributes, bytes) + sizeof *attributes.bytes,
        tensors, n, &out);
    if (status == CEBUS_OK)
        cebus_tensor_release(out);
    return outcome_of(r, status, 0);
}

static void drop_all(struct replayer *r, bool persistent)
{
    for (uint32_t s = 0; s < r->program->n_storages; s++) {
        if (r->handles[s] != NULL && (persistent || !r->program->storages[s].persistent))
            drop(r, s);
    }
}

/** Everything that lives must be there at once: read by one call, or, where a call does not take as
 * many, mapped while it runs. */
static enum replay_outcome end_pass(struct replayer *r)
{
    cebus_tensor **tensors = take(NULL, r->program->n_storages, sizeof(cebus_tensor *));
    r->work.call_end_ns = UINT64_MAX; /* many may have to be made again */
    size_t n = list_survivors(r, tensors), mapped = 0;
    size_t beyond = n > MOST_INPUTS ? n - MOST_INPUTS : 0;
    enum replay_outcome outcome = map_all(r, tensors, beyond, &mapped);
    if (outcome == REPLAY_DONE && n > 0)
        outcome = read_all(r, tensors + beyond, (uint32_t)(n - beyond));
    for (size_t i = 0; i < mapped; i++)
        cebus_tensor_unmap(tensors[i]);
    free(tensors);
    return outcome;
}

static uint64_t ns_of(double times, uint64_t base_ns)
{
    double ns = times * (double)base_ns;
    return ns < 0x1p62 ? (uint64_t)ns : UINT64_MAX;
}

/** What a pass may do: so much time, and the launches that go with it if not all are short. */
static void limit_pass(struct replayer *r, const struct replay_limit *limit, struct pass *pass)
{
    double launches = limit->times * LAUNCH_FACTOR * (double)(r->program->n_ops + FREE_LAUNCHES);
    uint64_t ns = ns_of(limit->times, limit->base_ns);
    r->work = (struct replay_work){.limit_ns = ns,
                                   .limit_launches = (uint64_t)launches,
                                   .call_ns = ns_of(limit->call_times, limit->base_ns),
                                   .call_end_ns = UINT64_MAX};
    pass->end_ns = ns < UINT64_MAX ? device_now(r) + ns : UINT64_MAX;
}

/** Copies out go on beside the next pass, as beside the next step of a program that trains: that
 * waits for its loss, not for them. */
enum replay_outcome replayer_pass(struct replayer *r, const struct replay_limit *limit)
{
    const struct program *program = r->program;
    struct pass pass = {.end_ns = UINT64_MAX};
    enum replay_outcome outcome = REPLAY_DONE;
    if (limit != NULL)
        limit_pass(r, limit, &pass);
    for (size_t i = 0; i < program->n_steps && outcome == REPLAY_DONE; i++)
        outcome = run_step(r, &program->steps[i], &pass);
    free(pass.in);
    r->op = program->n_ops;
    if (outcome == REPLAY_DONE)
        outcome = end_pass(r);
    drop_all(r, false);
    if (outcome == REPLAY_DONE)
        outcome = mark(r);
    if (outcome == REPLAY_DONE && device_now(r) > pass.end_ns)
        outcome = REPLAY_THRASHED;
    return outcome;
}

/** All steps of a kind, or all but constants and marks. */
static enum replay_outcome run_steps(struct replayer *r, bool constants)
{
    struct pass pass = {.end_ns = UINT64_MAX};
    enum replay_outcome outcome = REPLAY_DONE;
    for (size_t i = 0; i < r->program->n_steps && outcome == REPLAY_DONE; i++) {
        const struct program_step *step = &r->program->steps[i];
        if (step->kind != STEP_MARK && (step->kind == STEP_LEAF) == constants)
            outcome = run_step(r, step, &pass);
    }
    free(pass.in);
    return outcome;
}

enum replay_outcome replayer_capture(struct replayer *r, cebus_capture **out)
{
    *out = NULL;
    enum replay_outcome outcome = run_steps(r, true);
    if (outcome == REPLAY_DONE)
        outcome = outcome_of(r, cebus_capture_begin(r->rt), 0);
    if (outcome == REPLAY_DONE)
        outcome = run_steps(r, false);
    if (outcome == REPLAY_DONE)
        outcome = outcome_of(r, cebus_capture_end(r->rt, out), 0);
    r->op = r->program->n_ops;
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
