#include "layout/pack/joint.h"

#include <string.h>

enum {
    FEW_HEAP = 3,     /**< pieces in a heap of some of a lifetime */
    MOST_SIDE = 24,   /**< pieces of one side of a joint that are looked at */
    FEW_SIDE = 12,    /**< with more no heaps of three */
    MOST_HEAPS = 600, /**< of a side; 24 + 276 at most, or 12 + 66 + 220 */
};

bool cebus_pack_joints_init(cebus_pack_joints *joints, const cebus_pack_part *part,
                            const cebus_pack_weld_piece *pieces, uint32_t n,
                            cebus_pack_memory *memory)
{
    *joints = (cebus_pack_joints){
        .pieces = pieces,
        .begin = part->section_begin,
        .n_sections = part->section_end - part->section_begin,
    };
    size_t sections = (size_t)joints->n_sections + 2;
    joints->ends = cebus_pack_memory_take(memory, sections, sizeof *joints->ends);
    joints->starts = cebus_pack_memory_take(memory, sections, sizeof *joints->starts);
    joints->by_end = cebus_pack_memory_take(memory, n, sizeof *joints->by_end);
    joints->by_start = cebus_pack_memory_take(memory, n, sizeof *joints->by_start);
    joints->spare = cebus_pack_memory_take(memory, MOST_HEAPS, sizeof *joints->spare);
    return joints->ends != NULL && joints->starts != NULL && joints->by_end != NULL &&
           joints->by_start != NULL && joints->spare != NULL;
}

bool cebus_pack_side_init(cebus_pack_side *side, cebus_pack_memory *memory)
{
    side->n = 0;
    side->heaps = cebus_pack_memory_take(memory, MOST_HEAPS, sizeof *side->heaps);
    side->sums = cebus_pack_memory_take(memory, MOST_HEAPS, sizeof *side->sums);
    return side->heaps != NULL && side->sums != NULL;
}

void cebus_pack_joints_list(cebus_pack_joints *joints, uint32_t n_pieces)
{
    const cebus_pack_weld_piece *pieces = joints->pieces;
    uint32_t *ends = joints->ends, *starts = joints->starts, begin = joints->begin;
    memset(ends, 0, ((size_t)joints->n_sections + 2) * sizeof *ends);
    memset(starts, 0, ((size_t)joints->n_sections + 2) * sizeof *starts);
    for (uint32_t i = 0; i < n_pieces; i++) {
        if (pieces[i].whole != UINT32_MAX)
            continue;
        ends[pieces[i].end - begin]++;
        starts[pieces[i].first - begin]++;
    }
    for (uint32_t s = 1; s <= joints->n_sections + 1; s++) {
        ends[s] += ends[s - 1];
        starts[s] += starts[s - 1];
    }
    for (uint32_t i = n_pieces; i-- > 0;) {
        if (pieces[i].whole != UINT32_MAX)
            continue;
        joints->by_end[--ends[pieces[i].end - begin]] = i;
        joints->by_start[--starts[pieces[i].first - begin]] = i;
    }
}

uint64_t cebus_pack_joints_pairs(const cebus_pack_joints *joints, uint32_t section)
{
    uint64_t ends = joints->ends[section + 1] - joints->ends[section];
    return ends * (joints->starts[section + 1] - joints->starts[section]);
}

static bool are_alike(const cebus_pack_weld_piece *a, const cebus_pack_weld_piece *b)
{
    return !a->is_fixed && !b->is_fixed && a->first == b->first && a->end == b->end;
}

static void put_on(cebus_pack_heap *heap, const cebus_pack_weld_piece *pieces, uint32_t piece)
{
    heap->pieces[heap->count++] = piece;
    heap->first = pieces[piece].first;
    heap->end = pieces[piece].end;
    heap->size += pieces[piece].size;
}

/** Adds all heaps of up to `most` pieces that begin with `base`, of those from `next` on. */
static void add_heaps(cebus_pack_side *side, const cebus_pack_weld_piece *all,
                      const uint32_t *pieces, uint32_t n, cebus_pack_heap base, uint32_t next,
                      uint32_t most)
{
    for (uint32_t k = next; k < n && side->n < MOST_HEAPS; k++) {
        if (!are_alike(&all[pieces[k]], &all[base.count > 0 ? base.pieces[0] : pieces[k]]))
            continue;
        cebus_pack_heap more = base;
        put_on(&more, all, pieces[k]);
        side->heaps[side->n++] = more;
        if (more.count < most)
            add_heaps(side, all, pieces, n, more, k + 1, most);
    }
}

/** Adds the heaps of all pieces of a lifetime that are more than `most`. */
static void add_full_heaps(cebus_pack_side *side, const cebus_pack_weld_piece *all,
                           const uint32_t *pieces, uint32_t n, uint32_t most)
{
    for (uint32_t k = 0; k < n && side->n < MOST_HEAPS; k++) {
        cebus_pack_heap full = {.count = 0};
        uint32_t before = 0, count = 0;
        for (uint32_t other = 0; other < n; other++) {
            if (!are_alike(&all[pieces[k]], &all[pieces[other]]))
                continue;
            before += other < k;
            count++;
            if (full.count < CEBUS_PACK_MOST_HEAP)
                put_on(&full, all, pieces[other]);
        }
        if (before == 0 && count > most && count <= CEBUS_PACK_MOST_HEAP)
            side->heaps[side->n++] = full;
    }
}

static void list_side(const cebus_pack_joints *joints, const uint32_t *pieces, uint32_t n,
                      cebus_pack_side *side)
{
    uint32_t most = n > FEW_SIDE ? FEW_HEAP - 1 : FEW_HEAP;
    uint32_t looked = n < MOST_SIDE ? n : MOST_SIDE;
    side->n = 0;
    add_heaps(side, joints->pieces, pieces, looked, (cebus_pack_heap){.count = 0}, 0, most);
    add_full_heaps(side, joints->pieces, pieces, looked, most);
    for (size_t i = 0; i < side->n; i++)
        side->sums[i] = (cebus_pack_keyed){side->heaps[i].size, (uint32_t)i};
    cebus_pack_sort(side->sums, joints->spare, side->n);
}

void cebus_pack_joints_heaps(const cebus_pack_joints *joints, uint32_t section,
                             cebus_pack_side *before, cebus_pack_side *after)
{
    const uint32_t *ends = joints->ends + section, *starts = joints->starts + section;
    list_side(joints, joints->by_end + ends[0], ends[1] - ends[0], before);
    list_side(joints, joints->by_start + starts[0], starts[1] - starts[0], after);
}

size_t cebus_pack_side_find(const cebus_pack_side *side, uint64_t size)
{
    size_t low = 0, high = side->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (side->sums[middle].key < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
