#include "eager/ladder.h"

#include <inttypes.h>
#include <time.h>

#include "eager/budget.h"
#include "eager/compaction.h"
#include "eager/guidance/guidance.h"
#include "eager/rebuild/foresight.h"
#include "eager/storage.h"
#include "eager/strain.h"
#include "eager/swap/away.h"
#include "eager/swap/swap.h"
#include "eager/swap/write_behind.h"
#include "eager/tally.h"
#include "evict/choice/choose.h"
#include "evict/choice/pricing.h"
#include "evict/wish.h"
#include "layout/number.h"
#include "lineage/burden.h"
#include "lineage/cost.h"

static void report_eviction(cebus_runtime *rt, const cebus_candidate *victim,
                            const cebus_victims *choice)
{
    const cebus_call *producer = victim->value.producer;
    const cebus_block *block = victim->block;
    bool swap = victim->method == CEBUS_GO_SWAP;
    rt->stats.evictions++;
    if (rt->events.hook == NULL)
        return;
    cebus_event_emit(rt, (cebus_event){
                             .kind = CEBUS_EVENT_EVICTED,
                             .rung = rt->rung,
                             .method = swap ? CEBUS_METHOD_SWAP : CEBUS_METHOD_RECOMPUTE,
                             .memory_class = cebus_memory_class_of(victim),
                             .op = producer != NULL ? ((const cebus_op *)producer->op)->name : NULL,
                             .value = victim->serial,
                             .bytes = victim->value.bytes,
                             .offset = block->offset,
                             .ns = block->weight,
                             .age_ns = rt->clock_ns > block->tick ? rt->clock_ns - block->tick : 1,
                             .price = choice != NULL ? choice->price : 0,
                             .next_price = choice != NULL ? choice->next_price : 0,
                         });
}

/** Gives a victim up the way it was priced; returns the free block it became part of, or its own
 * when its bytes could neither be copied away nor be made again. */
static cebus_block *evict(cebus_runtime *rt, cebus_candidate *victim, const cebus_victims *choice)
{
    cebus_block *hole = victim->block;
    bool clean = victim->host != NULL;
    if (victim->method == CEBUS_GO_SWAP && victim->host == NULL &&
        !cebus_swap_copy_out(rt, victim, true))
        victim->method = CEBUS_GO_DROP;
    if (!cebus_swap_secure(rt, victim))
        victim->method = CEBUS_GO_DROP;
    if (victim->method == CEBUS_GO_DROP && !cebus_value_is_replayable(&victim->value)) {
        hole->state = CEBUS_BLOCK_BARRIER; /* not to be chosen again at kept prices */
        return hole;
    }
    rt->stats.clean_evictions += victim->method == CEBUS_GO_SWAP && clean;
    report_eviction(rt, victim, choice);
    if (victim->host == NULL)
        rt->stats.dropped_bytes += victim->value.bytes;
    return cebus_candidate_drop(rt, victim);
}

void cebus_ladder_give_up(cebus_runtime *rt, cebus_candidate *candidate)
{
    rt->rung = CEBUS_RUNG_FREE;
    (void)evict(rt, candidate, NULL);
}

cebus_block *cebus_ladder_evict(cebus_runtime *rt, const cebus_victims *victims)
{
    uint64_t end = victims->last->offset + victims->last->bytes;
    cebus_block *block = victims->first;
    if (victims->first != victims->last)
        cebus_swap_copy_all(rt, victims->first, victims->last);
    for (;;) {
        if (block->state == CEBUS_BLOCK_EVICTABLE)
            block = evict(rt, block->owner, victims);
        if (block->offset + block->bytes >= end)
            return block;
        block = block->next;
    }
}

/** How to choose, see cebus_chooser; combined with |. */
enum {
    CHOOSE_LAST_RESORT = 1 << 0, /**< gradients of leaves may go, too */
    CHOOSE_KEEP_PRICES = 1 << 1, /**< prices of the choice before still hold */
    CHOOSE_IN_PLACE = 1 << 2,    /**< blocks do not move */
    CHOOSE_PERSISTENT = 1 << 3   /**< persistent values may go where the terms have them stay */
};

/** The host's clock: a device's own may be virtual. */
static uint64_t host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/** With the last resort persistent values may go, and where they stay by then (swap.h) when even
 * that is not enough (CHOOSE_PERSISTENT). */
