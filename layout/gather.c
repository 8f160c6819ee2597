#include "layout/gather.h"

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

bool cebus_gather_find(const cebus_arena *arena, uint64_t bytes, cebus_gather *out)
{
    run r = {0}, between = {0}; /* the run so far; what is used since its last hole */
    *out = (cebus_gather){0};
    if (!arena->layout->moves)
        return false;
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (block->immovable && block->state != CEBUS_BLOCK_FREE) {
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
    return out->first != NULL;
}
