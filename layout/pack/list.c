#include "layout/pack/list.h"

#include <string.h>

#include "layout/clones.h"
#include "layout/number.h"
#include "layout/pack/lives.h"

enum {
    RUN = 64,
    /** A block that is found by when it lives, and sorted, costs as much as so many that are passed
     * by in runs. */
    SPARSE = 64
};

/** Neighbours in the order of offsets. */
typedef struct run {
    int32_t firsts[RUN], ends[RUN]; /**< signed, as vectors compare them; unused: meets nothing */
    uint64_t offsets[RUN], tops[RUN];
} run;

/** What is known of all blocks of a run. To one that meets all their lifetimes, and is larger than
 * what is free between any two, they are as one block. */
typedef struct head {
    run *run;
    uint32_t count;
    uint32_t first, end;
    int32_t last_first, first_end; /**< the last to begin, the first to end */
    uint64_t bottom;               /**< where the first of them lies */
    uint64_t widest, top;          /**< of the gaps between them, if all live at once; their end */
} head;

struct cebus_pack_list {
    const cebus_pack_problem *problem;
    uint32_t *by_rank;
    run *runs;
    head *heads; /**< of the runs, by offset */
    size_t n_runs;
    /* Where few live with any one. */
    bool sparse;
    cebus_pack_lives lives;
    const uint64_t *offsets; /**< of the part's blocks */
    uint32_t begin;          /**< the first of them */
    uint32_t *near;
    cebus_pack_keyed *items, *spare;
};

cebus_pack_list *cebus_pack_list_create(const cebus_pack_problem *problem,
                                        cebus_pack_memory *memory)
{
    cebus_pack_list *list = cebus_pack_memory_take(memory, 1, sizeof *list);
    if (list == NULL)
        return NULL;
    *list = (cebus_pack_list){.problem = problem};
    list->by_rank = cebus_pack_memory_take(memory, problem->n, sizeof *list->by_rank);
    /* A run is full when it is split, into halves, so all but one stay at least half full. */
    const size_t runs = problem->n / (RUN / 2) + 2;
    list->runs = cebus_pack_memory_take(memory, runs, sizeof *list->runs);
    list->heads = cebus_pack_memory_take(memory, runs, sizeof *list->heads);
    list->near = cebus_pack_memory_take(memory, problem->n + 1, sizeof *list->near);
    list->items = cebus_pack_memory_take(memory, problem->n, sizeof *list->items);
    list->spare = cebus_pack_memory_take(memory, problem->n, sizeof *list->spare);
    return list->by_rank != NULL && list->runs != NULL && list->heads != NULL &&
                   list->near != NULL && list->items != NULL && list->spare != NULL &&
                   cebus_pack_lives_init(&list->lives, problem, memory)
               ? list
               : NULL;
}

/** Between which a block may lie, so far. */
typedef struct gaps {
    uint64_t size, align;
    uint64_t floor;       /**< above all that came */
    uint64_t best, least; /**< the smallest that fits: its start, its bytes; UINT64_MAX: none */
} gaps;

/** The next one by offset. */
CEBUS_CLONE_PART void pass(gaps *g, uint64_t offset, uint64_t top)
{
    if (offset >= g->floor + g->size && offset - g->floor < g->least) {
        g->least = offset - g->floor;
        g->best = g->floor;
    }
    if (top > g->floor)
        g->floor = cebus_align_up(top, g->align);
}

CEBUS_CLONE_PART gaps begin_gaps(const cebus_pack_problem *problem, uint32_t block)
{
    return (gaps){problem->size[block], problem->align[block], 0, 0, UINT64_MAX};
}

CEBUS_CLONE_PART uint64_t end_gaps(const gaps *g)
{
    return g->least != UINT64_MAX ? g->best : g->floor;
}

/* By offset. */

static void clear(run *r, size_t from)
{
    for (size_t i = from; i < RUN; i++) {
        r->firsts[i] = INT32_MAX;
        r->ends[i] = 0;
    }
}

/** An empty run that becomes the one with this number. */
static head *add_run(cebus_pack_list *list, size_t at)
{
    head *h = &list->heads[at];
    memmove(h + 1, h, (list->n_runs - at) * sizeof *h);
    *h = (head){.run = &list->runs[list->n_runs++], .first = UINT32_MAX};
    clear(h->run, 0);
    return h;
}

