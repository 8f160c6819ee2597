#include "layout/arena.h"

#include <assert.h>

#include "layout/arena_blocks.h"
#include "layout/checked.h"
#include "layout/segments.h"

/** The run of a zoned arena: a share of the limit, this at most, and none at all below the least;
 * and the share of it that a small block has at most. */
#define RUN_PART 1024
#define RUN_LEAST (UINT64_C(64) << 10)
#define RUN_MOST (UINT64_C(10) << 20)
#define SMALL_PART 32
#define SMALL_MOST (UINT64_C(10) << 10)
#define NO_BORDER UINT64_MAX

/** From this limit on there is no factor: memory as a number has addresses enough. */
#define MANY_ADDRESSES (UINT64_C(1) << 40)

/* Life and size. */

static uint64_t round_down(uint64_t bytes, uint64_t alignment)
{
    return bytes & ~(alignment - 1);
}

static void change_hole(cebus_arena *arena, cebus_block *hole, uint64_t offset, uint64_t bytes)
{
    cebus_arena_remove_hole(arena, hole);
    hole->offset = offset;
    hole->bytes = bytes;
    cebus_arena_add_hole(arena, hole);
}

/** Appends [arena->capacity, capacity) as free space. */
static cebus_place_result grow(cebus_arena *arena, uint64_t capacity)
{
    uint64_t more = capacity - arena->capacity;
    cebus_block *last = arena->last;
    if (cebus_block_is_free(last)) {
        change_hole(arena, last, last->offset, last->bytes + more);
    } else {
        cebus_block *block = cebus_arena_new_block(arena);
        if (block == NULL)
            return CEBUS_PLACE_NO_HOST_MEMORY;
        block->offset = arena->capacity;
        block->bytes = more;
        cebus_arena_link(arena, block, NULL);
        cebus_arena_add_hole(arena, block);
    }
    arena->capacity = capacity;
    return CEBUS_PLACED;
}

static cebus_place_result shrink(cebus_arena *arena, uint64_t capacity)
{
    cebus_block *last = arena->last;
    if (!cebus_block_is_free(last) || last->offset > capacity)
        return CEBUS_PLACE_FULL;
    if (last->offset < capacity) {
        change_hole(arena, last, last->offset, capacity - last->offset);
    } else {
        cebus_arena_remove_hole(arena, last);
        cebus_arena_delete_block(arena, last);
    }
    arena->capacity = capacity;
    return CEBUS_PLACED;
}

static cebus_place_result resize(cebus_arena *arena, uint64_t capacity)
{
    bool at_end = arena->untouched_end == arena->capacity;
    cebus_place_result result = CEBUS_PLACED;
    if (capacity > arena->capacity)
        result = grow(arena, capacity);
    else if (capacity < arena->capacity)
        result = shrink(arena, capacity);
    if (at_end || arena->untouched_end > arena->capacity)
        arena->untouched_end = arena->capacity;
    if (arena->untouched > arena->untouched_end)
        arena->untouched = arena->untouched_end;
    return result;
}

/** Holes change their bins with the border. */
static void move_border(cebus_arena *arena, uint64_t border)
{
    if (border == arena->border)
        return;
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (cebus_block_is_free(block))
            cebus_bins_remove(cebus_arena_bins_of(arena, block), block);
    }
    arena->border = border;
    arena->straddler = NULL;
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (!cebus_block_is_free(block))
            continue;
        cebus_bins_insert(cebus_arena_bins_of(arena, block), block);
        if (cebus_arena_straddles(arena, block))
            arena->straddler = block;
    }
}

void cebus_arena_set_run(cebus_arena *arena, uint64_t run_bytes, uint64_t small_most)
{
    uint64_t run = round_down(run_bytes, arena->alignment);
    bool has_run = small_most >= arena->alignment && run > 0 && run < arena->capacity;
    arena->small_most = has_run ? small_most : 0;
    move_border(arena, has_run ? arena->capacity - run : NO_BORDER);
}

static void suit_run(cebus_arena *arena)
{
    uint64_t run = arena->capacity / RUN_PART;
    run = run < RUN_MOST ? run : RUN_MOST;
    uint64_t small = run / SMALL_PART;
    cebus_arena_set_run(arena, run >= RUN_LEAST ? run : 0, small < SMALL_MOST ? small : SMALL_MOST);
}

