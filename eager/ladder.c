#include "eager/ladder.h"

#include "eager/storage.h"
#include "lineage/version.h"

/** Drops a victim; returns the free block it became part of. */
static cebus_block *evict(cebus_runtime *rt, cebus_candidate *victim, uint64_t price)
{
    const cebus_op *op = victim->value.producer->op;
    rt->stats.evictions++;
    rt->stats.dropped_bytes += victim->value.bytes;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_EVICTED,
                                       .op = op->name,
                                       .bytes = victim->value.bytes,
                                       .offset = victim->block->offset,
                                       .ns = victim->block->weight,
                                       .price = price});
    return cebus_candidate_drop(rt, victim);
}

cebus_block *cebus_ladder_evict(cebus_runtime *rt, const cebus_victims *victims)
{
    uint64_t end = victims->last->offset + victims->last->bytes;
    cebus_block *block = victims->first;
    for (;;) {
        if (block->state == CEBUS_BLOCK_EVICTABLE)
            block = evict(rt, block->owner, cebus_block_price(block, rt->clock_ns));
        if (block->offset + block->bytes >= end)
            return block;
        block = block->next;
    }
}

/** How to choose: by the policy's own unit, or one victim, see cebus_chooser for the rest. */
enum {
    CHOOSE_ONE = 1 << 0,
    CHOOSE_LAST_RESORT = 1 << 1,
    CHOOSE_KEEP_PRICES = 1 << 2
};

static cebus_victims choose(cebus_runtime *rt, uint64_t bytes, unsigned how)
{
    cebus_chooser chooser = {.policy = rt->policy,
                             .arena = &rt->arena,
                             .lineage = &rt->lineage,
                             .now = rt->clock_ns,
                             .last_resort = (how & CHOOSE_LAST_RESORT) != 0,
                             .keep_prices = (how & CHOOSE_KEEP_PRICES) != 0};
    uint64_t start = rt->device_ops->clock(rt->device);
    cebus_victims victims =
        (how & CHOOSE_ONE) ? cebus_choose_one(&chooser) : cebus_choose_victims(&chooser, bytes);
    rt->stats.searches++;
    rt->stats.search_ns += rt->device_ops->clock(rt->device) - start;
    return victims;
}

/** Fragmentation at a forced eviction: what is free beyond the request, of the budget. */
static void count_retry(cebus_runtime *rt, uint64_t bytes)
{
    uint64_t idle = cebus_arena_free_bytes(&rt->arena);
    uint64_t ppm =
        idle > bytes ? (uint64_t)(1e6 * (double)(idle - bytes) / (double)rt->arena.capacity) : 0;
    rt->stats.num_alloc_retries++;
    rt->stats.fragmentation_ppm_sum += ppm;
    rt->stats.fragmentation_ppm_max = cebus_max_u64(rt->stats.fragmentation_ppm_max, ppm);
}

/** A full arena is CEBUS_OUT_OF_MEMORY on the way up; cebus_ladder_reserve writes the report. */
static cebus_status status_of(cebus_place_result placed, const char *op)
{
    if (placed == CEBUS_PLACE_NO_HOST_MEMORY)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for the arena's books");
    return placed == CEBUS_PLACED ? CEBUS_OK : CEBUS_OUT_OF_MEMORY;
}

static cebus_place_result rung_evict(cebus_runtime *rt, uint64_t bytes, cebus_zone zone,
                                     cebus_block **out)
{
    cebus_place_result result = CEBUS_PLACE_FULL;
    while (result == CEBUS_PLACE_FULL) {
        cebus_victims victims = choose(rt, bytes, 0);
        if (victims.first == NULL)
            break;
        cebus_block *hole = cebus_ladder_evict(rt, &victims);
        result = hole->state == CEBUS_BLOCK_FREE && hole->bytes >= bytes
                     ? cebus_arena_place_in(&rt->arena, hole, bytes, zone, out)
                     : cebus_arena_place(&rt->arena, bytes, zone, out);
    }
    return result;
}

/** A leaf that only records keep: nobody holds or parks it, nothing can rebuild it. Without its
 * readers it dies. */
static bool is_kept_leaf(const cebus_block *block)
{
    const cebus_candidate *candidate = block->owner;
    if (candidate == NULL)
        return false;
    const cebus_value *value = &candidate->value;
    return value->holders == 0 && value->parked == 0 && value->producer == NULL &&
           value->consumers != NULL && value->pins == 0 && candidate->exports == 0;
}

/** Frees leaves that only records keep, where no absent value somebody holds needs them. */
static bool rung_cut(cebus_runtime *rt)
{
    if (rt->replay.busy)
        return false;
    bool freed = false;
    cebus_block *block = rt->arena.first;
    while (block != NULL) {
        cebus_value *held = NULL;
        cebus_candidate *leaf = block->owner;
        if (!is_kept_leaf(block) ||
            cebus_version_dependant(&rt->lineage, &leaf->value, &held) != CEBUS_OK ||
            held != NULL || cebus_version_cut(&rt->lineage, &leaf->value) != CEBUS_OK) {
            block = block->next;
            continue;
        }
        rt->stats.lineage_cuts++;
        cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_CUT, .bytes = leaf->value.bytes});
        cebus_storage_reap(rt);
        freed = true;
        block = rt->arena.first; /* reaping may have merged any block: start over */
    }
    return freed;
}

