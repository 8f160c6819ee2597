#include "evict/choice/rank.h"

#include <criterion/criterion.h>
#include <math.h>

#include "layout/window/index.h"

#define UNIT 64
#define BLOCKS 600

static cebus_pool pool;
static cebus_arena arena;
static cebus_block *blocks[BLOCKS];
static cebus_chooser chooser;
static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

static void change(cebus_block *block)
{
    static const uint64_t weights[] = {0, 1, UINT64_C(1) << 20, UINT64_C(1) << 40, UINT64_MAX >> 1};
    bool pinned = draw(8) == 0;
    block->state = pinned ? CEBUS_BLOCK_BARRIER : CEBUS_BLOCK_EVICTABLE;
    block->weight = draw(4) == 0 ? weights[draw(5)] : 1 + draw(1 << 20);
    block->weight = pinned && draw(2) ? CEBUS_WEIGHT_WALL : block->weight;
    block->tick = draw(4) == 0 ? chooser.now + draw(1000) : chooser.now - draw(chooser.now);
    cebus_window_index_cheaper(arena.index, block);
}

static void place(size_t i)
{
    uint64_t bytes = UNIT * (1 + draw(8));
    if (cebus_arena_place(&arena, bytes, CEBUS_ZONE_EXPENSIVE, &blocks[i]) != CEBUS_PLACED)
        blocks[i] = NULL;
    else
        change(blocks[i]);
}

static void setup(void)
{
    state = 1;
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, BLOCKS * 5 * UNIT, UNIT, &pool), CEBUS_PLACED);
    chooser = (cebus_chooser){.policy = &cebus_policy_dtr, .arena = &arena, .now = 1000000};
    cr_assert(cebus_window_index_create(&arena));
    for (size_t i = 0; i < BLOCKS; i++)
        place(i);
}

static void teardown(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

TestSuite(rank, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t hole_of(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE ? block->bytes : 0;
}

/** As the blocks themselves say, not what is kept of them. */
static double least_score(const cebus_chunk *chunk)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < chunk->count; i++) {
        const cebus_block *block = chunk->blocks[i];
        uint64_t bytes = block->bytes + hole_of(block->prev) + hole_of(block->next);
        uint64_t age = chooser.now > block->tick ? chooser.now - block->tick : 1;
        if (block->state == CEBUS_BLOCK_FREE || block->weight == CEBUS_WEIGHT_WALL)
            continue;
        least = fmin(least, (double)block->weight / ((double)bytes * (double)age));
    }
    return least;
}

/** Sound everywhere; answers in how many chunks it is not more than so many times too low. */
static size_t check(double times, size_t *out_chunks)
{
    const cebus_chunks *chunks = &arena.index->chunks;
    size_t tight = 0;
    cr_assert(cebus_window_index_settle(arena.index, chooser.now));
    *out_chunks = 0;
    for (uint32_t id = chunks->first; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next) {
        const cebus_chunk *chunk = &chunks->at[id];
        cebus_rank_place at = {id, hole_of(chunk->blocks[0]->prev),
                               hole_of(chunk->blocks[chunk->count - 1]->next)};
        double known = cebus_rank_least(&chooser, &at), least = least_score(chunk);
        cr_assert_leq(known, least, "chunk %u", id);
        tight += known * times >= least;
        ++*out_chunks;
    }
    return tight;
}

Test(rank, no_block_of_a_chunk_has_less_while_time_goes_by)
{
    size_t chunks;
    for (int i = 0; i < 3000; i++) {
        chooser.now += draw(i % 64 == 0 ? 1000000 : 3000);
        if (i % 500 == 499) /* the clock is set back */
            chooser.now -= draw(chooser.now / 2);
        if (i % 700 == 699) /* and begins another epoch */
            chooser.now += UINT64_C(1) << 37;
        for (uint64_t n = draw(8); n > 0; n--) {
            size_t at = draw(BLOCKS);
            if (blocks[at] == NULL) {
                place(at);
            } else if (draw(3) > 0) {
                change(blocks[at]);
            } else {
                cebus_arena_release(&arena, blocks[at]);
                blocks[at] = NULL;
            }
        }
        (void)check(1, &chunks);
    }
}

Test(rank, what_is_worked_out_is_as_good_as_a_look)
{
    size_t chunks;
    size_t tight = check(1.01, &chunks);
    cr_expect_geq(tight, chunks * 9 / 10, "%zu of %zu", tight, chunks);
    chooser.now += 1000; /* a thousandth of the ages, or so */
    tight = check(1.1, &chunks);
    cr_expect_geq(tight, chunks * 3 / 4, "%zu of %zu", tight, chunks);
}
