/**
 * step.c: the order in which things happen in an optimizer step. All that it touches is held before
 * the first write, or, where that does not fit, the tensors of one parameter after the other. So do
 * steps that a plan guides, where values are swapped: it has what a parameter's update reads come
 * just before that, and what it wrote go after it; held together, none could.
 */
#include <cebus/autograd.h>
#include <cebus/ops/fill.h>

#include "eager/capture/hooks.h"
#include "eager/guidance/guidance.h"
#include "eager/ladder.h"
#include "eager/optim/optimizer.h"
#include "eager/optim/slot.h"
#include "eager/residency.h"
#include "eager/swap/swap.h"
#include "eager/tensor.h"

/* Goes on from the host's count. */
static cebus_status make_counter(cebus_optimizer *optimizer, cebus_slot *slot)
{
    cebus_tensor *counter = NULL;
    bool was_enabled = cebus_grad_enable(false);
    cebus_status status =
        cebus_full(optimizer->rt, (double)slot->steps, CEBUS_I64, 0, NULL, &counter);
    cebus_grad_enable(was_enabled);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_persistent(counter);
    if (status == CEBUS_OK)
        slot->counter = counter;
    else
        cebus_tensor_release(counter);
    return status;
}

/* What a step touches of one slot; its gradient is there. Returns how many. */
static size_t list_slot(const cebus_optimizer *optimizer, const cebus_slot *slot,
                        cebus_tensor **out)
{
    size_t n = 0;
    out[n++] = slot->param;
    out[n++] = slot->grad;
    for (size_t b = 0; b < optimizer->n_buffers; b++)
        out[n++] = slot->buffer[b];
    if (slot->counter)
        out[n++] = slot->counter;
    return n;
}

/* Takes the gradients into the slots and lists what the step touches. */
static cebus_status collect(cebus_optimizer *optimizer, size_t *out_held)
{
    size_t n = 0;
    *out_held = 0;
    for (size_t i = 0; i < optimizer->count; i++) {
        cebus_slot *slot = &optimizer->slots[i];
        cebus_status status = cebus_tensor_grad(slot->param, &slot->grad);
        if (status != CEBUS_OK)
            return status;
        if (!slot->grad)
            continue;
        if (optimizer->scaling && !slot->counter)
            status = make_counter(optimizer, slot);
        if (status != CEBUS_OK)
            return status;
        n += list_slot(optimizer, slot, optimizer->held + n);
    }
    if (optimizer->scaling && n > 0) {
        optimizer->held[n++] = optimizer->scaling->scale;
        optimizer->held[n++] = optimizer->scaling->found_inf;
    }
    *out_held = n;
    return CEBUS_OK;
}

static cebus_contents contents_of(const cebus_tensor *tensor)
{
    const cebus_candidate *now = tensor->storage->now;
    return (cebus_contents){now->serial, now->writes};
}

static bool was_applied(const cebus_slot *slot)
{
    cebus_contents now = contents_of(slot->grad);
    return slot->applied.serial == now.serial && slot->applied.writes == now.writes;
}

static cebus_status update_slot(cebus_optimizer *optimizer, cebus_slot *slot)
{
    cebus_contents applied = contents_of(slot->grad);
    cebus_runtime *rt = optimizer->rt;
    if (rt->capture)
        cebus_capture_update(rt, optimizer, (size_t)(slot - optimizer->slots));
    cebus_status status = optimizer->update(optimizer, slot, slot->steps + 1);
    if (rt->capture)
        cebus_capture_update(rt, NULL, 0);
    if (status != CEBUS_OK)
        return status;
    slot->applied = applied;
    slot->steps++;
    return CEBUS_OK;
}

static cebus_status update_all(cebus_optimizer *optimizer)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < optimizer->count && status == CEBUS_OK; i++) {
        cebus_slot *slot = &optimizer->slots[i];
        if (slot->grad && !was_applied(slot))
            status = update_slot(optimizer, slot);
    }
    return status;
}

static uint64_t bytes_of(const cebus_slot *slot)
{
    return slot->grad ? slot->param->storage->now->value.bytes : 0;
}

/* Whether they find room, whatever else goes for them. Of a step that a plan guides nothing is
 * moved to find out: what the plan has come later would come now. */
static cebus_status rehearse_list(cebus_runtime *rt, cebus_tensor *const *held, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += cebus_arena_rounded(&rt->arena, held[i]->storage->now->value.bytes);
    if (cebus_guidance_goes_on(rt) && cebus_ladder_has_room(rt, bytes))
        return CEBUS_OK;
    cebus_status status = cebus_residency_hold(rt, held, n);
    if (status == CEBUS_OK)
        cebus_residency_unhold(rt, held, n);
    return status;
}

