#include "eager/guidance.h"

#include "eager/call.h"
#include "eager/carry_out.h"
#include "eager/guidance_state.h"
#include "eager/swap.h"
#include "eager/tensor.h"

/** Of the budget: what plans leave free where bytes have addresses. Holes of a sixteenth are usual
 * when values of a few sizes come and go; less makes the policy evict what no plan foresaw. */
#define HOLES_PART 16

void cebus_guidance_start(cebus_runtime *rt)
{
    cebus_guidance_stop(rt);
    if (rt->policy->plan == NULL)
        return;
    cebus_guidance *guidance = cebus_pool_alloc(&rt->pool, sizeof *guidance);
    if (guidance == NULL)
        return;
    *guidance = (cebus_guidance){.silent = 0};
    cebus_access_init(&guidance->log, &rt->pool, rt->names);
    cebus_plan_init(&guidance->plan, &rt->pool);
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
    cebus_guide_deinit(&guidance->guide);
    cebus_plan_clear(&guidance->plan);
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

/** Bytes that the iteration just recorded did not name: they lie in the arena beside its values. */
static uint64_t silent_bytes(const cebus_runtime *rt, const cebus_access_log *log)
{
    uint64_t bytes = 0;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        const cebus_candidate *owner = block->state != CEBUS_BLOCK_FREE ? block->owner : NULL;
        if (owner != NULL && cebus_access_ordinal(log, &owner->value) == CEBUS_ITERATION_NONE)
            bytes += block->bytes;
    }
    return bytes;
}

static cebus_plan_terms terms_of(cebus_runtime *rt, uint64_t silent)
{
    rt->swap.blocked = false;
    cebus_swap_terms swap = cebus_swap_terms_now(rt);
    return (cebus_plan_terms){
        .budget = rt->arena.limit > silent ? rt->arena.limit - silent : 0,
        .holes = rt->arena.commodity ? 0 : rt->arena.limit / HOLES_PART,
        .host = swap.use != CEBUS_SWAP_NEVER ? rt->swap.budget : 0,
        .out_rate = swap.out_rate,
        .in_rate = swap.in_rate,
    };
}

static bool differ(const cebus_plan_terms *a, const cebus_plan_terms *b)
{
    return a->budget != b->budget || a->holes != b->holes || a->host != b->host ||
           a->out_rate != b->out_rate || a->in_rate != b->in_rate;
}

/** Plans for the reference. */
static void plan(cebus_runtime *rt, cebus_guidance *guidance)
{
    cebus_plan_clear(&guidance->plan);
    if (!rt->policy->plan(&guidance->log.reference, &guidance->terms, &guidance->plan) ||
        !cebus_plan_link(&guidance->plan, &guidance->log.reference))
        cebus_plan_clear(&guidance->plan);
}

static uint64_t summed_cost(const cebus_iteration *iteration)
{
    uint64_t ns = 0;
    for (size_t k = 0; k < iteration->n_calls; k++)
        ns += iteration->calls[k].cost_ns;
    return ns;
}

void cebus_guidance_mark(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_guidance_act(rt);
    cebus_carry_out_left(rt);
    uint64_t silent = guidance->log.recording ? silent_bytes(rt, &guidance->log) : 0;
    bool learned = cebus_access_mark(&guidance->log);
    if (learned) {
        guidance->silent = silent;
        guidance->iteration_ns = summed_cost(&guidance->log.reference);
    }
    cebus_plan_terms terms = terms_of(rt, guidance->silent);
    if (guidance->log.following && (learned || differ(&terms, &guidance->terms))) {
        guidance->terms = terms;
        plan(rt, guidance);
    }
    cebus_guide_start(&guidance->guide, &guidance->plan);
}
