#include "layout/segments.h"

#include "layout/arena_blocks.h"
#include "layout/number.h"

/** Bytes of a page, a small request, a middle one, its segment, and what requests round to. */
#define PAGE (UINT64_C(2) << 20)
#define SMALL (UINT64_C(1) << 20)
#define MIDDLE (UINT64_C(10) << 20)
#define MIDDLE_SEGMENT (UINT64_C(20) << 20)
#define UNIT UINT64_C(512)

/** A limit holds as many pages at least, or pages are made smaller. */
#define LEAST_PAGES 128

/** Pages that no pool needs: guards at both ends. */
#define SPARE_PAGES 4

static uint64_t round_down(uint64_t bytes, uint64_t unit)
{
    return bytes / unit * unit;
}

/** The sizes for a limit. */
static cebus_segment_rules rules_for(uint64_t limit, uint64_t alignment)
{
    uint64_t halved = 1, least = cebus_max_u64(alignment, UNIT);
    while (PAGE / halved > limit / LEAST_PAGES && PAGE / halved > least)
        halved *= 2;
    return (cebus_segment_rules){.unit = cebus_max_u64(UNIT / halved, alignment),
                                 .page = PAGE / halved,
                                 .small_most = SMALL / halved,
                                 .middle_most = MIDDLE / halved,
                                 .middle_segment = MIDDLE_SEGMENT / halved};
}

uint64_t cebus_segments_addresses(uint64_t most, uint64_t alignment)
{
    return 4 * cebus_round_up_u64(most + SPARE_PAGES * PAGE, cebus_max_u64(PAGE, alignment));
}

uint64_t cebus_segments_most(const cebus_arena *arena)
{
    return arena->border / 2 - SPARE_PAGES * PAGE;
}

static bool add_unmapped(cebus_arena *arena, uint64_t offset, uint64_t bytes)
{
    cebus_block *block = cebus_arena_new_block(arena);
    if (block == NULL)
        return false;
    block->offset = offset;
    block->bytes = bytes;
    block->state = CEBUS_BLOCK_BARRIER;
    block->unmapped = block->immovable = true;
    cebus_arena_link(arena, block, NULL);
    return true;
}

cebus_place_result cebus_segments_begin(cebus_arena *arena, uint64_t limit, uint64_t addresses)
{
    arena->rules = rules_for(limit, arena->alignment);
    arena->limit = round_down(limit, arena->alignment);
    arena->border = addresses / 2;
    arena->capacity = addresses;
    if (add_unmapped(arena, 0, arena->border) && add_unmapped(arena, arena->border, arena->border))
        return CEBUS_PLACED;
    cebus_arena_deinit(arena);
    return CEBUS_PLACE_NO_HOST_MEMORY;
}

/* Bytes behind addresses. */

static bool is_unmapped(const cebus_block *block)
{
    return block != NULL && block->unmapped;
}

void cebus_segments_suit(cebus_arena *arena, uint64_t limit)
{
    cebus_segment_rules rules = rules_for(limit, arena->alignment);
    if (arena->mapped_bytes > 0 && rules.page >= arena->rules.page)
        return;
    arena->rules = rules;
    arena->idle_bytes = 0;
    for (const cebus_block *block = arena->first; block != NULL; block = block->next)
        arena->idle_bytes +=
            cebus_block_is_free(block) ? arena->layout->idle_bytes(arena, block) : 0;
}

/** Splits [offset, offset + bytes) off an unmapped block; NULL without host memory. */
static cebus_block *split_unmapped(cebus_arena *arena, cebus_block *block, uint64_t offset,
                                   uint64_t bytes)
{
    uint64_t low = offset - block->offset, high = block->bytes - low - bytes;
    cebus_block *part = low > 0 ? cebus_arena_new_block(arena) : block;
    cebus_block *rest = high > 0 ? cebus_arena_new_block(arena) : NULL;
    if (part == NULL || (high > 0 && rest == NULL)) {
        if (part != NULL && part != block)
            cebus_pool_free_object(arena->pool, part, sizeof *part);
        if (rest != NULL)
            cebus_pool_free_object(arena->pool, rest, sizeof *rest);
        return NULL;
    }
    if (part != block) {
        *part = *block;
        block->bytes = low;
        cebus_arena_link(arena, part, block->next);
    }
    if (rest != NULL) {
        *rest = *block;
        rest->offset = offset + bytes;
        rest->bytes = high;
        cebus_arena_link(arena, rest, part->next);
    }
    part->offset = offset;
    part->bytes = bytes;
    return part;
}

/** Part of an unmapped block becomes free, and one with what is free beside it: that block, or NULL
 * without host memory. */
static cebus_block *map(cebus_arena *arena, cebus_block *block, uint64_t offset, uint64_t bytes)
{
    cebus_block *part = split_unmapped(arena, block, offset, bytes);
    if (part == NULL)
        return NULL;
    cebus_block *prev = part->prev;
    part->unmapped = false;
    arena->mapped_bytes += bytes;
    if (cebus_block_is_free(prev)) {
        cebus_arena_remove_hole(arena, prev);
        cebus_arena_merge_fences(prev, part);
        prev->bytes += part->bytes;
        cebus_arena_delete_block(arena, part);
        part = prev;
    }
    cebus_arena_add_hole_merged(arena, part);
    return part;
}

