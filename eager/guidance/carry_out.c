#include "eager/guidance/carry_out.h"

#include "eager/compaction.h"
#include "eager/guidance/arrange.h"
#include "eager/guidance/feedback.h"
#include "eager/guidance/shuttles.h"
#include "eager/ladder.h"
#include "eager/rebuild/replay_call.h"
#include "eager/swap/away.h"
#include "eager/swap/swap.h"
#include "evict/wish.h"
#include "layout/gather.h"

/** Persistent values come before a call names them. */
cebus_candidate *cebus_carry_out_bearer(const cebus_guidance *guidance, uint32_t ordinal)
{
    cebus_value *value = cebus_access_bearer(&guidance->log, ordinal);
    if (value == NULL)
        value = cebus_shuttles_bearer(guidance->scheme, ordinal);
    return value != NULL ? cebus_candidate_of(value) : NULL;
}

/** The bytes stay until their room is needed. A plan has persistent values leave where they must.
 */
static void copy_out(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_swap_terms terms = cebus_swap_terms_now(rt);
    terms.persistent = true;
    if (candidate->host == NULL && cebus_candidate_is_idle(candidate) &&
        !cebus_wish_saves(candidate) && !cebus_wish_recomputes(candidate) &&
        cebus_regen_may_swap(&terms, candidate))
        (void)cebus_swap_copy_out(rt, candidate, false);
    rt->guidance->done += candidate->host != NULL;
}

static void give_up(cebus_runtime *rt, cebus_candidate *candidate, cebus_go method)
{
    candidate->method = (uint8_t)method;
    rt->guidance->given_up++;
    cebus_ladder_give_up(rt, candidate);
}

/** The program wishes it kept, or copied off the device; or it may not be made again in time. A
 * plan that was searched for to the byte, or has places, sees to that: it has it made again in good
 * time, or nobody reads it any more. */
static bool stays_from_drop(cebus_runtime *rt, const cebus_candidate *candidate, uint8_t then)
{
    cebus_swap_terms terms = cebus_swap_terms_now(rt);
    bool in_time = (then == CEBUS_ACTION_REPLAY || then == CEBUS_ACTION_KINDS) &&
                   (rt->guidance->scheme->spots != NULL || rt->policy->searches);
    return cebus_wish_saves(candidate) || (!in_time && !cebus_regen_may_drop(&terms, candidate)) ||
           (cebus_wish_offloads(candidate) && cebus_regen_may_swap(&terms, candidate));
}

/** What nobody holds is no loss to anybody; a leaf goes with the records that read it. */
static void drop(cebus_runtime *rt, cebus_candidate *candidate, uint8_t then)
{
    bool there = candidate->value.resident;
    if (candidate->value.holders == 0)
        cebus_candidate_settle(rt, candidate);
    else if (cebus_candidate_is_evictable(candidate) && !stays_from_drop(rt, candidate, then))
        give_up(rt, candidate, CEBUS_GO_DROP);
    rt->guidance->done +=
        there && (!candidate->value.resident || cebus_candidate_cut(rt, candidate));
}

/** What copies still read or write: to move it, or to it, compute would wait for them. */
static bool is_under_way(void *context, const cebus_block *block)
{
    const cebus_candidate *owner = block->owner;
    return (owner != NULL && owner->arriving &&
            !cebus_reckoning_past(context, CEBUS_STREAM_IN, block->fence[CEBUS_STREAM_IN])) ||
           !cebus_reckoning_past(context, CEBUS_STREAM_OUT, block->fence[CEBUS_STREAM_OUT]);
}

bool cebus_guidance_gather(cebus_runtime *rt, uint64_t bytes)
{
    const cebus_gather_bar bar = {is_under_way, rt};
    return cebus_guidance_follows(rt) && rt->policy->searches &&
           rt->guidance->scheme->spots == NULL &&
           cebus_compaction_gather(rt, bytes, &bar,
                                   cebus_plan_in_ns(&rt->guidance->scheme->terms, bytes));
}

/** Where what is free lies apart and nothing waits to leave, blocks are moved if that takes no
 * longer than the copy: all that is to come after it would wait until the program gets to it. */
