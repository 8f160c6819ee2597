#include "layout/arena.h"

#include "layout/checked.h"
#include "layout/zones.h"

#include <assert.h>

/** Built with -Dchecks=all, every change is followed by a walk over all invariants. */
static void check_change(const cebus_arena *arena)
{
    (void)arena;
#if CEBUS_CHECKS >= 2
    assert(cebus_arena_check(arena, NULL, 0));
#endif
}

/* The list of blocks by address. */

static void link_before(cebus_arena *arena, cebus_block *block, cebus_block *next)
{
    cebus_block *prev = next != NULL ? next->prev : arena->last;
    block->prev = prev;
    block->next = next;
    *(prev != NULL ? &prev->next : &arena->first) = block;
    *(next != NULL ? &next->prev : &arena->last) = block;
}

static void unlink_block(cebus_arena *arena, cebus_block *block)
{
    *(block->prev != NULL ? &block->prev->next : &arena->first) = block->next;
    *(block->next != NULL ? &block->next->prev : &arena->last) = block->prev;
}

static cebus_block *new_block(cebus_arena *arena)
{
    cebus_block *block = cebus_pool_alloc(arena->pool, sizeof *block);
    if (block != NULL)
        *block = (cebus_block){0};
    return block;
}

static void delete_block(cebus_arena *arena, cebus_block *block)
{
    unlink_block(arena, block);
    cebus_pool_free_object(arena->pool, block, sizeof *block);
}

static bool is_free(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE;
}

/* Holes: a free block that is in its bin. */

static void add_hole(cebus_arena *arena, cebus_block *block)
{
    block->state = CEBUS_BLOCK_FREE;
    block->owner = NULL;
    block->immovable = 0;
    arena->free_blocks++;
    cebus_bins_insert(&arena->bins, block);
}

static void remove_hole(cebus_arena *arena, cebus_block *hole)
{
    cebus_bins_remove(&arena->bins, hole);
    arena->free_blocks--;
}

static void change_hole(cebus_arena *arena, cebus_block *hole, uint64_t offset, uint64_t bytes)
{
    cebus_bins_remove(&arena->bins, hole);
    hole->offset = offset;
    hole->bytes = bytes;
    cebus_bins_insert(&arena->bins, hole);
}

static void merge_fences(cebus_block *into, const cebus_block *from)
{
    for (int i = 0; i < CEBUS_FENCES; i++) {
        if (into->fence[i] < from->fence[i])
            into->fence[i] = from->fence[i];
    }
}

/** Makes `block`, which is in no bin, a hole together with the free block after it, if any. */
static void add_hole_merged(cebus_arena *arena, cebus_block *block)
{
    cebus_block *next = block->next;
    if (is_free(next)) {
        remove_hole(arena, next);
        merge_fences(block, next);
        block->bytes += next->bytes;
        delete_block(arena, next);
    }
    add_hole(arena, block);
}

/* Life and size. */

static uint64_t round_down(uint64_t bytes, uint64_t alignment)
{
    return bytes & ~(alignment - 1);
}

/** Appends [arena->capacity, capacity) as free space. */
static cebus_place_result grow(cebus_arena *arena, uint64_t capacity)
{
    uint64_t more = capacity - arena->capacity;
    cebus_block *last = arena->last;
    if (is_free(last)) {
        change_hole(arena, last, last->offset, last->bytes + more);
    } else {
        cebus_block *block = new_block(arena);
        if (block == NULL)
            return CEBUS_PLACE_NO_HOST_MEMORY;
        block->offset = arena->capacity;
        block->bytes = more;
        link_before(arena, block, NULL);
        add_hole(arena, block);
    }
    arena->capacity = capacity;
    return CEBUS_PLACED;
}

static cebus_place_result shrink(cebus_arena *arena, uint64_t capacity)
{
    cebus_block *last = arena->last;
    if (!is_free(last) || last->offset > capacity)
        return CEBUS_PLACE_FULL;
    if (last->offset < capacity) {
        change_hole(arena, last, last->offset, capacity - last->offset);
    } else {
        remove_hole(arena, last);
        delete_block(arena, last);
    }
    arena->capacity = capacity;
    return CEBUS_PLACED;
}

static cebus_place_result resize(cebus_arena *arena, uint64_t capacity)
{
    if (capacity > arena->capacity)
        return grow(arena, capacity);
    if (capacity < arena->capacity)
        return shrink(arena, capacity);
    return CEBUS_PLACED;
}

cebus_place_result cebus_arena_resize(cebus_arena *arena, uint64_t capacity)
{
    uint64_t rounded = round_down(capacity, arena->alignment);
    cebus_place_result result = CEBUS_PLACED;
    if (!arena->commodity)
        result = resize(arena, rounded);
    else if (arena->used_bytes > rounded || rounded > arena->capacity)
        result = CEBUS_PLACE_FULL;
    if (result == CEBUS_PLACED)
        arena->limit = rounded;
    check_change(arena);
    return result;
}

cebus_place_result cebus_arena_init(cebus_arena *arena, uint64_t capacity, uint64_t alignment,
                                    cebus_pool *pool)
{
    assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
    *arena = (cebus_arena){.alignment = alignment, .pool = pool};
    cebus_bins_init(&arena->bins);
    return cebus_arena_resize(arena, capacity);
}

