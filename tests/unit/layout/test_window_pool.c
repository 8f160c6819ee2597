#include "layout/window/pool.h"

#include <criterion/criterion.h>

#define BLOCKS 256

static cebus_block blocks[BLOCKS];

static cebus_window window(size_t first, size_t last, uint64_t price)
{
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i].offset = i;
    return (cebus_window){&blocks[first], &blocks[last], price, price, 1};
}

static void offer(cebus_window_pool *pool, size_t first, size_t last, uint64_t price)
{
    cebus_window one = window(first, last, price);
    cebus_window_pool_offer(pool, &one);
}

Test(window_pool, lists_the_best_that_share_no_block)
{
    cebus_window_pool pool;
    cebus_window_pool_init(&pool, 2);
    cr_expect_null(cebus_window_pool_last(&pool));
    offer(&pool, 4, 5, 7);
    offer(&pool, 3, 4, 3);
    cr_expect_eq(pool.n_picks, 1, "they share block 4");
    offer(&pool, 8, 8, 9);
    cr_expect_eq(cebus_window_pool_last(&pool)->price, 9);
    offer(&pool, 5, 5, 8);
    offer(&pool, 5, 5, 8);
    cr_expect_eq(pool.n_picks, 2);
    cr_expect_eq(pool.windows[pool.picks[0]].price, 3);
    cr_expect_eq(pool.windows[pool.picks[1]].price, 8);
    cr_expect_not(pool.unsure);
}

Test(window_pool, says_when_a_late_one_makes_room_for_what_was_left_out)
{
    cebus_window_pool pool;
    cebus_window_pool_init(&pool, 2);
    offer(&pool, 3, 4, 3);
    offer(&pool, 5, 6, 4);
    cr_expect_eq(cebus_window_pool_last(&pool)->price, 4);
    offer(&pool, 9, 9, 5);
    cr_expect_eq(pool.count, 2, "dearer than the last");
    offer(&pool, 4, 5, 1);
    cr_expect_eq(pool.n_picks, 1, "it crosses both");
    cr_expect(pool.unsure);
}

Test(window_pool, says_when_there_was_no_room)
{
    cebus_window_pool pool;
    cebus_window_pool_init(&pool, 2);
    for (size_t i = 0; i < CEBUS_WINDOW_POOL; i++)
        offer(&pool, i, 100, 1000 - i);
    cr_expect_eq(pool.count, CEBUS_WINDOW_POOL);
    cr_expect_not(pool.unsure);
    offer(&pool, 99, 100, 1);
    cr_expect(pool.unsure);
    cr_expect_eq(pool.count, CEBUS_WINDOW_POOL);
    cr_expect_eq(pool.windows[pool.picks[0]].price, 1);
}