static bool make_room(cebus_runtime *rt, uint64_t bytes)
{
    while (!cebus_arena_fits(&rt->arena, bytes)) {
        if (!cebus_guidance_gather(rt, bytes) && !cebus_guidance_yield(rt))
            return cebus_compaction_cost(rt, bytes) <=
                       cebus_plan_in_ns(&rt->guidance->scheme->terms, bytes) &&
                   cebus_compaction_run(rt, bytes) == CEBUS_OK &&
                   cebus_arena_fits(&rt->arena, bytes);
    }
    return true;
}

/** The same at a place of its own. */
static bool make_room_at(cebus_runtime *rt, uint64_t spot, uint64_t bytes)
{
    while (!cebus_arena_fits_at(&rt->arena, spot, bytes)) {
        if (!cebus_guidance_yield_at(rt, spot, bytes))
            return false;
    }
    return true;
}

/** True when it need not be tried again. */
static bool swap_in(cebus_runtime *rt, cebus_candidate *candidate, uint32_t ordinal)
{
    if (candidate == NULL || !candidate->value.swapped || candidate->value.holders == 0) {
        rt->guidance->done += candidate != NULL && candidate->value.resident; /* it never left */
        return true;
    }
    const uint64_t spot =
        rt->guidance->scheme->spots != NULL ? rt->guidance->scheme->spots[ordinal] : CEBUS_ANYWHERE;
    if ((spot == CEBUS_ANYWHERE || !make_room_at(rt, spot, candidate->value.bytes)) &&
        !make_room(rt, candidate->value.bytes))
        return false;
    rt->guidance->comer = candidate;
    rt->guidance->comer_ordinal = ordinal;
    cebus_status status = cebus_swap_in(rt, candidate, "prefetch");
    rt->guidance->comer = NULL;
    if (status == CEBUS_OK) {
        rt->stats.prefetches++;
        cebus_feedback_started(rt, candidate);
        rt->guidance->done++;
        candidate->block->tick = rt->clock_ns + rt->guidance->scheme->iteration_ns;
    }
    return true;
}

/** In order: what is needed first must not lose its room to what comes later. */
static void swap_in_waiting(cebus_runtime *rt, cebus_guidance *guidance)
{
    const cebus_action *action;
    while ((action = cebus_guide_waiting(&guidance->guide, CEBUS_ACTION_SWAP_IN)) != NULL &&
           swap_in(rt, cebus_carry_out_bearer(guidance, action->value), action->value))
        cebus_guide_done(&guidance->guide, CEBUS_ACTION_SWAP_IN);
}

/** Runs the call for those of its outputs that are pinned; false without room: then it is as if it
 * had not been due. */
static bool replay(cebus_runtime *rt, cebus_call *call)
{
    bool busy = rt->replay.busy;
    rt->replay.busy = true;
    rt->trial++;
    bool ran = cebus_replay_call(rt, call, CEBUS_REPLAY_WANTED) == CEBUS_OK;
    rt->stats.planned_replays += ran;
    rt->trial--;
    rt->replay.busy = busy;
    return ran;
}

static size_t index_of(const cebus_guidance *guidance, const cebus_action *action)
{
    return (size_t)(action - guidance->scheme->plan.actions);
}

/** What an action brings back goes where it was planned to. */
static void set_spot(cebus_guidance *guidance, const cebus_action *action)
{
    if (guidance->scheme->spots != NULL)
        guidance->scheme->spots[action->value] =
            guidance->scheme->placement.actions[index_of(guidance, action)];
}

void cebus_carry_out_send_off(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->zone == CEBUS_ZONE_PERSISTENT)
        copy_out(rt, candidate);
    if (candidate->host != NULL && cebus_candidate_is_idle(candidate))
        give_up(rt, candidate, CEBUS_GO_SWAP);
}

/** What never left goes on to the place it is to have from now on: the one it has is somebody
 * else's. What persists and is there as an iteration begins moves on the device (arrange.h). Else
 * what the link does costs less time than a move.
 */
