#include "eager/rebuild/replay_call.h"

#include "eager/call.h"
#include "eager/debug.h"
#include "eager/guidance/guidance.h"
#include "eager/launch.h"
#include "eager/swap/swap.h"
#include "eager/view.h"
#include "lineage/cost.h"

static bool wants_output(cebus_runtime *rt, const cebus_candidate *candidate,
                         cebus_replay_extent extent)
{
    const cebus_value *value = &candidate->value;
    if (cebus_value_is_present(value))
        return false;
    if (value->pins > 0 || (value->plan_uses > 0 && extent != CEBUS_REPLAY_PINNED))
        return true;
    return extent == CEBUS_REPLAY_HELD && value->holders > 0 &&
           cebus_arena_fits(&rt->arena, value->bytes);
}

static bool is_throw_away(const cebus_candidate *candidate)
{
    return candidate->value.producer == NULL;
}

/**
 * The new version of a mutated input starts as a copy of the old one. When the old one is read by
 * nobody else its bytes are taken over instead.
 */
static cebus_status start_from_old(cebus_runtime *rt, cebus_candidate *old, cebus_candidate *fresh,
                                   const char *op)
{
    bool last_read = !is_throw_away(fresh) && old->value.plan_uses == 1 &&
                     old->value.holders == 0 && old->value.pins == 1 && old->exports == 0 &&
                     cebus_value_is_replayable(&old->value);
    if (last_read) {
        cebus_debug_leave(rt, old);
        cebus_candidate_move(rt, old, fresh);
        return CEBUS_OK;
    }
    return cebus_candidate_copy(rt, old, fresh, old->zone, cebus_guidance_spot(rt, fresh), op);
}

static uint32_t mutated_input(const cebus_op *op, uint32_t output)
{
    uint64_t mask = op->mutates;
    for (uint32_t j = 0; j < output; j++)
        mask &= mask - 1;
    return (uint32_t)__builtin_ctzll(mask);
}

/** Whether the kernel writes an output that nobody wants, too. */
static bool writes_all(const cebus_op *op)
{
    return op->mutates != 0 || (op->flags & CEBUS_OP_WHOLE) != 0;
}

uint64_t cebus_replay_call_waste(cebus_runtime *rt, const cebus_call *call, uint32_t j)
{
    const cebus_op *op = call->op;
    uint64_t bytes = 0;
    if (!writes_all(op))
        return 0;
    if (op->mutates != 0) {
        const cebus_value *old = call->in[mutated_input(op, j)].value;
        bytes = old != NULL ? old->bytes : 0;
    } else if (!cebus_view_bytes(&cebus_call_out_views(call)[j], &bytes)) {
        return 0;
    }
    return cebus_arena_rounded(&rt->arena, bytes);
}

/** An output that nobody wants, and that is written all the same: to a version that is thrown away.
 * `old`: of the input that is written, or NULL. */
static cebus_candidate *throw_away(cebus_runtime *rt, const cebus_call *call, uint32_t j,
                                   const cebus_candidate *old)
{
    uint64_t bytes = 0;
    if (old != NULL)
        return cebus_candidate_create(rt, old->value.bytes);
    if (!cebus_view_bytes(&cebus_call_out_views(call)[j], &bytes))
        return NULL;
    return cebus_candidate_create(rt, bytes);
}

/** Places the outputs a replay makes; out[j] is NULL where output j is not wanted, unless the
 * kernel writes it for all that. */
