#include "eager/swap/reckoning.h"

#include <string.h>

#include "eager/runtime.h"
#include "eager/swap/swap.h"
#include "layout/number.h"

/** When compute is through with what it was asked for. */
static uint64_t now_ns(const cebus_runtime *rt)
{
    return rt->clock_ns + rt->device_ops->stalled(rt->device);
}

static void forget_past(cebus_reckoning *reckoning, uint64_t now)
{
    for (; reckoning->first < reckoning->count; reckoning->first++) {
        const cebus_reckoned *next = &reckoning->items[reckoning->first];
        if (next->ns > now)
            return;
        reckoning->done = next->mark;
    }
    reckoning->first = reckoning->count = 0;
}

/** Room for one more, where those that are past were if these are half of all. */
static bool make_room(cebus_runtime *rt, cebus_reckoning *reckoning)
{
    void *items = reckoning->items;
    if (reckoning->count < reckoning->capacity)
        return true;
    const size_t kept = reckoning->count - reckoning->first;
    if (reckoning->capacity > 0 && kept <= reckoning->capacity / 2) {
        memmove(reckoning->items, reckoning->items + reckoning->first,
                kept * sizeof *reckoning->items);
        reckoning->first = 0;
        reckoning->count = kept;
        return true;
    }
    if (!cebus_pool_grow(&rt->pool, &items, &reckoning->capacity, reckoning->count,
                         sizeof *reckoning->items))
        return false;
    reckoning->items = items;
    return true;
}

void cebus_reckoning_add(cebus_runtime *rt, cebus_stream stream, uint64_t mark, uint64_t bytes)
{
    cebus_reckoning *reckoning = &rt->swap.reckonings[stream];
    const cebus_swap_terms terms = cebus_swap_terms_now(rt);
    const uint64_t rate = stream == CEBUS_STREAM_OUT ? terms.out_rate : terms.in_rate;
    const uint64_t now = now_ns(rt);
    const uint64_t most = cebus_plan_copy_ns(rt->arena.limit, rate);
    forget_past(reckoning, now);
    uint64_t until = cebus_max_u64(reckoning->until_ns, now) + terms.latency_ns +
                     cebus_plan_copy_ns(bytes, rate);
    /* What compute waited for without being counted does not add up. */
    reckoning->until_ns = cebus_min_u64(until, now + most);
    if (make_room(rt, reckoning))
        reckoning->items[reckoning->count++] = (cebus_reckoned){mark, reckoning->until_ns};
    else if (reckoning->count > reckoning->first)
        reckoning->items[reckoning->count - 1] = (cebus_reckoned){mark, reckoning->until_ns};
}

bool cebus_reckoning_past(cebus_runtime *rt, cebus_stream stream, uint64_t mark)
{
    cebus_reckoning *reckoning = &rt->swap.reckonings[stream];
    forget_past(reckoning, now_ns(rt));
    return mark <= reckoning->done || reckoning->first == reckoning->count ||
           rt->device_ops->stream_reached(rt->device, stream, mark);
}

void cebus_reckoning_clear(cebus_runtime *rt)
{
    for (cebus_stream stream = CEBUS_STREAM_COMPUTE; stream < CEBUS_STREAM_COUNT; stream++) {
        cebus_reckoning *reckoning = &rt->swap.reckonings[stream];
        cebus_pool_free_object(&rt->pool, reckoning->items,
                               reckoning->capacity * sizeof *reckoning->items);
        *reckoning = (cebus_reckoning){0};
    }
}
