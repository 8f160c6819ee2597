#include "eager/custom.h"

#include <string.h>

#include "eager/tensor.h"
#include "eager/view.h"

_Static_assert(sizeof(cebus_array) == sizeof(cebus_custom_array) &&
                   offsetof(cebus_array, view) == offsetof(cebus_custom_array, view),
               "custom kernels read our arrays as they are");

/** What precedes a custom op's attributes in the record. */
typedef union custom_attrs {
    size_t bytes;
    char align[16];
} custom_attrs;

static const cebus_custom_entry *entry_of(const cebus_op *op)
{
    return (const cebus_custom_entry *)op;
}

const cebus_kernel *cebus_custom_kernel(const cebus_op *op)
{
    return &entry_of(op)->kernel;
}

static cebus_custom_launch custom_launch(const cebus_launch *launch)
{
    const custom_attrs *attrs = launch->attrs;
    return (cebus_custom_launch){
        .attrs = attrs->bytes > 0 ? attrs + 1 : NULL,
        .attr_bytes = attrs->bytes,
        .in = (const cebus_custom_array *)launch->in,
        .out = (const cebus_custom_array *)launch->out,
        .n_in = launch->n_in,
        .n_out = launch->n_out,
        .threads = launch->threads,
        .workspace = launch->workspace,
        .workspace_bytes = launch->workspace_bytes,
        .seed = launch->seed,
        .rng_offset = launch->rng_offset,
        .user = entry_of(launch->user)->user->user,
    };
}

static cebus_status run(const cebus_launch *launch)
{
    cebus_custom_launch own = custom_launch(launch);
    const cebus_custom_op *user = entry_of(launch->user)->user;
    cebus_status before = cebus_error_set_aside();
    cebus_status status = user->run(&own);
    entry_of(launch->user)->rt->half_written = status != CEBUS_OK && user->mutates != 0;
    if (cebus_error_was_told(before, status))
        return status;
    return cebus_fail(status, user->name, "its kernel failed: %s", cebus_status_name(status));
}

/** Asks a callback that answers with a number, and must not call back. */
static uint64_t ask(uint64_t (*callback)(const cebus_custom_launch *), const cebus_launch *launch)
{
    cebus_custom_launch own = custom_launch(launch);
    cebus_runtime *rt = entry_of(launch->user)->rt;
    bool was = rt->in_kernel;
    rt->in_kernel = true;
    uint64_t answer = callback(&own);
    rt->in_kernel = was;
    return answer;
}

static uint64_t workspace(const cebus_launch *launch)
{
    return ask(entry_of(launch->user)->user->workspace, launch);
}

static uint64_t rng_blocks(const cebus_launch *launch)
{
    return ask(entry_of(launch->user)->user->rng_blocks, launch);
}

static uint64_t cost(const cebus_launch *launch)
{
    return ask(entry_of(launch->user)->user->cost, launch);
}

static cebus_status infer(cebus_infer *io)
{
    const cebus_custom_entry *entry = entry_of(io->op);
    const custom_attrs *attrs = io->attrs;
    if (io->op->mutates != 0)
        return CEBUS_OK;
    entry->rt->in_kernel = true;
    cebus_status status = entry->user->infer(entry->user->user, attrs->bytes > 0 ? attrs + 1 : NULL,
                                             io->in, io->n_in, io->out);
    entry->rt->in_kernel = false;
    if (status != CEBUS_OK)
        return cebus_fail(status, io->op->name, "its infer refused the inputs");
    for (uint32_t j = 0; j < io->n_out; j++) {
        cebus_view given = io->out[j];
        if (!cebus_shape_valid(given.dtype, given.ndim, given.shape))
            return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name,
                              "its infer gave output %u an impossible shape or type", j);
        cebus_view_contiguous(&io->out[j], given.dtype, given.ndim, given.shape);
    }
    return CEBUS_OK;
}

static cebus_saves save_all(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = UINT64_MAX, .out = UINT64_MAX};
}

/** What a gradient is made of may have a graph of its own, which ends here. */
static cebus_status accept(const cebus_gradient *io, uint32_t i)
{
    cebus_tensor *given = io->grad_in[i];
    if (given == NULL)
        return CEBUS_OK;
    cebus_status status = cebus_tensor_check(io->rt, given, io->op->name, "a gradient");
    if (status != CEBUS_OK || !cebus_tensor_requires_grad(given))
        return status;
    status = cebus_detach(io->rt, given, &io->grad_in[i]);
    cebus_tensor_release(given);
    return status;
}

static cebus_status gradient(const cebus_gradient *io)
{
    const cebus_custom_op *user = entry_of(io->op)->user;
    const custom_attrs *attrs = io->attrs;
    cebus_status before = cebus_error_set_aside();
    cebus_status status =
        user->gradient(user->user, io->rt, attrs->bytes > 0 ? attrs + 1 : NULL, io->in, io->n_in,
                       io->out, io->grad_out, io->n_out, io->grad_in);
    if (!cebus_error_was_told(before, status))
        return cebus_fail(status, user->name, "its gradient failed: %s", cebus_status_name(status));
    for (uint32_t i = 0; i < io->n_in && status == CEBUS_OK; i++)
        status = accept(io, i);
    return status;
}

