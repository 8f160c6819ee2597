#include "evict/choice/sieve.h"

#include <criterion/criterion.h>

#include "tests/unit/layout/random.h"

TestSuite(sieve);

#define UNIT 64
#define MOST_BLOCKS 200
#define NOW 100000

/** At the first nothing goes. */
static const double limits[CEBUS_SIEVE_LIMITS] = {-1, 0, 0.5, 1, 2, 4, 8};

static cebus_pool pool;
static cebus_arena arena;

/** Free blocks, some that may go, some that only move, and some that do neither. All sizes and
 * prices are alike, or not: where they are many runs cost the same. */
static void lay(uint64_t *seed)
{
    cebus_block *made[MOST_BLOCKS];
    uint64_t count = 1 + random_below(seed, MOST_BLOCKS), sizes = 1 + random_below(seed, 8);
    uint64_t prices = 1 + random_below(seed, 2) * 1000, walls = random_below(seed, 3);
    uint64_t holes = random_below(seed, 6);
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, MOST_BLOCKS * 8 * UNIT, UNIT, &pool), CEBUS_PLACED);
    for (uint64_t i = 0; i < count; i++) {
        cr_assert_eq(cebus_arena_place(&arena, (1 + random_below(seed, sizes)) * UNIT,
                                       CEBUS_ZONE_EXPENSIVE, &made[i]),
                     CEBUS_PLACED);
        made[i]->owner = random_below(seed, 32) >= walls ? &pool : NULL;
        made[i]->immovable = random_below(seed, 32) < walls;
        made[i]->state = random_below(seed, 4) > 0 ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
        made[i]->weight = NOW * UNIT * (1 + random_below(seed, prices)) / 300;
        made[i]->tick = random_below(seed, prices) * (NOW / 1001);
    }
    cr_assert_eq(cebus_arena_resize(&arena, arena.last->offset), CEBUS_PLACED);
    for (uint64_t i = 0; i < count; i++) {
        if (random_below(seed, 12) < holes)
            cebus_arena_release(&arena, made[i]);
    }
}

