#include "layout/segments.h"
#include "random.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(segments);

#define MIB (UINT64_C(1) << 20)

static cebus_pool pool;
static cebus_arena arena;

static void open_arena(const char *layout, uint64_t limit)
{
    cebus_arena_setup setup = {cebus_layout_find(layout), limit, 4 * limit, 512};
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_open(&arena, &setup, &pool), CEBUS_PLACED);
    cr_assert(cebus_arena_check(&arena, NULL, 0));
}

static void close_arena(void)
{
    char why[128] = "";
    cr_expect(cebus_arena_check(&arena, why, sizeof why), "%s", why);
    cebus_arena_deinit(&arena);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

static cebus_block *place(uint64_t bytes)
{
    cebus_block *block;
    cr_assert_eq(cebus_arena_place(&arena, bytes, CEBUS_ZONE_CHEAP, &block), CEBUS_PLACED,
                 "%d bytes", (int)bytes);
    return block;
}

Test(segments, have_the_documented_sizes)
{
    const uint64_t requests[][2] = {
        {1, 2 * MIB},         {MIB, 2 * MIB},
        {MIB + 1, 20 * MIB},  {10 * MIB - 512, 20 * MIB},
        {10 * MIB, 10 * MIB}, {11 * MIB + 1, 12 * MIB},
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        open_arena("caching", 1024 * MIB);
        cr_expect_eq(arena.mapped_bytes, 0);
        place(requests[i][0]);
        cr_expect_eq(arena.mapped_bytes, requests[i][1], "a request of %d", (int)requests[i][0]);
        close_arena();
    }
}

Test(segments, split_only_what_is_worth_it)
{
    open_arena("caching", 1024 * MIB);
    cr_expect_eq(place(1)->bytes, 512, "the small pool splits for anything");
    cebus_block *large = place(12 * MIB);
    cebus_arena_release(&arena, large);
    cr_expect_eq(place(11 * MIB)->bytes, 12 * MIB, "1 MiB is not split off");
    close_arena();
    open_arena("caching", 1024 * MIB);
    cebus_arena_release(&arena, place(13 * MIB));
    cr_expect_eq(place(11 * MIB)->bytes, 11 * MIB, "more is");
    cr_expect_eq(arena.mapped_bytes, 14 * MIB);
    cr_expect_eq(place(3 * MIB - 512)->bytes, 3 * MIB, "and serves the next");
    cr_expect_eq(arena.mapped_bytes, 14 * MIB);
    close_arena();
}

Test(segments, pools_do_not_mix)
{
    open_arena("caching", 1024 * MIB);
    cebus_arena_release(&arena, place(30 * MIB));
    place(1000);
    cr_expect_eq(arena.mapped_bytes, 32 * MIB, "a small request does not take of the large pool");
    cr_expect_eq(cebus_arena_stranded_bytes(&arena, 1024 * MIB - 2 * MIB), 2 * MIB - 1024);
    close_arena();
}

Test(segments, are_kept_until_memory_is_short_and_then_all_go)
{
    open_arena("caching", 256 * MIB);
    cebus_block *blocks[5];
    for (int i = 0; i < 5; i++)
        blocks[i] = place(50 * MIB);
    for (int i = 0; i < 5; i++)
        cebus_arena_release(&arena, blocks[i]);
    cr_expect_eq(arena.mapped_bytes, 250 * MIB);
    cr_expect(cebus_arena_fits(&arena, 256 * MIB));
    place(60 * MIB);
    cr_expect_eq(arena.mapped_bytes, 60 * MIB);
    close_arena();
}

Test(segments, of_small_pieces_hold_a_comb)
{
    open_arena("caching", 256 * MIB);
    cebus_block *blocks[72];
    for (int i = 0; i < 72; i++)
        blocks[i] = place(3 * MIB);
    for (int i = 0; i < 72; i += 2)
        cebus_arena_release(&arena, blocks[i]);
    cr_expect_eq(cebus_arena_free_bytes(&arena), 256 * MIB - 36 * 3 * MIB);
    cr_expect_not(cebus_arena_fits(&arena, 40 * MIB), "148 MiB are free, and none of it whole");
    cebus_block *none;
    cr_expect_eq(cebus_arena_place(&arena, 40 * MIB, CEBUS_ZONE_CHEAP, &none), CEBUS_PLACE_FULL);
    close_arena();
}

Test(segments, that_expand_grow_by_pages_and_lend_them)
{
    open_arena("caching-expandable", 256 * MIB);
    cebus_block *a = place(3 * MIB), *b = place(3 * MIB), *c = place(100 * MIB);
    cr_expect_eq(arena.mapped_bytes, 106 * MIB, "one segment");
    cr_expect_eq(b->offset, a->offset + a->bytes);
    cr_expect_eq(c->offset, b->offset + b->bytes);
    cebus_arena_release(&arena, b);
    cr_expect_eq(arena.idle_bytes, 2 * MIB, "[3 MiB, 6 MiB) has one page whole");
    place(151 * MIB);
    cr_expect_eq(arena.mapped_bytes, 256 * MIB);
    cr_expect_eq(arena.idle_bytes, 0);
    close_arena();
}

Test(segments, shrink_with_the_limit)
{
    open_arena("caching", 1024 * MIB);
    cebus_block *block = place(100 * MIB);
    cebus_arena_release(&arena, place(500 * MIB));
    cr_expect_eq(cebus_arena_resize(&arena, 300 * MIB), CEBUS_PLACED);
    cr_expect_eq(arena.mapped_bytes, 100 * MIB);
    cr_expect_eq(cebus_arena_resize(&arena, 99 * MIB), CEBUS_PLACE_FULL);
    cr_expect_eq(arena.limit, 300 * MIB);
    cebus_arena_release(&arena, block);
    cr_expect_eq(cebus_arena_resize(&arena, 16 * MIB), CEBUS_PLACED);
    cr_expect_eq(arena.rules.page, MIB / 8, "pages are 1/128 of a small limit");
    cr_expect_eq(cebus_arena_resize(&arena, 4096 * MIB), CEBUS_PLACED);
    cr_expect_eq(arena.rules.page, 2 * MIB);
    cr_expect_eq(cebus_arena_resize(&arena, UINT64_C(1) << 40), CEBUS_PLACE_FULL,
                 "no such addresses");
    close_arena();
}

static uint64_t unmapped;

static void note(void *context, uint64_t offset, uint64_t bytes)
{
    (void)context;
    (void)offset;
    unmapped += bytes;
}

/** Of any magnitude up to `most`. */
static uint64_t draw_bytes(uint64_t *seed, uint64_t most)
{
    uint64_t bits = 9 + random_below(seed, 16);
    return random_next(seed) % (UINT64_C(1) << bits) % most + 1;
}

static void check_answers(uint64_t bytes, bool fitted, const cebus_block *block)
{
    cr_assert_eq(fitted, block != NULL, "fits and place disagree about %d", (int)bytes);
    if (block == NULL) {
        cr_assert_gt(bytes, cebus_arena_largest_hole_for(&arena, bytes));
        cr_assert_eq(cebus_arena_stranded_bytes(&arena, bytes), cebus_arena_free_bytes(&arena));
    } else {
        cr_assert_geq(block->bytes, bytes);
        cr_assert_eq(block->state, CEBUS_BLOCK_BARRIER);
    }
}

static void draw_operations(const char *layout, uint64_t seed)
{
    enum {
        SLOTS = 200
    };
    cebus_block *slots[SLOTS] = {0};
    uint64_t most = 24 * MIB, total = 0;
    open_arena(layout, 64 * MIB);
    arena.on_unmap = note;
    unmapped = 0;
    for (int n = 0; n < 20000; n++) {
        cebus_block **slot = &slots[random_below(&seed, SLOTS)];
        char why[128] = "";
        if (*slot != NULL) {
            cebus_arena_release(&arena, *slot);
            *slot = NULL;
        } else {
            uint64_t bytes = draw_bytes(&seed, most), before = arena.mapped_bytes;
            bool fits = cebus_arena_fits(&arena, bytes);
            uint64_t gone = unmapped;
            (void)cebus_arena_place(&arena, bytes, CEBUS_ZONE_CHEAP, slot);
            check_answers(bytes, fits, *slot);
            total += arena.mapped_bytes + (unmapped - gone) - before;
        }
        if (random_below(&seed, 200) == 0)
            (void)cebus_arena_resize(&arena, (16 + random_below(&seed, 64)) * MIB);
        cr_assert(cebus_arena_check(&arena, why, sizeof why), "%s, %d: %s", layout, n, why);
    }
    cr_expect_gt(total, unmapped);
    close_arena();
}

Test(segments, keep_their_books_whatever_comes)
{
    draw_operations("caching", 5);
    draw_operations("caching-expandable", 6);
}

/* Host memory that runs out. */

static cebus_test_host host;

/** Answers how many operations found no host memory; each must succeed when repeated. */
static int run_scarce(const char *layout, uint64_t nth)
{
    cebus_arena_setup setup = {cebus_layout_find(layout), 64 * MIB, 0, 512};
    cebus_block *blocks[64] = {0};
    uint64_t seed = 9;
    int failures = 0;
    cebus_test_host_init(&host);
    host.fail_at = nth;
    cebus_pool_init(&pool, &host.allocator);
    pool.direct = true;
    if (cebus_arena_open(&arena, &setup, &pool) != CEBUS_PLACED) {
        cr_assert_eq(pool.live_objects, 0);
        failures++;
        cr_assert_eq(cebus_arena_open(&arena, &setup, &pool), CEBUS_PLACED);
    }
    for (int n = 0; n < 150; n++) {
        uint64_t bytes = draw_bytes(&seed, 4 * MIB);
        cebus_block **block = &blocks[n % 64];
        if (*block != NULL)
            cebus_arena_release(&arena, *block);
        cebus_place_result result = cebus_arena_place(&arena, bytes, CEBUS_ZONE_CHEAP, block);
        cr_assert(cebus_arena_check(&arena, NULL, 0));
        if (result == CEBUS_PLACE_NO_HOST_MEMORY) {
            failures++;
            cr_assert_null(*block);
            result = cebus_arena_place(&arena, bytes, CEBUS_ZONE_CHEAP, block);
        }
        cr_assert_neq(result, CEBUS_PLACE_NO_HOST_MEMORY);
    }
    close_arena();
    return failures;
}

Test(segments, survive_every_failing_host_allocation)
{
    static const char *const layouts[] = {"caching", "caching-expandable"};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(run_scarce(layouts[i], 0), 0);
        uint64_t most = host.requests;
        cr_assert_gt(most, 20);
        for (uint64_t n = 1; n <= most; n++)
            cr_expect_eq(run_scarce(layouts[i], n), 1, "%s, call %d", layouts[i], (int)n);
    }
}
