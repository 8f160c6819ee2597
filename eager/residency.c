#include "eager/residency.h"

#include <string.h>

#include "eager/call.h"
#include "eager/debug.h"
#include "eager/ladder.h"
#include "eager/swap.h"
#include "eager/tensor.h"
#include "lineage/cost.h"
#include "lineage/version.h"

/** A rebuild that finds no room for one pass may run so many calls per listed one: at first, and
 * in the last of several tries. */
#define PATIENCE 8
#define LAST_PATIENCE 512
/** Each try may cost so many times what the one before it might. */
#define EASE 4

/** Outputs of a replayed call: the missing ones the list wants, and held siblings that fit. */
static bool wants_output(cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    if (cebus_value_is_present(value))
        return false;
    if (value->plan_uses > 0 || value->pins > 0)
        return true;
    return value->holders > 0 && cebus_arena_fits(&rt->arena, value->bytes);
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
        cebus_candidate_move(rt, old, fresh);
        return CEBUS_OK;
    }
    cebus_status status = cebus_candidate_place(rt, fresh, old->zone, op);
    if (status != CEBUS_OK || fresh->block == NULL)
        return status;
    cebus_swap_settle(rt, old);
    status = rt->device_ops->copy(rt->device, cebus_candidate_address(rt, fresh),
                                  cebus_candidate_address(rt, old), old->value.bytes,
                                  CEBUS_COPY_ON_DEVICE);
    cebus_candidate_used(rt, old);
    cebus_candidate_used(rt, fresh);
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

/** A mutated input whose new version nobody wants is still written: to a throw-away version. */
static cebus_candidate *throw_away(cebus_runtime *rt, const cebus_candidate *old)
{
    return cebus_candidate_create(rt, old->value.bytes);
}

/** Places the outputs a replay makes; out[j] is NULL where output j is not wanted. */
static cebus_status place_outputs(cebus_runtime *rt, cebus_call *call, cebus_zone zone,
                                  cebus_candidate **in, cebus_candidate **out)
{
    const cebus_op *op = call->op;
    for (uint32_t j = 0; j < call->n_out; j++) {
        cebus_candidate *fresh = call->out[j] != NULL ? cebus_candidate_of(call->out[j]) : NULL;
        uint32_t i = op->mutates != 0 ? mutated_input(op, j) : 0;
        if (fresh == NULL || !wants_output(rt, fresh)) {
            if (op->mutates == 0)
                continue;
            fresh = throw_away(rt, in[i]);
            if (fresh == NULL)
                return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op->name, "no host memory to replay");
        }
        cebus_status status = op->mutates != 0 ? start_from_old(rt, in[i], fresh, op->name)
                                               : cebus_candidate_place(rt, fresh, zone, op->name);
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
            cebus_candidate_drop(rt, out[j]);
    }
    return status;
}

/** Inputs that wait on the host come back; they are pinned. */
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
    return CEBUS_OK;
}

/** Runs one recorded call again. Its inputs are resident or on the host. */
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
    status = fetch_inputs(rt, read, call->n_in, op->name);
    if (status == CEBUS_OK)
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
    if (!rt->info.late_costs)
        cebus_cost_lower(call, ns);
    rt->stats.recomputes++;
    rt->stats.recompute_ns += ns;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_REPLAYED, .op = op->name, .ns = ns});
    return CEBUS_OK;
}

/** Versions the call read, that nobody wants and nothing later in the list reads, go at once. What
 * another absent value will be made of stays while there is room. */
static void settle_inputs(cebus_runtime *rt, const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL && !cebus_value_is_wanted(call->in[i].value))
            cebus_candidate_settle(rt, cebus_candidate_of(call->in[i].value));
    }
}