static void make_way(cebus_runtime *rt, cebus_candidate *candidate, const cebus_action *action)
{
    const cebus_guidance *guidance = rt->guidance;
    uint64_t spot = guidance->scheme->spots != NULL
                        ? guidance->scheme->placement.actions[index_of(guidance, action)]
                        : CEBUS_ANYWHERE;
    if (spot == CEBUS_ANYWHERE || !candidate->value.resident || candidate->arriving ||
        candidate->block->offset == spot)
        return;
    if (candidate->zone == CEBUS_ZONE_PERSISTENT && guidance->log.at == 0)
        return;
    if (candidate->zone == CEBUS_ZONE_PERSISTENT && guidance->scheme->guided == 0 &&
        cebus_compaction_shift(rt, candidate->block, spot))
        return;
    cebus_carry_out_send_off(rt, candidate);
}

/** What goes on to another place before an action, or if it is the last a call, does. */
static void relocate(cebus_runtime *rt, size_t action)
{
    cebus_guidance *guidance = rt->guidance;
    const cebus_placement *placement = &guidance->scheme->placement;
    const uint32_t at = guidance->log.at;
    while (guidance->relocated < placement->n_relocations) {
        const cebus_relocation *next = &placement->relocations[guidance->relocated];
        if (next->at > at || (next->at == at && next->action > action))
            return;
        cebus_candidate *candidate = cebus_carry_out_bearer(guidance, next->value);
        if (next->at == at && candidate != NULL && candidate->value.resident &&
            !candidate->arriving)
            (void)cebus_compaction_shift(rt, candidate->block, next->offset);
        guidance->relocated++;
    }
}

/** Whether a replay is to make the value. One that has a copy on the host, of when it left before,
 * loses that: it would come back by the link, which the plan has other uses for. */
static bool is_to_be_made(cebus_runtime *rt, cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    if (value->swapped && value->pins == 0 && value->plan_uses == 0 &&
        cebus_call_has_inputs(value->producer))
        cebus_away_lose(rt, candidate);
    return !cebus_value_is_present(value);
}

/** This replay, and those after it of outputs of the same call: one run makes all of them. */
static void replay_outputs(cebus_runtime *rt, cebus_guidance *guidance, const cebus_action *action,
                           cebus_candidate *candidate)
{
    cebus_candidate *wanted[CEBUS_MAX_OUTPUTS];
    cebus_call *call = candidate->value.producer;
    uint32_t count = 0, at = guidance->log.at;
    const cebus_action *next = action;
    if (guidance->scheme->spots != NULL)
        guidance->workspace_spot = guidance->scheme->placement.scratch[index_of(guidance, action)];
    do {
        set_spot(guidance, next);
        if (count < CEBUS_MAX_OUTPUTS && is_to_be_made(rt, candidate)) {
            candidate->value.pins++;
            wanted[count++] = candidate;
        }
        next = cebus_guide_peek(&guidance->guide, at);
        if (next == NULL || next->kind != CEBUS_ACTION_REPLAY)
            break;
        candidate = cebus_carry_out_bearer(guidance, next->value);
        if (candidate == NULL || candidate->value.producer != call)
            break;
    } while (cebus_guide_next(&guidance->guide, at) != NULL);
    if (count > 0 && cebus_call_has_inputs(call) && replay(rt, call))
        guidance->done += count;
    while (count > 0)
        wanted[--count]->value.pins--;
}

static void carry_out(cebus_runtime *rt, cebus_guidance *guidance, const cebus_action *action)
{
    cebus_candidate *candidate = cebus_carry_out_bearer(guidance, action->value);
    if (candidate == NULL)
        return;
    if (action->kind == CEBUS_ACTION_DROP)
        drop(rt, candidate, action->then);
    else if (action->kind == CEBUS_ACTION_COPY_OUT || action->kind == CEBUS_ACTION_SWAP_OUT)
        copy_out(rt, candidate);
    else if (action->kind == CEBUS_ACTION_REPLAY && cebus_value_is_replayable(&candidate->value))
        replay_outputs(rt, guidance, action, candidate);
    else if (action->kind == CEBUS_ACTION_SWAP_IN) {
        make_way(rt, candidate, action);
        set_spot(guidance, action);
    }
}