static void clear(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

static cebus_market market_of(uint64_t *seed)
{
    return (cebus_market){.now = NOW,
                          .bytes = (1 + random_below(seed, 60)) * UNIT,
                          .byte_price = (double)random_below(seed, 20) / 7,
                          .move_byte = (double)random_below(seed, 10) / 31,
                          .move_block = (double)random_below(seed, 5) / 3,
                          .search = random_below(seed, 3) == 0 ? 10 : 0,
                          .moves = true,
                          .passing = random_below(seed, 2) == 0};
}

/** What is said of the best, if there is one. */
static void check_bounds(const cebus_board *board, const cebus_reach *reach,
                         const cebus_block *first, const cebus_block *last, double moving,
                         uint64_t evicted)
{
    if (first == NULL)
        return;
    cr_assert(reach->moving <= moving && reach->evicted >= evicted);
    cr_assert(!reach->sole || (board->blocks[reach->from] == first &&
                               board->blocks[reach->to - 1] == last && reach->evicted == evicted));
}

/** By what lies within reach as by all of the board, to the bit. */
static bool compare_clearings(cebus_board *board, const cebus_sieve *sieve, size_t limit)
{
    const cebus_market *m = sieve->market;
    cebus_shares shares;
    cebus_clearing all, got = {0};
    cebus_reach reach;
    cebus_sieve_clearings(sieve, limit, &reach);
    if (reach.from < reach.to) {
        cebus_sieve_lay_shares(sieve, board, limit, CEBUS_BOARD_FIXED, &reach, &shares);
        cebus_clearing_find(board, m, &shares, &got);
    }
    cebus_shares_lay(board, limits[limit], m->move_byte, m->move_block, &shares);
    cebus_clearing_find(board, m, &shares, &all);
    cr_assert_eq(got.first, all.first);
    cr_assert_eq(got.last, all.last);
    cr_assert_eq(got.evicted_bytes, all.evicted_bytes);
    cr_assert(got.price == all.price && got.moving == all.moving);
    check_bounds(board, &reach, all.first, all.last, all.moving, all.evicted_bytes);
    return all.first != NULL;
}

static bool compare_vacancies(cebus_board *board, const cebus_sieve *sieve, size_t limit,
                              const cebus_reach *reach)
{
    const cebus_market *m = sieve->market;
    cebus_shares shares;
    cebus_vacancy all, got = {0};
    const cebus_stakes *stakes = &CEBUS_STAKES_NONE;
    cebus_shares_lay(board, limits[limit], m->move_byte, m->move_block, &shares);
    bool found = cebus_vacancy_find(board, m, &shares, stakes, HUGE_VAL, &all);
    if (reach->from < reach->to) {
        cebus_sieve_lay_shares(sieve, board, limit, CEBUS_BOARD_SETTLED | CEBUS_BOARD_LARGE, reach,
                               &shares);
        (void)cebus_vacancy_find(board, m, &shares, stakes, reach->most, &got);
    }
    cr_assert_eq(got.first, all.first);
    cr_assert_eq(got.last, all.last);
    cr_assert_eq(got.evicted_bytes, all.evicted_bytes);
    cr_assert(got.price == all.price && got.moving == all.moving);
    check_bounds(board, reach, all.first, all.last, all.moving, all.evicted_bytes);
    return found;
}

/** What rows yield at a limit. */
static uint64_t gained_at(const cebus_board *board, double dearest)
{
    uint64_t gained = 0;
    for (uint32_t row = 0; row < board->count; row++)
        gained += cebus_board_yields(board, row, dearest) ? cebus_board_bytes(board, row) : 0;
    return gained;
}

static int compare_all_vacancies(cebus_board *board, const cebus_sieve *sieve)
{
    static const size_t looked_at[CEBUS_SIEVE_LANES] = {0, 1, 3, 6};
    cebus_reach reach[CEBUS_SIEVE_LANES];
    int found = 0;
    for (size_t limit = 0; limit < CEBUS_SIEVE_LIMITS; limit++)
        cr_assert_eq(sieve->gained[limit], gained_at(board, limits[limit]));
    cebus_sieve_vacancies(sieve, looked_at, CEBUS_SIEVE_LANES, reach);
    for (size_t i = 0; i < CEBUS_SIEVE_LANES; i++)
        found += compare_vacancies(board, sieve, looked_at[i], &reach[i]);
    return found;
}

/** Some rows that may go do. */
static void open_some(uint64_t *seed, cebus_board *board, cebus_sieve *sieve)
{
    uint32_t rows[8];
    size_t count = 0;
    for (uint32_t row = 0; row < board->count && count < 8; row++) {
        if (board->states[row] != CEBUS_BLOCK_EVICTABLE || random_below(seed, 8) > 0)
            continue;
        rows[count++] = row;
        cebus_board_open(board, row);
    }
    cebus_board_list_holes(board);
    cebus_sieve_open(sieve, rows, count);
}

Test(sieve, loses_nothing)
{
    uint64_t seed = 29;
    int clearings = 0, vacancies = 0, after = 0;
    for (int round = 0; round < 6000; round++) {
        cebus_board board;
        cebus_sieve sieve;
        cebus_market m = market_of(&seed);
        lay(&seed);
        cr_assert(cebus_board_make(&board, &arena, NOW));
        cebus_sieve_lay(&sieve, &board, &m, limits);
        for (size_t limit = 0; limit < CEBUS_SIEVE_LIMITS; limit++)
            clearings += compare_clearings(&board, &sieve, limit);
        vacancies += compare_all_vacancies(&board, &sieve);
        open_some(&seed, &board, &sieve);
        after += compare_all_vacancies(&board, &sieve);
        cebus_board_free(&board);
        clear();
    }
    cr_expect_gt(clearings, 10000);
    cr_expect_gt(vacancies, 5000);
    cr_expect_gt(after, 5000);
}

/** Runs that cannot be best are out of reach. */
Test(sieve, leaves_little_to_look_at)
{
    uint64_t seed = 31, looked_at = 0, rows = 0;
    for (int round = 0; round < 500; round++) {
        cebus_board board;
        cebus_sieve sieve;
        cebus_market m = market_of(&seed);
        cebus_reach reach;
        lay(&seed);
        cr_assert(cebus_board_make(&board, &arena, NOW));
        cebus_sieve_lay(&sieve, &board, &m, limits);
        cebus_sieve_vacancies(&sieve, (size_t[]){3}, 1, &reach);
        looked_at += reach.to - reach.from;
        rows += board.count;
        cebus_board_free(&board);
        clear();
    }
    cr_expect_lt(looked_at, rows / 4);
}
