#include "eager/device/cuda/pinned.h"

#include <string.h>

#include "layout/number.h"

static uint64_t rounded(uint64_t bytes)
{
    return bytes == 0 ? CEBUS_PINNED_ALIGNMENT : cebus_align_up(bytes, CEBUS_PINNED_ALIGNMENT);
}

/** Room for `n` items; false without host memory. */
static bool grow(const cebus_host_allocator *host, void **items, size_t *capacity, size_t n,
                 size_t item_bytes)
{
    if (n <= *capacity)
        return true;
    size_t wanted = n < 8 ? 8 : 2 * n;
    void *grown = host->realloc(host->context, *items, wanted * item_bytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

/** Giving a piece back splits or adds one hole at most: the room for it is made when it is taken.
 */
static bool reserve_holes(const cebus_cuda_pinned *pinned, cebus_pinned_segment *segment)
{
    void *holes = segment->holes;
    bool ok =
        grow(pinned->host, &holes, &segment->capacity, segment->taken + 2, sizeof *segment->holes);
    segment->holes = holes;
    return ok;
}

static void remove_hole(cebus_pinned_segment *segment, size_t i)
{
    segment->n_holes--;
    memmove(&segment->holes[i], &segment->holes[i + 1],
            (segment->n_holes - i) * sizeof *segment->holes);
}

static void *take(const cebus_cuda_pinned *pinned, cebus_pinned_segment *segment, uint64_t bytes)
{
    for (size_t i = 0; i < segment->n_holes; i++) {
        cebus_pinned_hole *hole = &segment->holes[i];
        if (hole->bytes < bytes)
            continue;
        if (!reserve_holes(pinned, segment))
            return NULL;
        hole = &segment->holes[i];
        char *at = segment->base + hole->offset;
        hole->offset += bytes;
        hole->bytes -= bytes;
        if (hole->bytes == 0)
            remove_hole(segment, i);
        segment->taken++;
        return at;
    }
    return NULL;
}

static cebus_pinned_segment *add_segment(cebus_cuda_pinned *pinned, uint64_t bytes)
{
    void *segments = pinned->segments;
    if (!grow(pinned->host, &segments, &pinned->capacity, pinned->count + 1,
              sizeof *pinned->segments))
        return NULL;
    pinned->segments = segments;
    cebus_pinned_segment fresh = {.bytes =
                                      bytes > CEBUS_PINNED_SEGMENT ? bytes : CEBUS_PINNED_SEGMENT};
    if (!reserve_holes(pinned, &fresh))
        return NULL;
    fresh.base = pinned->lock(pinned->context, fresh.bytes);
    if (fresh.base == NULL) {
        pinned->host->free(pinned->host->context, fresh.holes);
        return NULL;
    }
    fresh.holes[fresh.n_holes++] = (cebus_pinned_hole){0, fresh.bytes};
    pinned->locked_bytes += fresh.bytes;
    pinned->segments[pinned->count] = fresh;
    return &pinned->segments[pinned->count++];
}

void *cebus_pinned_alloc(cebus_cuda_pinned *pinned, uint64_t bytes)
{
    if (bytes > UINT64_MAX - CEBUS_PINNED_ALIGNMENT)
        return NULL;
    bytes = rounded(bytes);
    for (size_t i = 0; i < pinned->count; i++) {
        void *found = take(pinned, &pinned->segments[i], bytes);
        if (found != NULL)
            return found;
    }
    cebus_pinned_segment *fresh = add_segment(pinned, bytes);
    return fresh != NULL ? take(pinned, fresh, bytes) : NULL;
}

static void give_back(cebus_pinned_segment *segment, uint64_t offset, uint64_t bytes)
{
    size_t i = 0;
    cebus_pinned_hole *holes = segment->holes;
    while (i < segment->n_holes && holes[i].offset < offset)
        i++;
    bool below = i > 0 && holes[i - 1].offset + holes[i - 1].bytes == offset;
    bool above = i < segment->n_holes && holes[i].offset == offset + bytes;
    segment->taken--;
    if (below) {
        holes[i - 1].bytes += bytes + (above ? holes[i].bytes : 0);
        if (above)
            remove_hole(segment, i);
    } else if (above) {
        holes[i].offset = offset;
        holes[i].bytes += bytes;
    } else {
        memmove(&holes[i + 1], &holes[i], (segment->n_holes - i) * sizeof *holes);
        holes[i] = (cebus_pinned_hole){offset, bytes};
        segment->n_holes++;
    }
}

void cebus_pinned_free(cebus_cuda_pinned *pinned, void *pointer, uint64_t bytes)
{
    const char *at = pointer;
    for (size_t i = 0; pointer != NULL && i < pinned->count; i++) {
        cebus_pinned_segment *segment = &pinned->segments[i];
        if (at >= segment->base && at < segment->base + segment->bytes) {
            give_back(segment, (uint64_t)(at - segment->base), rounded(bytes));
            return;
        }
    }
}

void cebus_pinned_deinit(cebus_cuda_pinned *pinned)
{
    for (size_t i = 0; i < pinned->count; i++) {
        pinned->unlock(pinned->context, pinned->segments[i].base);
        pinned->host->free(pinned->host->context, pinned->segments[i].holes);
    }
    if (pinned->segments != NULL)
        pinned->host->free(pinned->host->context, pinned->segments);
    pinned->segments = NULL;
    pinned->count = pinned->capacity = 0;
    pinned->locked_bytes = 0;
}
