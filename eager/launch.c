#include "eager/launch.h"

#include "eager/call.h"
#include "eager/guidance/guidance.h"
#include "eager/ladder.h"
#include "eager/swap/swap.h"
#include "eager/view.h"

void cebus_launch_prepare(cebus_runtime *rt, const cebus_call *call, cebus_prepared *out)
{
    const cebus_view *views = cebus_call_views(call);
    for (uint32_t i = 0; i < call->n_in; i++)
        out->in[i] = (cebus_array){.view = &views[i]};
    for (uint32_t j = 0; j < call->n_out; j++)
        out->out[j] = (cebus_array){.view = &views[call->n_in + j]};
    out->launch = (cebus_launch){
        .attrs = cebus_call_attrs(call),
        .attr_bytes = cebus_call_attr_bytes(call),
        .numbers = (((const cebus_op *)call->op)->flags & CEBUS_OP_NUMBERS) != 0,
        .in = out->in,
        .out = out->out,
        .n_in = call->n_in,
        .n_out = call->n_out,
        .threads = rt->info.threads,
        .seed = call->seed,
        .rng_offset = call->rng_offset,
        .device = rt->device_context,
        .user = (((const cebus_op *)call->op)->flags & CEBUS_OP_CUSTOM) ? (void *)call->op : NULL,
    };
}

uint64_t cebus_launch_workspace(cebus_runtime *rt, const cebus_call *call,
                                const cebus_kernel *kernel)
{
    cebus_prepared prepared;
    if (kernel->workspace == NULL)
        return 0;
    cebus_launch_prepare(rt, call, &prepared);
    return kernel->workspace(&prepared.launch);
}

static void *array_address(cebus_runtime *rt, const cebus_candidate *candidate,
                           const cebus_view *view)
{
    if (candidate == NULL)
        return NULL;
    char *base = candidate->block != NULL ? cebus_candidate_address(rt, candidate) : rt->base;
    return base + view->offset * (int64_t)cebus_dtype_size(view->dtype);
}

/** What the kernel says; else bytes moved at 10 GB/s plus a launch: repeatable, and good enough to
 * tell cheap from dear. */
static uint64_t estimate_cost(const cebus_kernel *kernel, const cebus_prepared *prepared)
{
    const cebus_launch *launch = &prepared->launch;
    uint64_t bytes = 0, said = kernel->cost != NULL ? kernel->cost(launch) : 0;
    if (said > 0)
        return said;
    for (uint32_t i = 0; i < launch->n_in; i++)
        bytes += (uint64_t)cebus_view_numel(prepared->in[i].view) *
                 cebus_dtype_size(prepared->in[i].view->dtype);
    for (uint32_t j = 0; j < launch->n_out; j++)
        bytes += (uint64_t)cebus_view_numel(prepared->out[j].view) *
                 cebus_dtype_size(prepared->out[j].view->dtype);
    return 500 + (bytes + launch->workspace_bytes) / 10;
}

static cebus_status run_kernel(cebus_runtime *rt, const cebus_prepared *prepared,
                               const cebus_kernel *kernel, uint64_t *out_ns)
{
    *out_ns = 0;
    rt->in_kernel = true;
    cebus_status status = rt->device_ops->launch(rt->device, kernel, &prepared->launch, out_ns);
    rt->in_kernel = false;
    if (rt->cost_model == CEBUS_COST_ESTIMATED)
        *out_ns = estimate_cost(kernel, prepared);
    rt->clock_ns += *out_ns;
    return status;
}

/** What comes to these bytes on another stream waits for the launch. */
static void mark_uses(const cebus_call *call, cebus_candidate *const *in,
                      cebus_candidate *const *out, cebus_block *workspace, uint64_t mark)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (in[i] != NULL && in[i]->block != NULL)
            in[i]->block->fence[CEBUS_STREAM_COMPUTE] = mark;
    }
    for (uint32_t j = 0; j < call->n_out; j++) {
        if (out[j] != NULL && out[j]->block != NULL)
            out[j]->block->fence[CEBUS_STREAM_COMPUTE] = mark;
    }
    if (workspace != NULL)
        workspace->fence[CEBUS_STREAM_COMPUTE] = mark;
}

/** *out stays NULL where the kernel takes none. */
static cebus_status reserve_workspace(cebus_runtime *rt, const cebus_op *op,
                                      const cebus_kernel *kernel, cebus_launch *launch,
                                      cebus_block **out)
{
    if (kernel->workspace != NULL)
        launch->workspace_bytes = kernel->workspace(launch);
    if (launch->workspace_bytes == 0)
        return CEBUS_OK;
    cebus_request request = {.bytes = launch->workspace_bytes,
                             .spot = cebus_guidance_workspace_spot(rt),
                             .zone = CEBUS_ZONE_TRANSIENT,
                             .op = op->name};
    cebus_status status = cebus_ladder_reserve(rt, &request, out);
    if (status == CEBUS_OK)
        launch->workspace = rt->base + (*out)->offset;
    return status;
}

static void resolve_addresses(cebus_runtime *rt, const cebus_call *call, cebus_candidate *const *in,
                              cebus_candidate *const *out, cebus_prepared *prepared)
{
    for (uint32_t i = 0; i < call->n_in; i++)
        prepared->in[i].data = array_address(rt, in[i], prepared->in[i].view);
    for (uint32_t j = 0; j < call->n_out; j++)
        prepared->out[j].data = array_address(rt, out[j], prepared->out[j].view);
}

/** The compute stream waits for copies in of what the launch reads, and for what other streams
 * still do with the bytes that it writes. */
static void wait_for_copies(cebus_runtime *rt, const cebus_call *call, cebus_candidate *const *in,
                            cebus_candidate *const *out)
{
    for (uint32_t i = 0; i < call->n_in; i++)
        cebus_swap_settle(rt, in[i]);
    for (uint32_t j = 0; j < call->n_out; j++) {
        if (out[j] != NULL && out[j]->block != NULL)
            cebus_ladder_claim(rt, out[j]->block, CEBUS_STREAM_COMPUTE);
    }
}

cebus_status cebus_launch_run(cebus_runtime *rt, cebus_call *call, cebus_op_entry *entry,
                              cebus_candidate *const *in, cebus_candidate *const *out,
                              uint64_t *out_ns)
{
    cebus_prepared prepared;
    cebus_block *workspace = NULL;
    const cebus_kernel *kernel = entry->kernel;
    cebus_launch_prepare(rt, call, &prepared);
    cebus_status status = reserve_workspace(rt, call->op, kernel, &prepared.launch, &workspace);
    if (status != CEBUS_OK)
        return status;
    resolve_addresses(rt, call, in, out, &prepared);
    wait_for_copies(rt, call, in, out);
    status = run_kernel(rt, &prepared, kernel, out_ns);
    uint64_t mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_COMPUTE);
    mark_uses(call, in, out, workspace, mark);
    if (status == CEBUS_OK)
        cebus_measure_expect(rt, call, mark, *out_ns);
    if (workspace != NULL)
        cebus_ladder_release(rt, workspace);
    return status;
}
