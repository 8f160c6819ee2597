#include "layout/arena.h"

#include <criterion/criterion.h>

TestSuite(commodity);

#define LIMIT 1000

typedef struct field {
    cebus_pool pool;
    cebus_arena arena;
} field;

static void open_field(field *f)
{
    cebus_pool_init(&f->pool, NULL);
    cr_assert_eq(cebus_arena_init_commodity(&f->arena, LIMIT, 64 * LIMIT, 1, &f->pool),
                 CEBUS_PLACED);
}

static void close_field(field *f)
{
    cebus_arena_deinit(&f->arena);
    cebus_pool_deinit(&f->pool);
}

Test(commodity, only_the_number_of_bytes_counts)
{
    field f;
    cebus_block *blocks[10], *large;
    open_field(&f);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(cebus_arena_place(&f.arena, 100, CEBUS_ZONE_CHEAP, &blocks[i]), CEBUS_PLACED);
    cr_expect_eq(cebus_arena_place(&f.arena, 1, CEBUS_ZONE_CHEAP, &large), CEBUS_PLACE_FULL);
    cr_expect_not(cebus_arena_fits(&f.arena, 1));
    for (int i = 0; i < 10; i += 2)
        cebus_arena_release(&f.arena, blocks[i]);
    cr_expect_eq(cebus_arena_free_bytes(&f.arena), 500);
    cr_expect_eq(cebus_arena_largest_hole(&f.arena), 500, "no more than the limit leaves");
    cr_expect_eq(cebus_arena_stranded_bytes(&f.arena, 500), 0);
    cr_expect_eq(cebus_arena_place(&f.arena, 501, CEBUS_ZONE_CHEAP, &large), CEBUS_PLACE_FULL);
    cr_expect_eq(cebus_arena_place(&f.arena, 500, CEBUS_ZONE_CHEAP, &large), CEBUS_PLACED);
    cr_expect(cebus_arena_check(&f.arena, NULL, 0));
    close_field(&f);
}

Test(commodity, a_hole_in_hand_does_not_go_beyond_the_limit)
{
    field f;
    cebus_block *a, *b, *hole;
    open_field(&f);
    cr_assert_eq(cebus_arena_place(&f.arena, 600, CEBUS_ZONE_CHEAP, &a), CEBUS_PLACED);
    cr_assert_eq(cebus_arena_place(&f.arena, 300, CEBUS_ZONE_CHEAP, &b), CEBUS_PLACED);
    hole = cebus_arena_release(&f.arena, b);
    cr_assert_gt(hole->bytes, 401);
    cr_expect_eq(cebus_arena_place_in(&f.arena, hole, 401, CEBUS_ZONE_CHEAP, &b), CEBUS_PLACE_FULL);
    cr_expect_eq(cebus_arena_place_in(&f.arena, hole, 400, CEBUS_ZONE_CHEAP, &b), CEBUS_PLACED);
    close_field(&f);
}

Test(commodity, the_limit_changes_and_the_addresses_stay)
{
    field f;
    cebus_block *block;
    open_field(&f);
    cr_assert_eq(cebus_arena_place(&f.arena, 600, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACED);
    cr_expect_eq(cebus_arena_resize(&f.arena, 599), CEBUS_PLACE_FULL);
    cr_expect_eq(f.arena.limit, LIMIT);
    cr_expect_eq(cebus_arena_resize(&f.arena, 600), CEBUS_PLACED);
    cr_expect_eq(cebus_arena_free_bytes(&f.arena), 0);
    cr_expect_eq(f.arena.capacity, 64 * LIMIT);
    cr_expect_eq(cebus_arena_resize(&f.arena, 65 * LIMIT), CEBUS_PLACE_FULL, "no such addresses");
    cr_expect(cebus_arena_check(&f.arena, NULL, 0));
    close_field(&f);
}

Test(commodity, fences_follow_the_bytes)
{
    field f;
    cebus_block *blocks[3], *part, *whole;
    cebus_pool_init(&f.pool, NULL);
    cr_assert_eq(cebus_arena_init(&f.arena, 30, 1, &f.pool), CEBUS_PLACED);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(cebus_arena_place(&f.arena, 10, CEBUS_ZONE_EXPENSIVE, &blocks[i]),
                     CEBUS_PLACED);
        blocks[i]->fence[i] = 7 + (uint64_t)i;
    }
    cebus_arena_release(&f.arena, blocks[0]);
    cebus_arena_release(&f.arena, blocks[2]);
    whole = cebus_arena_release(&f.arena, blocks[1]);
    cr_expect_eq(whole->bytes, 30);
    cr_assert_eq(cebus_arena_place(&f.arena, 4, CEBUS_ZONE_CHEAP, &part), CEBUS_PLACED);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(part->fence[i], 7 + (uint64_t)i, "a part inherits all of the hole's");
    close_field(&f);
}
