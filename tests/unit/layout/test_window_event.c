#include "layout/window/index.h"

#include <criterion/criterion.h>

/* Which of the changes that the owner speaks of are worked out, and what they make due. */

#define UNIT 64
#define BLOCKS 5000

typedef struct scene {
    cebus_pool pool;
    cebus_arena arena;
    uint64_t now;
} scene;

/** The owner gives a weight, and says so. */
static void set_weight(scene *s, cebus_block *block, uint64_t weight)
{
    block->state = CEBUS_BLOCK_EVICTABLE;
    block->weight = weight;
    cebus_window_index_cheaper(s->arena.index, block);
}

/** Blocks [from, to). */
static void set_weights(scene *s, size_t from, size_t to, uint64_t weight)
{
    cebus_block *block = s->arena.first;
    for (size_t i = 0; i < to; i++, block = block->next) {
        if (i >= from)
            set_weight(s, block, weight);
    }
}

static cebus_block *place(scene *s, uint64_t units)
{
    cebus_block *block = NULL;
    cr_assert_eq(cebus_arena_place(&s->arena, units * UNIT, CEBUS_ZONE_CHEAP, &block),
                 CEBUS_PLACED);
    return block;
}

/** Blocks of 4 units fill an arena. */
static void open_scene(scene *s, uint64_t weight)
{
    *s = (scene){.now = 1000};
    cebus_pool_init(&s->pool, NULL);
    cr_assert_eq(cebus_arena_init(&s->arena, BLOCKS * 4 * UNIT, UNIT, &s->pool), CEBUS_PLACED);
    cr_assert(cebus_window_index_create(&s->arena));
    for (size_t i = 0; i < BLOCKS; i++)
        set_weight(s, place(s, 4), weight);
}

static void close_scene(scene *s)
{
    cebus_arena_deinit(&s->arena);
    cebus_pool_deinit(&s->pool);
}

static cebus_window search(scene *s, uint64_t units)
{
    cebus_window got, wanted;
    cebus_window_index_find(s->arena.index, units * UNIT, s->now, NULL, &got, 1);
    cebus_window_find(&s->arena, units * UNIT, s->now, &wanted);
    cr_assert_eq(got.first, wanted.first);
    cr_assert_eq(got.last, wanted.last);
    cr_assert_eq(got.price, wanted.price);
    return got;
}

/** So many that the next search works out. */
static uint64_t count_events(scene *s)
{
    uint64_t before = s->arena.index->count.events;
    s->now++;
    search(s, 8);
    return s->arena.index->count.events - before;
}

Test(window_event, what_did_not_get_cheaper_is_none)
{
    scene s;
    cebus_block *block, *small;
    open_scene(&s, 1000000);
    block = s.arena.last->prev->prev;
    count_events(&s);
    count_events(&s);
    cr_assert_eq(s.arena.index->tables.count, 1);

    block->tick = s.now;
    set_weight(&s, block, 9000000);
    cr_expect_eq(count_events(&s), 0, "dearer");
    cebus_arena_release(&s.arena, block);
    block = place(&s, 4);
    block->tick = s.now;
    set_weight(&s, block, 9000001);
    cr_expect_eq(count_events(&s), 0, "another one in its place");
    set_weight(&s, block, 9000000);
    cr_expect_eq(count_events(&s), 1, "cheaper");
    block = cebus_arena_release(&s.arena, block);
    cr_expect_eq(count_events(&s), 1, "a hole");
    small = place(&s, 1);
    cr_assert_neq(small, block);
    cr_assert_eq(cebus_arena_release(&s.arena, small), block);
    cr_expect_eq(count_events(&s), 0, "something came and went");
    place(&s, 4);
    cr_expect_eq(count_events(&s), 0, "a wall");
    close_scene(&s);
}

Test(window_event, a_hole_that_moved_by_its_own_size_is_one)
{
    scene s;
    open_scene(&s, 1000000);
    s.arena.last->prev->weight = CEBUS_WEIGHT_WALL;
    s.arena.last->prev->state = CEBUS_BLOCK_BARRIER;
    cebus_block *hole = cebus_arena_release(&s.arena, s.arena.last->prev->prev->prev);
    cebus_block *next = hole->next;
    count_events(&s);
    count_events(&s);
    cr_assert_eq(s.arena.index->tables.count, 1);
    cebus_arena_release(&s.arena, next);
    cr_assert_eq(hole->bytes, 8 * UNIT);
    cebus_block *block;
    cr_assert_eq(cebus_arena_place_in(&s.arena, hole, 4 * UNIT, CEBUS_ZONE_EXPENSIVE, &block),
                 CEBUS_PLACED);
    set_weight(&s, block, 1000000);
    cr_assert_eq(hole->bytes, 4 * UNIT);
    cr_expect_gt(count_events(&s), 1, "the block, and the hole above it");
    close_scene(&s);
}

/** A few cheap blocks, two that soon are, then dear ones. */
static void set_clump(scene *s, size_t at)
{
    set_weights(s, at, at + 6, 14700000);
    set_weights(s, at + 1, at + 5, 1000000);
}

Test(window_event, among_dear_blocks_it_makes_no_chunk_due)
{
    scene s;
    cebus_window best;
    open_scene(&s, 1000000000);
    set_weights(&s, 1000, 1040, 1000000);
    for (size_t at = 2000; at < BLOCKS; at += 101)
        set_clump(&s, at);
    for (s.now = 1000; s.now < 1003; s.now++)
        search(&s, 28);
    uint64_t looks = s.arena.index->count.looks;
    for (size_t at = 2000; at < BLOCKS; at += 101)
        set_weights(&s, at + 2, at + 3, 999999);
    search(&s, 28);
    s.now = 1100;
    best = search(&s, 28);
    cr_expect_eq(best.evicted_blocks, 7);
    cr_expect_eq(s.arena.index->count.looks, looks);
    close_scene(&s);
}

Test(window_event, of_two_changes_in_a_window_the_later_counts)
{
    scene s;
    open_scene(&s, 1000000000);
    set_weights(&s, 1000, 1004, 1000000);
    set_weights(&s, 2001, 2003, 1000000);
    for (s.now = 1000; s.now < 1003; s.now++)
        search(&s, 16);
    uint64_t looks = s.arena.index->count.looks;
    set_weights(&s, 2000, 2001, 1000000);
    set_weights(&s, 2003, 2004, 8400000);
    search(&s, 16);
    cr_expect_eq(s.arena.index->count.looks, looks,
                 "no window is cheap before the last of its blocks");
    s.now = 1100;
    search(&s, 16);
    cr_expect_gt(s.arena.index->count.looks, looks);
    close_scene(&s);
}
