#include "evict/timeline/holes.h"

void cebus_holes_init(cebus_holes *holes, cebus_pool *pool)
{
    *holes = (cebus_holes){.pool = pool};
}

void cebus_holes_deinit(cebus_holes *holes)
{
    cebus_pool_free_object(holes->pool, holes->items, holes->capacity * sizeof *holes->items);
    cebus_holes_init(holes, holes->pool);
}

bool cebus_holes_add(cebus_holes *holes, uint64_t since, uint64_t bytes)
{
    void *items = holes->items;
    if (bytes == 0)
        return true;
    if (!cebus_pool_grow(holes->pool, &items, &holes->capacity, holes->count, sizeof *holes->items))
        return false;
    holes->items = items;
    size_t i = holes->count++;
    for (; i > holes->first && holes->items[i - 1].since > since; i--)
        holes->items[i] = holes->items[i - 1];
    holes->items[i] = (cebus_hole){since, bytes};
    holes->free += bytes;
    return true;
}

uint64_t cebus_holes_take(cebus_holes *holes, uint64_t bytes)
{
    uint64_t since = 0;
    while (bytes > 0 && holes->first < holes->count) {
        cebus_hole *hole = &holes->items[holes->first];
        uint64_t part = hole->bytes < bytes ? hole->bytes : bytes;
        since = hole->since > since ? hole->since : since;
        hole->bytes -= part;
        bytes -= part;
        holes->free -= part;
        holes->first += hole->bytes == 0;
    }
    return since;
}
