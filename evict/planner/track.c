#include "evict/planner/track.h"

#include <math.h>
#include <string.h>

#include "layout/clones.h"

#define SUMS 4 /* arrays of cebus_track_sums */

static size_t n_groups(const cebus_track_sums *sums)
{
    return sums->capacity / CEBUS_TRACK_GROUP;
}

/** Nothing is known any more of the groups of some blocks. */
static void forget(const cebus_track_sums *sums, size_t first, size_t last)
{
    for (size_t g = first / CEBUS_TRACK_GROUP; g <= last / CEBUS_TRACK_GROUP; g++)
        sums->groups[g].known = false;
}

void cebus_track_init(cebus_track *track, cebus_pool *pool)
{
    *track = (cebus_track){.pool = pool};
}

void cebus_track_deinit(cebus_track *track)
{
    for (size_t b = 0; b < track->n_blocks; b++)
        cebus_pool_free_object(track->pool, track->blocks[b], sizeof *track->blocks[b]);
    cebus_pool_free_object(track->pool, track->blocks, track->capacity * sizeof *track->blocks);
    cebus_pool_free_object(track->pool, track->sums.lift,
                           SUMS * track->sums.capacity * sizeof(double));
    cebus_pool_free_object(track->pool, track->sums.groups,
                           n_groups(&track->sums) * sizeof *track->sums.groups);
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

/** Four numbers at once. Sums are made in four lanes: the same wherever it runs. */
typedef double quad __attribute__((vector_size(32), aligned(8)));
typedef int64_t quad_bits __attribute__((vector_size(32)));

CEBUS_CLONE_PART void load(quad *out, const double *numbers)
{
    *out = *(const quad *)numbers;
}
CEBUS_CLONE_PART void spread(quad *out, double number)
{
    *out = (quad){number, number, number, number};
}
CEBUS_CLONE_PART void raise_to(quad *most, const quad *numbers)
{
    quad_bits mask = *numbers > *most;
    *most = (quad)((mask & (quad_bits)*numbers) | (~mask & (quad_bits)*most));
}
static inline double greater_of(double a, double b)
{
    return a > b ? a : b;
}
CEBUS_CLONE_PART double sum_of(const quad *lanes)
{
    return ((*lanes)[0] + (*lanes)[2]) + ((*lanes)[1] + (*lanes)[3]);
}
CEBUS_CLONE_PART double greatest_of(const quad *lanes)
{
    return greater_of(greater_of((*lanes)[0], (*lanes)[1]), greater_of((*lanes)[2], (*lanes)[3]));
}

/** Most and least, from the items: the least is the most of what is turned over. What was known
 * of them is out of date. */
CEBUS_CLONES static void find_extremes(const cebus_track_sums *sums, cebus_track_block *block)
{
    for (uint32_t i = 0; i < CEBUS_TRACK_KNOWN; i++)
        block->known.before[i] = NAN;
    forget(sums, block->rank, block->rank);
    double first = block->count > 0 ? block->level[0] : 0, highest, lowest;
    quad most, least, level, turned;
    uint32_t i = 0;
    spread(&most, first);
    spread(&least, -first);
    for (; i + 4 <= block->count; i += 4) {
        load(&level, &block->level[i]);
        turned = -level;
        raise_to(&most, &level);
        raise_to(&least, &turned);
    }
    highest = greatest_of(&most);
    lowest = -greatest_of(&least);
    for (; i < block->count; i++) {
        highest = greater_of(block->level[i], highest);
        lowest = -greater_of(-block->level[i], -lowest);
    }
    sums->most[block->rank] = highest;
    sums->least[block->rank] = lowest;
}

/** And the weight. */
CEBUS_CLONES static void sum_up(const cebus_track_sums *sums, cebus_track_block *block)
{
    quad lanes, weights;
    uint32_t i = 0;
    find_extremes(sums, block);
    spread(&lanes, 0);
    for (; i + 4 <= block->count; i += 4) {
        load(&weights, &block->weights[i]);
        lanes += weights;
    }
    for (; i < block->count; i++)
        lanes[0] += block->weights[i];
    sums->weight[block->rank] = sum_of(&lanes);
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

/** Room for the sums of one more block. */
static bool grow_sums(cebus_track *track)
{
    const cebus_track_sums old = track->sums;
    if (track->n_blocks < old.capacity)
        return true;
    const size_t capacity = old.capacity > 0 ? 2 * old.capacity : CEBUS_TRACK_BLOCK;
    const size_t bytes = SUMS * capacity * sizeof(double);
    const size_t group_bytes = capacity / CEBUS_TRACK_GROUP * sizeof(cebus_track_group);
    double *numbers = cebus_pool_alloc(track->pool, bytes);
    cebus_track_group *groups = cebus_pool_alloc(track->pool, group_bytes);
    if (numbers == NULL || groups == NULL) {
        cebus_pool_free_object(track->pool, numbers, bytes);
        cebus_pool_free_object(track->pool, groups, group_bytes);
        return false;
    }
    for (size_t i = 0; i < SUMS && track->n_blocks > 0; i++)
        memcpy(numbers + i * capacity, old.lift + i * old.capacity, old.capacity * sizeof(double));
    cebus_pool_free_object(track->pool, old.lift, SUMS * old.capacity * sizeof *numbers);
    cebus_pool_free_object(track->pool, old.groups, n_groups(&old) * sizeof *groups);
    memset(groups, 0, group_bytes);
    track->sums = (cebus_track_sums){
        numbers, numbers + capacity, numbers + 2 * capacity, numbers + 3 * capacity, groups,
        capacity};
    return true;
}

/** Sums from a rank on go to another, up or down. */
static void move_sums(cebus_track *track, size_t to, size_t from, size_t count)
{
    forget(&track->sums, to < from ? to : from, track->sums.capacity - 1);
    for (size_t i = 0; i < SUMS; i++) {
        double *numbers = track->sums.lift + i * track->sums.capacity;
        memmove(numbers + to, numbers + from, count * sizeof *numbers);
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
    if (!grow_sums(track))
        return NULL;
    cebus_track_block *block = cebus_pool_alloc(track->pool, sizeof *block);
    if (block == NULL)
        return NULL;
    memset(block, 0, sizeof *block);
    memmove(&track->blocks[rank + 1], &track->blocks[rank],
            (track->n_blocks - rank) * sizeof *track->blocks);
    move_sums(track, rank + 1, rank, track->n_blocks - rank);
    track->blocks[rank] = block;
    track->sums.lift[rank] = 0;
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
    track->version++;
    if (!reserve(track, item))
        return false;
    if (last == NULL || last->count >= CEBUS_TRACK_BLOCK * 3 / 4)
        last = add_block(track, track->n_blocks);
    if (last == NULL)
        return false;
    uint32_t index = last->count;
    put(track, last, index, item);
    last->level[index] = level - track->sums.lift[last->rank];
    last->weights[index] = weight;
    track->n_weighed += weight != 1;
    sum_up(&track->sums, last);
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
    track->sums.lift[upper->rank] = track->sums.lift[block->rank];
    block->count = half;
    settle(track, upper, 0);
    sum_up(&track->sums, upper);
    sum_up(&track->sums, block);
    return true;
}

bool cebus_track_insert(cebus_track *track, uint32_t item, uint32_t before, double level)
{
    track->version++;
    if (!reserve(track, item))
        return false;
    if (block_of(track, before)->count == CEBUS_TRACK_BLOCK &&
        !split(track, block_of(track, before)))
        return false;
    cebus_track_block *block = block_of(track, before);
    uint32_t index = index_of(track, before);
    double weight = block->weights[index];
    put(track, block, index, item);
    block->level[index] = level - track->sums.lift[block->rank];
    block->weights[index] = weight;
    track->n_weighed += weight != 1;
    sum_up(&track->sums, block);
    return true;
}

void cebus_track_remove(cebus_track *track, uint32_t item)
{
    cebus_track_block *block = block_of(track, item);
    uint32_t index = index_of(track, item), behind = block->count - index - 1;
    track->version++;
    track->n_weighed -= block->weights[index] != 1;
    memmove(&block->items[index], &block->items[index + 1], behind * sizeof *block->items);
    memmove(&block->level[index], &block->level[index + 1], behind * sizeof *block->level);
    memmove(&block->weights[index], &block->weights[index + 1], behind * sizeof *block->weights);
    block->count--;
    settle(track, block, index);
    sum_up(&track->sums, block);
    if (block->count > 0)
        return;
    size_t rank = block->rank;
    track->n_blocks--;
    memmove(&track->blocks[rank], &track->blocks[rank + 1],
            (track->n_blocks - rank) * sizeof *track->blocks);
    move_sums(track, rank, rank + 1, track->n_blocks - rank);
    renumber(track, rank);
    cebus_pool_free_object(track->pool, block, sizeof *block);
}

void cebus_track_weigh(cebus_track *track, uint32_t item, double weight)
{
    cebus_track_block *block = block_of(track, item);
    double *at = &block->weights[index_of(track, item)];
    if (*at == weight)
        return;
    track->version++;
    track->n_weighed += (size_t)(weight != 1) - (size_t)(*at != 1);
    *at = weight;
    sum_up(&track->sums, block);
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

/** To what a block has in [from, to). */
static void add_at(cebus_track *track, size_t b, uint64_t from, uint64_t to, double bytes)
{
    cebus_track_block *block = track->blocks[b];
    uint32_t first, last;
    clip(block, from, to, &first, &last);
    if (first >= last)
        return;
    if (last - first == block->count) {
        track->sums.lift[b] += bytes;
        forget(&track->sums, b, b);
    } else {
        for (uint32_t i = first; i < last; i++)
            block->level[i] += bytes;
        find_extremes(&track->sums, block);
    }
}

void cebus_track_add(cebus_track *track, uint64_t from, uint64_t to, double bytes)
{
    size_t b = from / CEBUS_TRACK_BLOCK;
    const size_t end = end_block(track, to);
    track->version++;
    if (b < end)
        add_at(track, b++, from, to, bytes);
    if (b + 1 < end)
        forget(&track->sums, b, end - 1);
    for (; b + 1 < end; b++)
        track->sums.lift[b] += bytes;
    if (b < end)
        add_at(track, b, from, to, bytes);
}

/** What is above 0: without branches, which nobody could foretell. */
CEBUS_CLONE_PART void cut(quad *bytes)
{
    quad_bits mask = *bytes > 0;
    *bytes = (quad)(mask & (quad_bits)*bytes);
}

/** Bytes added to each item. */
typedef struct change {
    double before, after;
} change;

/** The area of some items, with so many bytes added. Even: all of weight 1. */
CEBUS_CLONE_PART double area_in(const cebus_track_block *block, uint32_t first, uint32_t last,
                                change added, bool even)
{
    quad lanes, level, high, weights;
    uint32_t i = first;
    spread(&lanes, 0);
    for (; i + 4 <= last; i += 4) {
        load(&level, &block->level[i]);
        high = level + added.after;
        level += added.before;
        cut(&high);
        cut(&level);
        high -= level;
        if (!even) {
            load(&weights, &block->weights[i]);
            high *= weights;
        }
        lanes += high;
    }
    for (; i < last; i++) {
        double most = greater_of(block->level[i] + added.after, 0);
        most -= greater_of(block->level[i] + added.before, 0);
        lanes[0] += even ? most : block->weights[i] * most;
    }
    return sum_of(&lanes);
}

/** The area of a whole block. The values of a program have few sizes, so that chain after chain
 * asks for the same. The lift of the block is in the bytes added, so it may change. */
CEBUS_CLONE_PART double area_within(cebus_track_block *block, change added, bool even)
{
    uint64_t bits[2];
    memcpy(bits, &added, sizeof bits);
    uint64_t mixed = (bits[0] ^ (bits[1] << 32 | bits[1] >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(mixed >> 32) % CEBUS_TRACK_KNOWN;
    if (block->known.before[at] != added.before || block->known.after[at] != added.after) {
        block->known.area[at] = area_in(block, 0, block->count, added, even);
        block->known.before[at] = added.before;
        block->known.after[at] = added.after;
    }
    return block->known.area[at];
}

/** A question: bytes over a limit, and what is added. `most`: what it may come to. */
typedef struct question {
    double limit, most;
    change added;
    double low, high; /**< the smaller and the larger of what is added */
} question;

/** The area of what a block has in [from, to). */
CEBUS_CLONE_PART double area_at(const cebus_track *track, size_t b, uint64_t from, uint64_t to,
                                const question *q, bool even)
{
    const cebus_track_sums *sums = &track->sums;
    const double base = sums->lift[b] - q->limit;
    if (sums->most[b] + base + q->high <= 0)
        return 0;
    cebus_track_block *block = track->blocks[b];
    const change all = {base + q->added.before, base + q->added.after};
    uint32_t first, last;
    clip(block, from, to, &first, &last);
    if (first >= last)
        return 0;
    if (last - first < block->count)
        return area_in(block, first, last, all, even);
    if (sums->least[b] + base + q->low >= 0)
        return sums->weight[b] * (q->added.after - q->added.before);
    return area_within(block, all, even);
}

/** What is known of a group. */
CEBUS_CLONE_PART const cebus_track_group *group_of(const cebus_track *track, size_t number)
{
    const cebus_track_sums *sums = &track->sums;
    cebus_track_group *group = &sums->groups[number];
    const size_t first = number * CEBUS_TRACK_GROUP, last = first + CEBUS_TRACK_GROUP;
    if (group->known)
        return group;
    *group = (cebus_track_group){-INFINITY, INFINITY, 0, true};
    for (size_t b = first; b < last && b < track->n_blocks; b++) {
        group->most = greater_of(sums->most[b] + sums->lift[b], group->most);
        group->least = -greater_of(-sums->least[b] - sums->lift[b], -group->least);
        group->weight += sums->weight[b];
    }
    return group;
}

/** Of some whole blocks, one after the other. */
CEBUS_CLONE_PART double area_of_each(const cebus_track *track, size_t b, size_t end,
                                     const question *q, double area, bool even)
{
    for (; b < end && area <= q->most; b++)
        area += area_at(track, b, 0, UINT64_MAX, q, even);
    return area;
}

/** Of a group of whole blocks; over the limit throughout, its area is that of one item, weighed.
 * Where all weights are 1 the areas are sums of whole numbers, in any order: blocks over the limit
 * are counted. */
CEBUS_CLONE_PART double area_of_group(const cebus_track *track, size_t number, const question *q,
                                      double area, bool even)
{
    const cebus_track_group *group = group_of(track, number);
    const cebus_track_sums *sums = &track->sums;
    const double width = q->added.after - q->added.before;
    size_t b = number * CEBUS_TRACK_GROUP;
    const size_t end = b + CEBUS_TRACK_GROUP;
    if (group->most - q->limit + q->high <= 0)
        return area;
    if (group->least - q->limit + q->low >= 0)
        return area + group->weight * width;
    if (!even)
        return area_of_each(track, b, end, q, area, false);
    double items = 0;
    for (; b < end; b++) {
        const double base = sums->lift[b] - q->limit;
        const change all = {base + q->added.before, base + q->added.after};
        if (sums->most[b] + base + q->high <= 0)
            continue;
        if (sums->least[b] + base + q->low >= 0)
            items += sums->weight[b];
        else
            area += area_within(track->blocks[b], all, true);
    }
    return area + items * width;
}

/** Of whole blocks. */
CEBUS_CLONE_PART double area_between(const cebus_track *track, size_t b, size_t end,
                                     const question *q, double area, bool even)
{
    const size_t last = end / CEBUS_TRACK_GROUP;
    size_t number = (b + CEBUS_TRACK_GROUP - 1) / CEBUS_TRACK_GROUP;
    if (number >= last)
        return area_of_each(track, b, end, q, area, even);
    area = area_of_each(track, b, number * CEBUS_TRACK_GROUP, q, area, even);
    for (; number < last && area <= q->most; number++)
        area = area_of_group(track, number, q, area, even);
    return area_of_each(track, last * CEBUS_TRACK_GROUP, end, q, area, even);
}

CEBUS_CLONE_PART double area_of(const cebus_track *track, uint64_t from, uint64_t to,
                                const question *q, bool even)
{
    size_t b = from / CEBUS_TRACK_BLOCK, end = end_block(track, to);
    double area = b < end ? area_at(track, b++, from, to, q, even) : 0;
    if (b + 1 < end) {
        area = area_between(track, b, end - 1, q, area, even);
        b = end - 1;
    }
    return b < end && area <= q->most ? area + area_at(track, b, from, to, q, even) : area;
}

/** Searches know no weights. */
CEBUS_CLONES static double area_up_to(const cebus_track *track, uint64_t from, uint64_t to,
                                      double limit, double before, double after, double most)
{
    const double low = before < after ? before : after, high = before < after ? after : before;
    const question q = {limit, most, {before, after}, low, high};
    return track->n_weighed == 0 ? area_of(track, from, to, &q, true)
                                 : area_of(track, from, to, &q, false);
}

/** Clones of what other files call would be public, whatever the visibility. */
double cebus_track_area(const cebus_track *track, uint64_t from, uint64_t to, double limit,
                        double before, double after)
{
    return area_up_to(track, from, to, limit, before, after, INFINITY);
}

double cebus_track_area_up_to(const cebus_track *track, uint64_t from, uint64_t to, double limit,
                              double before, double after, double most)
{
    return area_up_to(track, from, to, limit, before, after, most);
}

/** The first block in [b, end) with more than a limit; `end`: there is none. */
static size_t find_over(const cebus_track *track, size_t b, size_t end, double limit)
{
    const cebus_track_sums *sums = &track->sums;
    while (b < end) {
        if (b % CEBUS_TRACK_GROUP == 0 && group_of(track, b / CEBUS_TRACK_GROUP)->most <= limit)
            b += CEBUS_TRACK_GROUP;
        else if (sums->most[b] + sums->lift[b] <= limit)
            b++;
        else
            break;
    }
    return b < end ? b : end;
}

uint32_t cebus_track_first_over(const cebus_track *track, uint64_t from, uint64_t to, double limit)
{
    const size_t end = end_block(track, to);
    size_t b = find_over(track, from / CEBUS_TRACK_BLOCK, end, limit);
    for (; b < end; b = find_over(track, b + 1, end, limit)) {
        const cebus_track_block *block = track->blocks[b];
        const double lift = track->sums.lift[b];
        uint32_t first, last;
        clip(block, from, to, &first, &last);
        for (uint32_t i = first; i < last; i++) {
            if (block->level[i] + lift > limit)
                return block->items[i];
        }
    }
    return CEBUS_TRACK_NONE;
}