void cebus_carry_out_due(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    const cebus_action *action;
    while ((action = cebus_guide_next(&guidance->guide, guidance->log.at)) != NULL) {
        if (action->kind == CEBUS_ACTION_REPLAY) {
            cebus_arrange(rt);
            swap_in_waiting(rt, guidance); /* go on beside it, and it may read them */
            relocate(rt, index_of(guidance, action));
        }
        carry_out(rt, guidance, action);
    }
    cebus_arrange(rt);
    swap_in_waiting(rt, guidance);
    relocate(rt, guidance->scheme->plan.count);
    guidance->workspace_spot =
        guidance->scheme->spots != NULL && guidance->log.at < guidance->scheme->placement.n_calls
            ? guidance->scheme->placement.workspaces[guidance->log.at]
            : CEBUS_ANYWHERE;
}

void cebus_carry_out_left(cebus_runtime *rt)
{
    rt->guidance->left = false;
    cebus_candidate_settle_all(rt);
}

static bool may_leave(const cebus_guide *guide, const cebus_action *action,
                      const cebus_candidate *candidate)
{
    return candidate != NULL && candidate->host != NULL && !cebus_guide_is_past(guide, action) &&
           cebus_candidate_is_idle(candidate);
}

bool cebus_guidance_yield(cebus_runtime *rt)
{
    cebus_guide *guide = &rt->guidance->guide;
    const cebus_action *action;
    while ((action = cebus_guide_waiting(guide, CEBUS_ACTION_SWAP_OUT)) != NULL) {
        cebus_candidate *candidate = cebus_carry_out_bearer(rt->guidance, action->value);
        cebus_guide_done(guide, CEBUS_ACTION_SWAP_OUT);
        if (!may_leave(guide, action, candidate))
            continue;
        give_up(rt, candidate, CEBUS_GO_SWAP);
        return true;
    }
    return false;
}

static bool lies_in(const cebus_candidate *candidate, uint64_t offset, uint64_t bytes)
{
    const cebus_block *block = candidate->block;
    return block != NULL && block->offset < offset + bytes && offset < block->offset + block->bytes;
}

bool cebus_guidance_yield_at(cebus_runtime *rt, uint64_t offset, uint64_t bytes)
{
    cebus_guide *guide = &rt->guidance->guide;
    const cebus_action *action = cebus_guide_waiting(guide, CEBUS_ACTION_SWAP_OUT);
    bool any = false;
    for (; action != NULL;
         action = cebus_guide_waiting_behind(guide, CEBUS_ACTION_SWAP_OUT, action)) {
        cebus_candidate *candidate = cebus_carry_out_bearer(rt->guidance, action->value);
        if (candidate == NULL || !lies_in(candidate, offset, bytes) ||
            !may_leave(guide, action, candidate))
            continue;
        give_up(rt, candidate, CEBUS_GO_SWAP);
        any = true;
    }
    return any;
}

bool cebus_guidance_follows(const cebus_runtime *rt)
{
    return rt->guidance != NULL && rt->guidance->log.following &&
           rt->guidance->scheme->plan.count > 0;
}

bool cebus_guidance_is_planned(const cebus_runtime *rt)
{
    return rt->spots != NULL || cebus_guidance_follows(rt);
}

bool cebus_guidance_says_all(const cebus_runtime *rt)
{
    return rt->spots != NULL || (cebus_guidance_follows(rt) && rt->policy->searches);
}

bool cebus_guidance_goes_on(const cebus_runtime *rt)
{
    return cebus_guidance_follows(rt) && cebus_guide_peek(&rt->guidance->guide, UINT32_MAX) != NULL;
}

void cebus_guidance_prepare(cebus_runtime *rt)
{
    if (cebus_guidance_follows(rt))
        cebus_carry_out_due(rt);
}

bool cebus_guidance_keeps(const cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_guidance *guidance = rt->guidance;
    return cebus_guidance_follows(rt) &&
           cebus_guide_keeps(&guidance->guide,
                             cebus_access_ordinal(&guidance->log, &candidate->value));
}
