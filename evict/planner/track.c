#include "evict/planner/track.h"

#include <math.h>
#include <string.h>

void cebus_track_init(cebus_track *track, cebus_pool *pool)
{
    *track = (cebus_track){.pool = pool};
}

void cebus_track_deinit(cebus_track *track)
{
    for (size_t b = 0; b < track->n_blocks; b++)
        cebus_pool_free_object(track->pool, track->blocks[b], sizeof *track->blocks[b]);
    cebus_pool_free_object(track->pool, track->blocks, track->capacity * sizeof *track->blocks);
    cebus_pool_free_object(track->pool, track->sums, track->sums_capacity * sizeof *track->sums);
    cebus_pool_free_object(track->pool, track->places,
                           track->items_capacity * sizeof *track->places);
    cebus_track_init(track, track->pool);
}

static cebus_track_block *block_of(const cebus_track *track, uint32_t item)
{
    return track->blocks[track->places[item] / CEBUS_TRACK_BLOCK];
}

static uint32_t index_of(const cebus_track *track, uint32_t item)
{
    return track->places[item] % CEBUS_TRACK_BLOCK;
}

/** Most, least and weight, from the items. */
static void sum_up(cebus_track *track, const cebus_track_block *block)
{
    cebus_track_sum *sum = &track->sums[block->rank];
    double most = 0, least = 0, weight = 0;
    if (block->count > 0)
        most = least = block->level[0];
    for (uint32_t i = 0; i < block->count; i++) {
        most = block->level[i] > most ? block->level[i] : most;
        least = block->level[i] < least ? block->level[i] : least;
        weight += block->weights[i];
    }
    sum->most = most;
    sum->least = least;
    sum->weight = weight;
}

static void settle(cebus_track *track, cebus_track_block *block, uint32_t from)
{
    for (uint32_t i = from; i < block->count; i++)
        track->places[block->items[i]] = block->rank * CEBUS_TRACK_BLOCK + i;
}

static void renumber(cebus_track *track, size_t from)
{
    for (size_t b = from; b < track->n_blocks; b++) {
        track->blocks[b]->rank = (uint32_t)b;
        settle(track, track->blocks[b], 0);
    }
}

/** An empty block of that rank. */
static cebus_track_block *add_block(cebus_track *track, size_t rank)
{
    void *blocks = track->blocks;
    if (!cebus_pool_grow(track->pool, &blocks, &track->capacity, track->n_blocks,
                         sizeof *track->blocks))
        return NULL;
    track->blocks = blocks;
    void *sums = track->sums;
    if (!cebus_pool_grow(track->pool, &sums, &track->sums_capacity, track->n_blocks,
                         sizeof *track->sums))
        return NULL;
    track->sums = sums;
    cebus_track_block *block = cebus_pool_alloc(track->pool, sizeof *block);
    if (block == NULL)
        return NULL;
    memset(block, 0, sizeof *block);
    memmove(&track->blocks[rank + 1], &track->blocks[rank],
            (track->n_blocks - rank) * sizeof *track->blocks);
    memmove(&track->sums[rank + 1], &track->sums[rank],
            (track->n_blocks - rank) * sizeof *track->sums);
    track->blocks[rank] = block;
    track->sums[rank] = (cebus_track_sum){.lift = 0};
    track->n_blocks++;
    renumber(track, rank);
    return block;
}

static bool reserve(cebus_track *track, uint32_t item)
{
    void *places = track->places;
    while (track->n_items <= item) {
        if (!cebus_pool_grow(track->pool, &places, &track->items_capacity, track->n_items,
                             sizeof *track->places))
            return false;
        track->places = places;
        track->places[track->n_items++] = 0;
    }
    return true;
}

static void put(cebus_track *track, cebus_track_block *block, uint32_t index, uint32_t item)
{
    uint32_t behind = block->count - index;
    memmove(&block->items[index + 1], &block->items[index], behind * sizeof *block->items);
    memmove(&block->level[index + 1], &block->level[index], behind * sizeof *block->level);
    memmove(&block->weights[index + 1], &block->weights[index], behind * sizeof *block->weights);
    block->items[index] = item;
    block->count++;
    settle(track, block, index);
}