/** What is known of all its blocks. */
static void sum_up(head *h)
{
    const run *r = h->run;
    int32_t first = INT32_MAX, end = 0, last_first = 0, first_end = INT32_MAX;
    for (uint32_t i = 0; i < h->count; i++) {
        first = r->firsts[i] < first ? r->firsts[i] : first;
        end = r->ends[i] > end ? r->ends[i] : end;
        last_first = r->firsts[i] > last_first ? r->firsts[i] : last_first;
        first_end = r->ends[i] < first_end ? r->ends[i] : first_end;
    }
    h->first = (uint32_t)first;
    h->end = (uint32_t)end;
    h->last_first = last_first;
    h->first_end = first_end;
    h->bottom = r->offsets[0];
    h->widest = 0;
    h->top = r->tops[0];
    for (uint32_t i = 1; i < h->count; i++) {
        if (r->offsets[i] > h->top && r->offsets[i] - h->top > h->widest)
            h->widest = r->offsets[i] - h->top;
        h->top = r->tops[i] > h->top ? r->tops[i] : h->top;
    }
}

/** Moves the upper half of a full run to a new one after it. */
static void split(cebus_pack_list *list, size_t at)
{
    head *upper = add_run(list, at + 1), *full = upper - 1;
    const size_t half = RUN / 2;
    memcpy(upper->run->firsts, full->run->firsts + half, half * sizeof *upper->run->firsts);
    memcpy(upper->run->ends, full->run->ends + half, half * sizeof *upper->run->ends);
    memcpy(upper->run->offsets, full->run->offsets + half, half * sizeof *upper->run->offsets);
    memcpy(upper->run->tops, full->run->tops + half, half * sizeof *upper->run->tops);
    upper->count = full->count = RUN / 2;
    clear(full->run, half);
    sum_up(full);
    sum_up(upper);
}

