#include "evict/choice/vacancy.h"

#include <criterion/criterion.h>

TestSuite(vacancy);

#define UNIT 64
#define BLOCKS 16
#define NOW 1000

static cebus_pool pool;
static cebus_arena arena;
static cebus_block *blocks[BLOCKS];

/** Blocks side by side of so many units each; they may go at their weight / NOW, or move. Whoever
 * owns them does not matter here. */
static void lay(const int *units, int count)
{
    static int owner;
    uint64_t total = 0;
    for (int i = 0; i < count; i++)
        total += (uint64_t)units[i];
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, total * UNIT, UNIT, &pool), CEBUS_PLACED);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(
            cebus_arena_place(&arena, (uint64_t)units[i] * UNIT, CEBUS_ZONE_EXPENSIVE, &blocks[i]),
            CEBUS_PLACED);
        blocks[i]->owner = &owner;
        blocks[i]->state = CEBUS_BLOCK_EVICTABLE;
        blocks[i]->weight = UINT64_C(1000000000);
        blocks[i]->tick = 0;
    }
}

static void clear(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

static bool find(const cebus_market *market, double dearest, cebus_vacancy *out)
{
    cebus_board board;
    cr_assert(cebus_board_make(&board, &arena, market->now));
    bool found = cebus_vacancy_find(&board, market, dearest, out);
    cebus_board_free(&board);
    return found;
}

static cebus_market market_of(int units)
{
    return (cebus_market){.now = NOW,
                          .bytes = (uint64_t)units * UNIT,
                          .byte_price = 1,
                          .move_byte = 0.5,
                          .move_block = 1,
                          .moves = true};
}

Test(vacancy, moves_what_is_dear_to_holes_elsewhere)
{
    cebus_vacancy found;
    lay((int[]){1, 1, 1, 4, 1, 1}, 6);
    cebus_market market = market_of(2);
    cebus_arena_release(&arena, blocks[0]);
    cebus_arena_release(&arena, blocks[2]);
    cr_assert(find(&market, 0, &found));
    cr_expect_eq(found.first, arena.first, "the first hole, and the block after it");
    cr_expect_eq(found.last, blocks[1], "which goes to the second");
    cr_expect_eq(found.evicted_bytes, 0);
    cr_expect_float_eq(found.moving, 0.5 * UNIT + 1, 1e-9, "the least that can move");
    clear();
}

Test(vacancy, lets_go_what_is_cheap_in_the_stretch)
{
    cebus_vacancy found;
    lay((int[]){4, 2, 4}, 3);
    cebus_market market = market_of(2);
    blocks[1]->weight = NOW * UNIT;
    cr_assert(find(&market, 1, &found));
    cr_expect_eq(found.first, blocks[1]);
    cr_expect_eq(found.last, blocks[1]);
    cr_expect_eq(found.evicted_bytes, 2 * UNIT);
    cr_expect_float_eq(found.price, UNIT, 1e-9);
    cr_expect_float_eq(found.moving, 0, 1e-9);
    clear();
}

Test(vacancy, needs_a_hole_for_each_block_that_moves)
{
    cebus_vacancy found;
    lay((int[]){2, 2, 1, 2, 1, 2}, 6);
    cebus_market market = market_of(2);
    cebus_arena_release(&arena, blocks[2]);
    cebus_arena_release(&arena, blocks[4]);
    cr_expect(!find(&market, 0, &found),
              "two units are free, and no block finds room in one of them");
    cr_expect_null(found.first);
    clear();
}

Test(vacancy, leaves_alone_what_must_not_move)
{
    cebus_vacancy found;
    lay((int[]){1, 1, 1, 4}, 4);
    cebus_market market = market_of(2);
    cebus_arena_release(&arena, blocks[0]);
    cebus_arena_release(&arena, blocks[2]);
    blocks[1]->immovable = 1;
    cr_expect(!find(&market, 0, &found), "its address was handed out");
    blocks[1]->immovable = 0;
    blocks[1]->owner = NULL;
    cr_expect(!find(&market, 0, &found), "scratch of the running call");
    blocks[1]->owner = &arena;
    cr_expect(find(&market, 0, &found));
    market.moves = false;
    cr_expect(!find(&market, 0, &found), "nothing moves here");
    clear();
}
