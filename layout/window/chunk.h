/**
 * chunk.h: the blocks of an arena in address order, in chunks of up to CEBUS_CHUNK_MAX, so
 * that a search can skip many at once, and what it reads of one chunk's blocks lies side by side.
 *
 * A chunk keeps its number while it lives; numbers are reused. Order lies in `next` and `prev`. A
 * block knows its chunk (block->chunk), not its place in it. Which blocks may have become cheaper
 * since anybody looked is a bit for each place; chunks with such bits wait in a list of their own.
 *
 * What a block said when it was last read is kept in the chunk: its place, weight and tick. It may
 * have become dearer without a word since then, so what is kept makes a price that is at most the
 * block's own. Where a bit is set, the block must be read before anything kept of it is used.
 * Reading tells whether that is news: many a note is not, as where a block came and went, or where
 * another of its size, and dearer, took its place.
 */
#ifndef CEBUS_LAYOUT_WINDOW_CHUNK_H
#define CEBUS_LAYOUT_WINDOW_CHUNK_H

#include "layout/block.h"
#include "layout/clones.h"
#include "layout/pool.h"
#include "layout/window/bound.h"
#include "layout/window/window.h"

#define CEBUS_CHUNK_MAX 32
#define CEBUS_CHUNK_NONE UINT32_MAX

/** Chunks follow each other: the place of a block. */
typedef struct cebus_seat {
    uint32_t chunk, place;
} cebus_seat;

/** Of single blocks, for who asks for those (evict/choice/rank.h); it is lost when a block changes.
 */
typedef struct cebus_rank {
    cebus_bound bound;
    uint64_t low, high;    /**< holes beside the chunk, for which it holds */
    uint64_t epoch, since; /**< of its time; when it was worked out */
    bool known;
} cebus_rank;

/** Whole cache lines, each of its arrays, too: else vectors lie across two. */
typedef struct cebus_chunk {
    uint32_t next, prev; /**< in address order; `next` of a dead one: the next dead one */
    uint32_t noted;      /**< bit i: blocks[i] may have become cheaper */
    uint32_t news;       /**< bit i: of what is kept of blocks[i] the tables were not told */
    uint32_t next_noted; /**< in the list of those with bits, NONE: the last */
    uint32_t walls;      /**< bit i: blocks[i] was in no run, whatever its owner does unsaid */
    uint32_t holes;      /**< bit i: blocks[i] was free */
    uint16_t count;      /**< blocks; 0: dead */
    bool waiting;        /**< is in that list */
    bool dated;          /**< the following four are known */
    uint64_t total;      /**< bytes of its blocks */
    double oldest;       /**< tick of a used block, at least */
    double newest;       /**< the same, at most */
    double hastiest;     /**< haste of one, at most; 0: all are free */
    cebus_rank rank;
    uint64_t bytes[CEBUS_CHUNK_MAX];
    double tick[CEBUS_CHUNK_MAX];   /**< not after the block's */
    double weight[CEBUS_CHUNK_MAX]; /**< in prices at an age of 1; 0: free */
    float haste[CEBUS_CHUNK_MAX];   /**< factor of its age: 2^haste of the block; 0: free */
    /* The same for vectors, rounded so that no run is cheap too late, or too short. */
    float length[CEBUS_CHUNK_MAX];    /**< bytes, or somewhat more */
    float since[CEBUS_CHUNK_MAX];     /**< tick, since the epoch, or somewhat less */
    float heavy[CEBUS_CHUNK_MAX];     /**< weight, or somewhat less; HUGE_VALF of a wall */
    uint64_t offset[CEBUS_CHUNK_MAX]; /**< sweeps do not read it: at the end */
    cebus_block *blocks[CEBUS_CHUNK_MAX];
} cebus_chunk;

typedef struct cebus_chunks {
    cebus_pool *pool; /**< borrowed */
    cebus_chunk *at;  /**< by number; those of [0, used) were alive once */
    size_t capacity;
    uint32_t used, dead; /**< `dead`: the first of a list of numbers to take again */
    uint32_t first;      /**< lowest addresses; NONE: no blocks */
    uint32_t noted;      /**< the first with bits, NONE */
    double epoch;        /**< of `since` */
} cebus_chunks;

/** What a change did; what is known of the chunks has to follow. Blocks move before one comes, and
 * after one went. */
typedef struct cebus_chunk_change {
    cebus_seat at;       /**< where the block is, or was */
    cebus_seat from, to; /**< those from one spot on now are from the other on; chunk NONE: did not
                            happen */
    uint32_t moved;      /**< so many */
    uint32_t dead;       /**< has no blocks any more; NONE: none such */
} cebus_chunk_change;

void cebus_chunks_init(cebus_chunks *chunks, cebus_pool *pool);
void cebus_chunks_deinit(cebus_chunks *chunks);

/** The block is linked to its address neighbours. False without host memory for a new chunk: then
 * nothing changed. O(CEBUS_CHUNK_MAX). */
bool cebus_chunks_insert(cebus_chunks *chunks, cebus_block *block, cebus_chunk_change *out);

/** The block is about to be unlinked. */
void cebus_chunks_erase(cebus_chunks *chunks, cebus_block *block, cebus_chunk_change *out);

/** Notes that the block may have become cheaper. */
void cebus_chunks_note(cebus_chunks *chunks, cebus_block *block);

/** Takes a chunk with noted blocks out of their list, its bits as they are; NONE: no more. */
uint32_t cebus_chunks_next_noted(cebus_chunks *chunks);

/** Keeps what the block at `place` says by now, `epoch` being that of the chunks; true if it had
 * been kept cheaper than that. It is news where it is cheaper than it was kept, or lies elsewhere,
 * or is a hole where it was none, or the other way round. */
bool cebus_chunk_read(cebus_chunk *chunk, uint32_t place, double epoch);

/** Floats are times since `epoch` from now on. O(blocks) where that is another one. */
void cebus_chunks_set_epoch(cebus_chunks *chunks, uint64_t epoch);

/** Finds the oldest, the newest, the hastiest of its blocks and their bytes by what is kept, where
 * they are not known. */
void cebus_chunk_date(cebus_chunk *chunk);

/** A time as a double that is not after it, and one that is not before it. */
static inline double cebus_time_before(uint64_t t)
{
    return t >> 53 == 0 ? (double)(int64_t)t : (double)t * (1 - 0x1p-52);
}

static inline double cebus_time_after(uint64_t t)
{
    return t >> 53 == 0 ? (double)(int64_t)t : (double)t * (1 + 0x1p-52);
}

/** The price of a block by what is kept, w/a, and w/a^2: how fast it falls. */
static inline void cebus_chunk_price(const cebus_chunk *chunk, uint32_t place, double now,
                                     double *price, double *slope)
{
    double age = now - chunk->tick[place];
    double rate = 1 / (age > 1 ? age : 1), p = chunk->weight[place] * rate;
    p = p < (double)CEBUS_PRICE_MAX ? p : (double)CEBUS_PRICE_MAX;
    *price = p;
    *slope = p * rate;
}

/** When 1/price of a block gets to a level, or somewhat sooner; of a wall, never. For vectors. */
CEBUS_CLONE_PART float cebus_chunk_time(float since, float heavy, float level)
{
    float ages = heavy * level, time = since + ages;
    time = time > 0 ? time : 0;
    return ages > 1 ? time : 0;
}

/** The weight that is kept. */
static inline uint64_t cebus_chunk_weight(const cebus_chunk *chunk, uint32_t place)
{
    double weight = chunk->weight[place] / (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT);
    return weight < 0x1p64 ? (uint64_t)weight : UINT64_MAX;
}

#endif
