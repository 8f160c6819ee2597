#include "layout/pack/repair.h"

#include <math.h>
#include <string.h>

#include "layout/number.h"

/** The offset of a block that waits. Blocks are numbered from the part's first. */
#define NOWHERE CEBUS_PACK_ANYWHERE
/** With more each step takes long. */
#define MOST_BLOCKS (1 << 14)
/** The highest price and weight of a block, and what a block costs that cannot go, as it has a
 * preset: more than as many others together. */
#define MOST_PRICE (1 << 20)
#define MOST_WEIGHT (1 << 12)
#define FIRM (UINT64_C(1) << 47)

/** A placed block that lives with the one at hand. */
typedef struct neighbour {
    uint64_t at, cost; /**< where it begins, or ends */
} neighbour;

struct cebus_pack_repair {
    const cebus_pack_problem *problem;
    const cebus_pack_part *part;
    uint64_t target;   /**< bytes */
    uint64_t *offset;  /**< the caller's */
    uint64_t *best;    /**< those with the least waiting */
    double *bulks;     /**< of a block: its size, and more where it lives long */
    uint32_t *prices;  /**< of a block: what it counts for where it has to go */
    uint32_t *weights; /**< times that */
    uint32_t *placed;  /**< by offset */
    uint32_t *queue;   /**< those that wait */
    uint32_t *met;     /**< neighbours of the block at hand, by offset */
    neighbour *starts, *ends;
    uint32_t n_placed, n_queue, n_met;
    double waiting, least; /**< units times sections in the queue; of `best` */
};

cebus_pack_repair *cebus_pack_repair_create(const cebus_pack_problem *problem,
                                            cebus_pack_memory *memory)
{
    const size_t n = problem->n;
    cebus_pack_repair *r = cebus_pack_memory_take(memory, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (cebus_pack_repair){.problem = problem};
    r->best = cebus_pack_memory_take(memory, n, sizeof *r->best);
    r->bulks = cebus_pack_memory_take(memory, n, sizeof *r->bulks);
    r->prices = cebus_pack_memory_take(memory, n, sizeof *r->prices);
    r->weights = cebus_pack_memory_take(memory, n, sizeof *r->weights);
    r->placed = cebus_pack_memory_take(memory, n, sizeof *r->placed);
    r->queue = cebus_pack_memory_take(memory, n, sizeof *r->queue);
    r->met = cebus_pack_memory_take(memory, n, sizeof *r->met);
    r->starts = cebus_pack_memory_take(memory, n + 1, sizeof *r->starts);
    r->ends = cebus_pack_memory_take(memory, n + 1, sizeof *r->ends);
    return r->best != NULL && r->bulks != NULL && r->prices != NULL && r->weights != NULL &&
                   r->placed != NULL && r->queue != NULL && r->met != NULL && r->starts != NULL &&
                   r->ends != NULL
               ? r
               : NULL;
}

static uint32_t n_blocks(const cebus_pack_repair *r)
{
    return r->part->block_end - r->part->block_begin;
}

static uint64_t size_of(const cebus_pack_repair *r, uint32_t i)
{
    return r->problem->size[r->part->block_begin + i];
}

/** Sections. */
static uint32_t life_of(const cebus_pack_repair *r, uint32_t i)
{
    const uint32_t block = r->part->block_begin + i;
    return r->problem->end[block] - r->problem->first[block];
}

static double area_of(const cebus_pack_repair *r, uint32_t i)
{
    return (double)size_of(r, i) * (double)life_of(r, i);
}

static bool is_firm(const cebus_pack_repair *r, uint32_t i)
{
    return r->problem->preset[r->part->block_begin + i] != CEBUS_PACK_ANYWHERE;
}

/* --- who lies where -------------------------------------------------------------------------- */

/** Where a block is, or would be, among those that are placed. */
static uint32_t find(const cebus_pack_repair *r, uint32_t i)
{
    uint32_t low = 0, high = r->n_placed;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2, other = r->placed[middle];
        const bool before =
            r->offset[other] != r->offset[i] ? r->offset[other] < r->offset[i] : other < i;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put(cebus_pack_repair *r, uint32_t i, uint64_t offset)
{
    r->offset[i] = offset;
    const uint32_t at = find(r, i);
    memmove(r->placed + at + 1, r->placed + at, (r->n_placed - at) * sizeof *r->placed);
    r->placed[at] = i;
    r->n_placed++;
}

static void put_off(cebus_pack_repair *r, uint32_t i)
{
    r->offset[i] = NOWHERE;
    r->queue[r->n_queue++] = i;
    r->waiting += area_of(r, i);
}

static void take_out(cebus_pack_repair *r, uint32_t i)
{
    const uint32_t at = find(r, i);
    memmove(r->placed + at, r->placed + at + 1, (r->n_placed - at - 1) * sizeof *r->placed);
    r->n_placed--;
    r->weights[i] += r->weights[i] < MOST_WEIGHT;
    put_off(r, i);
}

/** The bulkiest that waits, or the one that lives longest, which does so no longer. */
static uint32_t take_next(cebus_pack_repair *r, bool by_life)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < r->n_queue; k++) {
        const uint32_t i = r->queue[k], other = r->queue[best];
        if (by_life ? life_of(r, i) > life_of(r, other) : r->bulks[i] > r->bulks[other])
            best = k;
    }
    const uint32_t i = r->queue[best];
    r->queue[best] = r->queue[--r->n_queue];
    r->waiting -= area_of(r, i);
    return i;
}

