#include "layout/gather.h"

/** Blocks first..last of the sweep: both free, or none at all. */
typedef struct run {
    cebus_block *first, *last;
    uint64_t free_bytes, used_bytes;
} run;

/** Leaves out the first hole and what moves only because of it. */
static void drop_first(run *r)
{
    r->free_bytes -= r->first->bytes;
    do {
        r->first = r->first->next;
        if (r->first->state != CEBUS_BLOCK_FREE)
            r->used_bytes -= r->first->bytes;
    } while (r->first->state != CEBUS_BLOCK_FREE);
}

static void take_hole(run *r, cebus_block *hole, uint64_t used_before)
{
    if (r->first == NULL)
        *r = (run){.first = hole};
    else
        r->used_bytes += used_before;
    r->last = hole;
    r->free_bytes += hole->bytes;
}

static void keep_better(const run *r, cebus_gather *best)
{
    if (best->first == NULL || r->used_bytes < best->moved_bytes)
        *best = (cebus_gather){r->first, r->last, r->used_bytes};
}

bool cebus_gather_find(const cebus_arena *arena, uint64_t bytes, cebus_gather *out)
{
    run r = {0};
    uint64_t used = 0; /* since the last hole */
    *out = (cebus_gather){0};
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        if (block->immovable && block->state != CEBUS_BLOCK_FREE) {
            r = (run){0};
            used = 0;
        } else if (block->state != CEBUS_BLOCK_FREE) {
            used += block->bytes;
        } else {
            take_hole(&r, block, used);
            used = 0;
            while (r.free_bytes - r.first->bytes >= bytes)
                drop_first(&r);
            if (r.free_bytes >= bytes)
                keep_better(&r, out);
        }
    }
    return out->first != NULL;
}
