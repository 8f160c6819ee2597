#include "evict/choice/board.h"

#include <criterion/criterion.h>

#include <float.h>
#include <stdlib.h>

#include "tests/unit/layout/random.h"

TestSuite(board);

#define UNIT 64
#define MOST_BLOCKS 300
#define LIMIT 9

static cebus_pool pool;
static cebus_arena arena;

/** Blocks of all states; prices that are alike, or not. */
static void lay(uint64_t *seed)
{
    cebus_block *blocks[MOST_BLOCKS];
    uint64_t count = 1 + random_below(seed, MOST_BLOCKS), holes = random_below(seed, 12);
    uint64_t barriers = random_below(seed, 6), most = random_below(seed, 2) ? 3 : 1000;
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, 1 << 20, UNIT, &pool), CEBUS_PLACED);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bytes = (1 + random_below(seed, 6)) * UNIT;
        cr_assert_eq(cebus_arena_place(&arena, bytes, CEBUS_ZONE_EXPENSIVE, &blocks[i]),
                     CEBUS_PLACED);
        blocks[i]->weight = random_below(seed, most);
        blocks[i]->tick = random_below(seed, most);
        blocks[i]->state =
            random_below(seed, 16) < barriers ? CEBUS_BLOCK_BARRIER : CEBUS_BLOCK_EVICTABLE;
    }
    cr_assert_eq(cebus_arena_resize(&arena, arena.last->offset), CEBUS_PLACED);
    for (uint64_t i = 0; i < count; i++) {
        if (random_below(seed, 16) < holes)
            cebus_arena_release(&arena, blocks[i]);
    }
}

static void clear(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

Test(board, finds_the_windows_of_a_sweep)
{
    uint64_t seed = 17, found = 0;
    for (int round = 0; round < 3000; round++) {
        cebus_board board;
        cebus_window got[LIMIT], wanted[LIMIT];
        uint64_t now = random_below(&seed, 2000);
        lay(&seed);
        cr_assert(cebus_board_make(&board, &arena, now));
        for (int size = 0; size < 3; size++) {
            uint64_t bytes = random_below(&seed, 40 * UNIT);
            size_t count = cebus_window_find_best(&arena, bytes, now, wanted, LIMIT);
            cr_assert_eq(cebus_board_find_windows(&board, bytes, got, LIMIT), count);
            for (size_t i = 0; i < count; i++) {
                cr_assert_eq(got[i].first, wanted[i].first);
                cr_assert_eq(got[i].last, wanted[i].last);
                cr_assert_eq(got[i].price, wanted[i].price);
                cr_assert_eq(got[i].evicted_bytes, wanted[i].evicted_bytes);
                cr_assert_eq(got[i].evicted_blocks, wanted[i].evicted_blocks);
            }
            found += count;
        }
        cebus_board_free(&board);
        clear();
    }
    cr_expect_gt(found, 20000);
}

Test(board, lists_what_is_free)
{
    uint64_t seed = 18;
    for (int round = 0; round < 500; round++) {
        cebus_board board;
        uint32_t n = 0;
        lay(&seed);
        cr_assert(cebus_board_make(&board, &arena, 0));
        for (const cebus_block *block = arena.first; block != NULL; block = block->next) {
            if (block->state != CEBUS_BLOCK_FREE)
                continue;
            cr_assert_lt(n, board.n_holes);
            cr_assert_eq(board.blocks[board.holes[n].from], block);
            cr_assert_eq(board.holes[n].to, board.holes[n].from);
            cr_assert_eq(board.holes[n++].bytes, block->bytes);
        }
        cr_assert_eq(n, board.n_holes);
        cr_assert_eq(board.idle, cebus_arena_free_bytes(&arena));
        cr_assert_eq(board.largest, cebus_arena_largest_hole(&arena));
        cebus_board_free(&board);
        clear();
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Of what may go by the byte, in order. */
static uint32_t sort_byte_prices(const cebus_board *board, double *out)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < board->count; row++) {
        if (board->states[row] == CEBUS_BLOCK_EVICTABLE)
            out[count++] = board->rates[row] / board->widths[row];
    }
    qsort(out, count, sizeof *out, ascending);
    return count;
}

Test(board, lists_what_is_cheap)
{
    uint64_t seed = 23, listed = 0, wanted = 0;
    for (int round = 0; round < 3000; round++) {
        cebus_board board;
        const uint32_t *rows;
        double prices[MOST_BLOCKS + 1];
        uint32_t limit = 1 + (uint32_t)random_below(&seed, 40);
        lay(&seed);
        cr_assert(cebus_board_make(&board, &arena, random_below(&seed, 2000)));
        uint32_t some = sort_byte_prices(&board, prices), at = 0;
        double most = some >= limit ? prices[limit - 1] : DBL_MAX;
        uint32_t count = cebus_board_list_cheap(&board, limit, &rows);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(board.states[rows[i]], CEBUS_BLOCK_EVICTABLE);
            cr_assert(i == 0 || rows[i] > rows[i - 1]);
        }
        for (uint32_t row = 0; row < board.count; row++) {
            while (at < count && rows[at] < row)
                at++;
            if (board.states[row] == CEBUS_BLOCK_EVICTABLE &&
                board.rates[row] / board.widths[row] <= most)
                cr_assert(at < count && rows[at] == row);
        }
        listed += count;
        wanted += some < limit ? some : limit;
        cebus_board_free(&board);
        clear();
    }
    cr_expect_lt(listed, 4 * wanted, "many cost the same in half of the rounds");
}

