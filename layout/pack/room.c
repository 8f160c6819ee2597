#include "layout/pack/room.h"

static size_t width_for(size_t n)
{
    size_t width = 1;
    while (width < n)
        width *= 2;
    return width;
}

bool cebus_pack_room_init(cebus_pack_room *room, uint32_t n_sections, cebus_pack_memory *memory)
{
    *room = (cebus_pack_room){.width = 1};
    room->tree = cebus_pack_memory_take(memory, 2 * width_for(n_sections), sizeof *room->tree);
    return room->tree != NULL;
}

/** Hands what two siblings have both up to their parent; false when that is nothing. */
static bool hand_up(int64_t *tree, size_t parent)
{
    int64_t *pair = &tree[2 * parent];
    int64_t least = pair[0] < pair[1] ? pair[0] : pair[1];
    pair[0] -= least;
    pair[1] -= least;
    tree[parent] += least;
    return least != 0;
}

bool cebus_pack_room_fill(cebus_pack_room *room, const cebus_pack_problem *problem,
                          const cebus_pack_part *part, uint64_t limit)
{
    uint32_t n = part->section_end - part->section_begin;
    room->begin = part->section_begin;
    room->width = width_for(n);
    for (size_t i = 0; i < room->width; i++) {
        uint64_t load = i < n ? problem->load[part->section_begin + i] : 0;
        room->tree[room->width + i] = (int64_t)(limit - 1 - load);
    }
    for (size_t parent = room->width; parent-- > 1;) {
        room->tree[parent] = 0;
        hand_up(room->tree, parent);
    }
    return room->tree[1] >= 0;
}

bool cebus_pack_room_waste(cebus_pack_room *room, uint32_t begin, uint32_t end, uint64_t units)
{
    int64_t *tree = room->tree;
    size_t lo = begin - room->begin + room->width, hi = end - room->begin + room->width;
    size_t first = lo, last = hi - 1;
    for (;; lo /= 2, hi /= 2) {
        if (lo < hi && lo % 2 == 1)
            tree[lo++] -= (int64_t)units;
        if (lo < hi && hi % 2 == 1)
            tree[--hi] -= (int64_t)units;
        if (first == 1)
            return tree[1] >= 0;
        first /= 2;
        last /= 2;
        bool goes_on = hand_up(tree, first);
        if (last != first)
            goes_on |= hand_up(tree, last);
        if (!goes_on && lo >= hi)
            return true;
    }
}
