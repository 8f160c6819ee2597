#include "layout/pack/skyline.h"

#include <string.h>

#define NOBODY UINT32_MAX

/** What is left of a range of blocks: the earliest end and the best rank. */
typedef struct node {
    uint32_t end, rank;
} node;

/** A stretch that was at this height when it was noted; later it may be gone or higher. */
typedef struct entry {
    uint64_t height;
    uint32_t begin;
} entry;

/* A stretch is known by its first section; the sections within it mean nothing. */
struct cebus_pack_skyline {
    const cebus_pack_problem *problem;
    const cebus_pack_part *part;
    uint64_t limit;
    uint64_t *height;  /**< by first section: of the stretch */
    uint32_t *end;     /**< and where it ends; 0 when none starts here */
    uint32_t *before;  /**< and where the one before it begins */
    uint32_t *from;    /**< by section: the first block that starts there or later */
    uint32_t *by_rank; /**< blocks */
    node *tree;        /**< over blocks in the order of their first sections */
    size_t width;      /**< leaves of the tree, a power of two */
    entry *heap;       /**< stretches, the lowest on top */
    uint32_t *lowest;  /**< a stack of stretches of one height, below all others: */
    size_t n_heap, n_lowest;
    int64_t *room; /**< by section, where there is a limit: units that may yet be wasted below it */
    bool lost;     /**< more are wasted somewhere */
};

static size_t width_for(size_t n)
{
    size_t width = 1;
    while (width < n)
        width *= 2;
    return width;
}

cebus_pack_skyline *cebus_pack_skyline_create(const cebus_pack_problem *problem,
                                              cebus_pack_memory *memory)
{
    size_t n = problem->n, sections = (size_t)problem->n_sections + 1;
    cebus_pack_skyline *sky = cebus_pack_memory_take(memory, 1, sizeof *sky);
    if (sky == NULL)
        return NULL;
    *sky = (cebus_pack_skyline){.problem = problem};
    sky->height = cebus_pack_memory_take(memory, sections, sizeof *sky->height);
    sky->end = cebus_pack_memory_take(memory, sections, sizeof *sky->end);
    sky->before = cebus_pack_memory_take(memory, sections, sizeof *sky->before);
    sky->from = cebus_pack_memory_take(memory, sections, sizeof *sky->from);
    sky->by_rank = cebus_pack_memory_take(memory, n, sizeof *sky->by_rank);
    sky->tree = cebus_pack_memory_take(memory, 2 * width_for(n), sizeof *sky->tree);
    /* Each block adds at most three entries, each raise one; a raise takes a stretch away. */
    sky->heap = cebus_pack_memory_take(memory, 6 * n + 2, sizeof *sky->heap);
    sky->lowest = cebus_pack_memory_take(memory, n + 2, sizeof *sky->lowest);
    sky->room = cebus_pack_memory_take(memory, sections, sizeof *sky->room);
    bool good = sky->height != NULL && sky->room != NULL && sky->lowest != NULL &&
                sky->end != NULL && sky->before != NULL && sky->from != NULL &&
                sky->by_rank != NULL && sky->tree != NULL && sky->heap != NULL;
    return good ? sky : NULL;
}

/* --- stretches by height --------------------------------------------------------------------- */

static bool is_lower(entry a, entry b)
{
    return a.height != b.height ? a.height < b.height : a.begin < b.begin;
}

