#include "evict/timeline/ground.h"

#include <string.h>

/** Plots that one change adds, at most. */
#define CUTS 2

bool cebus_ground_init(cebus_ground *ground, cebus_pool *pool)
{
    *ground = (cebus_ground){.pool = pool};
    return cebus_ground_set(ground, 0, UINT64_MAX, 0);
}

void cebus_ground_deinit(cebus_ground *ground)
{
    cebus_pool_free_object(ground->pool, ground->plots, ground->capacity * sizeof *ground->plots);
    *ground = (cebus_ground){.pool = ground->pool};
}

/** The plot that an offset lies in. */
static size_t find(const cebus_ground *ground, uint64_t offset)
{
    size_t low = 0, high = ground->count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (ground->plots[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t cebus_ground_since(const cebus_ground *ground, uint64_t offset, uint64_t bytes)
{
    uint64_t since = 0;
    for (size_t i = find(ground, offset);
         i < ground->count && ground->plots[i].offset < offset + bytes; i++)
        since = ground->plots[i].since > since ? ground->plots[i].since : since;
    return since;
}

static bool make_room(cebus_ground *ground)
{
    void *plots = ground->plots;
    if (ground->count + CUTS <= ground->capacity)
        return true;
    if (!cebus_pool_grow(ground->pool, &plots, &ground->capacity, ground->capacity,
                         sizeof *ground->plots))
        return false;
    ground->plots = plots;
    return true;
}

/** The plot that begins there: where there is none one is cut in two. */
static size_t cut(cebus_ground *ground, uint64_t offset)
{
    cebus_plot *plots = ground->plots;
    size_t at = find(ground, offset);
    if (at < ground->count && plots[at].offset == offset)
        return at;
    at += ground->count > 0;
    memmove(&plots[at + 1], &plots[at], (ground->count - at) * sizeof *plots);
    plots[at] = (cebus_plot){offset, at > 0 ? plots[at - 1].since : 0};
    ground->count++;
    return at;
}

bool cebus_ground_set(cebus_ground *ground, uint64_t offset, uint64_t bytes, uint64_t since)
{
    if (bytes == 0)
        return true;
    if (!make_room(ground))
        return false;
    const size_t from = cut(ground, offset), to = cut(ground, offset + bytes);
    cebus_plot *plots = ground->plots;
    plots[from].since = since;
    memmove(&plots[from + 1], &plots[to], (ground->count - to) * sizeof *plots);
    ground->count -= to - from - 1;
    return true;
}
