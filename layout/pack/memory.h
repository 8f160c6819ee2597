/**
 * memory.h: host memory of one packing: arrays that are taken one after another and given
 * back last first, all at once. No array can be lost, whichever allocation fails.
 */
#ifndef CEBUS_LAYOUT_PACK_MEMORY_H
#define CEBUS_LAYOUT_PACK_MEMORY_H

#include <cebus/base.h>

typedef struct cebus_pack_piece cebus_pack_piece;

typedef struct cebus_pack_memory {
    cebus_host_allocator host;
    cebus_pack_piece *last;
} cebus_pack_memory;

/** NULL: malloc and free. */
void cebus_pack_memory_init(cebus_pack_memory *memory, const cebus_host_allocator *host);

/** An uninitialized array, or NULL; of no items too. */
void *cebus_pack_memory_take(cebus_pack_memory *memory, size_t count, size_t bytes);

/** Where memory_release() is to stop. */
static inline cebus_pack_piece *cebus_pack_memory_mark(const cebus_pack_memory *memory)
{
    return memory->last;
}

/** Gives back what was taken after `mark`; NULL: everything. */
void cebus_pack_memory_release(cebus_pack_memory *memory, const cebus_pack_piece *mark);

#endif