static cebus_swap_terms swap_terms(const cebus_runtime *rt, unsigned how)
{
    cebus_swap_terms terms = cebus_swap_terms_now(rt);
    terms.persistent |= (how & CHOOSE_LAST_RESORT) != 0 && cebus_swap_moves_persistent(rt);
    terms.persistent |= (how & CHOOSE_PERSISTENT) != 0;
    return terms;
}

static cebus_chooser chooser_of(cebus_runtime *rt, unsigned how)
{
    return (cebus_chooser){.policy = rt->policy,
                           .arena = &rt->arena,
                           .lineage = &rt->lineage,
                           .swap = swap_terms(rt, how),
                           .replaying = rt->replay.busy,
                           .strained = cebus_strain_holds(rt),
                           .moves = (how & CHOOSE_IN_PLACE) != 0 ? (cebus_move_terms){0}
                                                                 : cebus_compaction_terms(rt),
                           .waits = !rt->info.simulated && !rt->info.deferred,
                           .now = rt->clock_ns,
                           .last_resort = (how & CHOOSE_LAST_RESORT) != 0,
                           .keep_prices = (how & CHOOSE_KEEP_PRICES) != 0,
                           .rebuild = rt->depth_first ? &rt->cursor : NULL,
                           .dearest = rt->rebuild_limit.ns,
                           .turn = cebus_foresight_turn(rt),
                           .standing = &rt->standing,
                           .compare = rt->events.hook != NULL};
}

uint64_t cebus_ladder_room(cebus_runtime *rt)
{
    cebus_chooser chooser = chooser_of(rt, 0);
    return cebus_choose_room(&chooser);
}

bool cebus_ladder_has_room(cebus_runtime *rt, uint64_t bytes)
{
    cebus_chooser chooser = chooser_of(rt, 0);
    return cebus_choose_suffices(&chooser, bytes);
}

bool cebus_ladder_may_go(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_chooser chooser = chooser_of(rt, 0);
    return cebus_pricing_may_go(&chooser, candidate);
}

bool cebus_ladder_may_drop(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_chooser chooser = chooser_of(rt, 0);
    return cebus_pricing_may_drop(&chooser, candidate);
}

static void count_search(cebus_runtime *rt, uint64_t start)
{
    rt->stats.searches++;
    rt->stats.search_ns += host_ns() - start;
}

/** Single values or a window of neighbours, as the policy has it. */
static cebus_victims choose(cebus_runtime *rt, uint64_t bytes, bool may_move)
{
    uint64_t start = host_ns();
    cebus_chooser chooser = chooser_of(rt, may_move ? 0 : CHOOSE_IN_PLACE);
    cebus_victims victims = cebus_choose_victims(&chooser, bytes);
    count_search(rt, start);
    return victims;
}

/** Gives up the cheapest values wherever they lie; false when there are none. Together they may
 * have fewer than `bytes`: then ask again. */
static bool evict_cheapest(cebus_runtime *rt, uint64_t bytes, unsigned how)
{
    cebus_victims victims[CEBUS_SHORTLIST_MAX];
    uint64_t start = host_ns();
    cebus_chooser chooser = chooser_of(rt, how);
    size_t count = cebus_choose_cheapest(&chooser, bytes, victims, CEBUS_SHORTLIST_MAX);
    count_search(rt, start);
    for (size_t i = 0; i < count && count > 1; i++)
        cebus_swap_copy_all(rt, victims[i].first, victims[i].last);
    for (size_t i = 0; i < count; i++)
        cebus_ladder_evict(rt, &victims[i]);
    return count > 0;
}

size_t cebus_ladder_foresee(cebus_runtime *rt, uint64_t bytes, cebus_candidate **out, size_t limit)
{
    cebus_victims victims[CEBUS_SHORTLIST_MAX];
    uint64_t start = host_ns();
    cebus_chooser chooser = chooser_of(rt, 0);
    if (chooser.swap.use == CEBUS_SWAP_NEVER)
        return 0;
    size_t count = cebus_choose_next(&chooser, bytes, victims, limit);
    count_search(rt, start);
    for (size_t i = 0; i < count; i++)
        out[i] = victims[i].first->owner;
    return count;
}