/* Whether the slot that takes most room finds it: then the others will. */
static cebus_status rehearse(const cebus_optimizer *optimizer)
{
    cebus_tensor *held[CEBUS_SLOT_TENSORS];
    cebus_slot *largest = &optimizer->slots[0];
    for (size_t i = 0; i < optimizer->count; i++) {
        cebus_slot *slot = &optimizer->slots[i];
        if (slot->grad && was_applied(slot))
            return CEBUS_OK; /* a step goes on */
        if (bytes_of(slot) > bytes_of(largest))
            largest = slot;
    }
    if (!largest->grad)
        return CEBUS_OK;
    size_t n = list_slot(optimizer, largest, held);
    return rehearse_list(optimizer->rt, held, n);
}

/* One parameter after the other, each with its gradient and state held. */
static cebus_status step_in_parts(cebus_optimizer *optimizer)
{
    cebus_tensor *held[CEBUS_SLOT_TENSORS];
    cebus_status status = rehearse(optimizer);
    for (size_t i = 0; i < optimizer->count && status == CEBUS_OK; i++) {
        cebus_slot *slot = &optimizer->slots[i];
        if (!slot->grad || was_applied(slot))
            continue;
        size_t n = list_slot(optimizer, slot, held);
        cebus_guidance_prepare(optimizer->rt);
        status = cebus_residency_hold(optimizer->rt, held, n);
        if (status != CEBUS_OK)
            break;
        status = update_slot(optimizer, slot);
        cebus_residency_unhold(optimizer->rt, held, n);
    }
    return status;
}

/* Holds all it touches before the first write; CEBUS_OUT_OF_MEMORY without a report where parts may
 * do instead. */
static cebus_status step_at_once(cebus_optimizer *optimizer, size_t held, bool may_part)
{
    cebus_runtime *rt = optimizer->rt;
    rt->trial += may_part;
    cebus_status status = cebus_residency_hold(rt, optimizer->held, held);
    rt->trial -= may_part;
    if (status != CEBUS_OK)
        return status;
    status = update_all(optimizer);
    cebus_residency_unhold(rt, optimizer->held, held);
    return status;
}

static cebus_status step(cebus_optimizer *optimizer, size_t held)
{
    cebus_runtime *rt = optimizer->rt;
    bool may_part = cebus_swap_terms_now(rt).use != CEBUS_SWAP_NEVER;
    if (cebus_residency_exceeds(rt, optimizer->held, held) ||
        (may_part && (rt->arena.limit <= optimizer->crowded || cebus_guidance_goes_on(rt))))
        return step_in_parts(optimizer);
    cebus_status status = step_at_once(optimizer, held, may_part);
    if (status != CEBUS_OUT_OF_MEMORY || !may_part)
        return status;
    optimizer->crowded = rt->arena.limit;
    return step_in_parts(optimizer);
}

/* Applied gradients count for the step that failed; the next one is another. */
static void end_step(cebus_optimizer *optimizer, cebus_status status)
{
    for (size_t i = 0; i < optimizer->count; i++) {
        cebus_slot *slot = &optimizer->slots[i];
        cebus_tensor_release(slot->grad);
        slot->grad = NULL;
        if (status == CEBUS_OK)
            slot->applied = (cebus_contents){0};
    }
}

static cebus_status run_step(cebus_optimizer *optimizer, const cebus_step_scaling *scaling)
{
    size_t held;
    cebus_status status = cebus_runtime_lock(optimizer->rt, "optimizer_step");
    if (status != CEBUS_OK)
        return status;
    optimizer->rt->swap.blocked = false;
    optimizer->scaling = scaling;
    status = collect(optimizer, &held);
    if (status == CEBUS_OK)
        status = step(optimizer, held);
    end_step(optimizer, status);
    optimizer->scaling = NULL;
    cebus_runtime_unlock(optimizer->rt);
    return status;
}

cebus_status cebus_optimizer_step(cebus_optimizer *optimizer)
{
    if (!optimizer)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_step", "optimizer is NULL");
    return run_step(optimizer, NULL);
}

cebus_status cebus_optimizer_step_scaled(cebus_optimizer *optimizer,
                                         const cebus_step_scaling *scaling)
{
    return run_step(optimizer, scaling);
}