void cebus_arena_plan_below(cebus_arena *arena, uint64_t border)
{
    uint64_t rest = border < arena->capacity ? arena->capacity - border : 0;
    if (border != 0)
        cebus_arena_set_run(arena, rest, UINT64_MAX);
    else if (arena->runs)
        suit_run(arena);
    else
        cebus_arena_set_run(arena, 0, 0);
}

/** The limit where there are more addresses than bytes. */
static cebus_place_result relimit(cebus_arena *arena, uint64_t limit)
{
    uint64_t held = arena->commodity ? arena->used_bytes : arena->mapped_bytes;
    uint64_t most = arena->commodity ? arena->capacity : cebus_segments_most(arena);
    return held > limit || limit > most ? CEBUS_PLACE_FULL : CEBUS_PLACED;
}

cebus_place_result cebus_arena_resize(cebus_arena *arena, uint64_t capacity)
{
    uint64_t rounded = round_down(capacity, arena->alignment);
    cebus_place_result result = CEBUS_PLACED;
    if (arena->layout->extend != NULL && arena->mapped_bytes > rounded)
        result = cebus_segments_trim(arena);
    if (result == CEBUS_PLACED && arena->layout->address_factor > 1)
        result = relimit(arena, rounded);
    else if (result == CEBUS_PLACED)
        result = resize(arena, rounded);
    if (result == CEBUS_PLACED)
        arena->limit = rounded;
    if (result == CEBUS_PLACED && arena->runs)
        suit_run(arena);
    if (result == CEBUS_PLACED && arena->layout->extend != NULL)
        cebus_segments_suit(arena, rounded);
    cebus_arena_check_change(arena);
    return result;
}

static void begin(cebus_arena *arena, const cebus_layout *layout, uint64_t alignment,
                  cebus_pool *pool)
{
    assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
    *arena = (cebus_arena){.layout = layout,
                           .maps = layout->extend != NULL,
                           .alignment = alignment,
                           .pool = pool,
                           .border = NO_BORDER};
    cebus_bins_init(&arena->bins);
    cebus_bins_init(&arena->upper);
}

cebus_place_result cebus_arena_init(cebus_arena *arena, uint64_t capacity, uint64_t alignment,
                                    cebus_pool *pool)
{
    begin(arena, cebus_layout_find(NULL), alignment, pool);
    return cebus_arena_resize(arena, capacity);
}

cebus_place_result cebus_arena_init_commodity(cebus_arena *arena, uint64_t limit, uint64_t capacity,
                                              uint64_t alignment, cebus_pool *pool)
{
    cebus_place_result result = cebus_arena_init(arena, capacity, alignment, pool);
    arena->layout = cebus_layout_find("commodity");
    arena->commodity = true;
    arena->limit = round_down(limit, alignment);
    return result;
}

uint64_t cebus_arena_addresses(const cebus_arena_setup *setup)
{
    const cebus_layout *layout = setup->layout;
    uint64_t most = setup->most > setup->limit ? setup->most : setup->limit;
    if (layout == NULL || layout->address_factor == 1)
        return most;
    if (layout->extend != NULL)
        return cebus_segments_addresses(most, setup->alignment);
    return most < MANY_ADDRESSES ? layout->address_factor * most : most;
}

cebus_place_result cebus_arena_open(cebus_arena *arena, const cebus_arena_setup *setup,
                                    cebus_pool *pool)
{
    const cebus_layout *layout = setup->layout != NULL ? setup->layout : cebus_layout_find(NULL);
    if (layout->is_number)
        return cebus_arena_init_commodity(arena, setup->limit, cebus_arena_addresses(setup),
                                          setup->alignment, pool);
    begin(arena, layout, setup->alignment, pool);
    if (layout->extend != NULL)
        return cebus_segments_begin(arena, setup->limit, cebus_arena_addresses(setup));
    arena->runs = layout->has_run;
    return cebus_arena_resize(arena, setup->limit);
}

