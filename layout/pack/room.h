/**
 * room.h: counts how many units may still be wasted in each section, and tells whether any section
 * has wasted too many.
 *
 * A tree of least values over the sections. A node keeps how much more its least section has than
 * its sibling's and its own do together, 0 for at least one of two siblings, so that what is taken
 * from a whole range is taken at a few nodes, and nothing further up is touched unless its least
 * value changes.
 */
#ifndef CEBUS_LAYOUT_PACK_ROOM_H
#define CEBUS_LAYOUT_PACK_ROOM_H

#include "layout/pack/problem.h"

typedef struct cebus_pack_room {
    int64_t *tree; /**< the root is 1; its value is the least of all sections */
    size_t width;  /**< leaves, a power of two */
    uint32_t begin;
} cebus_pack_room;

/** For parts of up to so many sections. False without host memory. */
bool cebus_pack_room_init(cebus_pack_room *room, uint32_t n_sections, cebus_pack_memory *memory);

/** Room is what is not load below `limit` - 1 units. False: there is more load than that. O(n). */
bool cebus_pack_room_fill(cebus_pack_room *room, const cebus_pack_problem *problem,
                          const cebus_pack_part *part, uint64_t limit);

/** So many units of sections [begin, end) are no block's. False: that is more than there was
 * somewhere. O(log n). */
bool cebus_pack_room_waste(cebus_pack_room *room, uint32_t begin, uint32_t end, uint64_t units);

#endif
