/**
 * arena_blocks.h: what the files of an arena share below its interface: the list of blocks and the
 * holes among them. Callers keep the invariants of arena.h; nothing here can fail but new_block.
 */
#ifndef CEBUS_LAYOUT_ARENA_BLOCKS_H
#define CEBUS_LAYOUT_ARENA_BLOCKS_H

#include "layout/arena.h"

/** A record of zeros, in no list; NULL without host memory. */
cebus_block *cebus_arena_new_block(cebus_arena *arena);
/** Unlinks a block that is in no bin and returns its record. */
void cebus_arena_delete_block(cebus_arena *arena, cebus_block *block);
/** Links a block in before `next` (NULL: at the end). */
void cebus_arena_link(cebus_arena *arena, cebus_block *block, cebus_block *next);

/** Makes a linked block that is in no bin a hole, together with the free block after it, if any. */
void cebus_arena_add_hole_merged(cebus_arena *arena, cebus_block *block);
/** Takes a hole out of its bin. */
void cebus_arena_remove_hole(cebus_arena *arena, cebus_block *hole);

/** A used block lies somewhere new: the larger rest stays untouched. */
static inline void cebus_arena_touch(cebus_arena *arena, const cebus_block *block)
{
    uint64_t from = arena->untouched, to = arena->untouched_end;
    uint64_t end = block->offset + block->bytes;
    if (end <= from || block->offset >= to)
        return;
    uint64_t below = block->offset > from ? block->offset - from : 0;
    uint64_t above = to > end ? to - end : 0;
    if (below >= above)
        arena->untouched_end = from + below;
    else
        arena->untouched = end;
}

void cebus_arena_merge_fences(cebus_block *into, const cebus_block *from);

/** Cuts a spot out of its hole as a BARRIER that counts as used nowhere yet. False, and nothing has
 * changed, without host memory. */
bool cebus_arena_take(cebus_arena *arena, const cebus_spot *spot, cebus_block **out);

#endif
