#include "layout/gather.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(gather);

#define UNIT 64
#define BLOCKS 24
#define MANY 300

typedef struct field {
    cebus_pool pool;
    cebus_arena arena;
} field;

/** Used and free blocks of random lengths in turn, some of them not to be moved. */
static void lay(field *f, uint64_t *seed)
{
    cebus_block *blocks[BLOCKS];
    cebus_pool_init(&f->pool, NULL);
    cr_assert_eq(cebus_arena_init(&f->arena, BLOCKS * 8 * UNIT, UNIT, &f->pool), CEBUS_PLACED);
    int made = 0;
    while (made < BLOCKS &&
           cebus_arena_place(&f->arena, (1 + random_below(seed, 8)) * UNIT, CEBUS_ZONE_EXPENSIVE,
                             &blocks[made]) == CEBUS_PLACED) {
        blocks[made]->immovable = random_below(seed, 6) == 0;
        made++;
    }
    for (int i = 0; i < made; i++) {
        if (random_below(seed, 2) == 0)
            cebus_arena_release(&f->arena, blocks[i]);
    }
}

static void clear(field *f)
{
    cebus_arena_deinit(&f->arena);
    cebus_pool_deinit(&f->pool);
}

static bool is_barred(void *context, const cebus_block *block)
{
    return block->offset / UNIT % *(const uint64_t *)context == 0;
}

/** Every run from a hole to a hole, the slow way. No block of it is barred, by `part` of
 * is_barred(); 0: none is. */
static bool search(const cebus_arena *arena, uint64_t bytes, uint64_t part, uint64_t *out_moved)
{
    bool found = false;
    for (const cebus_block *lo = arena->first; lo != NULL; lo = lo->next) {
        uint64_t idle = 0, moved = 0;
        for (const cebus_block *hi = lo; hi != NULL && lo->state == CEBUS_BLOCK_FREE;
             hi = hi->next) {
            bool is_free = hi->state == CEBUS_BLOCK_FREE;
            if ((!is_free && hi->immovable) || (part > 0 && is_barred(&part, hi)))
                break;
            idle += is_free ? hi->bytes : 0;
            moved += is_free ? 0 : hi->bytes;
            if (!is_free || idle < bytes)
                continue;
            *out_moved = found && *out_moved < moved ? *out_moved : moved;
            found = true;
        }
    }
    return found;
}

Test(gather, moves_the_least)
{
    uint64_t seed = 7;
    int some = 0, none = 0;
    for (int round = 0; round < 20000; round++) {
        field f;
        cebus_gather got;
        uint64_t least = 0, bytes = (1 + random_below(&seed, 160)) * UNIT;
        lay(&f, &seed);
        bool expected = search(&f.arena, bytes, 0, &least);
        cr_assert_eq(cebus_gather_find(&f.arena, bytes, &got), expected);
        *(expected ? &some : &none) += 1;
        if (expected)
            cr_assert_eq(got.moved_bytes, least);
        clear(&f);
    }
    cr_expect_gt(some, 1000);
    cr_expect_gt(none, 1000);
}

Test(gather, moves_the_least_between_blocks_that_bar_it)
{
    uint64_t seed = 23;
    int some = 0, fewer = 0;
    for (int round = 0; round < 20000; round++) {
        field f;
        cebus_gather got;
        uint64_t least = 0, without = 0, bytes = (1 + random_below(&seed, 60)) * UNIT;
        uint64_t part = 2 + random_below(&seed, 16);
        const cebus_gather_bar bar = {is_barred, &part};
        lay(&f, &seed);
        bool expected = search(&f.arena, bytes, part, &least);
        cr_assert_eq(cebus_gather_find_between(&f.arena, bytes, &bar, &got), expected);
        some += expected;
        fewer += !expected && search(&f.arena, bytes, 0, &without);
        if (expected)
            cr_assert_eq(got.moved_bytes, least);
        clear(&f);
    }
    cr_expect_gt(some, 1000);
    cr_expect_gt(fewer, 1000);
}

