#include "evict/planner/copies.h"

#include <string.h>

void cebus_copies_deinit(cebus_copies *copies, cebus_pool *pool)
{
    cebus_pool_free_object(pool, copies->items, copies->capacity * sizeof *copies->items);
    *copies = (cebus_copies){0};
}

/** How many begin before a time. */
static size_t count_begun(const cebus_copies *copies, uint64_t before)
{
    size_t low = 0, high = copies->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (copies->items[middle].when.from < before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

cebus_span cebus_copies_earliest(const cebus_copies *copies, uint64_t from, uint64_t length)
{
    const uint64_t open = from > copies->longest ? from - copies->longest : 0;
    for (size_t i = count_begun(copies, open); i < copies->count; i++) {
        const cebus_span busy = copies->items[i].when;
        if (busy.to <= from)
            continue;
        if (busy.from >= from + length)
            break;
        from = busy.to;
    }
    return (cebus_span){from, from + length};
}

cebus_span cebus_copies_latest(const cebus_copies *copies, uint64_t to, uint64_t length)
{
    for (size_t i = count_begun(copies, to); i > 0; i--) {
        const cebus_span busy = copies->items[i - 1].when;
        if (busy.to + length <= to)
            break;
        to = busy.from;
    }
    return to >= length ? (cebus_span){to - length, to} : (cebus_span){0, 0};
}

static bool reserve(cebus_copies *copies, cebus_pool *pool, size_t count)
{
    while (copies->capacity < count) {
        void *items = copies->items;
        if (!cebus_pool_grow(pool, &items, &copies->capacity, copies->capacity,
                             sizeof *copies->items))
            return false;
        copies->items = items;
    }
    return true;
}

bool cebus_copies_add(cebus_copies *copies, cebus_pool *pool, cebus_copy copy)
{
    if (!reserve(copies, pool, copies->count + 1))
        return false;
    const uint64_t length = copy.when.to - copy.when.from;
    copies->longest = length > copies->longest ? length : copies->longest;
    size_t i = copies->count++;
    for (; i > 0 && copies->items[i - 1].when.from > copy.when.from; i--)
        copies->items[i] = copies->items[i - 1];
    copies->items[i] = copy;
    return true;
}

void cebus_copies_remove(cebus_copies *copies, uint32_t value)
{
    size_t kept = 0;
    for (size_t i = 0; i < copies->count; i++) {
        if (copies->items[i].value != value)
            copies->items[kept++] = copies->items[i];
    }
    copies->count = kept;
}

bool cebus_copies_copy(cebus_copies *copies, cebus_pool *pool, const cebus_copies *from)
{
    if (!reserve(copies, pool, from->count))
        return false;
    if (from->count > 0)
        memcpy(copies->items, from->items, from->count * sizeof *copies->items);
    copies->count = from->count;
    copies->longest = from->longest;
    return true;
}