cebus_place_result cebus_arena_init_commodity(cebus_arena *arena, uint64_t limit, uint64_t capacity,
                                              uint64_t alignment, cebus_pool *pool)
{
    cebus_place_result result = cebus_arena_init(arena, capacity, alignment, pool);
    arena->commodity = true;
    arena->limit = round_down(limit, alignment);
    return result;
}

void cebus_arena_deinit(cebus_arena *arena)
{
    while (arena->first != NULL)
        delete_block(arena, arena->first);
    *arena = (cebus_arena){.alignment = arena->alignment, .pool = arena->pool};
}

/* Placing and releasing. */

/** Cuts `bytes` off one end of a larger hole. NULL when there is no memory for the record. */
static cebus_block *cut(cebus_arena *arena, cebus_block *hole, uint64_t bytes, bool at_low_end)
{
    cebus_block *block = new_block(arena);
    if (block == NULL)
        return NULL;
    uint64_t rest = hole->bytes - bytes;
    merge_fences(block, hole);
    block->bytes = bytes;
    if (at_low_end) {
        block->offset = hole->offset;
        change_hole(arena, hole, hole->offset + bytes, rest);
        link_before(arena, block, hole);
    } else {
        block->offset = hole->offset + rest;
        change_hole(arena, hole, hole->offset, rest);
        link_before(arena, block, hole->next);
    }
    return block;
}

static cebus_place_result take(cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                               cebus_zone zone, cebus_block **out)
{
    cebus_block *block = hole;
    if (hole->bytes == bytes)
        remove_hole(arena, hole);
    else
        block = cut(arena, hole, bytes, cebus_zone_grows_up(zone));
    if (block == NULL)
        return CEBUS_PLACE_NO_HOST_MEMORY;

    block->state = CEBUS_BLOCK_BARRIER;
    block->zone = (uint8_t)zone;
    block->weight = 0;
    block->tick = 0;
    arena->used_bytes += bytes;
    arena->used_blocks++;
    *out = block;
    check_change(arena);
    return CEBUS_PLACED;
}

cebus_place_result cebus_arena_place(cebus_arena *arena, uint64_t bytes, cebus_zone zone,
                                     cebus_block **out)
{
    *out = NULL;
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    if (rounded == 0)
        return CEBUS_PLACE_FULL;
    cebus_block *hole = cebus_bins_find(&arena->bins, rounded, cebus_zone_grows_up(zone));
    if (hole == NULL || rounded > cebus_arena_free_bytes(arena))
        return CEBUS_PLACE_FULL;
    return take(arena, hole, rounded, zone, out);
}

cebus_place_result cebus_arena_place_in(cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                                        cebus_zone zone, cebus_block **out)
{
    *out = NULL;
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    if (rounded == 0 || !is_free(hole) || hole->bytes < rounded ||
        rounded > cebus_arena_free_bytes(arena))
        return CEBUS_PLACE_FULL;
    return take(arena, hole, rounded, zone, out);
}

cebus_block *cebus_arena_release(cebus_arena *arena, cebus_block *block)
{
    assert(!is_free(block));
    arena->used_bytes -= block->bytes;
    arena->used_blocks--;
    cebus_block *prev = block->prev;
    if (is_free(prev)) {
        remove_hole(arena, prev);
        merge_fences(prev, block);
        prev->bytes += block->bytes;
        delete_block(arena, block);
        block = prev;
    }
    add_hole_merged(arena, block);
    check_change(arena);
    return block;
}

/* Questions. */

uint64_t cebus_arena_rounded(const cebus_arena *arena, uint64_t request)
{
    uint64_t rounded = 0;
    if (!cebus_checked_align(request != 0 ? request : 1, arena->alignment, &rounded))
        return 0;
    return rounded;
}

bool cebus_arena_fits(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    return rounded != 0 && rounded <= cebus_arena_free_bytes(arena) &&
           cebus_bins_find(&arena->bins, rounded, true) != NULL;
}

uint64_t cebus_arena_free_bytes(const cebus_arena *arena)
{
    return arena->limit - arena->used_bytes;
}

uint64_t cebus_arena_largest_hole(const cebus_arena *arena)
{
    const cebus_block *largest = cebus_bins_largest(&arena->bins);
    uint64_t bytes = largest != NULL ? largest->bytes : 0, left = cebus_arena_free_bytes(arena);
    return bytes < left ? bytes : left;
}

uint64_t cebus_arena_stranded_bytes(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t stranded = 0;
    if (arena->commodity)
        return 0;
    for (const cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (is_free(block) && block->bytes < bytes)
            stranded += block->bytes;
    }
    return stranded;
}

/* Compaction. */

/** The lowest movable block at or after `block` that has a hole right before it, or NULL. */
static cebus_block *next_to_move(cebus_block *block)
{
    while (block != NULL && (is_free(block) || block->immovable || !is_free(block->prev)))
        block = block->next;
    return block;
}

bool cebus_arena_next_move(const cebus_arena *arena, cebus_block *from, cebus_move *out)
{
    *out = (cebus_move){0};
    cebus_block *block = next_to_move(from != NULL ? from : arena->first);
    if (block == NULL)
        return false;
    *out = (cebus_move){.block = block, .from = block->offset, .to = block->prev->offset};
    return true;
}

void cebus_arena_move(cebus_arena *arena, const cebus_move *move)
{
    cebus_block *block = move->block, *hole = block->prev;
    remove_hole(arena, hole);
    unlink_block(arena, block);
    link_before(arena, block, hole);
    block->offset = move->to;
    hole->offset = block->offset + block->bytes;
    add_hole_merged(arena, hole);
    check_change(arena);
}
