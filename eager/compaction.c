#include "eager/compaction.h"

#include "eager/ladder.h"
#include "eager/storage.h"
#include "eager/swap/swap.h"
#include "layout/gather.h"
#include "layout/number.h"

/** Taken for a device that does not say how fast it copies. */
#define RATE_GUESS UINT64_C(5000000000)

static void report_move(cebus_runtime *rt, const cebus_move *move)
{
    const cebus_candidate *owner = move->block->owner;
    rt->stats.moved_bytes += move->block->bytes;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_MOVED,
                                       .memory_class = cebus_memory_class_of(owner),
                                       .value = owner != NULL ? owner->serial : 0,
                                       .bytes = move->block->bytes,
                                       .offset = move->to,
                                       .from = move->from});
}

/** The hole below and the block itself may still be read or written by copies: compute waits for
 * them, and what comes later to either place waits for the move. */
static cebus_status move_block(cebus_runtime *rt, const cebus_move *move)
{
    cebus_block *hole = move->block->prev;
    cebus_ladder_claim(rt, hole, CEBUS_STREAM_COMPUTE);
    cebus_swap_settle(rt, move->block->owner);
    cebus_ladder_claim(rt, move->block, CEBUS_STREAM_COMPUTE);
    cebus_status status =
        rt->device_ops->copy(rt->device, rt->base + move->to, rt->base + move->from,
                             move->block->bytes, CEBUS_COPY_ON_DEVICE);
    uint64_t mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_COMPUTE);
    hole->fence[CEBUS_STREAM_COMPUTE] = move->block->fence[CEBUS_STREAM_COMPUTE] = mark;
    if (status != CEBUS_OK) {
        cebus_trail_add(rt, hole, hole->offset);
        return status;
    }
    cebus_trail_add(rt, move->block, move->from);
    report_move(rt, move);
    cebus_arena_move(&rt->arena, move);
    return CEBUS_OK;
}

/** Slides what lies behind a hole down, until there is one of `bytes`; NULL: all. */
static cebus_status slide_from(cebus_runtime *rt, cebus_block *hole, uint64_t bytes)
{
    cebus_move move = {.block = hole};
    cebus_status status = CEBUS_OK;
    uint64_t before = rt->stats.moved_bytes;
    rt->stats.compactions++;
    while (status == CEBUS_OK && !cebus_arena_fits(&rt->arena, bytes) &&
           cebus_arena_next_move(&rt->arena, move.block, &move))
        status = move_block(rt, &move);
    cebus_event_emit(
        rt, (cebus_event){.kind = CEBUS_EVENT_COMPACTED, .bytes = rt->stats.moved_bytes - before});
    return status;
}

cebus_status cebus_compaction_run(cebus_runtime *rt, uint64_t bytes)
{
    cebus_gather gather = {0};
    if (!rt->arena.layout->moves)
        return CEBUS_OK;
    if (bytes != UINT64_MAX)
        (void)cebus_gather_find(&rt->arena, cebus_arena_rounded(&rt->arena, bytes), &gather);
    return slide_from(rt, gather.first, bytes);
}

static uint64_t cost_of(const cebus_runtime *rt, const cebus_gather *gather)
{
    const cebus_move_terms terms = cebus_compaction_terms(rt);
    return (uint64_t)(1e9 * (double)gather->moved_bytes / (double)terms.rate) +
           gather->moved_blocks * terms.ns + 1;
}

bool cebus_compaction_gather(cebus_runtime *rt, uint64_t bytes, const cebus_gather_bar *bar,
                             uint64_t most_ns)
{
    cebus_gather gather;
    const uint64_t rounded = cebus_arena_rounded(&rt->arena, bytes);
    return rounded <= cebus_arena_free_bytes(&rt->arena) &&
           cebus_gather_find_between(&rt->arena, rounded, bar, &gather) &&
           cost_of(rt, &gather) <= most_ns && slide_from(rt, gather.first, bytes) == CEBUS_OK &&
           cebus_arena_fits(&rt->arena, bytes);
}

/** The smallest hole that has room for `bytes` outside of [from, to). */
static cebus_block *find_hole(const cebus_runtime *rt, uint64_t bytes, uint64_t from, uint64_t to)
{
    cebus_block *best = NULL;
    for (cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        bool outside = block->offset + block->bytes <= from || block->offset >= to;
        if (block->state == CEBUS_BLOCK_FREE && outside && block->bytes >= bytes &&
            (best == NULL || block->bytes < best->bytes))
            best = block;
    }
    return best;
}

/** The copy of a block's bytes to another; what comes later to either place waits for it. A copy
 * out that still reads the one does not mind, and is waited for by who has the other next. */