/** A full arena is CEBUS_OUT_OF_MEMORY on the way up; cebus_ladder_reserve writes the report. */
static cebus_status status_of(cebus_place_result placed, const char *op)
{
    if (placed == CEBUS_PLACE_NO_HOST_MEMORY)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for the arena's books");
    return placed == CEBUS_PLACED ? CEBUS_OK : CEBUS_OUT_OF_MEMORY;
}

/** At most so many absent calls behind a victim are counted. */
#define LOOK_BACK 256
/** Blocks move only where that takes less than 1/4 of making the victims again. Half of the time to
 * make a victim again is never paid (choose.c: PROMISED). And its hole serves the next requests of
 * its size, too, while blocks that were moved together are soon apart again. Other parts:
 * tests/bench/fragmentation.md. */
#define MOVE_WORTH 4

/** What it takes to bring a value back, in ns of moving. Not its price: that counts what is absent
 * around it on all sides, which is rebuilt once for many values. */
static uint64_t return_cost(cebus_runtime *rt, const cebus_block *block)
{
    const cebus_candidate *candidate = block->owner;
    if (candidate->method == CEBUS_GO_SWAP)
        return block->weight; /* paid in full */
    cebus_effort behind =
        cebus_replay_behind(&rt->lineage, &candidate->value, LOOK_BACK, UINT64_MAX);
    return cebus_max_u64(cebus_cost_own(&candidate->value), behind.ns) / MOVE_WORTH;
}

/** The return costs of all that a choice gives up. */
static uint64_t regeneration_cost(cebus_runtime *rt, const cebus_victims *victims)
{
    uint64_t ns = 0;
    for (const cebus_block *block = victims->first;; block = block->next) {
        if (block->state == CEBUS_BLOCK_EVICTABLE)
            ns += return_cost(rt, block);
        if (block == victims->last)
            return ns;
    }
}

static cebus_place_result place(cebus_runtime *rt, const cebus_request *request, cebus_block **out)
{
    return cebus_arena_place(&rt->arena, request->bytes, request->zone, out);
}

static cebus_place_result place_by_moving(cebus_runtime *rt, const cebus_request *request,
                                          cebus_block **out)
{
    rt->rung = CEBUS_RUNG_COMPACT;
    if (cebus_compaction_run(rt, request->bytes) != CEBUS_OK)
        return CEBUS_PLACE_FULL;
    return place(rt, request, out);
}

/**
 * Once enough is free in all, but apart, each further victim only pays for an address: when
 * together they would cost more than moving blocks does, blocks are moved.
 */
static bool is_moving_cheaper(cebus_runtime *rt, uint64_t bytes, const cebus_victims *victims,
                              uint64_t *paid)
{
    uint64_t moving = cebus_compaction_cost(rt, bytes);
    if (moving == UINT64_MAX)
        return false;
    *paid += regeneration_cost(rt, victims);
    return *paid > moving;
}

static bool is_room(const cebus_block *hole, uint64_t bytes)
{
    return hole != NULL && hole->state == CEBUS_BLOCK_FREE && hole->bytes >= bytes;
}

/** Gives up and moves what a choice says, and places the request if there is room for it then. */
static cebus_place_result place_by_choice(cebus_runtime *rt, const cebus_victims *victims,
                                          const cebus_request *request, cebus_block **out)
{
    cebus_block *hole = cebus_ladder_evict(rt, victims);
    if (victims->way == CEBUS_WAY_CLEARING)
        return place_by_moving(rt, request, out);
    if (victims->way == CEBUS_WAY_VACANCY)
        hole = cebus_compaction_vacate(rt, victims->from, victims->to);
    if (!is_room(hole, request->bytes))
        return place(rt, request, out);
    return cebus_arena_place_in(&rt->arena, hole, request->bytes, request->zone, out);
}

/**
 * Evicts what the policy chooses until the request fits, and moves blocks where that is cheaper.
 * Blocks are moved once at most: a copy that fails half way leaves the arena other than it was when
 * moving was chosen.
 */
