#include "layout/gather.h"

#include <stdlib.h>

/** So many holes, at most, are looked at without what lies between them, which takes a sweep; and
 * no more than one for so many used blocks: they have to be sorted. */
#define HOLES_MOST 128
#define HOLES_PART 8

/** Blocks first..last of the sweep: both free, or none at all. */
typedef struct run {
    cebus_block *first, *last;
    uint64_t free_bytes, used_bytes, used_blocks;
} run;

/** Leaves out the first hole and what moves only because of it. */
static void drop_first(run *r)
{
    r->free_bytes -= r->first->bytes;
    do {
        r->first = r->first->next;
        if (r->first->state != CEBUS_BLOCK_FREE) {
            r->used_bytes -= r->first->bytes;
            r->used_blocks--;
        }
    } while (r->first->state != CEBUS_BLOCK_FREE);
}

static void take_hole(run *r, cebus_block *hole, const run *before)
{
    if (r->first == NULL) {
        *r = (run){.first = hole};
    } else {
        r->used_bytes += before->used_bytes;
        r->used_blocks += before->used_blocks;
    }
    r->last = hole;
    r->free_bytes += hole->bytes;
}

static void keep_better(const run *r, cebus_gather *best)
{
    if (best->first == NULL || r->used_bytes < best->moved_bytes)
        *best = (cebus_gather){r->first, r->last, r->used_bytes, r->used_blocks};
}

static bool ends_runs(const cebus_block *block, const cebus_gather_bar *bar)
{
    return (block->immovable && block->state != CEBUS_BLOCK_FREE) ||
           (bar != NULL && bar->bars(bar->context, block));
}

/** One sweep. */
static void find_among_blocks(const cebus_arena *arena, uint64_t bytes, const cebus_gather_bar *bar,
                              cebus_gather *out)
{
    run r = {0}, between = {0}; /* the run so far; what is used since its last hole */
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (ends_runs(block, bar)) {
            r = between = (run){0};
        } else if (block->state != CEBUS_BLOCK_FREE) {
            between.used_bytes += block->bytes;
            between.used_blocks++;
        } else {
            take_hole(&r, block, &between);
            between = (run){0};
            while (r.free_bytes - r.first->bytes >= bytes)
                drop_first(&r);
            if (r.free_bytes >= bytes)
                keep_better(&r, out);
        }
    }
}

static int by_offset(const void *a, const void *b)
{
    const cebus_block *one = *(cebus_block *const *)a, *other = *(cebus_block *const *)b;
    return (one->offset > other->offset) - (one->offset < other->offset);
}

/** As if all blocks moved: what lies between two holes is told by their addresses. */
static void find_among_holes(cebus_block **holes, size_t count, uint64_t bytes, cebus_gather *out)
{
    uint64_t idle = 0;
    for (size_t first = 0, last = 0; last < count; last++) {
        idle += holes[last]->bytes;
        while (idle - holes[first]->bytes >= bytes)
            idle -= holes[first++]->bytes;
        uint64_t moved = holes[last]->offset + holes[last]->bytes - holes[first]->offset - idle;
        if (idle >= bytes && (out->first == NULL || moved < out->moved_bytes))
            *out = (cebus_gather){holes[first], holes[last], moved, 0};
    }
}

/** Counts what moves; false: something in the run must not. */
static bool count_moves(cebus_gather *found)
{
    for (const cebus_block *block = found->first; block != found->last; block = block->next) {
        if (block->state == CEBUS_BLOCK_FREE)
            continue;
        if (block->immovable)
            return false;
        found->moved_blocks++;
    }
    return true;
}

/** By the holes alone. Where the best run by them can move it is the best; else false. */
static bool find_by_holes(const cebus_arena *arena, uint64_t bytes, cebus_gather *out)
{
    cebus_block *holes[HOLES_MOST];
    if (arena->free_blocks > HOLES_MOST || arena->free_blocks > arena->used_blocks / HOLES_PART)
        return false;
    size_t count = cebus_bins_list(&arena->bins, holes);
    count += cebus_bins_list(&arena->upper, holes + count);
    qsort(holes, count, sizeof *holes, by_offset);
    find_among_holes(holes, count, bytes, out);
    return out->first == NULL || count_moves(out);
}

bool cebus_gather_find(const cebus_arena *arena, uint64_t bytes, cebus_gather *out)
{
    *out = (cebus_gather){0};
    if (!arena->layout->moves)
        return false;
    if (find_by_holes(arena, bytes, out))
        return out->first != NULL;
    *out = (cebus_gather){0};
    find_among_blocks(arena, bytes, NULL, out);
    return out->first != NULL;
}

bool cebus_gather_find_between(const cebus_arena *arena, uint64_t bytes,
                               const cebus_gather_bar *bar, cebus_gather *out)
{
    *out = (cebus_gather){0};
    if (arena->layout->moves)
        find_among_blocks(arena, bytes, bar, out);
    return out->first != NULL;
}
