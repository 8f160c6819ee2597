#include "layout/arena.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(arena_check);

static cebus_pool pool;
static cebus_arena arena;
static cebus_block *low, *middle, *high; /* used, free, used, then free to the end */

static void open_arena(void)
{
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, 1024, 64, &pool), CEBUS_PLACED);
    cr_assert_eq(cebus_arena_place(&arena, 64, CEBUS_ZONE_EXPENSIVE, &low), CEBUS_PLACED);
    cr_assert_eq(cebus_arena_place(&arena, 64, CEBUS_ZONE_EXPENSIVE, &middle), CEBUS_PLACED);
    cr_assert_eq(cebus_arena_place(&arena, 64, CEBUS_ZONE_EXPENSIVE, &high), CEBUS_PLACED);
    middle = cebus_arena_release(&arena, middle);
    cr_assert(cebus_arena_check(&arena, NULL, 0));
}

static void expect_fault(const char *wanted)
{
    char why[128] = "";
    cr_expect_not(cebus_arena_check(&arena, why, sizeof why));
    cr_expect_not_null(strstr(why, wanted), "got '%s', not '%s'", why, wanted);
    cr_expect_not(cebus_arena_check(&arena, NULL, 0));
}

/* Sets a field to what it must not be, expects the complaint, and puts it back. */
#define EXPECT_FAULT(field, damage, wanted)                                                        \
    do {                                                                                           \
        __typeof__(field) saved = (field);                                                         \
        (field) = (damage);                                                                        \
        expect_fault(wanted);                                                                      \
        (field) = saved;                                                                           \
        cr_assert(cebus_arena_check(&arena, NULL, 0));                                             \
    } while (0)

Test(arena_check, finds_every_kind_of_damage)
{
    open_arena();
    EXPECT_FAULT(middle->prev, NULL, "prev");
    EXPECT_FAULT(middle->offset, 128, "gap or overlap");
    EXPECT_FAULT(low->bytes, 0, "empty");
    EXPECT_FAULT(high->bytes, 2048, "beyond");
    EXPECT_FAULT(low->bytes, 65, "misaligned");
    EXPECT_FAULT(arena.untouched, 191, "where none ever was");
    EXPECT_FAULT(low->state, 3, "unknown state");
    EXPECT_FAULT(low->zone, CEBUS_ZONE_COUNT, "unknown zone");
    EXPECT_FAULT(arena.first->next->next->state, CEBUS_BLOCK_FREE, "two free neighbours");
    EXPECT_FAULT(middle->owner, &arena, "owner");
    EXPECT_FAULT(arena.capacity, 2048, "before the capacity");
    EXPECT_FAULT(arena.last, high, "last");
    EXPECT_FAULT(arena.used_bytes, 64, "used_bytes");
    EXPECT_FAULT(arena.used_blocks, 1, "used_blocks");
    EXPECT_FAULT(arena.free_blocks, 3, "free_blocks");
    EXPECT_FAULT(arena.bins.levels, arena.bins.levels | 1, "bins");
    EXPECT_FAULT(arena.bins.splits[7], 1, "bins");
    EXPECT_FAULT(arena.bins.root[6][0], NULL, "outside its bin");
    cebus_block stray = {.bytes = 4096};
    cebus_bins_insert(&arena.bins, &stray);
    expect_fault("bins");
    cebus_bins_remove(&arena.bins, &stray);
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

Test(arena_check, says_where)
{
    open_arena();
    high->bytes = 65;
    char why[128] = "", small[8] = "";
    cr_expect_not(cebus_arena_check(&arena, why, sizeof why));
    cr_expect_str_eq(why, "misaligned block, at offset 128");
    cr_expect_not(cebus_arena_check(&arena, small, sizeof small));
    cr_expect_str_eq(small, "misalig");
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}