/** The last run that begins at an offset or below; the first where none does. */
static size_t find_run(const cebus_pack_list *list, uint64_t offset)
{
    size_t low = 0, high = list->n_runs;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (list->heads[middle].bottom <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void insert(cebus_pack_list *list, uint32_t block, uint64_t offset)
{
    size_t number = find_run(list, offset);
    if (list->heads[number].count == RUN) {
        split(list, number);
        number += list->heads[number + 1].bottom <= offset;
    }
    head *h = &list->heads[number];
    run *r = h->run;
    size_t at = h->count;
    while (at > 0 && r->offsets[at - 1] > offset)
        at--;
    size_t after = h->count - at;
    memmove(r->firsts + at + 1, r->firsts + at, after * sizeof *r->firsts);
    memmove(r->ends + at + 1, r->ends + at, after * sizeof *r->ends);
    memmove(r->offsets + at + 1, r->offsets + at, after * sizeof *r->offsets);
    memmove(r->tops + at + 1, r->tops + at, after * sizeof *r->tops);
    r->firsts[at] = (int32_t)list->problem->first[block];
    r->ends[at] = (int32_t)list->problem->end[block];
    r->offsets[at] = offset;
    r->tops[at] = offset + list->problem->size[block];
    h->count++;
    sum_up(h);
}

/** A bit for each of eight bytes of 0 or 1, the first one's the lowest: the product moves byte i to
 * bit i of its highest byte. */
CEBUS_CLONE_PART uint64_t gathered(uint64_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes * UINT64_C(0x0102040810204080) >> 56;
}

/** Which of a run's blocks live at some time in [first, end): a bit each. */
CEBUS_CLONE_PART uint64_t meets(const run *r, int32_t first, int32_t end)
{
    unsigned char hits[RUN];
    uint64_t bits = 0;
    for (int i = 0; i < RUN; i++)
        hits[i] = (unsigned char)((r->firsts[i] < end) & (r->ends[i] > first));
    for (int word = 0; word < RUN; word += 8) {
        uint64_t eight;
        memcpy(&eight, hits + word, sizeof eight);
        bits |= gathered(eight) << word;
    }
    return bits;
}

/** Whether to a block of that lifetime and size those of a run are as one. */
CEBUS_CLONE_PART bool is_one(const head *h, int32_t first, int32_t end, uint64_t size)
{
    return h->last_first < end && h->first_end > first && h->widest < size;
}

/** The start of the smallest gap among the blocks of this lifetime that the block fits into. */
CEBUS_CLONES static uint64_t best_fit(const cebus_pack_list *list, uint32_t block)
{
    const cebus_pack_problem *problem = list->problem;
    uint32_t first = problem->first[block], end = problem->end[block];
    gaps g = begin_gaps(problem, block);
    for (const head *h = list->heads, *last = h + list->n_runs; h < last; h++) {
        if (h->first >= end || h->end <= first)
            continue;
        const run *r = h->run;
        uint64_t bits = 0;
        if (is_one(h, (int32_t)first, (int32_t)end, g.size))
            pass(&g, h->bottom, h->top);
        else
            bits = meets(r, (int32_t)first, (int32_t)end);
        for (; bits != 0; bits &= bits - 1) {
            int i = __builtin_ctzll(bits);
            pass(&g, r->offsets[i], r->tops[i]);
        }
        if (g.least == g.size)
            return g.best;
    }
    return end_gaps(&g);
}

/* By lifetime. */

/** Do few of a part's blocks live at once, in the mean? */
static bool is_sparse(const cebus_pack_problem *problem, const cebus_pack_part *part)
{
    uint64_t alive = 0, n = part->block_end - part->block_begin;
    for (uint32_t i = part->block_begin; i < part->block_end; i++)
        alive += problem->end[i] - problem->first[i];
    return alive / (part->section_end - part->section_begin) * SPARSE < n;
}

/** The same answer; out_work: nanoseconds, about. */
static uint64_t best_fit_near(const cebus_pack_list *list, uint32_t block, uint64_t *out_work)
{
    enum {
        SEARCH_NS = 200,
        BLOCK_NS = 20
    };
    const uint64_t *size = list->problem->size;
    gaps g = begin_gaps(list->problem, block);
    uint32_t count = cebus_pack_lives_with(&list->lives, block, list->near);
    for (uint32_t i = 0; i < count; i++)
        list->items[i] =
            (cebus_pack_keyed){list->offsets[list->near[i] - list->begin], list->near[i]};
    cebus_pack_sort(list->items, list->spare, count);
    for (uint32_t i = 0; i < count; i++)
        pass(&g, list->items[i].key, list->items[i].key + size[list->items[i].item]);
    *out_work = SEARCH_NS + (uint64_t)BLOCK_NS * count;
    return end_gaps(&g);
}

/* Either way. */

static void clear_list(cebus_pack_list *list, const cebus_pack_part *part, const uint64_t *offsets)
{
    list->sparse = is_sparse(list->problem, part);
    list->offsets = offsets;
    list->begin = part->block_begin;
    list->n_runs = 0;
    if (list->sparse)
        cebus_pack_lives_clear(&list->lives, part);
    else
        add_run(list, 0);
}

static bool put(cebus_pack_list *list, uint32_t block, uint64_t offset, uint64_t limit)
{
    if (offset + list->problem->size[block] >= limit)
        return false;
    if (list->sparse)
        cebus_pack_lives_add(&list->lives, block);
    else
        insert(list, block, offset);
    return true;
}

bool cebus_pack_list_run(cebus_pack_list *list, const cebus_pack_part *part, const uint32_t *rank,
                         uint64_t limit, cebus_pack_stop *stop, uint64_t *out_offset)
{
    const uint64_t *preset = list->problem->preset + part->block_begin;
    uint32_t n = part->block_end - part->block_begin;
    clear_list(list, part, out_offset);
    for (uint32_t i = 0; i < n; i++) {
        list->by_rank[rank[i]] = i;
        out_offset[i] = preset[i];
        if (preset[i] != CEBUS_PACK_ANYWHERE && !put(list, part->block_begin + i, preset[i], limit))
            return false;
    }
    for (uint32_t place = 0; place < n; place++) {
        uint32_t i = list->by_rank[place];
        if (preset[i] != CEBUS_PACK_ANYWHERE)
            continue;
        uint64_t work = 100 + place / 2;
        out_offset[i] = list->sparse ? best_fit_near(list, part->block_begin + i, &work)
                                     : best_fit(list, part->block_begin + i);
        if (!put(list, part->block_begin + i, out_offset[i], limit) ||
            cebus_pack_stop_now(stop, work))
            return false;
    }
    return true;
}