static cebus_status copy_block(cebus_runtime *rt, cebus_block *from, cebus_block *to)
{
    cebus_ladder_claim_placed(rt, to, CEBUS_STREAM_COMPUTE);
    cebus_swap_settle(rt, from->owner);
    if (from->fence[CEBUS_STREAM_IN] > 0)
        rt->device_ops->stream_wait(rt->device, CEBUS_STREAM_COMPUTE, CEBUS_STREAM_IN,
                                    from->fence[CEBUS_STREAM_IN]);
    to->fence[CEBUS_STREAM_OUT] =
        cebus_max_u64(to->fence[CEBUS_STREAM_OUT], from->fence[CEBUS_STREAM_OUT]);
    cebus_status status =
        rt->device_ops->copy(rt->device, rt->base + to->offset, rt->base + from->offset,
                             from->bytes, CEBUS_COPY_ON_DEVICE);
    uint64_t mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_COMPUTE);
    to->fence[CEBUS_STREAM_COMPUTE] = from->fence[CEBUS_STREAM_COMPUTE] = mark;
    return status;
}

/** A value goes on to a block of its size. False: it lies where it was. */
static bool settle_in(cebus_runtime *rt, cebus_block *old, cebus_block *block)
{
    cebus_candidate *owner = old->owner;
    if (copy_block(rt, old, block) != CEBUS_OK) {
        cebus_ladder_release(rt, block);
        return false;
    }
    cebus_candidate_lodge(&rt->arena, owner, block);
    block->tick = old->tick;
    old->owner = NULL;
    report_move(rt, &(cebus_move){block, old->offset, block->offset});
    cebus_ladder_release(rt, old);
    return true;
}

/** Moves a value to a hole outside of [from, to). False: it lies where it was. */
static bool resettle(cebus_runtime *rt, cebus_block *old, uint64_t from, uint64_t to)
{
    cebus_block *hole = find_hole(rt, old->bytes, from, to), *block;
    return old->owner != NULL && !old->immovable && hole != NULL &&
           cebus_arena_place_in(&rt->arena, hole, old->bytes, old->zone, &block) == CEBUS_PLACED &&
           settle_in(rt, old, block);
}

/** A value goes to bytes some of which are its own. */
static bool slide(cebus_runtime *rt, cebus_block *block, uint64_t offset)
{
    const uint64_t from = block->offset;
    cebus_swap_settle(rt, block->owner);
    if (!cebus_arena_slide(&rt->arena, block, offset))
        return false;
    cebus_ladder_claim(rt, block, CEBUS_STREAM_COMPUTE);
    cebus_status status = rt->device_ops->copy(rt->device, rt->base + offset, rt->base + from,
                                               block->bytes, CEBUS_COPY_ON_DEVICE);
    uint64_t mark = rt->device_ops->stream_mark(rt->device, CEBUS_STREAM_COMPUTE);
    block->fence[CEBUS_STREAM_COMPUTE] = mark;
    cebus_block *left = offset < from ? block->next : block->prev;
    left->fence[CEBUS_STREAM_COMPUTE] = mark;
    if (status != CEBUS_OK) {
        cebus_trail_add(rt, block, offset);
        (void)cebus_arena_slide(&rt->arena, block, from); /* needs no more blocks than there were */
        return false;
    }
    cebus_trail_add(rt, block, from);
    report_move(rt, &(cebus_move){block, from, offset});
    return true;
}

bool cebus_compaction_shift(cebus_runtime *rt, cebus_block *old, uint64_t offset)
{
    cebus_block *block;
    bool overlaps = offset < old->offset + old->bytes && old->offset < offset + old->bytes;
    if (old->owner == NULL || old->immovable || old->offset == offset)
        return false;
    if (overlaps)
        return slide(rt, old, offset);
    return cebus_arena_place_at(&rt->arena, offset, old->bytes, old->zone, &block) ==
               CEBUS_PLACED &&
           settle_in(rt, old, block);
}

cebus_block *cebus_compaction_vacate(cebus_runtime *rt, uint64_t from, uint64_t to)
{
    uint64_t before = rt->stats.moved_bytes, offset = from;
    cebus_block *block = cebus_arena_block_at(&rt->arena, from);
    rt->stats.compactions++;
    while (block != NULL && block->offset < to) {
        offset = block->offset + block->bytes;
        if (block->state != CEBUS_BLOCK_FREE && !resettle(rt, block, from, to))
            break;
        block = cebus_arena_block_at(&rt->arena, offset);
    }
    cebus_event_emit(
        rt, (cebus_event){.kind = CEBUS_EVENT_COMPACTED, .bytes = rt->stats.moved_bytes - before});
    block = cebus_arena_block_at(&rt->arena, from);
    return block != NULL && block->state == CEBUS_BLOCK_FREE && block->offset + block->bytes >= to
               ? block
               : NULL;
}

cebus_move_terms cebus_compaction_terms(const cebus_runtime *rt)
{
    if (!rt->arena.layout->moves)
        return (cebus_move_terms){0};
    return (cebus_move_terms){rt->info.copy_rate > 0 ? rt->info.copy_rate : RATE_GUESS,
                              rt->info.copy_ns};
}

uint64_t cebus_compaction_cost(const cebus_runtime *rt, uint64_t bytes)
{
    cebus_gather gather;
    uint64_t rounded = cebus_arena_rounded(&rt->arena, bytes);
    if (rounded > cebus_arena_free_bytes(&rt->arena) ||
        !cebus_gather_find(&rt->arena, rounded, &gather))
        return UINT64_MAX;
    return cost_of(rt, &gather);
}
