#include "eager/storage.h"

#include <string.h>

#include "eager/capture/hooks.h"
#include "eager/debug.h"
#include "eager/guidance/guidance.h"
#include "eager/hint.h"
#include "eager/ladder.h"
#include "eager/swap/away.h"
#include "eager/swap/demotion.h"
#include "eager/swap/swap.h"
#include "eager/trace/record.h"
#include "layout/number.h"
#include "layout/window/index.h"
#include "lineage/cost.h"
#include "lineage/version.h"

cebus_candidate *cebus_candidate_create(cebus_runtime *rt, uint64_t bytes)
{
    cebus_candidate *candidate = cebus_pool_alloc(&rt->pool, sizeof *candidate);
    if (candidate == NULL)
        return NULL;
    cebus_value_init(&candidate->value, bytes);
    memset((char *)candidate + sizeof candidate->value, 0,
           sizeof *candidate - sizeof candidate->value);
    cebus_turn_hold(&rt->lineage.turn, bytes, rt->lineage.made_calls);
    candidate->serial = ++rt->serial;
    candidate->hint = cebus_hint_for(rt, CEBUS_HINT_NONE);
    candidate->zone = CEBUS_ZONE_CHEAP;
    return candidate;
}

cebus_storage *cebus_storage_create(cebus_runtime *rt, uint64_t bytes)
{
    cebus_storage *storage = cebus_pool_alloc(&rt->pool, sizeof *storage);
    if (storage == NULL)
        return NULL;
    *storage = (cebus_storage){.refs = 1};
    storage->now = cebus_candidate_create(rt, bytes);
    if (storage->now == NULL) {
        cebus_pool_free_object(&rt->pool, storage, sizeof *storage);
        return NULL;
    }
    storage->birth = storage->now->serial;
    return storage;
}

cebus_storage *cebus_storage_of(cebus_runtime *rt, cebus_candidate *version)
{
    cebus_storage *storage = cebus_pool_alloc(&rt->pool, sizeof *storage);
    if (storage == NULL)
        return NULL;
    *storage = (cebus_storage){.refs = 1, .now = version, .saved = true};
    cebus_value_hold(&rt->lineage, &version->value);
    cebus_away_sort(rt, version);
    return storage;
}

void cebus_storage_release(cebus_runtime *rt, cebus_storage *storage)
{
    if (storage == NULL || --storage->refs > 0)
        return;
    if (storage->persistent) {
        rt->stats.active_bytes_persistent -= storage->now->value.bytes;
        rt->left_behind = true;
    }
    if (rt->capture != NULL)
        cebus_capture_forget(rt, storage);
    cebus_hint_let_go(rt, storage->now);
    cebus_candidate_unhold(rt, storage->now);
    cebus_pool_free_object(&rt->pool, storage, sizeof *storage);
}

cebus_memory_class cebus_memory_class_of(const cebus_candidate *candidate)
{
    if (candidate == NULL)
        return CEBUS_MEMORY_WORKSPACE;
    if (candidate->zone == CEBUS_ZONE_PERSISTENT)
        return CEBUS_MEMORY_PERSISTENT;
    if (candidate->gradient)
        return CEBUS_MEMORY_GRADIENT;
    return candidate->uploaded ? CEBUS_MEMORY_LEAF : CEBUS_MEMORY_ACTIVATION;
}

static void free_candidate(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_swap_forget(rt, candidate);
    if (rt->guidance != NULL)
        cebus_guidance_forget(rt, candidate);
    if (candidate->block != NULL)
        cebus_ladder_release(rt, candidate->block);
    cebus_pool_free_object(&rt->pool, candidate, sizeof *candidate);
}

void cebus_storage_reap(cebus_runtime *rt)
{
    cebus_value *dead;
    while ((dead = cebus_lineage_reap(&rt->lineage)) != NULL)
        free_candidate(rt, cebus_candidate_of(dead));
}

/** A leaf that only records keep, under a plan that says all that is made again: none of its
 * replays reads what the program has let go, but for what it drops later itself. */
static bool is_stranded(const cebus_runtime *rt, const cebus_candidate *candidate)
{
    return cebus_guidance_says_all(rt) && candidate->value.resident &&
           candidate->value.producer == NULL && !cebus_guidance_keeps(rt, candidate);
}

/** Nobody holds the version, but records still read it: a ghost. Long chains of ghosts are cut. */
static void bound_ghosts(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_value *held;
    bool planned = rt->guidance != NULL || rt->spots != NULL;
    bool whole = planned || rt->stats.forced_evictions > 0;
    uint32_t most = whole ? CEBUS_GHOST_DEPTH_WHOLE : CEBUS_GHOST_DEPTH_MAX;
    bool deep = cebus_version_became_ghost(&candidate->value, most);
    if ((!deep && !is_stranded(rt, candidate)) || !cebus_candidate_may_cut(rt))
        return;
    if (cebus_version_dependant(&rt->lineage, &candidate->value, &held) != CEBUS_OK || held != NULL)
        return;
    if (cebus_version_cut(&rt->lineage, &candidate->value) == CEBUS_OK)
        rt->stats.lineage_cuts++;
}

