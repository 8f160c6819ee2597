#include "layout/arena.h"
#include "random.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>

TestSuite(slide);

#define UNIT 64
#define BLOCKS 16

static cebus_test_host host;
static cebus_pool pool;
static cebus_arena arena;

static void lay(uint64_t *seed)
{
    cebus_block *blocks[BLOCKS];
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    pool.direct = true;
    cr_assert_eq(cebus_arena_init(&arena, BLOCKS * 4 * UNIT, UNIT, &pool), CEBUS_PLACED);
    int made = 0;
    while (made < BLOCKS &&
           cebus_arena_place(&arena, (1 + random_below(seed, 6)) * UNIT, CEBUS_ZONE_EXPENSIVE,
                             &blocks[made]) == CEBUS_PLACED) {
        blocks[made]->immovable = random_below(seed, 6) == 0;
        blocks[made]->fence[0] = (uint64_t)made + 1;
        made++;
    }
    for (int i = 0; i < made; i++) {
        if (random_below(seed, 2) == 0)
            cebus_arena_release(&arena, blocks[i]);
    }
}

static void clear(void)
{
    cebus_arena_deinit(&arena);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

static cebus_block *used_block(uint64_t *seed)
{
    cebus_block *block = arena.first;
    for (uint64_t n = random_below(seed, BLOCKS); n > 0 && block->next != NULL; n--)
        block = block->next;
    return block->state != CEBUS_BLOCK_FREE ? block : NULL;
}

/** Whether nothing else lies between where a block is and where it is to be. */
static bool can(const cebus_block *block, uint64_t offset)
{
    uint64_t from = block->offset < offset ? block->offset : offset;
    uint64_t to = (block->offset < offset ? offset : block->offset) + block->bytes;
    for (const cebus_block *other = arena.first; other != NULL; other = other->next) {
        if (other != block && other->state != CEBUS_BLOCK_FREE && other->offset < to &&
            other->offset + other->bytes > from)
            return false;
    }
    return !block->immovable && offset != block->offset && to <= arena.capacity;
}

/** Everywhere, and back: all invariants hold, and whoever takes what a block left waits for it. */
Test(slide, takes_a_block_along_the_hole_beside_it)
{
    int slid = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        char why[256] = "";
        lay(&random);
        for (int i = 0; i < 40; i++) {
            cebus_block *block = used_block(&random);
            uint64_t offset = random_below(&random, BLOCKS * 4) * UNIT;
            uint64_t idle = cebus_arena_free_bytes(&arena);
            if (block == NULL)
                continue;
            uint64_t bytes = block->bytes, fence = block->fence[0];
            bool expected = can(block, offset), down = offset < block->offset;
            cr_assert_eq(cebus_arena_slide(&arena, block, offset), expected);
            cr_assert(cebus_arena_check(&arena, why, sizeof why), "%s", why);
            cr_expect_eq(cebus_arena_free_bytes(&arena), idle);
            cr_expect(!expected || (block->offset == offset && block->bytes == bytes));
            const cebus_block *left = down ? block->next : block->prev;
            cr_expect(!expected || (left->state == CEBUS_BLOCK_FREE && left->fence[0] >= fence));
            slid += expected;
        }
        clear();
    }
    cr_expect_gt(slid, 300, "%d", slid);
}

Test(slide, changes_nothing_without_host_memory)
{
    cebus_block *block[3];
    uint64_t seed = 1;
    lay(&seed);
    cebus_arena_deinit(&arena);
    cr_assert_eq(cebus_arena_init(&arena, 8 * UNIT, UNIT, &pool), CEBUS_PLACED);
    for (uint64_t i = 0; i < 3; i++)
        cr_assert_eq(
            cebus_arena_place_at(&arena, 2 * i * UNIT, 2 * UNIT, CEBUS_ZONE_CHEAP, &block[i]),
            CEBUS_PLACED);
    host.fail_at = 1;
    cr_expect_not(cebus_arena_slide(&arena, block[2], 5 * UNIT), "what it leaves is a new hole");
    cr_expect_eq(block[2]->offset, 4 * UNIT);
    cr_expect(cebus_arena_check(&arena, NULL, 0));
    cr_expect(cebus_arena_slide(&arena, block[2], 5 * UNIT));
    cr_expect(cebus_arena_check(&arena, NULL, 0));
    for (int i = 0; i < 3; i++)
        cebus_arena_release(&arena, block[i]);
    clear();
}