static cebus_place_result rung_evict(cebus_runtime *rt, const cebus_request *request,
                                     cebus_block **out)
{
    const uint64_t bytes = request->bytes;
    uint64_t paid = 0;
    bool may_move = true;
    cebus_place_result result = CEBUS_PLACE_FULL;
    if (rt->foresight.running &&
        cebus_arena_free_bytes(&rt->arena) >= cebus_arena_rounded(&rt->arena, bytes))
        result = place_by_moving(rt, request, out); /* the plan says what goes */
    while (result == CEBUS_PLACE_FULL) {
        cebus_victims victims = choose(rt, bytes, may_move);
        if (victims.first == NULL)
            break;
        rt->ways[victims.way]++;
        if (may_move && !victims.weighs_moves && is_moving_cheaper(rt, bytes, &victims, &paid)) {
            may_move = false;
            result = place_by_moving(rt, request, out);
        } else {
            may_move = may_move && !cebus_way_moves(victims.way);
            result = place_by_choice(rt, &victims, request, out);
        }
    }
    return result;
}

static bool cut_blocks(cebus_runtime *rt, bool persistent_only)
{
    bool freed = false;
    cebus_block *block = rt->arena.first;
    while (block != NULL) {
        cebus_candidate *owner = block->owner;
        bool wanted = !persistent_only || (owner != NULL && owner->zone == CEBUS_ZONE_PERSISTENT);
        bool cut = wanted && cebus_candidate_cut(rt, owner);
        freed = freed || cut;
        block = cut ? rt->arena.first : block->next; /* any block may have merged: start over */
    }
    return freed;
}

/** Frees leaves that only records keep, on the device and off it, where no absent value somebody
 * holds needs them. */
static bool rung_cut(cebus_runtime *rt)
{
    if (!cebus_candidate_may_cut(rt))
        return false;
    bool freed = cut_blocks(rt, false);
    return cebus_away_cut(rt) || freed;
}

/**
 * The same for persistent values that the program has let go, before anything is given up. Example:
 * an average over steps is made of the parameters of every step; while it is there they can be cut
 * from it, but once it is absent all of them are needed to rebuild it.
 */
static bool cut_left_behind(cebus_runtime *rt)
{
    if (!rt->left_behind || !cebus_candidate_may_cut(rt) || rt->policy->unit == CEBUS_UNIT_NONE)
        return false;
    rt->left_behind = false;
    return cut_blocks(rt, true);
}

/** Gives up the cheapest, wherever they lie, and moves blocks together, until the request fits:
 * blocks that must not move may keep the holes on their two sides apart. */
static cebus_status rung_compact(cebus_runtime *rt, const cebus_request *request, unsigned how,
                                 cebus_block **out)
{
    uint64_t rounded = cebus_arena_rounded(&rt->arena, request->bytes);
    for (;;) {
        uint64_t idle = cebus_arena_free_bytes(&rt->arena);
        if (idle >= rounded) {
            cebus_status status = cebus_compaction_run(rt, request->bytes);
            if (status == CEBUS_OK)
                status = status_of(place(rt, request, out), "compaction");
            if (status != CEBUS_OUT_OF_MEMORY)
                return status;
        }
        if (!evict_cheapest(rt, idle < rounded ? rounded - idle : 1, how))
            return CEBUS_OUT_OF_MEMORY;
        how |= CHOOSE_KEEP_PRICES;
    }
}

/** Nothing is given up for a request that would fail even if everything were. */
static bool suffices(cebus_runtime *rt, uint64_t bytes, unsigned how)
{
    cebus_chooser chooser = chooser_of(rt, how);
    uint64_t rounded = cebus_arena_rounded(&rt->arena, bytes);
    if (cebus_choose_suffices(&chooser, rounded))
        return true;
    chooser.dearest = 0;
    rt->rebuild_limit.binds |= rt->rebuild_limit.ns > 0 && cebus_choose_suffices(&chooser, rounded);
    return false;
}

/** Cuts persistent values that were let go, then evicts, then cuts all that only records keep. */
static cebus_place_result evict_and_cut(cebus_runtime *rt, const cebus_request *request,
                                        cebus_block **out)
{
    cebus_place_result placed = CEBUS_PLACE_FULL;
    rt->rung = CEBUS_RUNG_CUT;
    if (cut_left_behind(rt))
        placed = place(rt, request, out);
    if (placed != CEBUS_PLACE_FULL)
        return placed;
    rt->rung = CEBUS_RUNG_EVICT;
    if (suffices(rt, request->bytes, 0))
        placed = rung_evict(rt, request, out);
    if (placed != CEBUS_PLACE_FULL || rt->policy->unit == CEBUS_UNIT_NONE || !rung_cut(rt))
        return placed;
    rt->rung = CEBUS_RUNG_CUT;
    placed = place(rt, request, out);
    if (placed == CEBUS_PLACE_FULL && suffices(rt, request->bytes, 0))
        placed = rung_evict(rt, request, out);
    return placed;
}