static cebus_status place_outputs(cebus_runtime *rt, cebus_call *call, cebus_zone zone,
                                  cebus_replay_extent extent, cebus_candidate **in,
                                  cebus_candidate **out)
{
    const cebus_op *op = call->op;
    for (uint32_t j = 0; j < call->n_out; j++) {
        cebus_candidate *fresh = call->out[j] != NULL ? cebus_candidate_of(call->out[j]) : NULL;
        uint32_t i = op->mutates != 0 ? mutated_input(op, j) : 0;
        if (fresh == NULL || !wants_output(rt, fresh, extent)) {
            if (!writes_all(op))
                continue;
            fresh = throw_away(rt, call, j, op->mutates != 0 ? in[i] : NULL);
            if (fresh == NULL)
                return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op->name, "no host memory to replay");
        }
        cebus_status status =
            op->mutates != 0
                ? start_from_old(rt, in[i], fresh, op->name)
                : cebus_candidate_place(rt, fresh, zone, cebus_guidance_spot(rt, fresh), op->name);
        if (status != CEBUS_OK) {
            if (is_throw_away(fresh))
                cebus_candidate_unhold(rt, fresh);
            return status;
        }
        fresh->value.pins++;
        out[j] = fresh;
        if (op->mutates != 0)
            in[i] = fresh;
    }
    return CEBUS_OK;
}

static cebus_status finish_outputs(cebus_runtime *rt, cebus_candidate *const *out, uint32_t n,
                                   cebus_status status)
{
    for (uint32_t j = 0; j < n; j++) {
        if (out[j] == NULL)
            continue;
        out[j]->value.pins--;
        if (is_throw_away(out[j])) {
            cebus_candidate_unhold(rt, out[j]);
            continue;
        }
        if (status == CEBUS_OK)
            status = cebus_debug_return(rt, out[j]);
        if (status != CEBUS_OK && out[j]->value.resident)
            cebus_candidate_discard(rt, out[j]);
    }
    return status;
}

/** Inputs that wait off the device come back; they are pinned. */
static cebus_status fetch_inputs(cebus_runtime *rt, cebus_candidate *const *in, uint32_t n,
                                 const char *op)
{
    for (uint32_t i = 0; i < n; i++) {
        if (in[i] == NULL || !in[i]->value.swapped)
            continue;
        cebus_status status = cebus_swap_in(rt, in[i], op);
        if (status != CEBUS_OK)
            return status;
    }
    cebus_status status = CEBUS_OK;
    for (uint32_t i = 0; i < n && status == CEBUS_OK; i++)
        status = cebus_swap_arrive(rt, in[i], op);
    return status;
}

cebus_status cebus_replay_call(cebus_runtime *rt, cebus_call *call, cebus_replay_extent extent)
{
    const cebus_op *op = call->op;
    cebus_op_entry *entry;
    cebus_candidate *in[CEBUS_MAX_INPUTS], *read[CEBUS_MAX_INPUTS], *out[CEBUS_MAX_OUTPUTS] = {0};
    uint64_t ns = 0;
    cebus_status status = cebus_op_entry_find(rt, op, &entry);
    if (status != CEBUS_OK)
        return status;
    for (uint32_t i = 0; i < call->n_in; i++) {
        read[i] = in[i] = call->in[i].value != NULL ? cebus_candidate_of(call->in[i].value) : NULL;
        if (in[i] != NULL)
            in[i]->value.pins++;
    }
    status = fetch_inputs(rt, read, call->n_in, op->name);
    if (status == CEBUS_OK)
        status = place_outputs(rt, call, entry->zone, extent, in, out);
    if (status == CEBUS_OK)
        status = cebus_launch_run(rt, call, entry, in, out, &ns);
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (read[i] != NULL)
            read[i]->value.pins--;
    }
    status = finish_outputs(rt, out, call->n_out, status);
    if (status != CEBUS_OK)
        return status;
    if (!rt->info.late_costs)
        cebus_cost_lower(&rt->lineage, call, ns);
    rt->stats.recomputes++;
    rt->stats.recompute_ns += ns;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_REPLAYED, .op = op->name, .ns = ns});
    return CEBUS_OK;
}

void cebus_replay_call_settle(cebus_runtime *rt, const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL && !cebus_value_is_wanted(call->in[i].value))
            cebus_candidate_settle(rt, cebus_candidate_of(call->in[i].value));
    }
}