/** A value that is kept for its heirs, the absent values that are made of it, is read again when
 * one of them is. So it takes over the age of the youngest: its own last use says nothing. Heirs
 * that are as large as it is are worth its bytes; then it keeps its own age. */
static void age_by_heirs(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_heirs heirs;
    cebus_block *block = candidate->block;
    uint64_t tick = 0, bytes = candidate->value.bytes;
    if (block == NULL ||
        cebus_version_heirs(&rt->lineage, &candidate->value, bytes, &heirs) != CEBUS_OK ||
        heirs.bytes >= bytes)
        return;
    for (size_t i = 0; i < heirs.count; i++)
        tick = cebus_max_u64(tick, cebus_candidate_of(heirs.values[i])->left_tick);
    if (tick >= block->tick)
        return;
    cebus_window_index_cheaper(rt->arena.index, block);
    block->tick = tick;
}

/** Whether something absent that somebody holds is made of it. Then it stays, as a candidate like
 * others: without it much may have to run again (a gradient that others are made of). Not under a
 * plan, which has given its room away; and not while memory was never short: what is absent then
 * was given up by a hint. */
static bool outlives_its_holders(cebus_runtime *rt, cebus_candidate *candidate)
{
    bool planned = cebus_guidance_is_planned(rt);
    if (planned || rt->stats.forced_evictions == 0 ||
        !cebus_version_is_missed(&rt->lineage, &candidate->value))
        return false;
    age_by_heirs(rt, candidate);
    return true;
}

void cebus_candidate_unhold(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_value *value = &candidate->value;
    if (rt->recorder != NULL && value->holders == 1)
        cebus_record_free(rt, candidate);
    if (rt->guidance != NULL && value->holders == 1)
        cebus_guidance_release(rt, candidate);
    if (value->holders == 1 && value->refs > 1) {
        value->refs++; /* survives the cut below */
        cebus_value_unhold(&rt->lineage, value);
        bound_ghosts(rt, candidate);
        if (!outlives_its_holders(rt, candidate))
            cebus_candidate_settle(rt, candidate);
        cebus_away_sort(rt, candidate);
        cebus_value_release(&rt->lineage, value);
    } else {
        cebus_value_unhold(&rt->lineage, value);
    }
    cebus_storage_reap(rt);
}

void cebus_candidate_settle(cebus_runtime *rt, cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    if (value->holders > 0 || !cebus_candidate_is_evictable(candidate) ||
        cebus_guidance_keeps(rt, candidate))
        return;
    rt->stats.eager_drops++;
    cebus_candidate_drop(rt, candidate);
}

void cebus_candidate_settle_all(cebus_runtime *rt)
{
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        cebus_candidate *candidate = block->owner;
        if (candidate != NULL && candidate->value.holders == 0 &&
            cebus_candidate_is_evictable(candidate) && !cebus_guidance_keeps(rt, candidate) &&
            !cebus_version_is_missed(&rt->lineage, &candidate->value))
            block = cebus_candidate_drop(rt, candidate);
    }
}

static bool is_kept_leaf(const cebus_candidate *candidate)
{
    if (candidate == NULL)
        return false;
    const cebus_value *value = &candidate->value;
    return value->holders == 0 && value->parked == 0 && value->producer == NULL &&
           value->consumers != NULL && value->pins == 0 && candidate->exports == 0;
}

bool cebus_candidate_cut(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_value *held = NULL;
    if (!is_kept_leaf(candidate) ||
        cebus_version_dependant(&rt->lineage, &candidate->value, &held) != CEBUS_OK ||
        held != NULL || cebus_version_cut(&rt->lineage, &candidate->value) != CEBUS_OK)
        return false;
    rt->stats.lineage_cuts++;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_CUT, .bytes = candidate->value.bytes});
    cebus_storage_reap(rt);
    return true;
}

static void report_placed(cebus_runtime *rt, const cebus_candidate *candidate, const char *op)
{
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_PLACED,
                                       .rung = rt->rung,
                                       .memory_class = cebus_memory_class_of(candidate),
                                       .op = op,
                                       .value = candidate->serial,
                                       .bytes = candidate->block->bytes,
                                       .offset = candidate->block->offset});
}

cebus_status cebus_candidate_place(cebus_runtime *rt, cebus_candidate *candidate, cebus_zone zone,
                                   uint64_t spot, const char *op)
{
    if (candidate->value.bytes > 0) {
        cebus_block *block;
        cebus_request request = {
            .bytes = candidate->value.bytes, .spot = spot, .zone = zone, .op = op};
        cebus_status status = cebus_ladder_reserve(rt, &request, &block);
        if (status != CEBUS_OK)
            return status;
        cebus_candidate_lodge(&rt->arena, candidate, block);
        candidate->zone = (uint8_t)zone;
        report_placed(rt, candidate, op);
    }
    cebus_cost_return(&rt->lineage, &candidate->value);
    candidate->value.resident = true;
    cebus_version_changed(&rt->lineage, &candidate->value);
    cebus_candidate_touch(rt, candidate);
    return CEBUS_OK;
}

