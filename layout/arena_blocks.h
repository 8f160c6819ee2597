/**
 * arena_blocks.h: what the files of an arena share below its interface: the list of blocks and the
 * holes among them. Callers keep the invariants of arena.h; nothing here can fail but new_block.
 */
#ifndef CEBUS_LAYOUT_ARENA_BLOCKS_H
#define CEBUS_LAYOUT_ARENA_BLOCKS_H

#include <assert.h>

#include "layout/arena.h"
#include "layout/window/index.h"

/** Built with -Dchecks=all, every change is followed by a walk over all invariants. */
static inline void cebus_arena_check_change(const cebus_arena *arena)
{
    (void)arena;
#if CEBUS_CHECKS >= 2
    assert(cebus_arena_check(arena, NULL, 0));
#endif
}

/** A record of zeros, in no list; NULL without host memory. */
cebus_block *cebus_arena_new_block(cebus_arena *arena);
/** Returns the record of a block that is in no list; NULL is none. */
void cebus_arena_free_block(cebus_arena *arena, cebus_block *block);
/** Unlinks a block that is in no bin and returns its record. */
void cebus_arena_delete_block(cebus_arena *arena, cebus_block *block);
/** Links a block in before `next` (NULL: at the end). */
void cebus_arena_link(cebus_arena *arena, cebus_block *block, cebus_block *next);
void cebus_arena_unlink(cebus_arena *arena, cebus_block *block);

/** Whether a hole lies on both sides of the border. */
static inline bool cebus_arena_straddles(const cebus_arena *arena, const cebus_block *hole)
{
    return hole->offset < arena->border && arena->border - hole->offset < hole->bytes;
}

static inline cebus_bins *cebus_arena_bins_of(cebus_arena *arena, const cebus_block *hole)
{
    return hole->offset < arena->border ? &arena->bins : &arena->upper;
}

/* Inline: a call that places a value does both twice. */

/** Makes a linked block that is in no bin, and has no free neighbour, a hole. */
static inline void cebus_arena_add_hole(cebus_arena *arena, cebus_block *block)
{
    block->state = CEBUS_BLOCK_FREE;
    block->owner = NULL;
    block->immovable = false;
    arena->free_blocks++;
    cebus_bins_insert(cebus_arena_bins_of(arena, block), block);
    if (cebus_arena_straddles(arena, block))
        arena->straddler = block;
    if (arena->maps)
        arena->idle_bytes += arena->layout->idle_bytes(arena, block);
    cebus_window_index_cheaper(arena->index, block);
}

/** Takes a hole out of its bin. */
static inline void cebus_arena_remove_hole(cebus_arena *arena, cebus_block *hole)
{
    cebus_bins_remove(cebus_arena_bins_of(arena, hole), hole);
    arena->free_blocks--;
    if (arena->straddler == hole)
        arena->straddler = NULL;
    if (arena->maps)
        arena->idle_bytes -= arena->layout->idle_bytes(arena, hole);
}

/** Makes a linked block that is in no bin a hole, together with the free block after it, if any. */
void cebus_arena_add_hole_merged(cebus_arena *arena, cebus_block *block);

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

/** `into` waits for the last uses of `from`, too. */
void cebus_arena_merge_fences(cebus_block *into, const cebus_block *from);

/** Cuts a spot out of its hole as a BARRIER that counts as used nowhere yet. False, and nothing has
 * changed, without host memory. */
bool cebus_arena_take(cebus_arena *arena, const cebus_spot *spot, cebus_block **out);

#endif