static cebus_status climb(cebus_runtime *rt, const cebus_request *request, cebus_block **out)
{
    const uint64_t bytes = request->bytes;
    cebus_swap_note_strain(rt);
    if (rt->learning == CEBUS_LEARNS_ONCE_SHORT)
        rt->learning = CEBUS_LEARNS_NEXT;
    cebus_status status = status_of(evict_and_cut(rt, request, out), request->op);
    if (status == CEBUS_OUT_OF_MEMORY && suffices(rt, bytes, 0)) {
        rt->rung = CEBUS_RUNG_COMPACT;
        status = rung_compact(rt, request, 0, out);
    }
    if (status == CEBUS_OUT_OF_MEMORY && rt->trial == 0 &&
        suffices(rt, bytes, CHOOSE_LAST_RESORT)) {
        rt->rung = CEBUS_RUNG_LAST_RESORT;
        status = rung_compact(rt, request, CHOOSE_LAST_RESORT, out);
    }
    unsigned all = CHOOSE_LAST_RESORT | CHOOSE_PERSISTENT;
    if (status == CEBUS_OUT_OF_MEMORY && rt->trial == 0 && !cebus_swap_moves_persistent(rt) &&
        suffices(rt, bytes, all)) {
        rt->rung = CEBUS_RUNG_LAST_RESORT;
        status = rung_compact(rt, request, all, out);
    }
    return status;
}

void cebus_ladder_claim(cebus_runtime *rt, cebus_block *block, cebus_stream stream)
{
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++) {
        if (on != stream && block->fence[on] > 0)
            rt->device_ops->stream_wait(rt->device, stream, on, block->fence[on]);
    }
}

void cebus_ladder_claim_placed(cebus_runtime *rt, cebus_block *block, cebus_stream stream)
{
    if (!cebus_trail_claim(rt, block, stream))
        cebus_ladder_claim(rt, block, stream);
}

/** Where a plan says. Values that wait to leave may be in the way, and go. */
static cebus_place_result place_planned(cebus_runtime *rt, const cebus_request *request,
                                        cebus_block **out)
{
    cebus_place_result placed;
    cebus_budget_reach(rt, request->spot + request->bytes);
    do
        placed =
            cebus_arena_place_at(&rt->arena, request->spot, request->bytes, request->zone, out);
    while (placed == CEBUS_PLACE_FULL && rt->guidance != NULL &&
           cebus_guidance_yield_at(rt, request->spot, request->bytes));
    if (placed == CEBUS_PLACED)
        rt->stats.planned_placements++;
    else
        rt->stats.missed_placements++;
    return placed;
}

/** Values that wait to leave go before anything is searched for. */
static cebus_place_result place_guided(cebus_runtime *rt, const cebus_request *request,
                                       cebus_block **out)
{
    cebus_place_result placed = CEBUS_PLACE_FULL;
    if (request->spot != CEBUS_ANYWHERE)
        placed = place_planned(rt, request, out);
    if (placed == CEBUS_PLACE_FULL)
        placed = place(rt, request, out);
    while (placed == CEBUS_PLACE_FULL && rt->guidance != NULL &&
           (cebus_guidance_gather(rt, request->bytes) || cebus_guidance_yield(rt)))
        placed = place(rt, request, out);
    return placed;
}