/* --- where to -------------------------------------------------------------------------------- */

/** Who lives with a block, by where they begin and by where they end. */
static void meet(cebus_pack_repair *r, uint32_t i)
{
    const uint32_t *first = r->problem->first + r->part->block_begin,
                   *end = r->problem->end + r->part->block_begin;
    const uint32_t from = first[i], to = end[i];
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->n_placed; k++) {
        r->met[n] = r->placed[k];
        n += first[r->placed[k]] < to && end[r->placed[k]] > from;
    }
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t other = r->met[k];
        const uint64_t cost =
            is_firm(r, other) ? FIRM : (uint64_t)r->weights[other] * r->prices[other];
        const neighbour last = {r->offset[other] + size_of(r, other), cost};
        uint32_t at = k;
        r->starts[k] = (neighbour){r->offset[other], cost};
        for (; at > 0 && r->ends[at - 1].at > last.at; at--)
            r->ends[at] = r->ends[at - 1];
        r->ends[at] = last;
    }
    r->n_met = n;
}

/** A walk over places from below: what lies between two of its cursors is overlapped. */
typedef struct walk {
    uint32_t begun, ended;
    uint64_t cost;
} walk;

/** What a block costs at an offset, which is not below the last one that was asked for. */
static uint64_t cost_at(const cebus_pack_repair *r, walk *w, uint64_t offset, uint64_t size)
{
    for (; w->begun < r->n_met && r->starts[w->begun].at < offset + size; w->begun++)
        w->cost += r->starts[w->begun].cost;
    for (; w->ended < r->n_met && r->ends[w->ended].at <= offset; w->ended++)
        w->cost -= r->ends[w->ended].cost;
    return w->cost;
}

/** The lowest of the cheapest places that end at the target: right on a neighbour, or right below
 * one. *out_cost UINT64_MAX: there is none. */
static uint64_t cheapest(const cebus_pack_repair *r, uint32_t i, uint64_t target,
                         uint64_t *out_cost)
{
    const uint32_t block = r->part->block_begin + i;
    const uint64_t size = size_of(r, i), align = r->problem->align[block],
                   bytes = r->problem->blocks[r->problem->index[block]].bytes;
    uint64_t best = NOWHERE, last = 0;
    walk up = {0}, down = {0};
    *out_cost = UINT64_MAX;
    if (bytes > target)
        return NOWHERE;
    last = (target - bytes) / r->problem->unit;
    for (uint32_t k = 0; k <= r->n_met && *out_cost > 0; k++) {
        const uint64_t offset = k > 0 ? cebus_align_up(r->ends[k - 1].at, align) : 0;
        if (offset > last)
            break;
        const uint64_t cost = cost_at(r, &up, offset, size);
        if (cost < *out_cost) {
            *out_cost = cost;
            best = offset;
        }
    }
    for (uint32_t k = 0; k <= r->n_met && *out_cost > 0; k++) {
        const uint64_t top = k < r->n_met ? r->starts[k].at : last + size;
        const uint64_t offset = top >= size ? (top - size) & ~(align - 1) : 0;
        if (offset > last)
            break;
        const uint64_t cost = top >= size ? cost_at(r, &down, offset, size) : UINT64_MAX;
        if (cost < *out_cost) {
            *out_cost = cost;
            best = offset;
        }
    }
    return best;
}

