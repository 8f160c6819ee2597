/**
 * spans.h: a piecewise constant function of the address, as an array that the caller owns: each
 * item is valid from its offset to that of the next, the last one to the end. The first is at 0. An
 * item has `item_bytes` and begins with its offset, a uint64_t.
 *
 *     before                [0: a  [64: b                  [192: c
 *     96 to 160 covered     [0: a  [64: b  [96: b  [160: b  [192: c     that of 96 is to be written
 */
#ifndef CEBUS_LAYOUT_SPANS_H
#define CEBUS_LAYOUT_SPANS_H

#include <stddef.h>
#include <stdint.h>

/** Items that are added at most where some bytes get one of their own. */
#define CEBUS_SPANS_ADDED 2

/** The item that holds at an offset; there is one. O(log count). */
size_t cebus_spans_find(const void *items, size_t count, size_t item_bytes, uint64_t offset);
/** Leaves one item for [offset, offset + bytes), a copy of the one that held at its start. There is
 * room for CEBUS_SPANS_ADDED more, and `bytes` is not 0. O(count). */
size_t cebus_spans_cover(void *items, size_t *count, size_t item_bytes, uint64_t offset,
                         uint64_t bytes);

#endif
