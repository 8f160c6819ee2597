#include "eager/capture/trail.h"

#include <string.h>

static bool is_over(const cebus_runtime *rt, const cebus_released *released)
{
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++) {
        if (!rt->device_ops->stream_reached(rt->device, on, released->fence[on]))
            return false;
    }
    return true;
}

/** Forgets what no stream is at any more. */
static void prune(const cebus_runtime *rt, cebus_trail *trail)
{
    size_t kept = 0;
    for (size_t i = 0; i < trail->count; i++) {
        if (!is_over(rt, &trail->items[i]))
            trail->items[kept++] = trail->items[i];
    }
    trail->count = kept;
}

static void add(cebus_runtime *rt, cebus_trail *trail, cebus_released released)
{
    if (trail->count == trail->capacity)
        prune(rt, trail);
    void *items = trail->items;
    if (!cebus_pool_grow(&rt->pool, &items, &trail->capacity, trail->count, sizeof *trail->items)) {
        trail->lost = true;
        return;
    }
    trail->items = items;
    trail->items[trail->count++] = released;
}

void cebus_trail_begin(cebus_runtime *rt, cebus_trail *trail)
{
    cebus_released all = {.bytes = UINT64_MAX};
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++)
        all.fence[on] = rt->device_ops->stream_mark(rt->device, on);
    trail->count = 0;
    trail->lost = false;
    add(rt, trail, all);
}

void cebus_trail_free(cebus_runtime *rt, cebus_trail *trail)
{
    cebus_pool_free_object(&rt->pool, trail->items, trail->capacity * sizeof *trail->items);
    *trail = (cebus_trail){0};
}

void cebus_trail_add(cebus_runtime *rt, const cebus_block *block)
{
    cebus_released released = {.offset = block->offset, .bytes = block->bytes};
    memcpy(released.fence, block->fence, sizeof released.fence);
    add(rt, rt->trail, released);
}

bool cebus_trail_claim(cebus_runtime *rt, cebus_block *block, cebus_stream stream)
{
    const cebus_trail *trail = rt->trail;
    uint64_t fence[CEBUS_FENCES] = {0};
    if (trail->lost)
        return false;
    for (size_t i = 0; i < trail->count; i++) {
        const cebus_released *r = &trail->items[i];
        const bool apart = r->offset < block->offset ? block->offset - r->offset >= r->bytes
                                                     : r->offset - block->offset >= block->bytes;
        if (apart)
            continue;
        for (uint32_t on = 0; on < CEBUS_FENCES; on++)
            fence[on] = cebus_max_u64(fence[on], r->fence[on]);
    }
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++) {
        if (on != stream && fence[on] > 0)
            rt->device_ops->stream_wait(rt->device, stream, on, fence[on]);
    }
    memcpy(block->fence, fence, sizeof fence); /* as cebus_ladder_claim() says */
    return true;
}
