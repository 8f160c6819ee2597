#include "layout/arena.h"

#include <stdio.h>

/** What the walk over the blocks has seen so far. */
typedef struct tally {
    uint64_t end; /* one past the last block seen */
    uint64_t used_bytes, blocks, used_blocks, free_blocks, upper_blocks;
    uint64_t unmapped_bytes, idle_bytes;
    const cebus_block *last;
} tally;

static const char *fault_in_place(const cebus_arena *arena, const tally *seen,
                                  const cebus_block *block)
{
    if (block->prev != seen->last)
        return "prev is not the block before";
    if (block->offset != seen->end)
        return "gap or overlap before the block";
    if (block->bytes == 0)
        return "empty block";
    if (block->bytes > arena->capacity - block->offset)
        return "block reaches beyond the capacity";
    if ((block->offset | block->bytes) & (arena->alignment - 1))
        return "misaligned block";
    uint64_t from = arena->untouched, to = arena->untouched_end;
    if (block->state != CEBUS_BLOCK_FREE && from < to && block->offset < to &&
        block->offset + block->bytes > from)
        return "used block where none ever was";
    return NULL;
}

static const char *fault_in_state(const cebus_arena *arena, const tally *seen,
                                  const cebus_block *block)
{
    if (block->state > CEBUS_BLOCK_EVICTABLE)
        return "unknown state";
    if (block->zone >= CEBUS_ZONE_COUNT)
        return "unknown zone";
    if (block->state != CEBUS_BLOCK_FREE)
        return NULL;
    if (seen->last != NULL && seen->last->state == CEBUS_BLOCK_FREE)
        return "two free neighbours";
    if (block->owner != NULL)
        return "free block with an owner";
    bool low = block->offset < arena->border;
    if (!cebus_bins_contains(low ? &arena->bins : &arena->upper, block))
        return "free block outside its bin";
    if (low && arena->border < block->offset + block->bytes && arena->straddler != block)
        return "a hole straddles the border unseen";
    return NULL;
}

static const char *fault_in_unmapped(const cebus_arena *arena, const tally *seen,
                                     const cebus_block *block)
{
    if (!block->unmapped)
        return NULL;
    if (block->state != CEBUS_BLOCK_BARRIER || block->owner != NULL || !block->immovable)
        return "unmapped addresses in use";
    if (seen->last != NULL && seen->last->unmapped && block->offset != arena->border)
        return "two unmapped neighbours";
    return NULL;
}

static void count_block(const cebus_arena *arena, tally *seen, const cebus_block *block)
{
    seen->last = block;
    seen->blocks++;
    seen->end = block->offset + block->bytes;
    if (block->unmapped) {
        seen->unmapped_bytes += block->bytes;
    } else if (block->state == CEBUS_BLOCK_FREE) {
        seen->free_blocks++;
        seen->upper_blocks += block->offset >= arena->border;
        if (arena->layout->idle_bytes != NULL)
            seen->idle_bytes += arena->layout->idle_bytes(arena, block);
    } else {
        seen->used_blocks++;
        seen->used_bytes += block->bytes;
    }
}

static const char *fault_in_segments(const cebus_arena *arena, const tally *seen)
{
    if (arena->layout->extend == NULL)
        return seen->unmapped_bytes > 0 ? "unmapped addresses without segments" : NULL;
    if (arena->mapped_bytes != arena->capacity - seen->unmapped_bytes)
        return "mapped_bytes is wrong";
    if (arena->mapped_bytes > arena->limit)
        return "more is mapped than the limit";
    if (arena->idle_bytes != seen->idle_bytes)
        return "idle_bytes is wrong";
    return NULL;
}

static const char *fault_in_totals(const cebus_arena *arena, const tally *seen)
{
    if (seen->end != arena->capacity)
        return "the blocks end before the capacity";
    if (seen->last != arena->last)
        return "last is not the highest block";
    if (seen->used_bytes != arena->used_bytes)
        return "used_bytes is wrong";
    if (seen->used_bytes > arena->limit ||
        (arena->layout->address_factor == 1 && arena->limit != arena->capacity))
        return "more is used than the limit, or the limit is not the capacity";
    if (seen->blocks != arena->blocks)
        return "blocks is wrong";
    if (seen->used_blocks != arena->used_blocks)
        return "used_blocks is wrong";
    if (seen->free_blocks != arena->free_blocks)
        return "free_blocks is wrong";
    if (!cebus_bins_check(&arena->bins, seen->free_blocks - seen->upper_blocks) ||
        !cebus_bins_check(&arena->upper, seen->upper_blocks))
        return "the bins do not hold the free blocks and only those";
    if (arena->straddler != NULL && arena->straddler->state != CEBUS_BLOCK_FREE)
        return "the straddler is not free";
    return fault_in_segments(arena, seen);
}

bool cebus_arena_check(const cebus_arena *arena, char *why, size_t why_bytes)
{
    tally seen = {0};
    const char *fault = NULL;
    const cebus_block *block = arena->first;
    for (; block != NULL; block = block->next) {
        fault = fault_in_place(arena, &seen, block);
        if (fault == NULL)
            fault = fault_in_state(arena, &seen, block);
        if (fault == NULL)
            fault = fault_in_unmapped(arena, &seen, block);
        if (fault != NULL)
            break;
        count_block(arena, &seen, block);
    }
    if (fault == NULL)
        fault = fault_in_totals(arena, &seen);
    if (fault == NULL)
        return true;
    if (why != NULL)
        snprintf(why, why_bytes, "%s, at offset %llu", fault, (unsigned long long)seen.end);
    return false;
}