static cebus_status move_block(cebus_runtime *rt, const cebus_move *move)
{
    rt->stats.moved_bytes += move->block->bytes;
    return rt->device_ops->copy(rt->device, rt->base + move->to, rt->base + move->from,
                                move->block->bytes, CEBUS_COPY_ON_DEVICE);
}

cebus_status cebus_ladder_compact(cebus_runtime *rt, uint64_t bytes)
{
    cebus_move move = {0};
    uint64_t before = rt->stats.moved_bytes;
    rt->stats.compactions++;
    while (!cebus_arena_fits(&rt->arena, bytes) &&
           cebus_arena_next_move(&rt->arena, move.block, &move)) {
        cebus_status status = move_block(rt, &move);
        if (status != CEBUS_OK)
            return status;
        cebus_arena_move(&rt->arena, &move);
    }
    cebus_event_emit(
        rt, (cebus_event){.kind = CEBUS_EVENT_COMPACTED, .bytes = rt->stats.moved_bytes - before});
    return CEBUS_OK;
}

/** Gives up the cheapest, wherever they lie, and moves blocks together, until the request fits:
 * blocks that must not move may keep the holes on their two sides apart. */
static cebus_status rung_compact(cebus_runtime *rt, uint64_t bytes, cebus_zone zone, unsigned how,
                                 cebus_block **out)
{
    uint64_t rounded = cebus_arena_rounded(&rt->arena, bytes);
    for (;;) {
        if (cebus_arena_free_bytes(&rt->arena) >= rounded) {
            cebus_status status = cebus_ladder_compact(rt, bytes);
            if (status == CEBUS_OK)
                status = status_of(cebus_arena_place(&rt->arena, bytes, zone, out), "compaction");
            if (status != CEBUS_OUT_OF_MEMORY)
                return status;
        }
        cebus_victims victims = choose(rt, bytes, how);
        if (victims.first == NULL)
            return CEBUS_OUT_OF_MEMORY;
        cebus_ladder_evict(rt, &victims);
        how |= CHOOSE_KEEP_PRICES;
    }
}

static cebus_status climb(cebus_runtime *rt, uint64_t bytes, cebus_zone zone, const char *op,
                          cebus_block **out)
{
    rt->rung = CEBUS_RUNG_EVICT;
    cebus_place_result placed = rung_evict(rt, bytes, zone, out);
    if (placed == CEBUS_PLACE_FULL && rt->policy->unit != CEBUS_UNIT_NONE && rung_cut(rt)) {
        rt->rung = CEBUS_RUNG_CUT;
        placed = rung_evict(rt, bytes, zone, out);
        if (placed == CEBUS_PLACE_FULL)
            placed = cebus_arena_place(&rt->arena, bytes, zone, out);
    }
    cebus_status status = status_of(placed, op);
    if (status == CEBUS_OUT_OF_MEMORY) {
        /* The search for victims has just priced every block, and found nothing to evict. */
        rt->rung = CEBUS_RUNG_COMPACT;
        status = rung_compact(rt, bytes, zone, CHOOSE_ONE | CHOOSE_KEEP_PRICES, out);
    }
    if (status == CEBUS_OUT_OF_MEMORY && rt->trial == 0) {
        rt->rung = CEBUS_RUNG_LAST_RESORT;
        status = rung_compact(rt, bytes, zone, CHOOSE_ONE | CHOOSE_LAST_RESORT, out);
    }
    return status;
}

static void count_placed(cebus_runtime *rt, const cebus_block *block, const char *op)
{
    rt->stats.allocated_bytes_allocated += block->bytes;
    rt->stats.allocated_bytes_peak =
        cebus_max_u64(rt->stats.allocated_bytes_peak, rt->arena.used_bytes);
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_PLACED,
                                       .rung = rt->rung,
                                       .op = op,
                                       .bytes = block->bytes,
                                       .offset = block->offset});
}

cebus_status cebus_ladder_reserve(cebus_runtime *rt, uint64_t bytes, cebus_zone zone,
                                  const char *op, cebus_block **out)
{
    rt->rung = CEBUS_RUNG_FREE;
    cebus_status status = status_of(cebus_arena_place(&rt->arena, bytes, zone, out), op);
    if (status == CEBUS_OUT_OF_MEMORY) {
        count_retry(rt, bytes);
        uint64_t rounded = cebus_arena_rounded(&rt->arena, bytes);
        if (rounded > 0 && rounded <= rt->arena.capacity)
            status = climb(rt, bytes, zone, op, out);
    }
    if (status == CEBUS_OUT_OF_MEMORY)
        return cebus_oom_fail(rt, bytes, op);
    if (status != CEBUS_OK)
        return status;
    (*out)->tick = rt->clock_ns;
    count_placed(rt, *out, op);
    return CEBUS_OK;
}

cebus_block *cebus_ladder_release(cebus_runtime *rt, cebus_block *block)
{
    rt->device_ops->discard(rt->device, rt->base + block->offset, block->bytes);
    return cebus_arena_release(&rt->arena, block);
}

void cebus_ladder_evict_all(cebus_runtime *rt)
{
    if (rt->policy->unit == CEBUS_UNIT_NONE)
        return;
    cebus_block *block = rt->arena.first;
    while (block != NULL) {
        cebus_candidate *candidate = block->owner;
        if (candidate != NULL && !candidate->gradient && cebus_candidate_is_evictable(candidate))
            block = evict(rt, candidate, 0);
        block = block->next;
    }
}
