#include "eager/guidance.h"

#include "eager/call.h"
#include "eager/carry_out.h"
#include "eager/guidance_state.h"
#include "eager/planning.h"
#include "eager/swap.h"
#include "eager/tensor.h"

void cebus_guidance_start(cebus_runtime *rt)
{
    cebus_guidance_stop(rt);
    if (rt->policy->plan == NULL)
        return;
    cebus_guidance *guidance = cebus_pool_alloc(&rt->pool, sizeof *guidance);
    if (guidance == NULL)
        return;
    *guidance = (cebus_guidance){.workspace_spot = CEBUS_ANYWHERE};
    cebus_access_init(&guidance->log, &rt->pool, rt->names);
    cebus_plan_init(&guidance->plan, &rt->pool);
    cebus_placement_init(&guidance->placement, &rt->pool);
    cebus_draft_init(&guidance->draft);
    cebus_guide_init(&guidance->guide, &rt->pool);
    cebus_guide_start(&guidance->guide, &guidance->plan);
    rt->guidance = guidance;
}

void cebus_guidance_stop(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    if (guidance == NULL)
        return;
    cebus_carry_out_left(rt);
    cebus_planning_clear(rt);
    cebus_guide_deinit(&guidance->guide);
    rt->names = guidance->log.named;
    cebus_access_deinit(&guidance->log);
    cebus_pool_free_object(&rt->pool, guidance, sizeof *guidance);
    rt->guidance = NULL;
}

void cebus_guidance_act(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    if (guidance->log.following)
        cebus_carry_out_due(rt);
    else if (guidance->left)
        cebus_carry_out_left(rt);
}

static bool is_persistent(const cebus_storage *storage)
{
    return storage->persistent ||
           (storage->now->zone == CEBUS_ZONE_PERSISTENT && !storage->now->gradient);
}

/** Outputs that stay what their input was: writes to what no call of the program made. What a call
 * made counts as a new value, whether or not its record was cut: that depends on the budget. */
static uint64_t kept_outputs(const cebus_call *call, cebus_tensor *const *in,
                             cebus_candidate *const *out)
{
    const cebus_op *op = call->op;
    uint64_t kept = 0;
    for (uint32_t i = 0, j = 0; op->mutates != 0 && i < call->n_in; i++) {
        if (!cebus_op_mutates(op, i))
            continue;
        const cebus_storage *storage = in[i]->storage;
        if (out[j] == storage->now && (!out[j]->value.made || is_persistent(storage)))
            kept |= UINT64_C(1) << j;
        j++;
    }
    return kept;
}

static uint64_t workspace_of(cebus_runtime *rt, const cebus_call *call, const cebus_kernel *kernel)
{
    cebus_prepared prepared;
    if (kernel->workspace == NULL)
        return 0;
    cebus_call_prepare(rt, call, &prepared);
    return kernel->workspace(&prepared.launch);
}

void cebus_guidance_observe(cebus_runtime *rt, const cebus_call *call, const cebus_kernel *kernel,
                            cebus_tensor *const *in, cebus_candidate *const *out, bool recordable)
{
    cebus_guidance *guidance = rt->guidance;
    const cebus_op *op = call->op;
    cebus_value *read[CEBUS_MAX_INPUTS], *made[CEBUS_MAX_OUTPUTS];
    bool persistent[CEBUS_MAX_INPUTS];
    cebus_access access = {.op = op->name,
                           .cost_ns = call->cost_ns,
                           .in = read,
                           .out = made,
                           .persistent = persistent,
                           .n_in = call->n_in,
                           .n_out = call->n_out,
                           .mutates = op->mutates,
                           .kept = kept_outputs(call, in, out),
                           .replayable = recordable};
    if (!guidance->log.following)
        access.workspace = workspace_of(rt, call, kernel);
    for (uint32_t i = 0; i < call->n_in; i++) {
        read[i] = in[i] != NULL ? &in[i]->storage->now->value : NULL;
        persistent[i] = in[i] != NULL && is_persistent(in[i]->storage);
    }
    for (uint32_t j = 0; j < call->n_out; j++)
        made[j] = &out[j]->value;
    bool followed = guidance->log.following;
    cebus_access_call(&guidance->log, &access);
    guidance->left |= followed && !guidance->log.following;
}

void cebus_guidance_release(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_access_release(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_read(cebus_runtime *rt, const cebus_candidate *candidate)
{
    if (rt->guidance != NULL)
        cebus_access_read(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_forget(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_access_forget(&rt->guidance->log, &candidate->value);
}

void cebus_guidance_mark(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_guidance_act(rt);
    cebus_carry_out_left(rt);
    cebus_planning_look(rt);
    bool learned = cebus_access_mark(&guidance->log);
    if (guidance->log.following)
        cebus_planning_renew(rt, learned);
    cebus_guide_start(&guidance->guide, &guidance->plan);
    cebus_planning_expect(guidance);
}
