#include "eager/trail.h"

#include <string.h>

#include "eager/runtime.h"
#include "layout/number.h"
#include "layout/spans.h"

/** Above so many neighbours become one, which is waited for as a whole. */
#define MOST_STRETCHES 4096

static void grow_older(uint64_t *fence, const uint64_t *other)
{
    for (uint32_t on = 0; on < CEBUS_FENCES; on++)
        fence[on] = cebus_max_u64(fence[on], other[on]);
}

/** What no stream is at any more is as if it had never been used. */
static void forget_reached(const cebus_runtime *rt, cebus_stretch *stretch)
{
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++) {
        if (!rt->device_ops->stream_reached(rt->device, on, stretch->fence[on]))
            return;
    }
    memset(stretch->fence, 0, sizeof stretch->fence);
}

/** Neighbours that are alike become one; if `all`, two and two whatever they are. */
static void join(cebus_trail *trail, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < trail->count; i++) {
        const cebus_stretch *next = &trail->items[i];
        cebus_stretch *last = kept > 0 ? &trail->items[kept - 1] : NULL;
        if (last != NULL && all && i % 2 == 1)
            grow_older(last->fence, next->fence);
        else if (last == NULL || memcmp(last->fence, next->fence, sizeof last->fence) != 0)
            trail->items[kept++] = *next;
    }
    trail->count = kept;
}

/** Room for what one block adds. False: no host memory, and the trail ends. */
static bool make_room(cebus_runtime *rt)
{
    cebus_trail *trail = &rt->trail;
    void *items = trail->items;
    if (trail->count + CEBUS_SPANS_ADDED <= trail->capacity)
        return true;
    for (size_t i = 0; i < trail->count; i++)
        forget_reached(rt, &trail->items[i]);
    join(trail, false);
    if (trail->count > MOST_STRETCHES)
        join(trail, true);
    if (trail->count + CEBUS_SPANS_ADDED <= trail->capacity / 2)
        return true;
    if (!cebus_pool_grow(&rt->pool, &items, &trail->capacity, trail->capacity,
                         sizeof *trail->items)) {
        cebus_trail_free(rt);
        return false;
    }
    trail->items = items;
    return true;
}

void cebus_trail_begin(cebus_runtime *rt)
{
    cebus_trail *trail = &rt->trail;
    if (trail->count > 0 || !make_room(rt))
        return;
    trail->count = 1;
    trail->items[0].offset = 0;
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++)
        trail->items[0].fence[on] = rt->device_ops->stream_mark(rt->device, on);
}

void cebus_trail_free(cebus_runtime *rt)
{
    cebus_trail *trail = &rt->trail;
    cebus_pool_free_object(&rt->pool, trail->items, trail->capacity * sizeof *trail->items);
    *trail = (cebus_trail){0};
}

void cebus_trail_add(cebus_runtime *rt, const cebus_block *block, uint64_t offset)
{
    cebus_trail *trail = &rt->trail;
    if (trail->count == 0 || !make_room(rt))
        return;
    size_t at =
        cebus_spans_cover(trail->items, &trail->count, sizeof *trail->items, offset, block->bytes);
    memcpy(trail->items[at].fence, block->fence, sizeof block->fence);
}

bool cebus_trail_claim(cebus_runtime *rt, cebus_block *block, cebus_stream stream)
{
    const cebus_trail *trail = &rt->trail;
    uint64_t fence[CEBUS_FENCES] = {0};
    if (trail->count == 0)
        return false;
    size_t i = cebus_spans_find(trail->items, trail->count, sizeof *trail->items, block->offset);
    for (; i < trail->count && trail->items[i].offset < block->offset + block->bytes; i++)
        grow_older(fence, trail->items[i].fence);
    for (cebus_stream on = CEBUS_STREAM_COMPUTE; on < CEBUS_STREAM_COUNT; on++) {
        if (on != stream && fence[on] > 0)
            rt->device_ops->stream_wait(rt->device, stream, on, fence[on]);
    }
    memcpy(block->fence, fence, sizeof fence); /* as cebus_ladder_claim() says */
    return true;
}
