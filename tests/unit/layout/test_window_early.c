#include "layout/window/early.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(window_early, .timeout = 60);

#define CHUNKS 4

/* Chunks of random blocks, read as an index reads them; times by brute force, in doubles. */

typedef struct scene {
    cebus_chunks chunks;
    cebus_chunk at[CHUNKS];
    cebus_block blocks[CHUNKS * CEBUS_CHUNK_MAX];
    size_t count;
    uint64_t seed, bytes;
    double level, now;
} scene;

static void add_block(scene *s, uint32_t id)
{
    cebus_chunk *chunk = &s->at[id];
    cebus_block *block = &s->blocks[s->count++];
    uint64_t kind = random_below(&s->seed, 24);
    *block = (cebus_block){.bytes = 64 * (1 + random_below(&s->seed, 16)),
                           .state = CEBUS_BLOCK_EVICTABLE,
                           .weight = random_below(&s->seed, 1000),
                           .tick = s->chunks.epoch > 0 ? random_below(&s->seed, 200000) : 0};
    if (kind == 0) {
        block->state = CEBUS_BLOCK_BARRIER;
        block->weight = CEBUS_WEIGHT_WALL;
    } else if (kind < 6) {
        block->state = CEBUS_BLOCK_FREE;
    }
    chunk->blocks[chunk->count++] = block;
    cebus_chunk_read(chunk, chunk->count - 1, s->chunks.epoch);
}

static void make_scene(scene *s, uint64_t seed)
{
    *s = (scene){.seed = seed};
    s->chunks = (cebus_chunks){.at = s->at, .epoch = 1000};
    s->bytes = 64 * (1 + random_below(&s->seed, 40));
    s->level = 1 / (double)(1 + random_below(&s->seed, 1000000));
    s->now = (double)(100000 + random_below(&s->seed, 200000)) - s->chunks.epoch;
    for (uint32_t id = 0; id < CHUNKS; id++) {
        s->at[id].next = id + 1 < CHUNKS ? id + 1 : CEBUS_CHUNK_NONE;
        for (uint64_t n = 1 + random_below(&s->seed, CEBUS_CHUNK_MAX); n > 0; n--)
            add_block(s, id);
    }
}

/** Since the epoch. */
static double time_of(const scene *s, const cebus_block *block)
{
    if (block->state == CEBUS_BLOCK_FREE)
        return 0;
    if (block->state == CEBUS_BLOCK_BARRIER)
        return FLT_MAX;
    double ages = (double)block->weight * (double)(1 << CEBUS_PRICE_SHIFT) * s->level;
    double time = (double)block->tick + ages - s->chunks.epoch;
    return ages > 1 && time > 0 ? time : 0;
}

/** When all blocks of the shortest run from a block on are there; FLT_MAX: there is none. */
static double time_from(const scene *s, size_t first, size_t *out_blocks)
{
    double latest = 0;
    uint64_t bytes = 0;
    size_t i = first;
    for (; i < s->count && bytes < s->bytes; i++) {
        double time = time_of(s, &s->blocks[i]);
        latest = time > latest ? time : latest;
        bytes += s->blocks[i].bytes;
    }
    *out_blocks = i - first;
    return bytes >= s->bytes ? latest : FLT_MAX;
}

static bool is_near(double time, double other)
{
    return fabs(time - other) <= 1e-5 * (fabs(other) + 1000);
}

/** None is told too late; where windows are short, none much too early. */
static bool expect_times(scene *s)
{
    const cebus_early what = {&s->chunks, s->bytes, (float)s->level * (1 - 0x1p-22F),
                              cebus_bound_time(s->now)};
    uint32_t bits;
    float next;
    double soonest = FLT_MAX;
    bool brief = true;
    if (!cebus_early_find(&what, 0, &bits, &next))
        return false;
    for (uint32_t i = 0; i < s->at[0].count; i++) {
        size_t blocks;
        double time = time_from(s, i, &blocks);
        brief &= blocks + i <= s->at[0].count + s->at[1].count && blocks <= 5;
        if ((bits >> i & 1) != 0) {
            cr_assert(!brief || time <= s->now || is_near(time, s->now));
            continue;
        }
        cr_assert_gt(time, s->now, "a window at the level was missed");
        soonest = time < soonest ? time : soonest;
    }
    cr_assert_leq((double)next, soonest);
    cr_assert(!brief || is_near((double)next, soonest) || is_near((double)next, s->now));
    cr_assert_eq((uint64_t)bits >> s->at[0].count, 0);
    return true;
}

Test(window_early, no_window_is_told_too_late)
{
    static scene s;
    unsigned told = 0;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        make_scene(&s, seed);
        told += expect_times(&s);
    }
    cr_assert_gt(told, 10000);
}