static cebus_status build_list(cebus_runtime *rt, cebus_value *target, cebus_replay *out,
                               const char *op)
{
    cebus_replay_buffer *buffer = &rt->replay;
    cebus_status status = cebus_replay_build(&rt->lineage, target, out);
    if (status == CEBUS_NOT_REPLAYABLE)
        return cebus_fail(status, op,
                          "an input was given up and cannot be rebuilt: a defect of "
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
    cebus_replay_rank(out);
    return CEBUS_OK;
}

static cebus_status run_list(cebus_runtime *rt, const cebus_replay *list)
{
    cebus_status status = CEBUS_OK;
    size_t at = 0;
    cebus_replay_claim(list, 0);
    for (; at < list->count && status == CEBUS_OK; at++) {
        status = replay_call(rt, list->calls[at]);
        cebus_replay_unclaim(&(cebus_replay){list->calls, at + 1}, at);
        settle_inputs(rt, list->calls[at]);
    }
    cebus_replay_unclaim(list, at);
    for (size_t i = at; i < list->count; i++)
        settle_inputs(rt, list->calls[i]);
    return status;
}

static bool push_frame(cebus_runtime *rt, cebus_call *call)
{
    cebus_replay_stack *stack = &rt->stack;
    void *frames = stack->frames;
    if (!cebus_pool_grow(&rt->pool, &frames, &stack->capacity, stack->count, sizeof *stack->frames))
        return false;
    stack->frames = frames;
    stack->frames[stack->count++] = (cebus_replay_frame){.call = call};
    call->waiting = rt->cursor.waiting = stack->count;
    return true;
}

static void pin_edge(cebus_edge *edge)
{
    edge->pinned = true;
    edge->value->pins++;
}

/** The missing input whose making takes the most room at once, or NULL. */
static cebus_edge *neediest(const cebus_call *call)
{
    cebus_edge *chosen = NULL;
    for (uint32_t i = 0; i < call->n_in; i++) {
        cebus_edge *edge = &call->in[i];
        if (edge->value == NULL || cebus_value_is_present(edge->value))
            continue;
        if (chosen == NULL || edge->value->producer->need > chosen->value->producer->need)
            chosen = edge;
    }
    return chosen;
}

/**
 * The call that makes the next missing input, pinned from now on: the pin says that its bytes are
 * wanted, and keeps them once they are there. Inputs that are there stay free to go until the last
 * missing one is made, so that a chain of waiting calls locks only what was made for it; then all
 * are pinned, and NULL answered. What is on the host comes back when the call runs.
 */
static cebus_call *pin_next_missing(const cebus_replay_frame *frame)
{
    const cebus_call *call = frame->call;
    cebus_edge *missing = neediest(call);
    if (missing != NULL) {
        if (!missing->pinned)
            pin_edge(missing);
        return missing->value->producer;
    }
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL && !call->in[i].pinned)
            pin_edge(&call->in[i]);
    }
    return NULL;
}

static void pop_frame(cebus_runtime *rt)
{
    const cebus_replay_frame *frame = &rt->stack.frames[--rt->stack.count];
    frame->call->waiting = 0;
    rt->cursor.waiting = rt->stack.count;
    rt->cursor.at = cebus_max_u64(rt->cursor.at, frame->call->listed);
    for (uint32_t i = 0; i < frame->call->n_in; i++) {
        cebus_edge *edge = &frame->call->in[i];
        if (edge->pinned)
            edge->value->pins--;
        edge->pinned = false;
    }
}

/**
 * Makes the target resident depth first with an explicit stack: a call waits on it with those
 * inputs pinned that were made for it. It needs the least room, may run a call several times, and
 * always gets on: whatever a call waits for is pinned before it is made.
 */
static cebus_status rebuild_by_stack(cebus_runtime *rt, cebus_candidate *target, size_t patience,
                                     const char *op)
{
    cebus_replay_stack *stack = &rt->stack;
    cebus_status status = CEBUS_OK;
    size_t ran = 0;
    stack->count = 0;
    rt->cursor = (cebus_replay_cursor){0};
    if (!push_frame(rt, target->value.producer))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to plan a replay");
    rt->deep = true;
    while (stack->count > 0 && status == CEBUS_OK) {
        cebus_replay_frame *top = &stack->frames[stack->count - 1];
        cebus_call *missing = pin_next_missing(top);
        if (missing != NULL) {
            if (!push_frame(rt, missing))
                status = cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to replay");
            continue;
        }
        rt->frugal.kept |= ++ran > patience;
        status = ran > patience ? cebus_oom_fail(rt, target->value.bytes, op)
                                : replay_call(rt, top->call);
        if (status == CEBUS_OK)
            pop_frame(rt);
    }
    while (stack->count > 0)
        pop_frame(rt);
    rt->deep = false;
    return status;
}