static void push(cebus_pack_skyline *sky, uint32_t begin)
{
    entry added = {sky->height[begin], begin};
    if (sky->n_lowest == 0 && (sky->n_heap == 0 || is_lower(added, sky->heap[0]))) {
        sky->lowest[sky->n_lowest++] = begin;
        return;
    }
    size_t at = sky->n_heap++;
    for (; at > 0 && is_lower(added, sky->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sky->heap[at] = sky->heap[(at - 1) / 2];
    sky->heap[at] = added;
}

static entry pop(cebus_pack_skyline *sky)
{
    entry top = sky->heap[0];
    entry moved = sky->heap[--sky->n_heap];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < sky->n_heap) {
        if (child + 1 < sky->n_heap && is_lower(sky->heap[child + 1], sky->heap[child]))
            child++;
        if (!is_lower(sky->heap[child], moved))
            break;
        sky->heap[at] = sky->heap[child];
        at = child;
    }
    sky->heap[at] = moved;
    return top;
}

/** Makes [begin, end) one stretch; those that began within it are the caller's to take away. */
static void set(cebus_pack_skyline *sky, uint32_t begin, uint32_t end, uint64_t height)
{
    sky->end[begin] = end;
    sky->height[begin] = height;
    if (end < sky->part->section_end)
        sky->before[end] = begin;
}

/** Joins a stretch with its neighbours of the same height; returns where it begins then. */
static uint32_t join(cebus_pack_skyline *sky, uint32_t begin)
{
    uint64_t height = sky->height[begin];
    uint32_t end = sky->end[begin];
    while (end < sky->part->section_end && sky->height[end] == height) {
        uint32_t next = sky->end[end];
        sky->end[end] = 0;
        end = next;
    }
    while (begin > sky->part->section_begin && sky->height[sky->before[begin]] == height) {
        sky->end[begin] = 0;
        begin = sky->before[begin];
    }
    set(sky, begin, end, height);
    return begin;
}

/** The lowest stretch, or NOBODY. */
static uint32_t lowest(cebus_pack_skyline *sky)
{
    if (sky->n_lowest > 0)
        return join(sky, sky->lowest[--sky->n_lowest]);
    while (sky->n_heap > 0) {
        entry top = pop(sky);
        if (sky->end[top.begin] != 0 && sky->height[top.begin] == top.height)
            return join(sky, top.begin);
    }
    return NOBODY;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static node join_nodes(node a, node b)
{
    return (node){a.end < b.end ? a.end : b.end, a.rank < b.rank ? a.rank : b.rank};
}

static void plant(cebus_pack_skyline *sky, const uint32_t *rank)
{
    const cebus_pack_part *part = sky->part;
    size_t n = part->block_end - part->block_begin;
    sky->width = width_for(n);
    for (size_t i = 0; i < sky->width; i++) {
        node leaf = {NOBODY, NOBODY};
        if (i < n)
            leaf = (node){sky->problem->end[part->block_begin + i], rank[i]};
        sky->tree[sky->width + i] = leaf;
    }
    for (size_t at = sky->width; at-- > 1;)
        sky->tree[at] = join_nodes(sky->tree[2 * at], sky->tree[2 * at + 1]);
    for (size_t i = 0; i < n; i++)
        sky->by_rank[rank[i]] = (uint32_t)i;
    size_t i = 0;
    for (uint32_t s = part->section_begin; s <= part->section_end; s++) {
        while (i < n && sky->problem->first[part->block_begin + i] < s)
            i++;
        sky->from[s] = (uint32_t)i;
    }
}

static void uproot(cebus_pack_skyline *sky, uint32_t i)
{
    size_t at = sky->width + i;
    sky->tree[at] = (node){NOBODY, NOBODY};
    for (at /= 2; at >= 1; at /= 2)
        sky->tree[at] = join_nodes(sky->tree[2 * at], sky->tree[2 * at + 1]);
}

/** The best rank below a node of those that end by `end`, if it is better than `best`. */
static uint32_t descend(const cebus_pack_skyline *sky, size_t at, uint32_t end, uint32_t best)
{
    size_t waiting[64];
    int n_waiting = 0;
    for (;;) {
        if (sky->tree[at].end <= end && sky->tree[at].rank < best) {
            if (at < sky->width) {
                bool left_first = sky->tree[2 * at].rank < sky->tree[2 * at + 1].rank;
                waiting[n_waiting++] = 2 * at + left_first;
                at = 2 * at + !left_first;
                continue;
            }
            best = sky->tree[at].rank;
        }
        if (n_waiting == 0)
            return best;
        at = waiting[--n_waiting];
    }
}

/** The best rank of the blocks that live within [begin, end), or NOBODY. */
static uint32_t best_within(const cebus_pack_skyline *sky, uint32_t begin, uint32_t end)
{
    uint32_t best = NOBODY;
    size_t lo = sky->from[begin] + sky->width, hi = sky->from[end] + sky->width;
    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo % 2 == 1)
            best = descend(sky, lo++, end, best);
        if (hi % 2 == 1)
            best = descend(sky, --hi, end, best);
    }
    return best;
}

