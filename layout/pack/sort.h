/**
 * sort.h: items by a 64-bit key, in linear time and stable, so that sorting by the least
 * important key first orders by several, and ties keep the order they were in.
 */
#ifndef CEBUS_LAYOUT_PACK_SORT_H
#define CEBUS_LAYOUT_PACK_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct cebus_pack_keyed {
    uint64_t key;
    uint32_t item;
} cebus_pack_keyed;

/** Ascending. `spare` has room for n as well. */
void cebus_pack_sort(cebus_pack_keyed *items, cebus_pack_keyed *spare, size_t n);

#endif
