#include "layout/pack/skyline.h"

#include "layout/number.h"
#include "layout/pack/room.h"

#define NOBODY UINT32_MAX

/** What is left of a range of blocks: the earliest end and the best rank. */
typedef struct node {
    uint32_t end, rank;
} node;

/* A stretch is known by its first section; the sections within it mean nothing. */
struct cebus_pack_skyline {
    const cebus_pack_problem *problem;
    const cebus_pack_part *part;
    uint64_t limit;
    uint64_t *height;     /**< by first section: of the stretch */
    uint32_t *end;        /**< and where it ends */
    uint32_t *before;     /**< and where the one before it begins */
    uint32_t *from;       /**< by section: the first block that starts there or later */
    uint32_t *by_rank;    /**< blocks */
    node *tree;           /**< over blocks in the order of their first sections */
    size_t width;         /**< leaves of the tree, a power of two */
    cebus_pack_room room; /**< what may yet be wasted below the limit, where there is one */
    bool lost;            /**< more was wasted somewhere */
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
    bool good = cebus_pack_room_init(&sky->room, problem->n_sections, memory) &&
                sky->height != NULL && sky->end != NULL && sky->before != NULL &&
                sky->from != NULL && sky->by_rank != NULL && sky->tree != NULL;
    return good ? sky : NULL;
}

/* --- stretches ------------------------------------------------------------------------------- */

/** Makes [begin, end) one stretch; those that began within it are gone. */
static void set(cebus_pack_skyline *sky, uint32_t begin, uint32_t end, uint64_t height)
{
    sky->end[begin] = end;
    sky->height[begin] = height;
    if (end < sky->part->section_end)
        sky->before[end] = begin;
}

static uint64_t height_before(const cebus_pack_skyline *sky, uint32_t begin)
{
    return begin > sky->part->section_begin ? sky->height[sky->before[begin]] : UINT64_MAX;
}

static uint64_t height_after(const cebus_pack_skyline *sky, uint32_t begin)
{
    uint32_t end = sky->end[begin];
    return end < sky->part->section_end ? sky->height[end] : UINT64_MAX;
}

/** From a stretch down to a niche: where neighbours of one height are joined, and higher than it.
 */
static uint32_t go_down(cebus_pack_skyline *sky, uint32_t begin)
{
    for (;;) {
        uint64_t height = sky->height[begin];
        uint64_t left = height_before(sky, begin), right = height_after(sky, begin);
        if (left == height)
            set(sky, sky->before[begin], sky->end[begin], height);
        else if (right == height)
            set(sky, begin, sky->end[sky->end[begin]], height);
        if (left <= height)
            begin = sky->before[begin];
        else if (right < height)
            begin = sky->end[begin];
        else if (right > height)
            return begin;
    }
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

/** Puts a block into the niche that begins at `*begin`, which becomes what is left of it, or the
 * block's top; false if the block ends too high. */
static bool put(cebus_pack_skyline *sky, uint32_t *begin, uint32_t i, uint64_t *out_offset)
{
    const cebus_pack_problem *problem = sky->problem;
    uint32_t block = sky->part->block_begin + i;
    uint32_t end = sky->end[*begin], from = problem->first[block], to = problem->end[block];
    uint64_t height = sky->height[*begin];
    uint64_t offset = cebus_align_up(height, problem->align[block]);
    uint64_t top = offset + problem->size[block];
    if (top >= sky->limit)
        return false;
    out_offset[i] = offset;
    uproot(sky, i);
    if (*begin < from)
        set(sky, *begin, from, height);
    set(sky, from, to, top);
    if (to < end)
        set(sky, to, end, height);
    if (*begin == from && to < end)
        *begin = to;
    return true;
}

/** Gives a niche up; false when it is all there is, or there is no packing below the limit. */
static bool raise(cebus_pack_skyline *sky, uint32_t begin)
{
    uint64_t left = height_before(sky, begin), right = height_after(sky, begin);
    uint64_t height = left < right ? left : right;
    if (height == UINT64_MAX)
        return false;
    sky->lost =
        sky->limit < UINT64_MAX &&
        !cebus_pack_room_waste(&sky->room, begin, sky->end[begin], height - sky->height[begin]);
    sky->height[begin] = height;
    return !sky->lost;
}

bool cebus_pack_skyline_run(cebus_pack_skyline *sky, const cebus_pack_part *part,
                            const uint32_t *rank, uint64_t limit, cebus_pack_stop *stop,
                            uint64_t *out_offset)
{
    sky->part = part;
    sky->limit = limit;
    sky->lost = limit < UINT64_MAX && !cebus_pack_room_fill(&sky->room, sky->problem, part, limit);
    if (sky->lost)
        return false;
    plant(sky, rank);
    uint32_t begin = part->section_begin;
    set(sky, begin, part->section_end, 0);
    while (!cebus_pack_stop_now(stop, 250)) {
        begin = go_down(sky, begin);
        uint32_t best = best_within(sky, begin, sky->end[begin]);
        if (best == NOBODY && !raise(sky, begin))
            return !sky->lost;
        if (best != NOBODY && !put(sky, &begin, sky->by_rank[best], out_offset))
            return false;
    }
    return false;
}