void cebus_arena_deinit(cebus_arena *arena)
{
    cebus_window_index_destroy(arena->index);
    while (arena->first != NULL)
        cebus_arena_delete_block(arena, arena->first);
    *arena = (cebus_arena){.layout = arena->layout,
                           .maps = arena->maps,
                           .alignment = arena->alignment,
                           .pool = arena->pool,
                           .border = NO_BORDER};
}

/* Placing and releasing. */

/**
 * Cuts a spot out of its hole: what is left below it keeps the hole's record, else what is left
 * above it does; `rest` is a record for the second of two rests. All records are there: it cannot
 * fail.
 */
static void cut(cebus_arena *arena, const cebus_spot *spot, cebus_block *block, cebus_block *rest)
{
    cebus_block *hole = spot->hole;
    uint64_t low = spot->offset - hole->offset, high = hole->bytes - low - spot->bytes;
    block->offset = spot->offset;
    block->bytes = spot->bytes;
    cebus_arena_merge_fences(block, hole);
    if (low == 0) {
        hole->offset += spot->bytes;
        hole->bytes = high;
        cebus_arena_link(arena, block, hole);
    } else {
        hole->bytes = low;
        cebus_arena_link(arena, block, hole->next);
    }
    if (rest != NULL) {
        rest->offset = spot->offset + spot->bytes;
        rest->bytes = high;
        cebus_arena_merge_fences(rest, hole);
        cebus_arena_link(arena, rest, block->next);
        cebus_arena_add_hole(arena, rest);
    }
    cebus_arena_add_hole(arena, hole);
}

bool cebus_arena_take(cebus_arena *arena, const cebus_spot *spot, cebus_block **out)
{
    cebus_block *hole = spot->hole, *block = hole, *rest = NULL;
    bool low = spot->offset > hole->offset;
    bool high = hole->offset + hole->bytes > spot->offset + spot->bytes;
    if (low || high)
        block = cebus_arena_new_block(arena);
    if (low && high && block != NULL)
        rest = cebus_arena_new_block(arena);
    if (block == NULL || (low && high && rest == NULL)) {
        cebus_arena_free_block(arena, block);
        return false;
    }
    cebus_arena_remove_hole(arena, hole);
    if (block != hole)
        cut(arena, spot, block, rest);
    else
        cebus_window_index_cheaper(arena->index, block); /* no hole any more, and of no age yet */
    block->state = CEBUS_BLOCK_BARRIER;
    block->weight = CEBUS_WEIGHT_WALL;
    block->tick = 0;
    block->haste = 0;
    cebus_arena_touch(arena, block);
    *out = block;
    return true;
}

static cebus_place_result take(cebus_arena *arena, const cebus_spot *spot, cebus_zone zone,
                               cebus_block **out)
{
    if (!cebus_arena_take(arena, spot, out))
        return CEBUS_PLACE_NO_HOST_MEMORY;
    (*out)->zone = (uint8_t)zone;
    arena->used_bytes += spot->bytes;
    arena->used_blocks++;
    cebus_arena_check_change(arena);
    return CEBUS_PLACED;
}

cebus_place_result cebus_arena_place(cebus_arena *arena, uint64_t bytes, cebus_zone zone,
                                     cebus_block **out)
{
    cebus_spot spot;
    bool no_memory = false;
    const cebus_layout *layout = arena->layout;
    *out = NULL;
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    if (rounded == 0 || rounded > cebus_arena_free_bytes(arena))
        return CEBUS_PLACE_FULL;
    layout->find(arena, rounded, zone, &spot);
    if (spot.hole == NULL && layout->extend != NULL && layout->extend(arena, rounded, &no_memory))
        layout->find(arena, rounded, zone, &spot);
    if (no_memory)
        return CEBUS_PLACE_NO_HOST_MEMORY;
    return spot.hole != NULL ? take(arena, &spot, zone, out) : CEBUS_PLACE_FULL;
}

static cebus_block *hole_around(const cebus_arena *arena, uint64_t offset, uint64_t rounded)
{
    assert(offset % arena->alignment == 0);
    if (rounded == 0 || rounded > cebus_arena_free_bytes(arena) || arena->maps)
        return NULL;
    cebus_block *hole = cebus_bins_around(&arena->bins, offset, rounded);
    return hole != NULL ? hole : cebus_bins_around(&arena->upper, offset, rounded);
}