/** Two unmapped neighbours of one pool become one. */
static cebus_block *merge_unmapped(cebus_arena *arena, cebus_block *block)
{
    cebus_block *next = block->next;
    if (is_unmapped(next) && next->offset != arena->border) {
        cebus_arena_merge_fences(block, next);
        block->bytes += next->bytes;
        cebus_arena_delete_block(arena, next);
    }
    cebus_block *prev = block->prev;
    if (!is_unmapped(prev) || block->offset == arena->border)
        return block;
    cebus_arena_merge_fences(prev, block);
    prev->bytes += block->bytes;
    cebus_arena_delete_block(arena, block);
    return prev;
}

/** Part of a hole loses its bytes; answers the unmapped block, NULL without host memory. */
static cebus_block *unmap(cebus_arena *arena, cebus_block *hole, uint64_t offset, uint64_t bytes)
{
    cebus_block *block;
    cebus_spot spot = {hole, offset, bytes};
    if (!cebus_arena_take(arena, &spot, &block))
        return NULL;
    block->unmapped = block->immovable = true;
    arena->mapped_bytes -= bytes;
    if (arena->on_unmap != NULL)
        arena->on_unmap(arena->on_unmap_context, offset, bytes);
    return merge_unmapped(arena, block);
}

static uint64_t first_idle(const cebus_arena *arena, const cebus_block *hole)
{
    bool by_page = arena->layout->extend == cebus_segments_grow;
    return by_page ? cebus_round_up_u64(hole->offset, arena->rules.page) : hole->offset;
}

cebus_place_result cebus_segments_trim(cebus_arena *arena)
{
    cebus_block *block = arena->first;
    while (block != NULL && arena->idle_bytes > 0) {
        uint64_t idle = cebus_block_is_free(block) ? arena->layout->idle_bytes(arena, block) : 0;
        if (idle > 0)
            block = unmap(arena, block, first_idle(arena, block), idle);
        if (block == NULL)
            return CEBUS_PLACE_NO_HOST_MEMORY;
        block = block->next;
    }
    return CEBUS_PLACED;
}

uint64_t cebus_segments_mappable(const cebus_arena *arena)
{
    return arena->limit - arena->mapped_bytes + arena->idle_bytes;
}

/* Where a request goes. */

static bool is_expandable(const cebus_arena *arena)
{
    return arena->layout->extend == cebus_segments_grow;
}

static bool is_small(const cebus_arena *arena, uint64_t bytes)
{
    return bytes <= arena->rules.small_most;
}

/** What is mapped for a request that no free block is large enough for. */
static uint64_t segment_bytes(const cebus_arena *arena, uint64_t bytes)
{
    const cebus_segment_rules *rules = &arena->rules;
    if (!is_expandable(arena) && !is_small(arena, bytes) && bytes < rules->middle_most)
        return rules->middle_segment;
    return cebus_round_up_u64(bytes, rules->page);
}

void cebus_segments_find(const cebus_arena *arena, uint64_t bytes, cebus_zone zone, cebus_spot *out)
{
    uint64_t length = cebus_round_up_u64(bytes, arena->rules.unit);
    bool small = is_small(arena, length);
    cebus_block *hole = cebus_bins_find(small ? &arena->upper : &arena->bins, length, true);
    (void)zone;
    *out = (cebus_spot){0};
    if (hole == NULL)
        return;
    if (!small && !is_expandable(arena) && hole->bytes - length <= arena->rules.small_most)
        length = hole->bytes; /* too little to split off */
    *out = (cebus_spot){hole, hole->offset, length};
}

/** Maps room for a request; true when find will find it. */
static bool trim_for(cebus_arena *arena, uint64_t bytes, bool *out_no_memory)
{
    if (bytes > arena->limit - arena->mapped_bytes)
        *out_no_memory = cebus_segments_trim(arena) != CEBUS_PLACED;
    return !*out_no_memory;
}

/* Segments. */

uint64_t cebus_segments_idle_whole(const cebus_arena *arena, const cebus_block *hole)
{
    (void)arena;
    return is_unmapped(hole->prev) && is_unmapped(hole->next) ? hole->bytes : 0;
}

bool cebus_segments_can_extend(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t length = cebus_round_up_u64(bytes, arena->rules.unit);
    return segment_bytes(arena, length) <= cebus_segments_mappable(arena);
}

/** The lowest unmapped block of the pool with room for a segment between two guards. */
static cebus_block *find_addresses(const cebus_arena *arena, uint64_t bytes, bool small)
{
    uint64_t wanted = bytes + 2 * arena->rules.page;
    cebus_block *block = arena->first;
    while (block != NULL && !(block->unmapped && block->bytes >= wanted &&
                              small == (block->offset >= arena->border)))
        block = block->next;
    return block;
}