/** Many used blocks, and few holes that are looked at without what lies between them. */
static void lay_few_holes(field *f, uint64_t *seed)
{
    static cebus_block *blocks[MANY];
    uint64_t walls = random_below(seed, 3), sizes = 1 + random_below(seed, 4);
    cebus_pool_init(&f->pool, NULL);
    cr_assert_eq(cebus_arena_init(&f->arena, MANY * 4 * UNIT, UNIT, &f->pool), CEBUS_PLACED);
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(cebus_arena_place(&f->arena, (1 + random_below(seed, sizes)) * UNIT,
                                       CEBUS_ZONE_EXPENSIVE, &blocks[i]),
                     CEBUS_PLACED);
        blocks[i]->immovable = random_below(seed, 60) < walls;
    }
    cr_assert_eq(cebus_arena_resize(&f->arena, f->arena.last->offset), CEBUS_PLACED);
    for (int i = 0; i < MANY; i++) {
        if (random_below(seed, 20) == 0)
            cebus_arena_release(&f->arena, blocks[i]);
    }
}

/** For each hole the shortest run that ends with it; of those the one with the least to move, and
 * of equals the lowest. */
static cebus_gather search_runs(const cebus_arena *arena, uint64_t bytes)
{
    cebus_gather best = {0};
    for (cebus_block *last = arena->first; last != NULL; last = last->next) {
        cebus_gather one = {.last = last};
        uint64_t idle = 0;
        for (cebus_block *b = last; b != NULL && last->state == CEBUS_BLOCK_FREE; b = b->prev) {
            bool is_free = b->state == CEBUS_BLOCK_FREE;
            if (!is_free && b->immovable)
                break;
            idle += is_free ? b->bytes : 0;
            one.moved_bytes += is_free ? 0 : b->bytes;
            one.moved_blocks += !is_free;
            one.first = b;
            if (idle >= bytes)
                break;
        }
        if (idle >= bytes && (best.first == NULL || one.moved_bytes < best.moved_bytes))
            best = one;
    }
    return best;
}

Test(gather, finds_the_run_by_its_holes)
{
    uint64_t seed = 19, some = 0, none = 0;
    for (int round = 0; round < 3000; round++) {
        field f;
        cebus_gather got, wanted;
        uint64_t bytes = (1 + random_below(&seed, 30)) * UNIT;
        lay_few_holes(&f, &seed);
        wanted = search_runs(&f.arena, bytes);
        cr_assert_eq(cebus_gather_find(&f.arena, bytes, &got), wanted.first != NULL);
        cr_assert_eq(got.first, wanted.first);
        cr_assert_eq(got.last, wanted.first != NULL ? wanted.last : NULL);
        cr_assert_eq(got.moved_bytes, wanted.moved_bytes);
        cr_assert_eq(got.moved_blocks, wanted.moved_blocks);
        *(wanted.first != NULL ? &some : &none) += 1;
        clear(&f);
    }
    cr_expect_gt(some, 1000);
    cr_expect_gt(none, 100);
}

Test(gather, sliding_its_run_makes_the_hole)
{
    uint64_t seed = 11;
    for (int round = 0; round < 5000; round++) {
        field f;
        cebus_gather got;
        uint64_t moved = 0, bytes = (1 + random_below(&seed, 30)) * UNIT;
        lay(&f, &seed);
        if (cebus_gather_find(&f.arena, bytes, &got)) {
            cebus_move move = {.block = got.first};
            while (!cebus_arena_fits(&f.arena, bytes) &&
                   cebus_arena_next_move(&f.arena, move.block, &move)) {
                moved += move.block->bytes;
                cebus_arena_move(&f.arena, &move);
            }
            cr_assert(cebus_arena_fits(&f.arena, bytes));
            cr_assert_leq(moved, got.moved_bytes);
            cr_assert(cebus_arena_check(&f.arena, NULL, 0));
        }
        clear(&f);
    }
}
