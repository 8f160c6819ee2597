#include "eager/residency.h"

#include <string.h>

#include "eager/call.h"
#include "eager/debug.h"
#include "eager/ladder.h"
#include "eager/tensor.h"
#include "lineage/version.h"

/** A replay that had to lift its protection may run this many calls per listed one, and no more. */
#define REPLAY_PATIENCE 16

/** Outputs of a replayed call: the missing ones the list wants, and held siblings that fit. */
static bool wants_output(cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    if (value->resident)
        return false;
    if (value->plan_uses > 0 || value->pins > 0)
        return true;
    return value->holders > 0 && cebus_arena_fits(&rt->arena, value->bytes);
}

/**
 * The new version of a mutated input starts as a copy of the old one. When the old one is read by
 * nobody else its bytes are taken over instead.
 */
static cebus_status start_from_old(cebus_runtime *rt, cebus_candidate *old, cebus_candidate *fresh,
                                   const char *op)
{
    bool last_read = old->value.plan_uses == 1 && old->value.holders == 0 &&
                     old->value.pins == 1 && old->exports == 0 &&
                     cebus_value_is_replayable(&old->value);
    if (last_read) {
        cebus_candidate_move(rt, old, fresh);
        return CEBUS_OK;
    }
    cebus_status status = cebus_candidate_place(rt, fresh, old->zone, op);
    if (status != CEBUS_OK || fresh->block == NULL)
        return status;
    status = rt->device_ops->copy(rt->device, cebus_candidate_address(rt, fresh),
                                  cebus_candidate_address(rt, old), old->value.bytes,
                                  CEBUS_COPY_ON_DEVICE);
    if (status != CEBUS_OK)
        cebus_candidate_drop(rt, fresh);
    return status;
}

static uint32_t mutated_input(const cebus_op *op, uint32_t output)
{
    uint64_t mask = op->mutates;
    for (uint32_t j = 0; j < output; j++)
        mask &= mask - 1;
    return (uint32_t)__builtin_ctzll(mask);
}

/** Places the outputs a replay makes; out[j] is NULL where output j is not wanted. */
static cebus_status place_outputs(cebus_runtime *rt, cebus_call *call, cebus_zone zone,
                                  cebus_candidate **in, cebus_candidate **out)
{
    const cebus_op *op = call->op;
    for (uint32_t j = 0; j < call->n_out; j++) {
        cebus_candidate *fresh = call->out[j] != NULL ? cebus_candidate_of(call->out[j]) : NULL;
        if (fresh == NULL || !wants_output(rt, fresh))
            continue;
        uint32_t i = op->mutates != 0 ? mutated_input(op, j) : 0;
        cebus_status status = op->mutates != 0 ? start_from_old(rt, in[i], fresh, op->name)
                                               : cebus_candidate_place(rt, fresh, zone, op->name);
        if (status != CEBUS_OK)
            return status;
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
        if (status == CEBUS_OK)
            status = cebus_debug_return(rt, out[j]);
        if (status != CEBUS_OK && out[j]->value.resident)
            cebus_candidate_drop(rt, out[j]);
    }
    return status;
}

/** Runs one recorded call again. Its inputs are resident. */
static cebus_status replay_call(cebus_runtime *rt, cebus_call *call)
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
    status = place_outputs(rt, call, entry->zone, in, out);
    if (status == CEBUS_OK)
        status = cebus_call_launch(rt, call, entry, in, out, &ns);
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (read[i] != NULL)
            read[i]->value.pins--;
    }
    status = finish_outputs(rt, out, call->n_out, status);
    if (status != CEBUS_OK)
        return status;
    call->cost_ns = ns < call->cost_ns ? ns : call->cost_ns;
    rt->stats.recomputes++;
    rt->stats.recompute_ns += ns;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_REPLAYED, .op = op->name, .ns = ns});
    return CEBUS_OK;
}

static bool inputs_resident(const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL && !call->in[i].value->resident)
            return false;
    }
    return true;
}

/** Versions the call read, that nobody holds and nothing later in the list reads, go at once. */
static void settle_inputs(cebus_runtime *rt, const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL)
            cebus_candidate_settle(rt, cebus_candidate_of(call->in[i].value));
    }
}