/** Rows may be read from both ends. */
Test(board, is_the_same_in_any_order)
{
    uint64_t seed = 24;
    for (int round = 0; round < 300; round++) {
        cebus_board one, other;
        uint64_t now = random_below(&seed, 2000);
        lay(&seed);
        cr_assert(cebus_board_make(&one, &arena, now));
        cr_assert(cebus_board_create(&other, &arena));
        uint32_t row = other.count;
        for (cebus_block *block = arena.last; block != NULL; block = block->prev)
            cebus_board_read(&other, --row, block, now);
        cebus_board_complete(&other, now);
        cr_assert_eq(one.count, other.count);
        for (row = 0; row < one.count; row++) {
            cr_assert_eq(one.blocks[row], other.blocks[row]);
            cr_assert_eq(one.rates[row], other.rates[row]);
            cr_assert_eq(one.prices[row + 1], other.prices[row + 1]);
            cr_assert_eq(one.stays[row], other.stays[row]);
        }
        cr_assert_eq(one.idle, other.idle);
        cebus_board_free(&one);
        cebus_board_free(&other);
        clear();
    }
}

/** A block that is as if it had gone joins the holes beside it. */
Test(board, what_goes_is_free)
{
    cebus_block *blocks[4];
    cebus_board board;
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, 4 * UNIT, UNIT, &pool), CEBUS_PLACED);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &blocks[i]),
                     CEBUS_PLACED);
        blocks[i]->state = CEBUS_BLOCK_EVICTABLE;
        blocks[i]->weight = 1;
    }
    cebus_arena_release(&arena, blocks[2]);
    cr_assert(cebus_board_make(&board, &arena, 0));
    cr_expect_eq(board.largest, UNIT);
    cebus_board_open(&board, cebus_board_find(&board, blocks[1]));
    cebus_board_list_holes(&board);
    cr_expect_eq(board.n_holes, 1);
    cr_expect_eq(board.largest, 2 * UNIT);
    cr_expect_eq(board.holes[0].from, 1);
    cr_expect_eq(board.holes[0].to, 2);
    cr_expect_eq(blocks[1]->state, CEBUS_BLOCK_EVICTABLE, "the board alone knows");
    cebus_board_free(&board);
    clear();
}
