#include "evict/choice/vacancy.h"

#include <criterion/criterion.h>

TestSuite(vacancy);

#define UNIT 64
#define BLOCKS 16
#define NOW 1000

static cebus_pool pool;
static cebus_arena arena;
static cebus_block *blocks[BLOCKS];

/** Blocks side by side of so many units each; they may go at their weight / NOW, or move. Whoever
 * owns them does not matter here. */
static void lay(const int *units, int count)
{
    static int owner;
    uint64_t total = 0;
    for (int i = 0; i < count; i++)
        total += (uint64_t)units[i];
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, total * UNIT, UNIT, &pool), CEBUS_PLACED);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(
            cebus_arena_place(&arena, (uint64_t)units[i] * UNIT, CEBUS_ZONE_EXPENSIVE, &blocks[i]),
            CEBUS_PLACED);
        blocks[i]->owner = &owner;
        blocks[i]->state = CEBUS_BLOCK_EVICTABLE;
        blocks[i]->weight = UINT64_C(1000000000);
        blocks[i]->tick = 0;
    }
}

static void clear(void)
{
    cebus_arena_deinit(&arena);
    cebus_pool_deinit(&pool);
}

static bool find_at_stake(const cebus_market *market, double dearest, const cebus_stakes *stakes,
                          cebus_vacancy *out)
{
    cebus_board board;
    cebus_shares shares;
    cr_assert(cebus_board_make(&board, &arena, market->now));
    cebus_shares_lay(&board, dearest, market->move_byte, market->move_block, &shares);
    bool found = cebus_vacancy_find(&board, market, &shares, stakes, HUGE_VAL, out);
    cebus_board_free(&board);
    return found;
}

static bool find(const cebus_market *market, double dearest, cebus_vacancy *out)
{
    return find_at_stake(market, dearest, &CEBUS_STAKES_NONE, out);
}

static cebus_market market_of(int units)
{
    return (cebus_market){.now = NOW,
                          .bytes = (uint64_t)units * UNIT,
                          .byte_price = 1,
                          .move_byte = 0.5,
                          .move_block = 1,
                          .moves = true};
}

Test(vacancy, moves_what_is_dear_to_holes_elsewhere)
{
    cebus_vacancy found;
    lay((int[]){1, 1, 1, 4, 1, 1}, 6);
    cebus_market market = market_of(2);
    cebus_arena_release(&arena, blocks[0]);
    cebus_arena_release(&arena, blocks[2]);
    cr_assert(find(&market, 0, &found));
    cr_expect_eq(found.first, arena.first, "the first hole, and the block after it");
    cr_expect_eq(found.last, blocks[1], "which goes to the second");
    cr_expect_eq(found.evicted_bytes, 0);
    cr_expect_float_eq(found.moving, 0.5 * UNIT + 1, 1e-9, "the least that can move");
    clear();
}

Test(vacancy, lets_go_what_is_cheap_in_the_stretch)
{
    cebus_vacancy found;
    lay((int[]){4, 2, 4}, 3);
    cebus_market market = market_of(2);
    blocks[1]->weight = NOW * UNIT;
    cr_assert(find(&market, 1, &found));
    cr_expect_eq(found.first, blocks[1]);
    cr_expect_eq(found.last, blocks[1]);
    cr_expect_eq(found.evicted_bytes, 2 * UNIT);
    cr_expect_float_eq(found.price, UNIT, 1e-9);
    cr_expect_float_eq(found.moving, 0, 1e-9);
    clear();
}

Test(vacancy, needs_a_hole_for_each_block_that_moves)
{
    cebus_vacancy found;
    lay((int[]){2, 2, 1, 2, 1, 2}, 6);
    cebus_market market = market_of(2);
    cebus_arena_release(&arena, blocks[2]);
    cebus_arena_release(&arena, blocks[4]);
    cr_expect(!find(&market, 0, &found),
              "two units are free, and no block finds room in one of them");
    cr_expect_null(found.first);
    clear();
}

Test(vacancy, leaves_alone_what_must_not_move)
{
    cebus_vacancy found;
    lay((int[]){1, 1, 1, 4}, 4);
    cebus_market market = market_of(2);
    cebus_arena_release(&arena, blocks[0]);
    cebus_arena_release(&arena, blocks[2]);
    blocks[1]->immovable = 1;
    cr_expect(!find(&market, 0, &found), "its address was handed out");
    blocks[1]->immovable = 0;
    blocks[1]->owner = NULL;
    cr_expect(!find(&market, 0, &found), "scratch of the running call");
    blocks[1]->owner = &arena;
    cr_expect(find(&market, 0, &found));
    market.moves = false;
    cr_expect(!find(&market, 0, &found), "nothing moves here");
    clear();
}

/* Beside all stretches, each looked at by itself. */

#define MOST 40

static uint64_t draw(uint64_t *seed, uint64_t bound)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % bound;
}

/** Free blocks, some that may go, some that only move, and a few that do neither. Prices are such
 * that sums of them are exact. */
static void lay_any(uint64_t *seed)
{
    cebus_block *made[MOST];
    int count = 0;
    cebus_pool_init(&pool, NULL);
    cr_assert_eq(cebus_arena_init(&arena, MOST * 4 * UNIT, UNIT, &pool), CEBUS_PLACED);
    while (count < MOST && cebus_arena_place(&arena, (1 + draw(seed, 8)) * UNIT,
                                             CEBUS_ZONE_EXPENSIVE, &made[count]) == CEBUS_PLACED)
        count++;
    for (int i = 0; i < count; i++) {
        made[i]->owner = draw(seed, 8) > 0 ? &pool : NULL;
        made[i]->state = draw(seed, 4) > 0 ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
        made[i]->weight = NOW * draw(seed, 200);
        made[i]->tick = 0;
        if (draw(seed, 4) == 0)
            cebus_arena_release(&arena, made[i]);
    }
}