/* --- packing --------------------------------------------------------------------------------- */

/** Puts a block on the stretch that begins at `begin`; false if it ends too high. */
static bool put(cebus_pack_skyline *sky, uint32_t begin, uint32_t i, uint64_t *out_offset)
{
    const cebus_pack_problem *problem = sky->problem;
    uint32_t block = sky->part->block_begin + i;
    uint32_t end = sky->end[begin], from = problem->first[block], to = problem->end[block];
    uint64_t height = sky->height[begin];
    uint64_t offset = cebus_pack_align(height, problem->align[block]);
    uint64_t top = offset + problem->size[block];
    if (top >= sky->limit)
        return false;
    out_offset[i] = offset;
    uproot(sky, i);
    if (begin < from)
        set(sky, begin, from, height);
    set(sky, from, to, top);
    if (to < end)
        set(sky, to, end, height);
    /* What is left of the stretch is still the lowest, the part before the block first. */
    if (to < end)
        sky->lowest[sky->n_lowest++] = to;
    if (begin < from)
        sky->lowest[sky->n_lowest++] = begin;
    push(sky, from);
    return true;
}

/** What may be wasted: all that is not load. False: there is more load than that. */
static bool measure_room(cebus_pack_skyline *sky)
{
    int64_t all = 0;
    for (uint32_t s = sky->part->section_begin; s < sky->part->section_end; s++) {
        sky->room[s] = (int64_t)(sky->limit - 1 - sky->problem->load[s]);
        all |= sky->room[s];
    }
    return all >= 0;
}

/** So many units of some sections are no block's. False: a block that is yet to come there has to
 * end at the limit or above. */
static bool waste(cebus_pack_skyline *sky, uint32_t begin, uint32_t end, uint64_t units)
{
    int64_t *room = sky->room, all = 0;
    for (uint32_t s = begin; s < end; s++) {
        room[s] -= (int64_t)units;
        all |= room[s];
    }
    return all >= 0;
}

/** Gives a niche up; false when it is all there is, or there is no packing below the limit. */
static bool raise(cebus_pack_skyline *sky, uint32_t begin)
{
    const cebus_pack_part *part = sky->part;
    uint32_t end = sky->end[begin];
    uint64_t height = UINT64_MAX;
    if (begin > part->section_begin)
        height = sky->height[sky->before[begin]];
    if (end < part->section_end && sky->height[end] < height)
        height = sky->height[end];
    if (height == UINT64_MAX)
        return false;
    uint64_t units = height - sky->height[begin];
    sky->height[begin] = height;
    push(sky, join(sky, begin));
    sky->lost = sky->limit < UINT64_MAX && !waste(sky, begin, end, units);
    return !sky->lost;
}

bool cebus_pack_skyline_run(cebus_pack_skyline *sky, const cebus_pack_part *part,
                            const uint32_t *rank, uint64_t limit, cebus_pack_stop *stop,
                            uint64_t *out_offset)
{
    sky->part = part;
    sky->limit = limit;
    sky->n_heap = sky->n_lowest = 0;
    sky->lost = limit < UINT64_MAX && !measure_room(sky);
    if (sky->lost)
        return false;
    plant(sky, rank);
    memset(sky->end + part->section_begin, 0,
           (part->section_end - part->section_begin) * sizeof *sky->end);
    set(sky, part->section_begin, part->section_end, 0);
    push(sky, part->section_begin);
    uint32_t begin;
    while ((begin = lowest(sky)) != NOBODY) {
        uint32_t best = best_within(sky, begin, sky->end[begin]);
        bool goes_on =
            best != NOBODY ? put(sky, begin, sky->by_rank[best], out_offset) : raise(sky, begin);
        if (!goes_on)
            return best == NOBODY && !sky->lost;
        if (cebus_pack_stop_now(stop, 250))
            return false;
    }
    return true;
}