bool cebus_segments_extend(cebus_arena *arena, uint64_t bytes, bool *out_no_memory)
{
    uint64_t length = cebus_round_up_u64(bytes, arena->rules.unit);
    uint64_t segment = segment_bytes(arena, length);
    if (segment > cebus_segments_mappable(arena) || !trim_for(arena, segment, out_no_memory))
        return false;
    cebus_block *block = find_addresses(arena, segment, is_small(arena, length));
    if (block == NULL)
        return false;
    *out_no_memory = map(arena, block, block->offset + arena->rules.page, segment) == NULL;
    return !*out_no_memory;
}

/* Pages. */

uint64_t cebus_segments_idle_pages(const cebus_arena *arena, const cebus_block *hole)
{
    uint64_t from = cebus_round_up_u64(hole->offset, arena->rules.page);
    uint64_t to = round_down(hole->offset + hole->bytes, arena->rules.page);
    return to > from ? to - from : 0;
}

/** The first block of the pool's lowest stretch of `length` free or unmapped bytes, and what must
 * be mapped of it; NULL: there is none. */
static cebus_block *find_stretch(const cebus_arena *arena, uint64_t length, uint64_t *out_unmapped)
{
    bool small = is_small(arena, length);
    uint64_t bytes = 0, unmapped = 0;
    cebus_block *first = NULL;
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (small != (block->offset >= arena->border))
            continue;
        if (!block->unmapped && !cebus_block_is_free(block)) {
            first = NULL;
            continue;
        }
        if (first == NULL) {
            first = block;
            bytes = unmapped = 0;
        }
        uint64_t left = length - bytes, taken = block->bytes < left ? block->bytes : left;
        if (block->unmapped)
            unmapped += cebus_round_up_u64(taken, arena->rules.page);
        bytes += taken;
        *out_unmapped = unmapped;
        if (bytes == length)
            return first;
    }
    return NULL;
}

bool cebus_segments_can_grow(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t unmapped, length = cebus_round_up_u64(bytes, arena->rules.unit);
    if (segment_bytes(arena, length) <= cebus_segments_mappable(arena))
        return true;
    return find_stretch(arena, length, &unmapped) != NULL &&
           unmapped <= arena->limit - arena->mapped_bytes;
}

/** Maps the unmapped blocks of a stretch; a part of them only where memory for books ran out. */
static bool map_stretch(cebus_arena *arena, cebus_block *block, uint64_t length)
{
    uint64_t end = block->offset + length;
    while (block != NULL && block->offset < end) {
        uint64_t bytes = cebus_round_up_u64(end - block->offset, arena->rules.page);
        if (block->unmapped)
            block = map(arena, block, block->offset, block->bytes < bytes ? block->bytes : bytes);
        if (block == NULL)
            return false;
        block = block->next;
    }
    return true;
}

bool cebus_segments_grow(cebus_arena *arena, uint64_t bytes, bool *out_no_memory)
{
    uint64_t unmapped = 0, length = cebus_round_up_u64(bytes, arena->rules.unit);
    cebus_block *first = find_stretch(arena, length, &unmapped);
    if (first == NULL)
        return false;
    if (unmapped > arena->limit - arena->mapped_bytes) {
        uint64_t most = segment_bytes(arena, length);
        if (most > cebus_segments_mappable(arena) || !trim_for(arena, most, out_no_memory))
            return false;
        first = find_stretch(arena, length, &unmapped);
    }
    *out_no_memory = first != NULL && !map_stretch(arena, first, length);
    return first != NULL && !*out_no_memory;
}

/* Questions. */

/** Bytes that mapping could yield to a request of this size. */
static uint64_t fresh_bytes(const cebus_arena *arena, uint64_t length)
{
    uint64_t mappable = cebus_segments_mappable(arena);
    if (segment_bytes(arena, length) > mappable && !is_expandable(arena) &&
        length < arena->rules.middle_most)
        return 0;
    if (is_small(arena, length) && !is_expandable(arena))
        return arena->rules.page;
    return round_down(mappable, arena->rules.page);
}

uint64_t cebus_segments_largest_hole(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t length = cebus_round_up_u64(bytes, arena->rules.unit);
    uint64_t left = arena->limit - arena->used_bytes;
    const cebus_block *hole =
        cebus_bins_largest(is_small(arena, length) ? &arena->upper : &arena->bins);
    uint64_t most = cebus_max_u64(fresh_bytes(arena, length), hole != NULL ? hole->bytes : 0);
    return most < left ? most : left;
}

uint64_t cebus_segments_stranded(const cebus_arena *arena, uint64_t bytes)
{
    uint64_t length = cebus_round_up_u64(bytes, arena->rules.unit);
    uint64_t left = arena->limit - arena->used_bytes;
    bool small = is_small(arena, length);
    bool maps = segment_bytes(arena, length) <= cebus_segments_mappable(arena);
    uint64_t usable = maps ? arena->limit - arena->mapped_bytes : 0;
    for (const cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (!cebus_block_is_free(block))
            continue;
        if (block->bytes >= length && small == (block->offset >= arena->border))
            usable += block->bytes;
        else if (maps)
            usable += arena->layout->idle_bytes(arena, block);
    }
    return left > usable ? left - usable : 0;
}
