#include "arena_model.h"
#include "random.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>

TestSuite(arena);

/* Random operations against the map. */

static void expect_agreement(uint64_t seed, int operations, uint64_t units)
{
    static arena_model model;
    model_init(&model, units);
    for (int i = 0; i < operations; i++) {
        uint64_t drawn = random_next(&seed);
        uint8_t bytes[4] = {(uint8_t)drawn, (uint8_t)(drawn >> 8), (uint8_t)(drawn >> 16),
                            (uint8_t)(drawn >> 24)};
        const char *fault = model_step(&model, bytes);
        cr_assert_null(fault, "operation %d: %s", i, fault);
        fault = model_compare(&model);
        cr_assert_null(fault, "after operation %d: %s", i, fault);
    }
    cr_assert_eq(model_deinit(&model), 0);
}

Test(arena, agrees_with_a_byte_map)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        expect_agreement(seed, 2000, MODEL_UNITS);
}

Test(arena, agrees_with_a_byte_map_from_nothing)
{
    expect_agreement(77, 2000, 0);
}

/* Single cases. */

static cebus_pool pool;
static cebus_arena arena;

static void open_arena(uint64_t capacity, uint64_t alignment)
{
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, capacity, alignment, &pool), CEBUS_PLACED);
}

static void close_arena(void)
{
    char why[128] = "";
    cr_assert(cebus_arena_check(&arena, why, sizeof why), "%s", why);
    cebus_arena_deinit(&arena);
    cr_assert_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

static cebus_block *place(uint64_t bytes, cebus_zone zone)
{
    cebus_block *block;
    cr_assert_eq(cebus_arena_place(&arena, bytes, zone, &block), CEBUS_PLACED);
    return block;
}

Test(arena, grows_zones_from_their_ends)
{
    open_arena(1024, 64);
    cr_expect_eq(place(64, CEBUS_ZONE_PERSISTENT)->offset, 0);
    cr_expect_eq(place(64, CEBUS_ZONE_EXPENSIVE)->offset, 64);
    cr_expect_eq(place(64, CEBUS_ZONE_CHEAP)->offset, 960);
    cr_expect_eq(place(100, CEBUS_ZONE_TRANSIENT)->offset, 832);
    cr_expect_eq(cebus_arena_free_bytes(&arena), 1024 - 192 - 128);
    close_arena();
}

Test(arena, breaks_ties_toward_the_zone)
{
    open_arena(5 * 64, 64);
    cebus_block *blocks[5];
    for (int i = 0; i < 5; i++)
        blocks[i] = place(64, CEBUS_ZONE_PERSISTENT);
    cebus_arena_release(&arena, blocks[1]);
    cebus_arena_release(&arena, blocks[3]);
    cr_expect_eq(place(1, CEBUS_ZONE_CHEAP)->offset, 3 * 64);
    cr_expect_eq(place(1, CEBUS_ZONE_CHEAP)->offset, 64);
    close_arena();
}

Test(arena, finds_a_hole_in_the_requests_own_bin)
{
    /* 17 and 18 units of 64 share a bin; plain TLSF looks for 17 in later bins only. */
    open_arena(18 * 64, 64);
    cr_expect(cebus_arena_fits(&arena, 17 * 64));
    cr_expect_eq(place(17 * 64, CEBUS_ZONE_CHEAP)->bytes, 17 * 64);
    close_arena();
}

/** Also a byte in the midst of a block, and none behind the end. */
Test(arena, finds_the_block_at_an_offset)
{
    open_arena(1024, 64);
    cebus_block *low = place(128, CEBUS_ZONE_PERSISTENT);
    cebus_block *hole = low->next;
    cr_expect_eq(cebus_arena_block_at(&arena, 0), low);
    cr_expect_eq(cebus_arena_block_at(&arena, 127), low);
    cr_expect_eq(cebus_arena_block_at(&arena, 128), hole);
    cr_expect_eq(cebus_arena_block_at(&arena, 1023), hole);
    cr_expect_null(cebus_arena_block_at(&arena, 1024));
    cebus_arena_release(&arena, low);
    close_arena();
}

Test(arena, places_where_it_is_told_or_not_at_all)
{
    cebus_block *block, *other;
    open_arena(1024, 64);
    cr_assert_eq(cebus_arena_place_at(&arena, 256, 100, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACED);
    cr_expect_eq(block->offset, 256);
    cr_expect_eq(block->bytes, 128);
    static const uint64_t taken[][2] = {{256, 1}, {320, 64}, {192, 128}, {0, 1024}, {960, 128}};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        cr_expect_eq(
            cebus_arena_place_at(&arena, taken[i][0], taken[i][1], CEBUS_ZONE_CHEAP, &other),
            CEBUS_PLACE_FULL);
    cr_expect_eq(cebus_arena_place_at(&arena, 384, 640, CEBUS_ZONE_CHEAP, &other), CEBUS_PLACED);
    cr_expect_eq(cebus_arena_place_at(&arena, 0, 256, CEBUS_ZONE_CHEAP, &other), CEBUS_PLACED);
    cr_expect_eq(cebus_arena_free_bytes(&arena), 0);
    cebus_arena_release(&arena, block);
    cr_expect_eq(cebus_arena_place_at(&arena, 320, 64, CEBUS_ZONE_CHEAP, &other), CEBUS_PLACED);
    close_arena();
}

Test(arena, finds_every_spot_that_a_walk_finds)
{
    uint64_t seed = 11;
    cebus_block *blocks[64] = {0}, *unused;
    open_arena(64 * 64, 64);
    for (int i = 0; i < 4000; i++) {
        uint64_t drawn = random_next(&seed);
        uint64_t offset = drawn % 64 * 64, bytes = (1 + (drawn >> 8) % 6) * 64;
        size_t slot = (drawn >> 16) % 64;
        bool fits = offset + bytes <= arena.capacity;
        for (const cebus_block *b = arena.first; b != NULL; b = b->next)
            fits = fits && (b->state == CEBUS_BLOCK_FREE || b->offset >= offset + bytes ||
                            b->offset + b->bytes <= offset);
        cr_expect_eq(cebus_arena_fits_at(&arena, offset, bytes), fits);
        if (blocks[slot] != NULL)
            cebus_arena_release(&arena, blocks[slot]);
        else
            cr_expect_eq(cebus_arena_place_at(&arena, offset, bytes, CEBUS_ZONE_CHEAP, &unused) ==
                             CEBUS_PLACED,
                         fits);
        blocks[slot] = blocks[slot] == NULL && fits ? unused : NULL;
    }
    close_arena();
}

Test(arena, unplanned_blocks_go_above_what_is_planned)
{
    open_arena(64 * 64, 64);
    cebus_arena_plan_below(&arena, 48 * 64);
    cebus_block *low = NULL;
    for (int i = 0; i < 16; i++)
        cr_expect_geq(place(64, i % 2 == 0 ? CEBUS_ZONE_EXPENSIVE : CEBUS_ZONE_CHEAP)->offset,
                      48 * 64);
    cr_expect_eq(cebus_arena_place_at(&arena, 0, 64, CEBUS_ZONE_CHEAP, &low), CEBUS_PLACED);
    cr_expect_lt(place(64, CEBUS_ZONE_CHEAP)->offset, 48 * 64, "what does not fit goes anywhere");
    cebus_arena_plan_below(&arena, 0);
    cr_expect_eq(arena.small_most, 0);
    close_arena();
}

Test(arena, rounds_sizes_without_wrapping)
{
    open_arena(4096, 512);
    cr_expect_eq(cebus_arena_rounded(&arena, 0), 512);
    cr_expect_eq(cebus_arena_rounded(&arena, 1), 512);
    cr_expect_eq(cebus_arena_rounded(&arena, 512), 512);
    cr_expect_eq(cebus_arena_rounded(&arena, 513), 1024);
    cr_expect_eq(cebus_arena_rounded(&arena, UINT64_MAX - 511), UINT64_MAX - 511);
    cr_expect_eq(cebus_arena_rounded(&arena, UINT64_MAX - 510), 0);
    cr_expect_eq(cebus_arena_rounded(&arena, UINT64_MAX), 0);
    cebus_block *block = arena.first;
    cr_expect_eq(cebus_arena_place(&arena, UINT64_MAX, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACE_FULL);
    cr_expect_null(block);
    cr_expect_eq(cebus_arena_place_in(&arena, arena.first, UINT64_MAX, CEBUS_ZONE_CHEAP, &block),
                 CEBUS_PLACE_FULL);
    cr_expect_not(cebus_arena_fits(&arena, UINT64_MAX));
    cr_expect_eq(cebus_arena_stranded_bytes(&arena, UINT64_MAX), 4096);
    close_arena();
}

Test(arena, spans_every_address)
{
    open_arena(UINT64_MAX, 64);
    cr_expect_eq(arena.capacity, UINT64_MAX - 63);
    cr_expect_eq(place(UINT64_C(1) << 63, CEBUS_ZONE_CHEAP)->offset, (UINT64_C(1) << 63) - 64);
    cr_expect_eq(cebus_arena_largest_hole(&arena), (UINT64_C(1) << 63) - 64);
    close_arena();
}

Test(arena, answers_full_without_capacity)
{
    open_arena(63, 64);
    cebus_block *block = NULL;
    cr_expect_eq(arena.capacity, 0);
    cr_expect_null(arena.first);
    cr_expect_eq(cebus_arena_place(&arena, 1, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACE_FULL);
    cr_expect_not(cebus_arena_fits(&arena, 0));
    cr_expect_eq(cebus_arena_largest_hole(&arena), 0);
    cr_expect_not(compact_step(&arena, NULL, &(cebus_move){0}));
    cr_expect_eq(cebus_arena_resize(&arena, 64), CEBUS_PLACED);
    cr_expect_eq(place(1, CEBUS_ZONE_CHEAP)->offset, 0);
    close_arena();
}

Test(arena, knows_where_no_block_ever_was)
{
    open_arena(1024, 64);
    cebus_block *low = place(128, CEBUS_ZONE_EXPENSIVE), *high = place(64, CEBUS_ZONE_CHEAP);
    cr_expect(arena.untouched == 128 && arena.untouched_end == 960);
    cebus_arena_release(&arena, low);
    cebus_arena_release(&arena, high);
    cr_expect(arena.untouched == 128 && arena.untouched_end == 960, "it was there once");
    cr_assert_eq(cebus_arena_resize(&arena, 2048), CEBUS_PLACED);
    cr_expect_eq(arena.untouched_end, 960, "one stretch is known");
    cr_assert_eq(cebus_arena_resize(&arena, 512), CEBUS_PLACED);
    cr_expect_eq(arena.untouched_end, 512);
    cr_assert_eq(cebus_arena_resize(&arena, 4096), CEBUS_PLACED);
    cr_expect_eq(arena.untouched_end, 4096);
    place(4032, CEBUS_ZONE_EXPENSIVE);
    cr_expect(arena.untouched == 4032 && arena.untouched_end == 4096);
    cr_assert_eq(cebus_arena_resize(&arena, 4032), CEBUS_PLACED);
    cr_expect(arena.untouched == 4032 && arena.untouched_end == 4032);
    close_arena();
}

Test(arena, refuses_a_hole_that_is_used_or_small)
{
    open_arena(128, 64);
    cebus_block *used = place(64, CEBUS_ZONE_EXPENSIVE);
    cebus_block *block = used;
    cr_expect_eq(cebus_arena_place_in(&arena, used, 1, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACE_FULL);
    cr_expect_null(block);
    cr_expect_eq(cebus_arena_place_in(&arena, used->next, 65, CEBUS_ZONE_CHEAP, &block),
                 CEBUS_PLACE_FULL);
    cr_expect_eq(cebus_arena_place_in(&arena, used->next, 64, CEBUS_ZONE_CHEAP, &block),
                 CEBUS_PLACED);
    close_arena();
}

Test(arena, shrinks_only_over_free_space)
{
    open_arena(1024, 64);
    cebus_block *block = place(64, CEBUS_ZONE_CHEAP);
    cr_expect_eq(cebus_arena_resize(&arena, 960), CEBUS_PLACE_FULL);
    cr_expect_eq(arena.capacity, 1024);
    cebus_arena_release(&arena, block);
    cr_expect_eq(cebus_arena_resize(&arena, 960), CEBUS_PLACED);
    cr_expect_eq(cebus_arena_resize(&arena, 0), CEBUS_PLACED);
    cr_expect_null(arena.first);
    close_arena();
}

/* A line of one-unit blocks of which every other is free. */
static void open_comb(uint64_t blocks)
{
    open_arena(blocks * 64, 64);
    for (uint64_t i = 0; i < blocks; i++)
        place(64, CEBUS_ZONE_PERSISTENT);
    for (cebus_block *block = arena.first; block != NULL; block = block->next)
        block = cebus_arena_release(&arena, block)->next;
}

Test(arena, compacts_around_immovable_blocks)
{
    open_comb(8);
    arena.first->next->next->next->immovable = 1; /* at 192 */
    const uint64_t moves[][2] = {{64, 0}, {320, 256}, {448, 320}};
    cebus_move move = {0};
    for (int i = 0; i < 3; i++) {
        cr_assert(compact_step(&arena, move.block, &move));
        cr_expect_eq(move.from, moves[i][0]);
        cr_expect_eq(move.to, moves[i][1]);
    }
    cr_expect_not(compact_step(&arena, move.block, &move));
    cr_expect_null(move.block);
    cr_expect_eq(cebus_arena_largest_hole(&arena), 128);
    close_arena();
}

Test(arena, says_how_much_is_stranded)
{
    open_comb(8);
    cr_expect_eq(cebus_arena_free_bytes(&arena), 256);
    cr_expect_eq(cebus_arena_stranded_bytes(&arena, 64), 0);
    cr_expect_eq(cebus_arena_stranded_bytes(&arena, 65), 256);
    close_arena();
}

/* Host memory that runs out. */

static uint64_t print_of(const cebus_arena *of)
{
    uint64_t hash = of->capacity;
    for (const cebus_block *block = of->first; block != NULL; block = block->next)
        hash = (hash ^ block->offset ^ (block->bytes << 20) ^ block->state) *
               UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* The operation may fail once, and must then have changed nothing and succeed when repeated. */
#define REPEAT_IF_IT_FAILS(operation)                                                              \
    do {                                                                                           \
        uint64_t before = print_of(&arena);                                                        \
        cebus_place_result result = (operation);                                                   \
        if (result != CEBUS_PLACED) {                                                              \
            failures++;                                                                            \
            cr_assert_eq(result, CEBUS_PLACE_NO_HOST_MEMORY);                                      \
            cr_assert_eq(print_of(&arena), before);                                                \
            cr_assert(cebus_arena_check(&arena, NULL, 0));                                         \
            cr_assert_eq((operation), CEBUS_PLACED);                                               \
        }                                                                                          \
    } while (0)

/* Returns how many operations failed. */
static int run_with_scarce_memory(uint64_t failing_call, cebus_test_host *host)
{
    cebus_test_host_init(host);
    host->fail_at = failing_call;
    int failures = 0;
    cebus_pool_init(&pool, &host->allocator);
    if (cebus_arena_init(&arena, 64, 64, &pool) != CEBUS_PLACED) {
        failures++;
        cr_assert(cebus_arena_check(&arena, NULL, 0));
        cr_assert_null(arena.first);
    }
    cebus_block *block = NULL;
    for (uint64_t count = 1; count < 800; count++) {
        cebus_zone zone = (cebus_zone)(count % CEBUS_ZONE_COUNT);
        REPEAT_IF_IT_FAILS(cebus_arena_resize(&arena, count * 128));
        REPEAT_IF_IT_FAILS(cebus_arena_place(&arena, 64, zone, &block));
        cr_assert_not_null(block);
    }
    cr_assert(cebus_arena_check(&arena, NULL, 0));
    cebus_arena_deinit(&arena);
    cr_assert_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
    cr_assert_eq(host->live, 0);
    return failures;
}

Test(arena, survives_every_failing_host_allocation)
{
    cebus_test_host host;
    cr_assert_eq(run_with_scarce_memory(0, &host), 0);
    uint64_t calls = host.requests;
    cr_assert_geq(calls, 4);
    for (uint64_t n = 1; n <= calls; n++)
        cr_expect_eq(run_with_scarce_memory(n, &host), 1, "call %d", (int)n);
}
