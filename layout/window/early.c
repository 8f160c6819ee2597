#include "layout/window/early.h"

#include "layout/clones.h"

#include <string.h>

/** Blocks after the first of a window that are looked at: so many at once, and in all. */
#define STEP 4
#define AHEAD 8
#define LANES CEBUS_CHUNK_MAX
#define NEVER 0x7f7fffff /* FLT_MAX */

/** The blocks of a chunk, and the first ones after it. */
typedef struct row {
    float time[LANES + AHEAD], bytes[LANES + AHEAD];
} row;

/** The runs that start at each block of the chunk, so far: when all of their blocks are at the
 * level. Times are not below 0, so they are in the order of their bits, and compilers know vectors
 * for the least of integers. */
typedef struct reach {
    union {
        float late[LANES];
        int32_t bits[LANES];
    };
    float bytes[LANES];
} reach;

CEBUS_CLONE_PART void read_chunk(const cebus_chunk *chunk, uint32_t n, float level,
                                 float *restrict time, float *restrict bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        time[i] = cebus_chunk_time(chunk->since[i], chunk->heavy[i], level);
        bytes[i] = chunk->length[i];
    }
}

/** Behind the blocks of a chunk. What is not known there counts as long enough. */
CEBUS_CLONE_PART void read_next(const cebus_early *what, uint32_t id, row *out)
{
    uint32_t at = what->chunks->at[id].count, next = what->chunks->at[id].next, known = 0;
    for (uint32_t i = LANES; i < LANES + AHEAD; i++)
        out->time[i] = out->bytes[i] = FLT_MAX; /* no window reads it, vectors do */
    if (next != CEBUS_CHUNK_NONE) {
        known = what->chunks->at[next].count;
        read_chunk(&what->chunks->at[next], AHEAD, what->level, &out->time[at], &out->bytes[at]);
    }
    for (uint32_t i = known; i < AHEAD; i++) {
        out->time[at + i] = next != CEBUS_CHUNK_NONE ? 0 : FLT_MAX;
        out->bytes[at + i] = FLT_MAX;
    }
}

/** Runs of no block yet; none starts beyond the chunk. */
CEBUS_CLONE_PART void begin(uint32_t count, reach *restrict runs)
{
    for (uint32_t i = 0; i < LANES; i++) {
        runs->bits[i] = i < count ? 0 : NEVER;
        runs->bytes[i] = 0;
    }
}

/** Runs of `from` blocks that are too short get up to STEP more. */
CEBUS_CLONE_PART void lengthen(const row *restrict blocks, uint32_t from, float enough,
                               reach *restrict runs)
{
    const float *time = &blocks->time[from], *length = &blocks->bytes[from];
    for (uint32_t i = 0; i < LANES; i++) {
        float late = runs->late[i], bytes = runs->bytes[i];
        for (uint32_t k = 0; k < STEP; k++) {
            float t = time[i + k];
            late = (int)(t > late) & (int)(bytes < enough) ? t : late;
            bytes += length[i + k];
        }
        runs->late[i] = late;
        runs->bytes[i] = bytes;
    }
}

CEBUS_CLONE_PART int32_t least_of(const int32_t *all)
{
    int32_t least = NEVER;
    for (uint32_t i = 0; i < LANES; i++)
        least = all[i] < least ? all[i] : least;
    return least;
}

/** May a run that is too short be sooner than all after `now` that are not? */
CEBUS_CLONE_PART bool is_open(const reach *restrict runs, float enough, int32_t now)
{
    int32_t open[LANES], closed[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        int32_t late = runs->bits[i], after = late > now ? late : NEVER;
        open[i] = runs->bytes[i] < enough ? late : NEVER;
        closed[i] = runs->bytes[i] < enough ? NEVER : after;
    }
    return least_of(open) < least_of(closed);
}

/** Those that are there by now, a bit each; the soonest of the others. */
CEBUS_CLONE_PART uint32_t find_early(const reach *restrict runs, int32_t now, int32_t *out_next)
{
    int32_t after[LANES];
    uint32_t early = 0;
    for (uint32_t i = 0; i < LANES; i++)
        after[i] = runs->bits[i] > now ? runs->bits[i] : NEVER;
    for (uint32_t i = 0; i < LANES; i++)
        early |= (uint32_t)(runs->bits[i] <= now) << i;
    *out_next = least_of(after);
    return early;
}

CEBUS_CLONES static bool look(const cebus_early *what, uint32_t id, uint32_t *out_bits,
                              float *out_next)
{
    const cebus_chunk *chunk = &what->chunks->at[id];
    const float enough = (float)what->bytes * (1 - 0x1p-18F);
    int32_t now, next;
    row blocks;
    reach runs;
    bool open = true;
    memcpy(&now, &what->now, sizeof now);
    read_chunk(chunk, LANES, what->level, blocks.time, blocks.bytes);
    read_next(what, id, &blocks);
    begin(chunk->count, &runs);
    for (uint32_t from = 0; open && from < AHEAD; from += STEP) {
        lengthen(&blocks, from, enough, &runs);
        open = is_open(&runs, enough, now);
    }
    *out_bits = find_early(&runs, now, &next);
    memcpy(out_next, &next, sizeof next);
    return !open;
}

/* A cloned function that is not static is exported, whatever its visibility. */
bool cebus_early_find(const cebus_early *what, uint32_t id, uint32_t *out_bits, float *out_next)
{
    return look(what, id, out_bits, out_next);
}