/** The bytes on the device are gone: what is left is a copy off it, or the record. */
static void become_absent(cebus_runtime *rt, cebus_candidate *candidate)
{
    bool copied = candidate->host != NULL && cebus_swap_secure(rt, candidate);
    if (copied) {
        cebus_swap_spare(rt, candidate, false);
        cebus_away_add(rt, candidate);
    }
    candidate->value.resident = false;
    candidate->value.swapped = copied;
    if (copied)
        return;
    cebus_cost_leave(&rt->lineage, &candidate->value);
    cebus_version_changed(&rt->lineage, &candidate->value);
}

void cebus_candidate_move(cebus_runtime *rt, cebus_candidate *from, cebus_candidate *to)
{
    cebus_block *block = from->block;
    to->zone = from->zone;
    to->arriving = from->arriving;
    from->block = NULL;
    from->arriving = false;
    if (block != NULL) {
        from->left_tick = block->tick;
        cebus_candidate_lodge(&rt->arena, to, block);
    }
    cebus_cost_return(&rt->lineage, &to->value);
    to->value.resident = true;
    cebus_version_changed(&rt->lineage, &to->value);
    become_absent(rt, from);
}

void cebus_candidate_adopt(cebus_runtime *rt, cebus_candidate *candidate, cebus_block *block)
{
    cebus_candidate_lodge(&rt->arena, candidate, block);
    candidate->value.resident = true;
    candidate->value.swapped = false;
    cebus_version_changed(&rt->lineage, &candidate->value);
    cebus_away_remove(rt, candidate);
    cebus_demotion_cancel(rt, candidate);
    if (candidate->host != NULL)
        cebus_swap_spare(rt, candidate, true);
}

void cebus_candidate_move_low(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_block *low, *old = candidate->block;
    if (old == NULL || old->bytes <= rt->arena.small_most || candidate->exports > 0 ||
        !rt->arena.layout->has_low_end || cebus_guidance_places(rt) ||
        cebus_arena_place(&rt->arena, candidate->value.bytes, CEBUS_ZONE_PERSISTENT, &low) !=
            CEBUS_PLACED)
        return;
    rt->stats.allocated_bytes_peak =
        cebus_max_u64(rt->stats.allocated_bytes_peak, rt->arena.used_bytes);
    cebus_ladder_claim(rt, low, CEBUS_STREAM_COMPUTE);
    cebus_swap_settle(rt, candidate);
    if (low->offset > old->offset ||
        rt->device_ops->copy(rt->device, rt->base + low->offset, rt->base + old->offset,
                             candidate->value.bytes, CEBUS_COPY_ON_DEVICE) != CEBUS_OK) {
        cebus_ladder_release(rt, low);
        return;
    }
    cebus_candidate_used(rt, candidate);
    cebus_candidate_lodge(&rt->arena, candidate, low);
    low->tick = old->tick;
    cebus_candidate_used(rt, candidate);
    old->owner = NULL;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_MOVED,
                                       .memory_class = cebus_memory_class_of(candidate),
                                       .value = candidate->serial,
                                       .bytes = low->bytes,
                                       .offset = low->offset,
                                       .from = old->offset});
    cebus_ladder_release(rt, old);
}

cebus_block *cebus_candidate_drop(cebus_runtime *rt, cebus_candidate *candidate)
{
    cebus_block *hole = NULL;
    cebus_debug_leave(rt, candidate);
    if (candidate->block != NULL) {
        candidate->left_tick = candidate->block->tick;
        hole = cebus_ladder_release(rt, candidate->block);
    }
    candidate->block = NULL;
    candidate->arriving = false;
    become_absent(rt, candidate);
    return hole;
}

void cebus_candidate_discard(cebus_runtime *rt, cebus_candidate *candidate)
{
    const uint64_t hash = candidate->hash;
    (void)cebus_candidate_drop(rt, candidate);
    candidate->hash = hash;
}

cebus_status cebus_candidate_copy(cebus_runtime *rt, cebus_candidate *from, cebus_candidate *to,
                                  cebus_zone zone, uint64_t spot, const char *op)
{
    cebus_status status = cebus_candidate_place(rt, to, zone, spot, op);
    if (status != CEBUS_OK || to->block == NULL)
        return status;
    cebus_swap_settle(rt, from);
    status = rt->device_ops->copy(rt->device, cebus_candidate_address(rt, to),
                                  cebus_candidate_address(rt, from), from->value.bytes,
                                  CEBUS_COPY_ON_DEVICE);
    cebus_candidate_used(rt, from);
    cebus_candidate_used(rt, to);
    if (status != CEBUS_OK)
        cebus_candidate_discard(rt, to);
    return status;
}

void cebus_candidate_touch(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->block == NULL)
        return;
    if (rt->clock_ns < candidate->block->tick) /* a prefetch set it ahead */
        cebus_window_index_cheaper(rt->arena.index, candidate->block);
    candidate->block->tick = rt->clock_ns;
}

void cebus_candidate_used(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate->block != NULL)
        candidate->block->fence[CEBUS_STREAM_COMPUTE] =
            rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_COMPUTE);
}