bool cebus_track_append(cebus_track *track, uint32_t item, double level, double weight)
{
    /* Some room in each for what will be put between. */
    cebus_track_block *last = track->n_blocks > 0 ? track->blocks[track->n_blocks - 1] : NULL;
    if (!reserve(track, item))
        return false;
    if (last == NULL || last->count >= CEBUS_TRACK_BLOCK * 3 / 4)
        last = add_block(track, track->n_blocks);
    if (last == NULL)
        return false;
    uint32_t index = last->count;
    put(track, last, index, item);
    last->level[index] = level - track->sums[last->rank].lift;
    last->weights[index] = weight;
    sum_up(track, last);
    return true;
}

/** The upper half moves to a block of its own. */
static bool split(cebus_track *track, cebus_track_block *block)
{
    cebus_track_block *upper = add_block(track, block->rank + 1);
    if (upper == NULL)
        return false;
    uint32_t half = block->count / 2, rest = block->count - half;
    memcpy(upper->items, &block->items[half], rest * sizeof *upper->items);
    memcpy(upper->level, &block->level[half], rest * sizeof *upper->level);
    memcpy(upper->weights, &block->weights[half], rest * sizeof *upper->weights);
    upper->count = rest;
    track->sums[upper->rank].lift = track->sums[block->rank].lift;
    block->count = half;
    settle(track, upper, 0);
    sum_up(track, upper);
    sum_up(track, block);
    return true;
}

bool cebus_track_insert(cebus_track *track, uint32_t item, uint32_t before, double level)
{
    if (!reserve(track, item))
        return false;
    if (block_of(track, before)->count == CEBUS_TRACK_BLOCK &&
        !split(track, block_of(track, before)))
        return false;
    cebus_track_block *block = block_of(track, before);
    uint32_t index = index_of(track, before);
    double weight = block->weights[index];
    put(track, block, index, item);
    block->level[index] = level - track->sums[block->rank].lift;
    block->weights[index] = weight;
    sum_up(track, block);
    return true;
}

void cebus_track_remove(cebus_track *track, uint32_t item)
{
    cebus_track_block *block = block_of(track, item);
    uint32_t index = index_of(track, item), behind = block->count - index - 1;
    memmove(&block->items[index], &block->items[index + 1], behind * sizeof *block->items);
    memmove(&block->level[index], &block->level[index + 1], behind * sizeof *block->level);
    memmove(&block->weights[index], &block->weights[index + 1], behind * sizeof *block->weights);
    block->count--;
    settle(track, block, index);
    sum_up(track, block);
    if (block->count > 0)
        return;
    size_t rank = block->rank;
    track->n_blocks--;
    memmove(&track->blocks[rank], &track->blocks[rank + 1],
            (track->n_blocks - rank) * sizeof *track->blocks);
    memmove(&track->sums[rank], &track->sums[rank + 1],
            (track->n_blocks - rank) * sizeof *track->sums);
    renumber(track, rank);
    cebus_pool_free_object(track->pool, block, sizeof *block);
}

uint32_t cebus_track_next(const cebus_track *track, uint32_t item)
{
    const cebus_track_block *block = block_of(track, item);
    if (index_of(track, item) + 1 < block->count)
        return block->items[index_of(track, item) + 1];
    return block->rank + 1 < track->n_blocks ? track->blocks[block->rank + 1]->items[0]
                                             : CEBUS_TRACK_NONE;
}

void cebus_track_weigh(cebus_track *track, uint32_t item, double weight)
{
    cebus_track_block *block = block_of(track, item);
    block->weights[index_of(track, item)] = weight;
    sum_up(track, block);
}

/** The part of a block whose keys are in [from, to). */
static inline void clip(const cebus_track_block *block, uint64_t from, uint64_t to,
                        uint32_t *out_first, uint32_t *out_last)
{
    uint64_t base = (uint64_t)block->rank * CEBUS_TRACK_BLOCK;
    *out_first = from > base ? (uint32_t)(from - base) : 0;
    *out_last = to - base < block->count ? (uint32_t)(to - base) : block->count;
}