static cebus_status build_list(cebus_runtime *rt, cebus_value *target, cebus_replay *out,
                               const char *op)
{
    cebus_replay_buffer *buffer = &rt->replay;
    cebus_status status = cebus_replay_build(&rt->lineage, target, out);
    if (status == CEBUS_NOT_REPLAYABLE)
        return cebus_fail(status, op, "an input was given up and cannot be rebuilt: a defect of "
                                      "cebus");
    if (status == CEBUS_OK && out->count > buffer->capacity) {
        size_t capacity = 2 * out->count;
        cebus_call **calls = cebus_pool_alloc(&rt->pool, capacity * sizeof *calls);
        if (calls == NULL)
            status = CEBUS_OUT_OF_HOST_MEMORY;
        else {
            cebus_pool_free_object(&rt->pool, buffer->calls,
                                   buffer->capacity * sizeof *buffer->calls);
            buffer->calls = calls;
            buffer->capacity = capacity;
        }
    }
    if (status != CEBUS_OK)
        return cebus_fail(status, op, "no host memory to plan a replay");
    if (out->count > 0)
        memcpy(buffer->calls, out->calls, out->count * sizeof *buffer->calls);
    out->calls = buffer->calls;
    return CEBUS_OK;
}

/**
 * Runs the list. *out_again: something it needs was evicted on the way (only after the ladder
 * lifted the protection), so that it must be made anew.
 */
static cebus_status run_list(cebus_runtime *rt, const cebus_replay *list, bool *out_again,
                             size_t *out_ran)
{
    cebus_status status = CEBUS_OK;
    size_t at = 0;
    cebus_replay_claim(list, 0);
    while (at < list->count && status == CEBUS_OK) {
        cebus_call *call = list->calls[at];
        if (!inputs_resident(call)) {
            *out_again = true;
            break;
        }
        status = replay_call(rt, call);
        if (status != CEBUS_OK)
            break;
        cebus_replay_unclaim(&(cebus_replay){list->calls, at + 1}, at);
        settle_inputs(rt, call);
        at++;
    }
    cebus_replay_unclaim(list, at);
    for (size_t i = at; i < list->count; i++)
        settle_inputs(rt, list->calls[i]);
    *out_ran += at;
    return status;
}

/** Makes one pinned version resident. */
static cebus_status rebuild(cebus_runtime *rt, cebus_candidate *target, const char *op)
{
    size_t ran = 0, patience = 0;
    cebus_status status = CEBUS_OK;
    rt->replay.busy = true;
    while (status == CEBUS_OK && !target->value.resident) {
        cebus_replay list;
        bool again = false;
        status = build_list(rt, &target->value, &list, op);
        if (status != CEBUS_OK)
            break;
        patience = patience > 0 ? patience : REPLAY_PATIENCE * (list.count + 4);
        status = run_list(rt, &list, &again, &ran);
        if (status == CEBUS_OK && again && ran > patience)
            status = cebus_oom_fail(rt, target->value.bytes, op);
    }
    rt->replay.busy = false;
    rt->relaxed = false;
    return status;
}

/** Makes values[order(k)] resident one after the other, pinning each before the next. */
static cebus_status pin_in_turn(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                bool backward, const char *op)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = backward ? n - 1 - k : k;
        if (values[i] == NULL)
            continue;
        values[i]->value.pins++;
        cebus_status status = CEBUS_OK;
        if (!values[i]->value.resident)
            status = rebuild(rt, values[i], op);
        if (status == CEBUS_OK)
            continue;
        for (size_t undo = 0; undo <= k; undo++) {
            size_t j = backward ? n - 1 - undo : undo;
            if (values[j] != NULL)
                values[j]->value.pins--;
        }
        return status;
    }
    return CEBUS_OK;
}

static cebus_status pin_and_rebuild(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                    const char *op)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n; i++) {
        if (values[i] != NULL)
            values[i]->value.pins++;
    }
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        if (values[i] != NULL && !values[i]->value.resident)
            status = rebuild(rt, values[i], op);
    }
    if (status != CEBUS_OK)
        cebus_residency_end(rt, values, n);
    return status;
}

static bool all_resident(cebus_candidate *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] != NULL && !values[i]->value.resident)
            return false;
    }
    return true;
}

