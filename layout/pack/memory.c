#include "layout/pack/memory.h"

#include "layout/checked.h"
#include "layout/pool.h"

/** Heads an array; its size keeps the array as aligned as malloc made it. */
struct cebus_pack_piece {
    cebus_pack_piece *before;
    uint64_t padding; /* to 16 bytes */
};

void cebus_pack_memory_init(cebus_pack_memory *memory, const cebus_host_allocator *host)
{
    memory->host = host != NULL ? *host : cebus_host_allocator_default();
    memory->last = NULL;
}

void *cebus_pack_memory_take(cebus_pack_memory *memory, size_t count, size_t bytes)
{
    uint64_t all;
    if (!cebus_checked_mul(count, bytes, &all) ||
        !cebus_checked_add(all, sizeof(cebus_pack_piece), &all) || all > PTRDIFF_MAX)
        return NULL;
    cebus_pack_piece *piece = memory->host.alloc(memory->host.context, (size_t)all);
    if (piece == NULL)
        return NULL;
    piece->before = memory->last;
    memory->last = piece;
    return piece + 1;
}

void cebus_pack_memory_release(cebus_pack_memory *memory, const cebus_pack_piece *mark)
{
    while (memory->last != mark) {
        cebus_pack_piece *last = memory->last;
        memory->last = last->before;
        memory->host.free(memory->host.context, last);
    }
}
