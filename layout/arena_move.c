#include "layout/arena_blocks.h"

/* Down over a hole: compaction. */

/** The lowest movable block at or after `block` that has a hole right before it, or NULL. */
static cebus_block *next_to_move(cebus_block *block)
{
    while (block != NULL &&
           (cebus_block_is_free(block) || block->immovable || !cebus_block_is_free(block->prev)))
        block = block->next;
    return block;
}

bool cebus_arena_next_move(const cebus_arena *arena, cebus_block *from, cebus_move *out)
{
    *out = (cebus_move){0};
    if (!arena->layout->moves)
        return false;
    cebus_block *block = next_to_move(from != NULL ? from : arena->first);
    if (block == NULL)
        return false;
    *out = (cebus_move){.block = block, .from = block->offset, .to = block->prev->offset};
    return true;
}

void cebus_arena_move(cebus_arena *arena, const cebus_move *move)
{
    cebus_block *block = move->block, *hole = block->prev;
    cebus_arena_remove_hole(arena, hole);
    cebus_arena_unlink(arena, block);
    cebus_arena_link(arena, block, hole);
    block->offset = move->to;
    hole->offset = block->offset + block->bytes;
    cebus_arena_touch(arena, block);
    cebus_arena_add_hole_merged(arena, hole);
    cebus_arena_check_change(arena);
}

/* Along a hole, as far as it reaches. */

/** A hole gets other bounds; one of no bytes is none. */
static void set_bounds(cebus_arena *arena, cebus_block *hole, uint64_t from, uint64_t to)
{
    cebus_arena_remove_hole(arena, hole);
    hole->offset = from;
    hole->bytes = to - from;
    if (from == to)
        cebus_arena_delete_block(arena, hole);
    else
        cebus_arena_add_hole_merged(arena, hole);
}

/** Bytes beside a block, which it left, are free: they belong to the hole beyond them, or are a
 * new one before `next`. */
static void leave(cebus_arena *arena, cebus_block *beyond, cebus_block *rest, cebus_block *next,
                  uint64_t from, uint64_t to)
{
    if (rest == NULL) {
        uint64_t low = beyond->offset < from ? beyond->offset : from;
        uint64_t high = beyond->offset + beyond->bytes;
        set_bounds(arena, beyond, low, high > to ? high : to);
        return;
    }
    rest->offset = from;
    rest->bytes = to - from;
    cebus_arena_link(arena, rest, next);
    cebus_arena_add_hole_merged(arena, rest);
}

bool cebus_arena_slide(cebus_arena *arena, cebus_block *block, uint64_t offset)
{
    const bool down = offset < block->offset;
    const uint64_t from = block->offset, bytes = block->bytes;
    cebus_block *hole = down ? block->prev : block->next;
    cebus_block *beyond = down ? block->next : block->prev, *rest = NULL;
    if (!arena->layout->moves || block->immovable || offset == from || !cebus_block_is_free(hole) ||
        (down ? hole->offset > offset : hole->offset + hole->bytes < offset + bytes))
        return false;
    if (!cebus_block_is_free(beyond) && (rest = cebus_arena_new_block(arena)) == NULL)
        return false;
    cebus_arena_merge_fences(block, hole);
    cebus_arena_merge_fences(rest != NULL ? rest : beyond, block);
    block->offset = offset;
    if (down) {
        set_bounds(arena, hole, hole->offset, offset);
        leave(arena, beyond, rest, block->next, offset + bytes, from + bytes);
    } else {
        set_bounds(arena, hole, offset + bytes, hole->offset + hole->bytes);
        leave(arena, beyond, rest, block, from, offset);
    }
    cebus_window_index_cheaper(arena->index, block); /* others lie beside it */
    cebus_arena_touch(arena, block);
    cebus_arena_check_change(arena);
    return true;
}