cebus_status cebus_residency_begin(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                   const char *op)
{
    if (all_resident(values, n)) {
        for (size_t i = 0; i < n; i++) {
            if (values[i] != NULL)
                values[i]->value.pins++;
        }
        return CEBUS_OK;
    }
    cebus_status status = pin_and_rebuild(rt, values, n, op);
    /* The last rung: start from an empty arena, and let each input's chain run before the other
     * inputs take their room, in either order. */
    for (int backward = 0; backward < 2 && status == CEBUS_OUT_OF_MEMORY; backward++) {
        cebus_ladder_evict_all(rt);
        status = pin_in_turn(rt, values, n, backward, op);
    }
    return status;
}

void cebus_residency_end(cebus_runtime *rt, cebus_candidate *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] == NULL)
            continue;
        values[i]->value.pins--;
        cebus_candidate_settle(rt, values[i]);
    }
}

static bool push_pinned(cebus_runtime *rt, cebus_pinned *pinned, cebus_candidate *candidate)
{
    if (pinned->count == pinned->capacity) {
        size_t capacity = pinned->capacity > 0 ? 2 * pinned->capacity : 16;
        cebus_candidate **items = cebus_pool_alloc(&rt->pool, capacity * sizeof *items);
        if (items == NULL)
            return false;
        if (pinned->count > 0)
            memcpy(items, pinned->items, pinned->count * sizeof *items);
        cebus_pool_free_object(&rt->pool, pinned->items, pinned->capacity * sizeof *items);
        pinned->items = items;
        pinned->capacity = capacity;
    }
    pinned->items[pinned->count++] = candidate;
    return true;
}

cebus_status cebus_residency_before_write(cebus_runtime *rt, cebus_candidate *leaf,
                                          cebus_pinned *pinned, const char *op)
{
    for (;;) {
        cebus_value *held;
        cebus_status status = cebus_version_dependant(&rt->lineage, &leaf->value, &held);
        if (status != CEBUS_OK)
            return cebus_fail(status, op, "no host memory to find what reads the old contents");
        if (held == NULL)
            return CEBUS_OK;
        cebus_candidate *dependant = cebus_candidate_of(held);
        status = cebus_residency_begin(rt, &dependant, 1, op);
        if (status != CEBUS_OK)
            return status;
        if (!push_pinned(rt, pinned, dependant)) {
            cebus_residency_end(rt, &dependant, 1);
            return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to keep a list");
        }
    }
}

void cebus_residency_unpin(cebus_runtime *rt, cebus_pinned *pinned)
{
    cebus_residency_end(rt, pinned->items, pinned->count);
    cebus_pool_free_object(&rt->pool, pinned->items, pinned->capacity * sizeof *pinned->items);
    *pinned = (cebus_pinned){0};
}

static void unpin_tensors(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] != NULL)
            cebus_residency_end(rt, &tensors[i]->storage->now, 1);
    }
}

static cebus_status hold_tensors(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                                 cebus_pinned *pinned)
{
    cebus_status status = CEBUS_OK;
    size_t held = 0;
    for (; held < n && status == CEBUS_OK; held++) {
        if (tensors[held] != NULL)
            status = cebus_residency_begin(rt, &tensors[held]->storage->now, 1, "optimizer step");
    }
    if (status != CEBUS_OK) {
        unpin_tensors(rt, tensors, held - 1);
        return status;
    }
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        if (tensors[i] != NULL && tensors[i]->storage->now->value.producer == NULL)
            status = cebus_residency_before_write(rt, tensors[i]->storage->now, pinned,
                                                  "optimizer step");
    }
    if (status != CEBUS_OK)
        unpin_tensors(rt, tensors, n);
    return status;
}

cebus_status cebus_residency_hold(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    cebus_pinned pinned = {0};
    cebus_status status = cebus_runtime_lock(rt, "optimizer step");
    if (status != CEBUS_OK)
        return status;
    status = hold_tensors(rt, tensors, n, &pinned);
    cebus_residency_unpin(rt, &pinned);
    if (status != CEBUS_OK)
        cebus_runtime_unlock(rt);
    return status;
}

void cebus_residency_unhold(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    unpin_tensors(rt, tensors, n);
    cebus_runtime_unlock(rt);
}
