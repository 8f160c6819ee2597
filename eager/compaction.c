#include "eager/compaction.h"

#include "eager/ladder.h"
#include "eager/storage.h"
#include "eager/swap.h"
#include "eager/trail.h"
#include "layout/gather.h"

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
    if (status != CEBUS_OK)
        return status;
    if (rt->trail != NULL)
        rt->trail->lost = true;
    report_move(rt, move);
    cebus_arena_move(&rt->arena, move);
    return CEBUS_OK;
}

cebus_status cebus_compaction_run(cebus_runtime *rt, uint64_t bytes)
{
    cebus_move move = {0};
    cebus_gather gather = {0};
    cebus_status status = CEBUS_OK;
    uint64_t before = rt->stats.moved_bytes;
    if (!rt->arena.layout->moves)
        return CEBUS_OK;
    rt->stats.compactions++;
    if (bytes != UINT64_MAX)
        (void)cebus_gather_find(&rt->arena, cebus_arena_rounded(&rt->arena, bytes), &gather);
    move.block = gather.first;
    while (status == CEBUS_OK && !cebus_arena_fits(&rt->arena, bytes) &&
           cebus_arena_next_move(&rt->arena, move.block, &move))
        status = move_block(rt, &move);
    cebus_event_emit(
        rt, (cebus_event){.kind = CEBUS_EVENT_COMPACTED, .bytes = rt->stats.moved_bytes - before});
    return status;
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
    cebus_move_terms terms = cebus_compaction_terms(rt);
    if (rounded > cebus_arena_free_bytes(&rt->arena) ||
        !cebus_gather_find(&rt->arena, rounded, &gather))
        return UINT64_MAX;
    return (uint64_t)(1e9 * (double)gather.moved_bytes / (double)terms.rate) +
           gather.moved_blocks * terms.ns + 1;
}
