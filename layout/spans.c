#include "layout/spans.h"

#include <string.h>

static uint64_t *offset_of(void *items, size_t i, size_t item_bytes)
{
    return (uint64_t *)((char *)items + i * item_bytes);
}

size_t cebus_spans_find(const void *items, size_t count, size_t item_bytes, uint64_t offset)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (*(const uint64_t *)((const char *)items + middle * item_bytes) <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/** The items from one on are from another on. */
static void move(void *items, size_t *count, size_t item_bytes, size_t from, size_t to)
{
    char *base = items;
    memmove(base + to * item_bytes, base + from * item_bytes, (*count - from) * item_bytes);
    *count = *count - from + to;
}

/** The item that begins there: where there is none one is cut in two. */
static size_t cut(void *items, size_t *count, size_t item_bytes, uint64_t offset)
{
    const size_t at = cebus_spans_find(items, *count, item_bytes, offset);
    if (*offset_of(items, at, item_bytes) == offset)
        return at;
    move(items, count, item_bytes, at, at + 1);
    *offset_of(items, at + 1, item_bytes) = offset;
    return at + 1;
}

size_t cebus_spans_cover(void *items, size_t *count, size_t item_bytes, uint64_t offset,
                         uint64_t bytes)
{
    const size_t from = cut(items, count, item_bytes, offset);
    const size_t to = cut(items, count, item_bytes, offset + bytes);
    move(items, count, item_bytes, to, from + 1);
    return from;
}
