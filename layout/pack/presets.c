#include "layout/pack/presets.h"

#include <string.h>

#define NOBODY UINT32_MAX

/*
 * Presets are laid down from the lowest offset up. Of each section only the block with the highest
 * end matters to those that come after; a tree over sections, marked at the nodes that a block's
 * lifetime is made of, finds the highest under any lifetime. The block that is laid down is above
 * all it meets, so marks only rise.
 */
typedef struct tree {
    const cebus_pack_problem *problem;
    size_t width;      /**< leaves: a section each */
    uint32_t *covers;  /**< by node: the highest block that lives in all of its sections */
    uint32_t *highest; /**< the highest that lives in any of them */
} tree;

static uint64_t top_of(const tree *t, uint32_t block)
{
    return block == NOBODY ? 0 : t->problem->preset[block] + t->problem->size[block];
}

static uint32_t higher(const tree *t, uint32_t a, uint32_t b)
{
    return top_of(t, a) >= top_of(t, b) ? a : b;
}

/** The highest block that lives at the same time as `block`. */
static uint32_t find(const tree *t, uint32_t block)
{
    uint32_t found = NOBODY;
    size_t lo = t->problem->first[block] + t->width, hi = t->problem->end[block] + t->width;
    for (size_t node = lo; node >= 1; node /= 2)
        found = higher(t, found, t->covers[node]);
    for (size_t node = hi - 1; node >= 1; node /= 2)
        found = higher(t, found, t->covers[node]);
    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo % 2 == 1)
            found = higher(t, found, t->highest[lo++]);
        if (hi % 2 == 1)
            found = higher(t, found, t->highest[--hi]);
    }
    return found;
}

static void cover(tree *t, size_t node, uint32_t block)
{
    t->covers[node] = block;
    for (; node >= 1; node /= 2)
        t->highest[node] = higher(t, block, t->highest[node]);
}

static void lay(tree *t, uint32_t block)
{
    size_t lo = t->problem->first[block] + t->width, hi = t->problem->end[block] + t->width;
    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo % 2 == 1)
            cover(t, lo++, block);
        if (hi % 2 == 1)
            cover(t, --hi, block);
    }
}

static size_t sort_presets(const cebus_pack_problem *problem, cebus_pack_keyed *items,
                           cebus_pack_keyed *spare)
{
    size_t count = 0;
    for (uint32_t i = 0; i < problem->n; i++) {
        if (problem->preset[i] != CEBUS_PACK_ANYWHERE)
            items[count++] = (cebus_pack_keyed){problem->preset[i], i};
    }
    cebus_pack_sort(items, spare, count);
    return count;
}

/** Sizes are rounded up to the least alignment, which no preset can start within. */
cebus_status cebus_pack_presets_check(const cebus_pack_problem *problem, cebus_pack_memory *memory,
                                      cebus_pack_result *out_result)
{
    const cebus_pack_piece *mark = cebus_pack_memory_mark(memory);
    tree t = {.problem = problem, .width = problem->n_sections};
    t.covers = cebus_pack_memory_take(memory, 2 * t.width, sizeof *t.covers);
    t.highest = cebus_pack_memory_take(memory, 2 * t.width, sizeof *t.highest);
    cebus_pack_keyed *items = cebus_pack_memory_take(memory, problem->n, sizeof *items);
    cebus_pack_keyed *spare = cebus_pack_memory_take(memory, problem->n, sizeof *spare);
    cebus_status status = CEBUS_OUT_OF_HOST_MEMORY;
    if (t.covers != NULL && t.highest != NULL && items != NULL && spare != NULL) {
        status = CEBUS_OK;
        memset(t.covers, 0xff, 2 * t.width * sizeof *t.covers);
        memset(t.highest, 0xff, 2 * t.width * sizeof *t.highest);
        size_t count = sort_presets(problem, items, spare);
        for (size_t i = 0; i < count && status == CEBUS_OK; i++) {
            uint32_t block = items[i].item, below = find(&t, block);
            if (top_of(&t, below) > problem->preset[block]) {
                out_result->reason = CEBUS_PACK_COLLIDING_PRESETS;
                out_result->first = problem->index[below];
                out_result->second = problem->index[block];
                status = CEBUS_INVALID_ARGUMENT;
            }
            lay(&t, block);
        }
    }
    cebus_pack_memory_release(memory, mark);
    return status;
}
