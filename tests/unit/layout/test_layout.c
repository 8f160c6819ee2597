#include "arena_model.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(layout);

static const char *const with_addresses[] = {"zones", "coop", "best-fit", "planned"};

Test(layout, has_a_name_each_and_zones_first)
{
    cr_expect_str_eq(cebus_layout_at(0)->name, "zones");
    cr_expect_eq(cebus_layout_find(NULL), cebus_layout_at(0));
    cr_expect_null(cebus_layout_find("heap"));
    size_t n = 0;
    for (; cebus_layout_at(n) != NULL; n++) {
        const cebus_layout *layout = cebus_layout_at(n);
        cr_expect_eq(cebus_layout_find(layout->name), layout);
        cr_expect_not_null(layout->find);
        cr_expect_gt(layout->summary[0], 0);
        cr_expect_eq(layout->extend != NULL, layout->within == NULL, "%s", layout->name);
    }
    cr_expect_eq(n, 7);
}

static void compare_with_model(const char *layout, uint64_t seed)
{
    static arena_model model;
    model_init_layout(&model, MODEL_UNITS, layout);
    if (model.arena.layout->has_run)
        model_set_run(&model, 40, 3);
    for (int n = 0; n < 30000; n++) {
        uint64_t drawn = random_next(&seed);
        uint8_t step[4];
        memcpy(step, &drawn, sizeof step);
        const char *fault = model_step(&model, step);
        cr_assert_null(fault, "%s, step %d: %s", layout, n, fault);
        fault = model_compare(&model);
        cr_assert_null(fault, "%s, step %d: %s", layout, n, fault);
    }
    cr_expect_eq(model_deinit(&model), 0);
}

Test(layout, every_one_agrees_with_a_byte_map)
{
    for (uint64_t i = 0; i < 3; i++)
        compare_with_model(with_addresses[i], 11 + i);
}

static cebus_pool pool;
static cebus_arena arena;

static void open_arena(const char *layout, uint64_t units)
{
    cebus_arena_setup setup = {cebus_layout_find(layout), units, 0, 1};
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_open(&arena, &setup, &pool), CEBUS_PLACED);
}

static void close_arena(void)
{
    cr_expect(cebus_arena_check(&arena, NULL, 0));
    cebus_arena_deinit(&arena);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

static uint64_t place(uint64_t bytes, cebus_zone zone)
{
    cebus_block *block;
    cr_assert_eq(cebus_arena_place(&arena, bytes, zone, &block), CEBUS_PLACED);
    return block->offset;
}

Test(layout, zones_keep_small_blocks_at_the_top)
{
    open_arena("zones", 1000);
    cebus_arena_set_run(&arena, 100, 10);
    cr_expect_eq(place(200, CEBUS_ZONE_CHEAP), 700, "below the run");
    cr_expect_eq(place(10, CEBUS_ZONE_CHEAP), 990);
    cr_expect_eq(place(10, CEBUS_ZONE_EXPENSIVE), 980, "dear or not");
    cr_expect_eq(place(10, CEBUS_ZONE_PERSISTENT), 0, "what stays has its own end");
    cr_expect_eq(place(11, CEBUS_ZONE_CHEAP), 689, "not small");
    close_arena();
}

Test(layout, a_full_run_overflows_and_an_empty_one_is_lent)
{
    open_arena("zones", 1000);
    cebus_arena_set_run(&arena, 100, 10);
    cr_expect_eq(place(950, CEBUS_ZONE_CHEAP), 0, "takes half of the run");
    for (int i = 0; i < 5; i++)
        cr_expect_eq(place(10, CEBUS_ZONE_CHEAP), 990 - 10 * (uint64_t)i);
    cr_expect_eq(cebus_arena_free_bytes(&arena), 0);
    close_arena();
    open_arena("coop", 1000);
    cebus_arena_set_run(&arena, 20, 10);
    cr_expect_eq(place(10, CEBUS_ZONE_CHEAP), 990);
    cr_expect_eq(place(10, CEBUS_ZONE_PERSISTENT), 980, "of any kind");
    cr_expect_eq(place(10, CEBUS_ZONE_CHEAP), 970, "overflows where published code fails");
    cr_expect_eq(place(10, CEBUS_ZONE_EXPENSIVE), 0);
    close_arena();
}

Test(layout, coop_has_two_ends_and_best_fit_none)
{
    open_arena("coop", 1000);
    cr_expect_eq(place(100, CEBUS_ZONE_EXPENSIVE), 0);
    cr_expect_eq(place(100, CEBUS_ZONE_CHEAP), 900);
    cr_expect_eq(place(100, CEBUS_ZONE_PERSISTENT), 800, "no place of its own");
    cr_expect_eq(place(100, CEBUS_ZONE_TRANSIENT), 700);
    close_arena();
    open_arena("best-fit", 1000);
    for (int zone = 0; zone < CEBUS_ZONE_COUNT; zone++)
        cr_expect_eq(place(100, (cebus_zone)zone), (uint64_t)zone * 100);
    close_arena();
}

Test(layout, runs_suit_the_capacity)
{
    open_arena("zones", UINT64_C(1) << 30);
    cr_expect_eq(arena.border, (UINT64_C(1) << 30) - (UINT64_C(1) << 20));
    cr_expect_eq(arena.small_most, 10 << 10);
    cr_expect_eq(cebus_arena_resize(&arena, UINT64_C(1) << 35), CEBUS_PLACED);
    cr_expect_eq(arena.border, (UINT64_C(1) << 35) - (10 << 20), "10 MiB at most");
    cr_expect_eq(cebus_arena_resize(&arena, 1 << 20), CEBUS_PLACED);
    cr_expect_eq(arena.small_most, 0, "too small for one");
    close_arena();
}

Test(layout, published_layouts_move_nothing)
{
    cebus_block *low, *high;
    cebus_move move;
    for (int i = 1; i < 3; i++) {
        open_arena(with_addresses[i], 100);
        cr_assert_eq(cebus_arena_place(&arena, 50, CEBUS_ZONE_EXPENSIVE, &low), CEBUS_PLACED);
        cr_assert_eq(cebus_arena_place(&arena, 50, CEBUS_ZONE_CHEAP, &high), CEBUS_PLACED);
        cebus_arena_release(&arena, low);
        cr_expect_not(cebus_arena_next_move(&arena, NULL, &move));
        close_arena();
    }
}
