#include "evict/timeline/ground.h"

#include "layout/spans.h"

static bool make_room(cebus_ground *ground)
{
    void *plots = ground->plots;
    if (ground->count + CEBUS_SPANS_ADDED <= ground->capacity)
        return true;
    if (!cebus_pool_grow(ground->pool, &plots, &ground->capacity, ground->capacity,
                         sizeof *ground->plots))
        return false;
    ground->plots = plots;
    return true;
}

bool cebus_ground_init(cebus_ground *ground, cebus_pool *pool)
{
    *ground = (cebus_ground){.pool = pool};
    if (!make_room(ground))
        return false;
    ground->plots[ground->count++] = (cebus_plot){0};
    return true;
}

void cebus_ground_deinit(cebus_ground *ground)
{
    cebus_pool_free_object(ground->pool, ground->plots, ground->capacity * sizeof *ground->plots);
    *ground = (cebus_ground){.pool = ground->pool};
}

uint64_t cebus_ground_since(const cebus_ground *ground, uint64_t offset, uint64_t bytes)
{
    uint64_t since = 0;
    size_t i = cebus_spans_find(ground->plots, ground->count, sizeof *ground->plots, offset);
    for (; i < ground->count && ground->plots[i].offset < offset + bytes; i++)
        since = ground->plots[i].since > since ? ground->plots[i].since : since;
    return since;
}

bool cebus_ground_set(cebus_ground *ground, uint64_t offset, uint64_t bytes, uint64_t since)
{
    if (bytes == 0)
        return true;
    if (!make_room(ground))
        return false;
    size_t at =
        cebus_spans_cover(ground->plots, &ground->count, sizeof *ground->plots, offset, bytes);
    ground->plots[at].since = since;
    return true;
}
