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

/** Two numbers at once. Sums are made in two pairs of lanes: the same wherever it runs. */
typedef double pair __attribute__((vector_size(16), aligned(8)));
typedef int64_t pair_bits __attribute__((vector_size(16)));

static inline pair pair_at(const double *numbers)
{
    return *(const pair *)numbers;
}
static inline pair pair_of(double number)
{
    return (pair){number, number};
}
static inline pair greater(pair a, pair b)
{
    pair_bits mask = a > b;
    return (pair)((mask & (pair_bits)a) | (~mask & (pair_bits)b));
}
static inline double greater_of(double a, double b)
{
    return a > b ? a : b;
}

/** Most and least, from the items: the least is the most of what is turned over. */
static void find_extremes(cebus_track *track, const cebus_track_block *block)
{
    double first = block->count > 0 ? block->level[0] : 0;
    pair most[2] = {pair_of(first), pair_of(first)}, least[2] = {pair_of(-first), pair_of(-first)};
    uint32_t i = 0;
    for (; i + 4 <= block->count; i += 4) {
        pair low = pair_at(&block->level[i]), high = pair_at(&block->level[i + 2]);
        most[0] = greater(low, most[0]);
        most[1] = greater(high, most[1]);
        least[0] = greater(-low, least[0]);
        least[1] = greater(-high, least[1]);
    }
    for (; i < block->count; i++) {
        most[0] = greater(pair_of(block->level[i]), most[0]);
        least[0] = greater(pair_of(-block->level[i]), least[0]);
    }
    most[0] = greater(most[0], most[1]);
    least[0] = greater(least[0], least[1]);
    track->sums[block->rank].most = greater_of(most[0][0], most[0][1]);
    track->sums[block->rank].least = -greater_of(least[0][0], least[0][1]);
}

/** And the weight. */
static void sum_up(cebus_track *track, const cebus_track_block *block)
{
    pair low = pair_of(0), high = pair_of(0);
    uint32_t i = 0;
    find_extremes(track, block);
    for (; i + 4 <= block->count; i += 4) {
        low += pair_at(&block->weights[i]);
        high += pair_at(&block->weights[i + 2]);
    }
    for (; i < block->count; i++)
        low[0] += block->weights[i];
    low += high;
    track->sums[block->rank].weight = low[0] + low[1];
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
        find_extremes(track, block);
    }
}

/** What of two is above 0: without branches, which nobody could foretell. */
static inline pair above(pair bytes)
{
    return (pair)((bytes > pair_of(0)) & (pair_bits)bytes);
}

/** The area of two items, with these bytes added. */
static inline pair areas(const cebus_track_block *block, uint32_t i, pair before, pair after)
{
    pair level = pair_at(&block->level[i]);
    return pair_at(&block->weights[i]) * (above(level + after) - above(level + before));
}

/** The area of some items. */
static double area_in(const cebus_track_block *block, uint32_t first, uint32_t last, double before,
                      double after)
{
    pair a = pair_of(0), b = a, lows = pair_of(before), highs = pair_of(after);
    uint32_t i = first;
    for (; i + 4 <= last; i += 4) {
        a += areas(block, i, lows, highs);
        b += areas(block, i + 2, lows, highs);
    }
    for (; i < last; i++) {
        double high = greater_of(block->level[i] + after, 0);
        a[0] += block->weights[i] * (high - greater_of(block->level[i] + before, 0));
    }
    a += b;
    return a[0] + a[1];
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
