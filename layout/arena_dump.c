#include "layout/arena.h"
#include "layout/zones.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/** Where the text goes, and how long it would be with room enough. */
typedef struct writer {
    char *text;
    size_t room, length;
} writer;

static void print(writer *out, const char *format, ...) CEBUS_PRINTF(2, 3);

static void print(writer *out, const char *format, ...)
{
    size_t done = out->length < out->room ? out->length : out->room;
    va_list arguments;
    va_start(arguments, format);
    int wanted =
        vsnprintf(out->room != 0 ? out->text + done : NULL, out->room - done, format, arguments);
    va_end(arguments);
    if (wanted > 0)
        out->length += (size_t)wanted;
}

static void print_block(writer *out, const cebus_block *block)
{
    print(out, "%14" PRIu64 " %14" PRIu64 "  ", block->offset, block->bytes);
    if (block->state == CEBUS_BLOCK_FREE) {
        print(out, "free\n");
        return;
    }
    if (block->unmapped) {
        print(out, "unmapped\n");
        return;
    }
    print(out, "%-9s  %-10s", block->state == CEBUS_BLOCK_BARRIER ? "barrier" : "evictable",
          cebus_zone_name((cebus_zone)block->zone));
    if (block->weight != CEBUS_WEIGHT_WALL)
        print(out, "  weight %" PRIu64 " tick %" PRIu64, block->weight, block->tick);
    print(out, "%s\n", block->immovable ? " immovable" : "");
}

size_t cebus_arena_dump(const cebus_arena *arena, char *text, size_t text_bytes)
{
    writer out = {.text = text, .room = text_bytes};
    for (const cebus_block *block = arena->first; block != NULL; block = block->next)
        print_block(&out, block);
    print(&out, "capacity %" PRIu64 ", used %" PRIu64 " in %" PRIu64 " blocks", arena->capacity,
          arena->used_bytes, arena->used_blocks);
    print(&out, ", free %" PRIu64 " in %" PRIu64 " holes, largest %" PRIu64 "\n",
          cebus_arena_free_bytes(arena), arena->free_blocks, cebus_arena_largest_hole(arena));
    return out.length;
}