/* --- the repair ------------------------------------------------------------------------------ */

/** The packing as it stands, in which so much waits, if that is the least so far. */
static void note_best(cebus_pack_repair *r, double waiting)
{
    if (waiting >= r->least)
        return;
    r->least = waiting;
    memcpy(r->best, r->offset, n_blocks(r) * sizeof *r->best);
}

/** Puts a block where it costs least. False: it can be nowhere. */
static bool step(cebus_pack_repair *r)
{
    const uint32_t i = take_next(r, false);
    uint64_t cost;
    meet(r, i);
    const uint64_t offset = cheapest(r, i, r->target, &cost), top = offset + size_of(r, i);
    if (cost >= FIRM) {
        put_off(r, i);
        return false;
    }
    if (cost > 0)
        note_best(r, r->waiting + area_of(r, i));
    for (uint32_t k = 0; k < r->n_met && cost > 0; k++) {
        const uint32_t other = r->met[k];
        if (r->offset[other] < top && r->offset[other] + size_of(r, other) > offset)
            take_out(r, other);
    }
    put(r, i, offset);
    return true;
}

/** Those that end too high wait. */
static void begin(cebus_pack_repair *r)
{
    r->n_placed = r->n_queue = 0;
    r->waiting = 0;
    for (uint32_t i = 0; i < n_blocks(r); i++) {
        const uint32_t block = r->part->block_begin + i;
        const uint64_t offset = is_firm(r, i) ? r->problem->preset[block] : r->offset[i];
        if (offset == NOWHERE || cebus_pack_problem_top(r->problem, block, offset) > r->target)
            put_off(r, i);
        else
            put(r, i, offset);
    }
}

static void weigh(cebus_pack_repair *r)
{
    double most = 1;
    for (uint32_t i = 0; i < n_blocks(r); i++)
        most = fmax(most, area_of(r, i));
    for (uint32_t i = 0; i < n_blocks(r); i++) {
        r->bulks[i] = (double)size_of(r, i) * sqrt(life_of(r, i));
        r->prices[i] = 1 + (uint32_t)(sqrt(area_of(r, i) / most) * (MOST_PRICE - 1));
        r->weights[i] = 1;
    }
}

/** What waits in the best packing goes on top, what lives long below the rest. */
static void finish(cebus_pack_repair *r)
{
    uint64_t cost;
    note_best(r, r->waiting);
    memcpy(r->offset, r->best, n_blocks(r) * sizeof *r->offset);
    begin(r);
    while (r->n_queue > 0) {
        const uint32_t i = take_next(r, true);
        meet(r, i);
        put(r, i, cheapest(r, i, UINT64_MAX, &cost));
    }
}

static uint64_t height_of(const cebus_pack_repair *r)
{
    uint64_t height = 0;
    for (uint32_t i = 0; i < n_blocks(r); i++) {
        const uint64_t top =
            cebus_pack_problem_top(r->problem, r->part->block_begin + i, r->offset[i]);
        height = top > height ? top : height;
    }
    return height;
}

uint64_t cebus_pack_repair_run(cebus_pack_repair *repair, const cebus_pack_part *part,
                               uint64_t target, uint64_t steps, cebus_pack_stop *stop,
                               uint64_t *offset)
{
    cebus_pack_repair *r = repair;
    r->part = part;
    r->target = target;
    r->offset = offset;
    r->least = INFINITY;
    weigh(r);
    begin(r);
    if (n_blocks(r) > MOST_BLOCKS)
        steps = 0;
    for (uint64_t i = 0; i < steps && r->n_queue > 0; i++) {
        if (!step(r) || cebus_pack_stop_now(stop, r->n_placed + UINT64_C(10) * r->n_met))
            break;
    }
    finish(r);
    return height_of(r);
}