bool cebus_arena_fits_at(const cebus_arena *arena, uint64_t offset, uint64_t bytes)
{
    return hole_around(arena, offset, cebus_arena_rounded(arena, bytes)) != NULL;
}

cebus_place_result cebus_arena_place_at(cebus_arena *arena, uint64_t offset, uint64_t bytes,
                                        cebus_zone zone, cebus_block **out)
{
    *out = NULL;
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    cebus_spot spot = {hole_around(arena, offset, rounded), offset, rounded};
    return spot.hole != NULL ? take(arena, &spot, zone, out) : CEBUS_PLACE_FULL;
}

cebus_block *cebus_arena_block_at(const cebus_arena *arena, uint64_t offset)
{
    cebus_block *block = arena->first;
    while (block != NULL && block->offset + block->bytes <= offset)
        block = block->next;
    return block;
}

cebus_place_result cebus_arena_place_in(cebus_arena *arena, cebus_block *hole, uint64_t bytes,
                                        cebus_zone zone, cebus_block **out)
{
    cebus_spot spot;
    *out = NULL;
    if (arena->layout->within == NULL)
        return cebus_arena_place(arena, bytes, zone, out);
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    if (rounded == 0 || !cebus_block_is_free(hole) || hole->bytes < rounded ||
        rounded > cebus_arena_free_bytes(arena))
        return CEBUS_PLACE_FULL;
    arena->layout->within(arena, hole, rounded, zone, &spot);
    return take(arena, &spot, zone, out);
}

cebus_block *cebus_arena_release(cebus_arena *arena, cebus_block *block)
{
    assert(!cebus_block_is_free(block));
    arena->used_bytes -= block->bytes;
    arena->used_blocks--;
    cebus_block *prev = block->prev;
    if (cebus_block_is_free(prev)) {
        cebus_arena_remove_hole(arena, prev);
        cebus_arena_merge_fences(prev, block);
        prev->bytes += block->bytes;
        cebus_arena_delete_block(arena, block);
        block = prev;
    }
    cebus_arena_add_hole_merged(arena, block);
    cebus_arena_check_change(arena);
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
    cebus_spot spot;
    const cebus_layout *layout = arena->layout;
    uint64_t rounded = cebus_arena_rounded(arena, bytes);
    if (rounded == 0 || rounded > cebus_arena_free_bytes(arena))
        return false;
    layout->find(arena, rounded, CEBUS_ZONE_CHEAP, &spot);
    return spot.hole != NULL || (layout->can_extend != NULL && layout->can_extend(arena, rounded));
}

bool cebus_arena_has_windows(const cebus_arena *arena)
{
    return !arena->commodity && arena->layout->extend == NULL;
}

uint64_t cebus_arena_free_bytes(const cebus_arena *arena)
{
    return arena->limit - arena->used_bytes;
}

static uint64_t bytes_of(const cebus_block *block)
{
    return block != NULL ? block->bytes : 0;
}

uint64_t cebus_arena_largest_hole(const cebus_arena *arena)
{
    uint64_t left = cebus_arena_free_bytes(arena);
    uint64_t low = bytes_of(cebus_bins_largest(&arena->bins));
    uint64_t high = bytes_of(cebus_bins_largest(&arena->upper));
    uint64_t most = low > high ? low : high;
    if (arena->layout->extend != NULL) {
        uint64_t fresh = cebus_segments_mappable(arena);
        most = most > fresh ? most : fresh;
    }
    return most < left ? most : left;
}

uint64_t cebus_arena_largest_hole_for(const cebus_arena *arena, uint64_t bytes)
{
    if (arena->layout->extend == NULL)
        return cebus_arena_largest_hole(arena);
    return cebus_segments_largest_hole(arena, bytes);
}

uint64_t cebus_arena_stranded_bytes(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t stranded = 0;
    if (arena->commodity)
        return 0;
    if (arena->layout->extend != NULL)
        return cebus_segments_stranded(arena, bytes);
    if (bytes_of(cebus_bins_largest(&arena->bins)) < bytes &&
        bytes_of(cebus_bins_largest(&arena->upper)) < bytes)
        return arena->capacity - arena->used_bytes;
    for (const cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (cebus_block_is_free(block) && block->bytes < bytes)
            stranded += block->bytes;
    }
    return stranded;
}
