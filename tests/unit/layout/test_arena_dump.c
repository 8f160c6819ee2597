#include "layout/arena.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(arena_dump);

static cebus_pool pool;
static cebus_arena arena;

static const char expected[] =
    "             0             64  barrier    persistent immovable\n"
    "            64            128  free\n"
    "           192             64  evictable  cheap       weight 7 tick 9\n"
    "capacity 256, used 128 in 2 blocks, free 128 in 1 holes, largest 128\n";

static void open_arena(void)
{
    cebus_block *block;
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, 256, 64, &pool), CEBUS_PLACED);
    cr_assert_eq(cebus_arena_place(&arena, 1, CEBUS_ZONE_PERSISTENT, &block), CEBUS_PLACED);
    block->immovable = 1;
    cr_assert_eq(cebus_arena_place(&arena, 1, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACED);
    block->state = CEBUS_BLOCK_EVICTABLE;
    block->weight = 7;
    block->tick = 9;
}

static void close_arena(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

Test(arena_dump, has_a_line_a_block_and_totals)
{
    char text[1024];
    open_arena();
    cr_expect_eq(cebus_arena_dump(&arena, text, sizeof text), sizeof expected - 1);
    cr_expect_str_eq(text, expected);
    close_arena();
}

Test(arena_dump, says_the_length_it_wanted)
{
    open_arena();
    cr_expect_eq(cebus_arena_dump(&arena, NULL, 0), sizeof expected - 1);
    for (size_t room = 1; room <= sizeof expected; room++) {
        char text[sizeof expected + 1];
        memset(text, '?', sizeof text);
        cr_assert_eq(cebus_arena_dump(&arena, text, room), sizeof expected - 1);
        cr_assert_eq(strlen(text), room - 1);
        cr_assert_eq(memcmp(text, expected, room - 1), 0);
        cr_assert_eq(text[room], '?');
    }
    close_arena();
}

Test(arena_dump, of_nothing_is_the_totals)
{
    char text[128];
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, 0, 64, &pool), CEBUS_PLACED);
    cebus_arena_dump(&arena, text, sizeof text);
    cr_expect_str_eq(text, "capacity 0, used 0 in 0 blocks, free 0 in 0 holes, largest 0\n");
    close_arena();
}