static bool goes(const cebus_market *m, const cebus_block *block, double dearest)
{
    return block->state == CEBUS_BLOCK_EVICTABLE && cebus_market_sells(m, block, dearest);
}

/** Whether each block of first..last that moves finds a hole: in their order, the smallest one. */
static bool has_room(const cebus_market *m, const cebus_block *first, const cebus_block *last,
                     double dearest)
{
    uint64_t holes[MOST * 4];
    size_t count = 0;
    for (const cebus_block *b = arena.first; b != NULL; b = b->next) {
        if (b->state == CEBUS_BLOCK_FREE && (b->offset < first->offset || b->offset > last->offset))
            holes[count++] = b->bytes;
    }
    for (const cebus_block *b = first; b != last->next; b = b->next) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            if (holes[i] >= b->bytes && (best == count || holes[i] < holes[best]))
                best = i;
        }
        if (b->state == CEBUS_BLOCK_FREE || goes(m, b, dearest))
            continue;
        if (b->owner == NULL || best == count)
            return false;
        holes[best] -= b->bytes;
    }
    return true;
}

/** The best stretch; false: there is none. */
static bool search(const cebus_market *m, double dearest, cebus_vacancy *out)
{
    double best = 0;
    bool found = false;
    for (cebus_block *last = arena.first; last != NULL; last = last->next) {
        cebus_vacancy one = {.last = last};
        uint64_t bytes = 0;
        for (cebus_block *b = last; b != NULL && bytes < m->bytes; b = b->prev) {
            bytes += b->bytes;
            one.first = b;
            if (goes(m, b, dearest)) {
                one.price += (double)b->weight / NOW;
                one.evicted_bytes += b->bytes;
            } else if (b->state != CEBUS_BLOCK_FREE) {
                one.moving += m->move_byte * (double)b->bytes + m->move_block;
            }
        }
        double net = one.price + one.moving - cebus_market_worth(m, arena.limit, one.evicted_bytes);
        if (bytes < m->bytes || !has_room(m, one.first, last, dearest) || (found && net >= best))
            continue;
        *out = one;
        best = net;
        found = true;
    }
    return found;
}

/** What the one found is worth at most, whatever is paid for what goes. */
static double score_of(const cebus_market *m, const cebus_stakes *stakes, const cebus_vacancy *one)
{
    return stakes->cost + one->moving -
           cebus_market_worth(m, arena.limit, one->evicted_bytes + stakes->bytes);
}

static double usable_of(const cebus_market *m, const cebus_stakes *stakes, const cebus_vacancy *one)
{
    return cebus_market_usable(m, arena.limit, stakes->cost + one->moving,
                               one->evicted_bytes + stakes->bytes);
}

static void draw_market(uint64_t *seed, cebus_market *m)
{
    *m = market_of(1 + (int)draw(seed, 60));
    m->byte_price = (double)draw(seed, 4);
    m->move_byte = (double)draw(seed, 4) / 4;
    m->move_block = (double)draw(seed, 64);
}

Test(vacancy, is_the_best_of_all_stretches)
{
    uint64_t seed = 7;
    int some = 0, none = 0;
    for (int round = 0; round < 20000; round++) {
        cebus_market m;
        cebus_vacancy got, wanted;
        double dearest = (double)draw(&seed, 6) - 1;
        draw_market(&seed, &m);
        lay_any(&seed);
        bool expected = search(&m, dearest, &wanted);
        cr_assert_eq(find(&m, dearest, &got), expected);
        *(expected ? &some : &none) += 1;
        if (expected) {
            cr_assert_eq(got.first, wanted.first);
            cr_assert_eq(got.last, wanted.last);
            cr_assert_eq(got.evicted_bytes, wanted.evicted_bytes);
            cr_assert_float_eq(got.price, wanted.price, 1e-9);
            cr_assert_float_eq(got.moving, wanted.moving, 1e-9);
        }
        clear();
    }
    cr_expect_gt(some, 5000);
    cr_expect_gt(none, 1000);
}

/** One that could not win by what it moves alone is not found; nor is one that is worse. */
Test(vacancy, is_found_only_where_it_matters)
{
    uint64_t seed = 9;
    int matter = 0, idle = 0;
    for (int round = 0; round < 20000; round++) {
        cebus_market m;
        cebus_vacancy got, wanted;
        double dearest = (double)draw(&seed, 6) - 1;
        cebus_stakes stakes = {.cost = (double)draw(&seed, 500),
                               .bytes = draw(&seed, 4) * UNIT,
                               .score = (double)draw(&seed, 1000) - 500,
                               .usable = draw(&seed, 2) ? (double)draw(&seed, 40) / 8 : 0};
        draw_market(&seed, &m);
        lay_any(&seed);
        if (search(&m, dearest, &wanted)) {
            bool matters = score_of(&m, &stakes, &wanted) < stakes.score ||
                           usable_of(&m, &stakes, &wanted) < stakes.usable;
            cr_assert_eq(find_at_stake(&m, dearest, &stakes, &got), matters);
            cr_assert(!matters || (got.first == wanted.first && got.last == wanted.last));
            *(matters ? &matter : &idle) += 1;
        }
        clear();
    }
    cr_expect_gt(matter, 2000);
    cr_expect_gt(idle, 2000);
}
