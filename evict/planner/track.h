/**
 * track.h: items in an order that may change, each with the bytes resident while it runs and a
 * weight for bytes too many there. What is asked of it: put an item in, take one out, add bytes to
 * all between two items, sum what is over a limit between them.
 *
 * Items lie in blocks of 64. A block knows its most and least bytes, and bytes added to all its
 * items are added to the block alone: where a whole block is under the limit, or over it, its items
 * are not looked at; nor are blocks, where 16 of them are. So all of this costs O(items / 64 + 64).
 * Whole blocks that are partly over the limit remember some areas: they are asked for again and
 * again between two changes.
 *
 *     blocks     | a b c d |  e f g  | h i j k |        place of f: rank 1, index 1
 *     lift            0        -100       0             all of e f g: 100 bytes less
 *
 * Levels are doubles that hold whole numbers below 2^53: sums are exact, and what is undone is as
 * it was.
 */
#ifndef CEBUS_EVICT_PLANNER_TRACK_H
#define CEBUS_EVICT_PLANNER_TRACK_H

#include "layout/pool.h"

#define CEBUS_TRACK_BLOCK 64
#define CEBUS_TRACK_NONE UINT32_MAX

/** Areas of a whole block that are remembered. */
#define CEBUS_TRACK_KNOWN 8

typedef struct cebus_track_block {
    uint32_t count, rank;
    /** What came out for so many bytes added before and after (track.c), until an item changes;
     * before NaN: nothing. */
    struct {
        double before[CEBUS_TRACK_KNOWN], after[CEBUS_TRACK_KNOWN], area[CEBUS_TRACK_KNOWN];
    } known;
    double level[CEBUS_TRACK_BLOCK];   /**< bytes */
    double weights[CEBUS_TRACK_BLOCK]; /**< above 0 */
    uint32_t items[CEBUS_TRACK_BLOCK];
} cebus_track_block;

/** Blocks that are looked at together. */
#define CEBUS_TRACK_GROUP 16

/** What is known of them, lifts included, until one changes: then it is found out anew when it is
 * asked for. */
typedef struct cebus_track_group {
    double most, least, weight;
    bool known;
} cebus_track_group;

/** What is known of blocks as a whole, by rank: most questions end here. */
typedef struct cebus_track_sums {
    double *lift;                  /**< to be added to all levels; the others lie behind it */
    double *most, *least, *weight; /**< of the levels, without lift; sums of the weights */
    cebus_track_group *groups;     /**< of them */
    size_t capacity;               /**< blocks: whole groups */
} cebus_track_sums;

typedef struct cebus_track {
    cebus_pool *pool;           /**< borrowed */
    cebus_track_block **blocks; /**< by rank */
    cebus_track_sums sums;      /**< of them */
    size_t n_blocks, capacity;
    uint32_t *places; /**< of items: rank of the block x 64 + index in it */
    uint64_t version; /**< grows with each change of an item or its bytes */
    size_t n_items, items_capacity;
    size_t n_weighed; /**< items whose weight is not 1 */
} cebus_track;

void cebus_track_init(cebus_track *track, cebus_pool *pool);
void cebus_track_deinit(cebus_track *track);

/** @name Changes. False without host memory: then only deinit is left. */
/** @{ */
/** Item numbers are small: the table of places is as long as the highest. */
bool cebus_track_append(cebus_track *track, uint32_t item, double level, double weight);
/** With the weight of the item it goes before. */
bool cebus_track_insert(cebus_track *track, uint32_t item, uint32_t before, double level);
/** @} */
void cebus_track_remove(cebus_track *track, uint32_t item);

/** The item after it; NONE: there is none. */
static inline uint32_t cebus_track_next(const cebus_track *track, uint32_t item)
{
    const uint32_t rank = track->places[item] / CEBUS_TRACK_BLOCK;
    const uint32_t next = track->places[item] % CEBUS_TRACK_BLOCK + 1;
    const cebus_track_block *block = track->blocks[rank];
    if (next < block->count)
        return block->items[next];
    return rank + 1 < track->n_blocks ? track->blocks[rank + 1]->items[0] : CEBUS_TRACK_NONE;
}

/** Grows along the order; holds until the next insert or remove. */
static inline uint64_t cebus_track_key(const cebus_track *track, uint32_t item)
{
    return track->places[item];
}

static inline double cebus_track_level(const cebus_track *track, uint32_t item)
{
    uint32_t rank = track->places[item] / CEBUS_TRACK_BLOCK;
    return track->blocks[rank]->level[track->places[item] % CEBUS_TRACK_BLOCK] +
           track->sums.lift[rank];
}

static inline double cebus_track_weight(const cebus_track *track, uint32_t item)
{
    uint32_t place = track->places[item];
    return track->blocks[place / CEBUS_TRACK_BLOCK]->weights[place % CEBUS_TRACK_BLOCK];
}
void cebus_track_weigh(cebus_track *track, uint32_t item, double weight);

/** Bytes more (negative: less) at all items with keys in [from, to). */
void cebus_track_add(cebus_track *track, uint64_t from, uint64_t to, double bytes);

/**
 * Sum over the items with keys in [from, to) of the weight times the bytes over `limit`, with
 * `after` bytes added to each, less that with `before` bytes added. Both are finite.
 */
double cebus_track_area(const cebus_track *track, uint64_t from, uint64_t to, double limit,
                        double before, double after);
/** The same where after is not below before, as far as it matters: once it is above `most` it may
 * be any sum above that. */
double cebus_track_area_up_to(const cebus_track *track, uint64_t from, uint64_t to, double limit,
                              double before, double after, double most);

/** The first item with a key in [from, to) that has more bytes than the limit; NONE: none has. */
uint32_t cebus_track_first_over(const cebus_track *track, uint64_t from, uint64_t to, double limit);
/** Whether there is one. */
static inline bool cebus_track_exceeds(const cebus_track *track, uint64_t from, uint64_t to,
                                       double limit)
{
    return cebus_track_first_over(track, from, to, limit) != CEBUS_TRACK_NONE;
}
/** Keys of the blocks between the first and the last with an item over the limit: `from` is not
 * below `to` where there is none. */
void cebus_track_find_over(const cebus_track *track, double limit, uint64_t *out_from,
                           uint64_t *out_to);
/** The most bytes of all, and where first (may be NULL). */
double cebus_track_peak(const cebus_track *track, uint32_t *out_item);

#endif