static cebus_status check(const cebus_custom_op *op, uint32_t n_in)
{
    static const char call[] = "call_custom";
    if (op == NULL || op->struct_size < sizeof *op)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, call,
                          "the op is NULL or its struct_size not set");
    if ((op->flags &
         ~(uint32_t)(CEBUS_CUSTOM_RNG | CEBUS_CUSTOM_NONREPLAYABLE | CEBUS_CUSTOM_SPARING)) != 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, call, "unknown bits in flags: 0x%x", op->flags);
    if (op->name == NULL || op->run == NULL || (op->infer == NULL && op->mutates == 0))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, call, "the op lacks its name, run or infer");
    if (n_in > CEBUS_MAX_INPUTS || op->n_out < 1 || op->n_out > CEBUS_MAX_OUTPUTS)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "%u inputs and %u outputs; at most %d, and 1 to %d", n_in, op->n_out,
                          CEBUS_MAX_INPUTS, CEBUS_MAX_OUTPUTS);
    if (op->gradient != NULL && n_in > CEBUS_MAX_TRACKED)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "%u inputs; an op with a gradient takes at most %d", n_in,
                          CEBUS_MAX_TRACKED);
    if (op->mutates != 0 && (uint32_t)__builtin_popcountll(op->mutates) != op->n_out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name,
                          "an op that writes in place has exactly those inputs as outputs");
    if (n_in < 64 && (op->mutates >> n_in) != 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "it writes to an input past the last");
    return CEBUS_OK;
}

static cebus_custom_entry *find_or_create(cebus_runtime *rt, const cebus_custom_op *user)
{
    for (cebus_custom_entry *entry = rt->customs; entry != NULL; entry = entry->next) {
        if (entry->user == user)
            return entry;
    }
    cebus_custom_entry *entry = cebus_pool_alloc(&rt->pool, sizeof *entry);
    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof *entry);
    entry->user = user;
    entry->rt = rt;
    entry->op = (cebus_op){
        .name = user->name,
        .flags = CEBUS_OP_CUSTOM | (user->flags & CEBUS_CUSTOM_RNG ? CEBUS_OP_RNG : 0) |
                 (user->flags & CEBUS_CUSTOM_NONREPLAYABLE ? CEBUS_OP_NONREPLAYABLE : 0) |
                 (user->flags & CEBUS_CUSTOM_SPARING ? 0 : CEBUS_OP_WHOLE),
        .mutates = user->mutates,
        .infer = infer,
        .rng_blocks = user->rng_blocks != NULL ? rng_blocks : NULL,
        .saves = save_all,
        .gradient = user->gradient != NULL ? gradient : NULL,
    };
    entry->kernel = (cebus_kernel){
        .op = user->name,
        .run = run,
        .workspace = user->workspace != NULL ? workspace : NULL,
        .cost = user->cost != NULL ? cost : NULL,
    };
    entry->next = rt->customs;
    rt->customs = entry;
    return entry;
}

void cebus_custom_free(cebus_runtime *rt)
{
    while (rt->customs != NULL) {
        cebus_custom_entry *next = rt->customs->next;
        cebus_pool_free_object(&rt->pool, rt->customs, sizeof *rt->customs);
        rt->customs = next;
    }
}

static cebus_status call_locked(cebus_runtime *rt, const cebus_custom_op *op, const void *attrs,
                                size_t attr_bytes, cebus_call_spec *spec, cebus_tensor **out)
{
    cebus_custom_entry *entry = find_or_create(rt, op);
    size_t bytes = sizeof(custom_attrs) + attr_bytes;
    custom_attrs *own = cebus_pool_alloc(&rt->pool, bytes);
    if (entry == NULL || own == NULL) {
        cebus_pool_free_object(&rt->pool, own, bytes);
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op->name, "no host memory to describe it");
    }
    memset(own, 0, sizeof *own);
    own->bytes = attr_bytes;
    if (attr_bytes > 0)
        memcpy(own + 1, attrs, attr_bytes);
    spec->op = &entry->op;
    spec->attrs = own;
    spec->attr_bytes = bytes;
    cebus_status status = cebus_call_run(rt, spec, out);
    cebus_pool_free_object(&rt->pool, own, bytes);
    return status;
}

cebus_status cebus_call_custom(cebus_runtime *rt, const cebus_custom_op *op, const void *attrs,
                               size_t attr_bytes, cebus_tensor *const *in, uint32_t n_in,
                               cebus_tensor **out)
{
    cebus_status status = check(op, n_in);
    if (status != CEBUS_OK)
        return status;
    for (uint32_t j = 0; out != NULL && j < op->n_out; j++)
        out[j] = NULL;
    if (out == NULL || (in == NULL && n_in > 0) || (attrs == NULL && attr_bytes > 0))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "in, attrs or out is NULL");
    if (attr_bytes > SIZE_MAX / 2)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op->name, "%zu bytes of attributes", attr_bytes);
    status = cebus_runtime_lock(rt, op->name);
    if (status != CEBUS_OK)
        return status;
    cebus_call_spec spec = {.in = in, .n_in = n_in, .n_out = op->n_out};
    status = call_locked(rt, op, attrs, attr_bytes, &spec, out);
    cebus_runtime_unlock(rt);
    return status;
}