/** One past the last block that has keys below `to`. */
static inline size_t end_block(const cebus_track *track, uint64_t to)
{
    size_t end = to / CEBUS_TRACK_BLOCK + (to % CEBUS_TRACK_BLOCK > 0);
    return end < track->n_blocks ? end : track->n_blocks;
}

void cebus_track_add(cebus_track *track, uint64_t from, uint64_t to, double bytes)
{
    size_t end = end_block(track, to);
    for (size_t b = from / CEBUS_TRACK_BLOCK; b < end; b++) {
        cebus_track_block *block = track->blocks[b];
        uint32_t first, last;
        clip(block, from, to, &first, &last);
        if (first >= last)
            continue;
        if (last - first == block->count) {
            track->sums[b].lift += bytes;
            continue;
        }
        for (uint32_t i = first; i < last; i++)
            block->level[i] += bytes;
        sum_up(track, block);
    }
}

/** Twice the area of one item, with these bytes added: without branches, which nobody could
 * foretell. */
static inline double twice_area(const cebus_track_block *block, uint32_t i, double before,
                                double after)
{
    double low = block->level[i] + before, high = block->level[i] + after;
    return block->weights[i] * (high + fabs(high) - low - fabs(low));
}

/** The area of some items. Four sums, so that none waits for another. */
static double area_in(const cebus_track_block *block, uint32_t first, uint32_t last, double before,
                      double after)
{
    double a = 0, b = 0, c = 0, d = 0;
    uint32_t i = first;
    for (; i + 4 <= last; i += 4) {
        a += twice_area(block, i, before, after);
        b += twice_area(block, i + 1, before, after);
        c += twice_area(block, i + 2, before, after);
        d += twice_area(block, i + 3, before, after);
    }
    for (; i < last; i++)
        a += twice_area(block, i, before, after);
    return (a + b + (c + d)) / 2;
}

double cebus_track_area(const cebus_track *track, uint64_t from, uint64_t to, double limit,
                        double before, double after)
{
    double area = 0, low = before < after ? before : after, high = before < after ? after : before;
    size_t end = end_block(track, to);
    for (size_t b = from / CEBUS_TRACK_BLOCK; b < end; b++) {
        const cebus_track_sum *sum = &track->sums[b];
        double base = sum->lift - limit;
        if (sum->most + base + high <= 0)
            continue;
        const cebus_track_block *block = track->blocks[b];
        uint32_t first, last;
        clip(block, from, to, &first, &last);
        if (first >= last)
            continue;
        if (last - first == block->count && sum->least + base + low >= 0) {
            area += sum->weight * (after - before);
            continue;
        }
        area += area_in(block, first, last, base + before, base + after);
    }
    return area;
}

bool cebus_track_exceeds(const cebus_track *track, uint64_t from, uint64_t to, double limit)
{
    size_t end = end_block(track, to);
    for (size_t b = from / CEBUS_TRACK_BLOCK; b < end; b++) {
        const cebus_track_sum *sum = &track->sums[b];
        if (sum->most + sum->lift <= limit)
            continue;
        const cebus_track_block *block = track->blocks[b];
        uint32_t first, last;
        clip(block, from, to, &first, &last);
        for (uint32_t i = first; i < last; i++) {
            if (block->level[i] + sum->lift > limit)
                return true;
        }
    }
    return false;
}

double cebus_track_peak(const cebus_track *track, uint32_t *out_item)
{
    double peak = 0;
    size_t at = track->n_blocks;
    for (size_t b = 0; b < track->n_blocks; b++) {
        if (track->sums[b].most + track->sums[b].lift <= peak)
            continue;
        peak = track->sums[b].most + track->sums[b].lift;
        at = b;
    }
    if (out_item == NULL)
        return peak;
    *out_item = CEBUS_TRACK_NONE;
    for (uint32_t i = 0; at < track->n_blocks && *out_item == CEBUS_TRACK_NONE; i++) {
        if (track->blocks[at]->level[i] >= track->sums[at].most)
            *out_item = track->blocks[at]->items[i];
    }
    return peak;
}