/** Drops what a rebuild left behind that nobody holds. */
static void settle_all(cebus_runtime *rt)
{
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        cebus_candidate *candidate = block->owner;
        if (candidate != NULL && candidate->value.holders == 0 &&
            cebus_candidate_is_evictable(candidate))
            block = cebus_candidate_drop(rt, candidate);
    }
}

static void report_rebuilt(cebus_runtime *rt, const cebus_candidate *target, uint64_t before)
{
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_RETURNED,
                                       .method = CEBUS_METHOD_RECOMPUTE,
                                       .op = ((const cebus_op *)target->value.producer->op)->name,
                                       .value = target->serial,
                                       .bytes = target->value.bytes,
                                       .ns = rt->stats.recompute_ns - before});
}

/** Makes the target resident by one pass over the list, or else depth first. */
static cebus_status try_rebuild(cebus_runtime *rt, cebus_candidate *target, size_t patience,
                                const char *op)
{
    cebus_replay list = {0};
    cebus_status status = build_list(rt, &target->value, &list, op);
    if (status != CEBUS_OK)
        return status;
    if (rt->frugal.on)
        rt->frugal.limit = cebus_max_u64(rt->frugal.limit, cebus_replay_sum(&list));
    rt->trial++;
    status = run_list(rt, &list);
    rt->trial--;
    if (status == CEBUS_OUT_OF_MEMORY) {
        cebus_replay_number(&list);
        status = rebuild_by_stack(rt, target, patience * (list.count + 8), op);
        cebus_replay_unnumber(&list);
        settle_all(rt);
    }
    return status;
}

/**
 * Makes one pinned version resident. What goes for it must be made again, too: so at first nothing
 * may go that takes longer than the list itself, and few calls may run twice; then more and
 * more. In short memory the one value that much hangs on (a gradient on its way through a backward)
 * is the last to go.
 */
static cebus_status make_resident(cebus_runtime *rt, cebus_candidate *target, const char *op)
{
    if (target->value.swapped)
        return cebus_swap_in(rt, target, op);
    uint64_t before = rt->stats.recompute_ns;
    size_t patience = PATIENCE;
    cebus_status status;
    rt->replay.busy = true;
    rt->trial++;
    rt->frugal = (cebus_frugality){.on = true};
    do {
        rt->frugal.kept = false;
        status = try_rebuild(rt, target, patience, op);
        rt->frugal.limit *= EASE;
        patience *= EASE;
    } while (status == CEBUS_OUT_OF_MEMORY && rt->frugal.kept && patience <= LAST_PATIENCE);
    rt->frugal = (cebus_frugality){0};
    rt->trial--;
    if (status == CEBUS_OUT_OF_MEMORY && rt->trial == 0)
        status = try_rebuild(rt, target, LAST_PATIENCE, op);
    rt->replay.busy = false;
    if (status == CEBUS_OK)
        report_rebuilt(rt, target, before);
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
            status = make_resident(rt, values[i], op);
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
            status = make_resident(rt, values[i], op);
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
    rt->trial++;
    cebus_status status = pin_and_rebuild(rt, values, n, op);
    /* Each input's chain may run before the other inputs take their room, in either order. */
    for (int rung = 0; rung < 4 && status == CEBUS_OUT_OF_MEMORY; rung++) {
        if (rung == 2)
            cebus_ladder_evict_all(rt); /* start from an empty arena */
        rt->trial -= rung == 3;
        status = pin_in_turn(rt, values, n, rung % 2 == 0, op);
        rt->trial += rung == 3;
    }
    rt->trial--;
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
    void *items = pinned->items;
    if (!cebus_pool_grow(&rt->pool, &items, &pinned->capacity, pinned->count,
                         sizeof *pinned->items))
        return false;
    pinned->items = items;
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

/** What reads the leaves to be written lives on without them: no later write of this step has to
 * rebuild anything. Cannot fail: hold_tensors() walked the same readers. */
static void cut_readers(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] != NULL && tensors[i]->storage->now->value.producer == NULL)
            (void)cebus_version_cut(&rt->lineage, &tensors[i]->storage->now->value);
    }
}

cebus_status cebus_residency_hold(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n)
{
    cebus_pinned pinned = {0};
    cebus_status status = cebus_runtime_lock(rt, "optimizer step");
    if (status != CEBUS_OK)
        return status;
    status = hold_tensors(rt, tensors, n, &pinned);
    if (status == CEBUS_OK)
        cut_readers(rt, tensors, n);
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