cebus_status cebus_ladder_reserve(cebus_runtime *rt, const cebus_request *request,
                                  cebus_block **out)
{
    uint64_t bytes = request->bytes;
    const char *op = request->op;
    uint64_t evictions = rt->stats.evictions, idle = cebus_arena_free_bytes(&rt->arena);
    rt->rung = CEBUS_RUNG_FREE;
    rt->swap.blocked = rt->swap.refused = false;
    cebus_status status = status_of(place_guided(rt, request, out), op);
    while (status == CEBUS_OUT_OF_MEMORY && cebus_budget_extend(rt, bytes))
        status = status_of(place_guided(rt, request, out), op);
    if (status == CEBUS_OUT_OF_MEMORY) {
        cebus_tally_retry(rt, bytes);
        cebus_swap_reclaim(rt);
        uint64_t rounded = cebus_arena_rounded(&rt->arena, bytes);
        if (rounded > 0 && rounded <= rt->arena.limit)
            status = climb(rt, request, out);
    }
    if (status == CEBUS_OUT_OF_MEMORY && rt->swap.refused)
        return cebus_fail(CEBUS_DEVICE_ERROR, op,
                          "needs %" PRIu64 " bytes, and the device refused to copy off what was to "
                          "leave for them",
                          bytes);
    if (status == CEBUS_OUT_OF_MEMORY)
        return cebus_oom_fail(rt, bytes, op);
    if (status != CEBUS_OK)
        return status;
    (*out)->tick = rt->clock_ns;
    cebus_ladder_claim_placed(rt, *out, request->stream);
    cebus_tally_placed(rt, *out);
    if (rt->stats.evictions != evictions)
        cebus_tally_forced(rt, idle, *out);
    cebus_write_behind_look(rt);
    return CEBUS_OK;
}

/** The stream that will work on the block last. */
static cebus_stream last_stream(cebus_runtime *rt, const cebus_block *block)
{
    const cebus_candidate *owner = block->owner;
    uint64_t out = block->fence[CEBUS_STREAM_OUT];
    if (!rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_OUT, out))
        return CEBUS_STREAM_OUT;
    return owner != NULL && owner->arriving ? CEBUS_STREAM_IN : CEBUS_STREAM_COMPUTE;
}

/** Has the device overwrite the bytes once no stream works on the block any more. */
static void poison(cebus_runtime *rt, cebus_block *block)
{
    cebus_stream stream = last_stream(rt, block);
    cebus_ladder_claim(rt, block, stream);
    uint64_t mark =
        rt->device_ops->discard(rt->device, stream, rt->base + block->offset, block->bytes);
    block->fence[stream] = cebus_max_u64(block->fence[stream], mark);
}

cebus_block *cebus_ladder_release(cebus_runtime *rt, cebus_block *block)
{
    const cebus_candidate *owner = block->owner;
    if (rt->info.poisons)
        poison(rt, block);
    cebus_trail_add(rt, block, block->offset);
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_FREED,
                                       .memory_class = cebus_memory_class_of(owner),
                                       .value = owner != NULL ? owner->serial : 0,
                                       .bytes = block->bytes,
                                       .offset = block->offset});
    return cebus_arena_release(&rt->arena, block);
}

/** Whether copying it back takes less than making it again. The policy's price does not say: it was
 * made for a moment at which most of what it is made of was there, and now all of that goes. */
static bool is_copied_for_less(cebus_runtime *rt, const cebus_swap_terms *terms,
                               const cebus_candidate *candidate)
{
    uint64_t back = cebus_regen_back_ns(terms, candidate);
    return !cebus_wish_recomputes(candidate) &&
           cebus_burden_exceeds(&rt->lineage, &candidate->value, back);
}

static bool goes_with_all(cebus_runtime *rt, cebus_candidate *candidate, uint64_t turn)
{
    cebus_swap_terms terms = cebus_swap_terms_now(rt);
    if (!cebus_candidate_is_idle(candidate) || cebus_value_is_past(&candidate->value, turn))
        return false;
    bool may_swap = cebus_regen_may_swap(&terms, candidate);
    bool may_drop = cebus_regen_may_drop(&terms, candidate) && !candidate->gradient;
    bool swaps = may_swap && (terms.use == CEBUS_SWAP_ALWAYS || !may_drop ||
                              is_copied_for_less(rt, &terms, candidate));
    candidate->method = swaps ? CEBUS_GO_SWAP : CEBUS_GO_DROP;
    return may_swap || may_drop;
}

void cebus_ladder_evict_all(cebus_runtime *rt, bool late)
{
    if (rt->policy->unit == CEBUS_UNIT_NONE)
        return;
    const uint64_t turn = late ? 0 : cebus_foresight_stays(rt);
    cebus_block *block = rt->arena.first;
    while (block != NULL) {
        cebus_candidate *candidate = block->owner;
        if (candidate != NULL && goes_with_all(rt, candidate, turn))
            block = evict(rt, candidate, NULL);
        block = block->next;
    }
}
