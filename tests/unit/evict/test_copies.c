#include "evict/planner/copies.h"

#include <criterion/criterion.h>

#include "evict/planner/picks.h"
#include "tests/unit/layout/random.h"

/** What copies.h draws. */
static void fill(cebus_copies *copies, cebus_pool *pool)
{
    static const cebus_copy drawn[] = {
        {{16, 18}, 2, 0}, {{0, 4}, 0, 0}, {{4, 9}, 1, 0}}; /* sorted in */
    for (size_t i = 0; i < 3; i++)
        cr_assert(cebus_copies_add(copies, pool, drawn[i]));
}

static void expect(cebus_span span, uint64_t from, uint64_t to)
{
    cr_expect(span.from == from && span.to == to, "%lu to %lu", span.from, span.to);
}

Test(copies, free_times_are_found_between_busy_ones)
{
    cebus_pool pool;
    cebus_copies copies = {0};
    cebus_pool_init(&pool, NULL);
    expect(cebus_copies_earliest(&copies, 5, 3), 5, 8);
    fill(&copies, &pool);
    expect(cebus_copies_earliest(&copies, 0, 3), 9, 12);
    expect(cebus_copies_earliest(&copies, 10, 6), 10, 16);
    expect(cebus_copies_earliest(&copies, 10, 7), 18, 25);
    expect(cebus_copies_latest(&copies, 20, 3), 13, 16);
    expect(cebus_copies_latest(&copies, 40, 3), 37, 40);
    expect(cebus_copies_latest(&copies, 15, 7), 0, 0);
    expect(cebus_copies_latest(&copies, 16, 7), 9, 16);
    cebus_copies_deinit(&copies, &pool);
    cebus_pool_deinit(&pool);
}

/** Some are at once while others are to give way: what began first may end last. */
Test(copies, a_long_one_is_passed_though_a_short_one_began_later)
{
    cebus_pool pool;
    cebus_copies copies = {0}, other = {0};
    cebus_pool_init(&pool, NULL);
    cr_assert(cebus_copies_add(&copies, &pool, (cebus_copy){{10, 30}, 0, 0}));
    cr_assert(cebus_copies_add(&copies, &pool, (cebus_copy){{12, 13}, 1, 0}));
    cr_assert(cebus_copies_add(&copies, &pool, (cebus_copy){{14, 15}, 2, 0}));
    expect(cebus_copies_earliest(&copies, 16, 3), 30, 33);
    cr_assert(cebus_copies_copy(&other, &pool, &copies));
    expect(cebus_copies_earliest(&other, 29, 1), 30, 31);
    cebus_copies_deinit(&other, &pool);
    cebus_copies_deinit(&copies, &pool);
    cebus_pool_deinit(&pool);
}

Test(copies, what_is_taken_out_leaves_its_time_free)
{
    cebus_pool pool;
    cebus_copies copies = {0}, other = {0};
    cebus_pool_init(&pool, NULL);
    fill(&copies, &pool);
    cr_assert(cebus_copies_copy(&other, &pool, &copies));
    cebus_copies_remove(&copies, 1);
    cr_expect_eq(copies.count, 2);
    expect(cebus_copies_earliest(&copies, 0, 3), 4, 7);
    expect(cebus_copies_earliest(&other, 0, 3), 9, 12);
    cebus_copies_deinit(&other, &pool);
    cebus_copies_deinit(&copies, &pool);
    cebus_pool_deinit(&pool);
}

Test(picks, the_best_comes_first_and_the_first_of_equals)
{
    cebus_pool pool;
    cebus_picks picks = {0};
    uint64_t random = 5;
    cebus_pool_init(&pool, NULL);
    for (uint32_t i = 0; i < 500; i++) {
        cebus_pick pick = {.score = (double)random_below(&random, 50) - 25, .order = i};
        cr_assert(cebus_picks_push(&picks, &pool, pick));
    }
    cebus_pick last = cebus_picks_pop(&picks);
    while (picks.count > 0) {
        cebus_pick next = cebus_picks_pop(&picks);
        cr_expect(last.score < next.score || (last.score == next.score && last.order < next.order));
        last = next;
    }
    cebus_picks_deinit(&picks, &pool);
    cebus_pool_deinit(&pool);
}
