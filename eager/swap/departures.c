#include "eager/swap/departures.h"

#include <string.h>

#include "eager/runtime.h"
#include "eager/swap/swap.h"
#include "layout/number.h"

/** When compute is through with what it was asked for. */
static uint64_t now_ns(const cebus_runtime *rt)
{
    return rt->clock_ns + rt->device_ops->stalled(rt->device);
}

static void forget_past(cebus_departures *departures, uint64_t now)
{
    for (; departures->first < departures->count; departures->first++) {
        const cebus_departure *next = &departures->items[departures->first];
        if (next->ns > now)
            return;
        departures->done = next->mark;
    }
    departures->first = departures->count = 0;
}

/** Room for one more, where those that are past were if these are half of all. */
static bool make_room(cebus_runtime *rt, cebus_departures *departures)
{
    void *items = departures->items;
    if (departures->count < departures->capacity)
        return true;
    const size_t kept = departures->count - departures->first;
    if (departures->capacity > 0 && kept <= departures->capacity / 2) {
        memmove(departures->items, departures->items + departures->first,
                kept * sizeof *departures->items);
        departures->first = 0;
        departures->count = kept;
        return true;
    }
    if (!cebus_pool_grow(&rt->pool, &items, &departures->capacity, departures->count,
                         sizeof *departures->items))
        return false;
    departures->items = items;
    return true;
}

void cebus_departures_add(cebus_runtime *rt, uint64_t mark, uint64_t bytes)
{
    cebus_departures *departures = &rt->swap.departures;
    const cebus_swap_terms terms = cebus_swap_terms_now(rt);
    const uint64_t now = now_ns(rt);
    const uint64_t most = cebus_plan_copy_ns(rt->arena.limit, terms.out_rate);
    forget_past(departures, now);
    uint64_t until = cebus_max_u64(departures->until_ns, now) + terms.latency_ns +
                     cebus_plan_copy_ns(bytes, terms.out_rate);
    /* What compute waited for without being counted does not add up. */
    departures->until_ns = cebus_min_u64(until, now + most);
    if (make_room(rt, departures))
        departures->items[departures->count++] = (cebus_departure){mark, departures->until_ns};
    else if (departures->count > departures->first)
        departures->items[departures->count - 1] = (cebus_departure){mark, departures->until_ns};
}

bool cebus_departures_past(cebus_runtime *rt, uint64_t mark)
{
    cebus_departures *departures = &rt->swap.departures;
    forget_past(departures, now_ns(rt));
    return mark <= departures->done || departures->first == departures->count ||
           rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_OUT, mark);
}

void cebus_departures_clear(cebus_runtime *rt)
{
    cebus_departures *departures = &rt->swap.departures;
    cebus_pool_free_object(&rt->pool, departures->items,
                           departures->capacity * sizeof *departures->items);
    *departures = (cebus_departures){0};
}
