#include "layout/arena_blocks.h"

/* The list of blocks by address. */

void cebus_arena_link(cebus_arena *arena, cebus_block *block, cebus_block *next)
{
    cebus_block *prev = next != NULL ? next->prev : arena->last;
    block->prev = prev;
    block->next = next;
    *(prev != NULL ? &prev->next : &arena->first) = block;
    *(next != NULL ? &next->prev : &arena->last) = block;
    arena->blocks++;
    if (arena->index != NULL)
        cebus_window_index_insert(arena->index, block);
}

void cebus_arena_unlink(cebus_arena *arena, cebus_block *block)
{
    if (arena->index != NULL)
        cebus_window_index_erase(arena->index, block);
    arena->blocks--;
    *(block->prev != NULL ? &block->prev->next : &arena->first) = block->next;
    *(block->next != NULL ? &block->next->prev : &arena->last) = block->prev;
}

cebus_block *cebus_arena_new_block(cebus_arena *arena)
{
    cebus_block *block = cebus_pool_alloc(arena->pool, sizeof *block);
    if (block != NULL)
        *block = (cebus_block){0};
    return block;
}

void cebus_arena_free_block(cebus_arena *arena, cebus_block *block)
{
    if (block != NULL)
        cebus_pool_free_object(arena->pool, block, sizeof *block);
}

void cebus_arena_delete_block(cebus_arena *arena, cebus_block *block)
{
    cebus_arena_unlink(arena, block);
    cebus_arena_free_block(arena, block);
}

/* Holes: a free block that is in its bin. */

void cebus_arena_merge_fences(cebus_block *into, const cebus_block *from)
{
    for (int i = 0; i < CEBUS_FENCES; i++) {
        if (into->fence[i] < from->fence[i])
            into->fence[i] = from->fence[i];
    }
}

void cebus_arena_add_hole_merged(cebus_arena *arena, cebus_block *block)
{
    cebus_block *next = block->next;
    if (cebus_block_is_free(next)) {
        cebus_arena_remove_hole(arena, next);
        cebus_arena_merge_fences(block, next);
        block->bytes += next->bytes;
        cebus_arena_delete_block(arena, next);
    }
    cebus_arena_add_hole(arena, block);
}
