#include "evict/choice/clearing.h"

#include <criterion/criterion.h>

#include "layout/gather.h"

TestSuite(clearing);

#define UNIT 64
#define BLOCKS 20
#define NOW 1000

typedef struct field {
    cebus_pool pool;
    cebus_arena arena;
} field;

static uint64_t draw(uint64_t *seed, uint64_t bound)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % bound;
}

/** Free blocks, some that may go, some that only move, and a few that do neither. */
static void lay(field *f, uint64_t *seed)
{
    cebus_block *blocks[BLOCKS];
    cebus_pool_init(&f->pool, NULL);
    cr_assert_eq(cebus_arena_init(&f->arena, BLOCKS * 4 * UNIT, UNIT, &f->pool), CEBUS_PLACED);
    int made = 0;
    while (made < BLOCKS && cebus_arena_place(&f->arena, (1 + draw(seed, 8)) * UNIT,
                                              CEBUS_ZONE_EXPENSIVE, &blocks[made]) == CEBUS_PLACED)
        made++;
    for (int i = 0; i < made; i++) {
        blocks[i]->state = draw(seed, 4) > 0 ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER;
        blocks[i]->weight = draw(seed, 100000);
        blocks[i]->tick = draw(seed, NOW + 10);
        if (blocks[i]->state == CEBUS_BLOCK_BARRIER)
            blocks[i]->immovable = draw(seed, 3) == 0;
        if (draw(seed, 4) == 0)
            cebus_arena_release(&f->arena, blocks[i]);
    }
}

static void clear(field *f)
{
    cebus_arena_deinit(&f->arena);
    cebus_pool_deinit(&f->pool);
}

static cebus_market market_of(uint64_t *seed)
{
    return (cebus_market){.now = NOW,
                          .bytes = (1 + draw(seed, 60)) * UNIT,
                          .idle = draw(seed, 60) * UNIT,
                          .byte_price = (double)draw(seed, 20) / UNIT,
                          .move_byte = (double)draw(seed, 10) / UNIT,
                          .move_block = (double)draw(seed, 5),
                          .moves = true,
                          .passing = draw(seed, 2) == 0};
}

/** What first..last cost: false if it does not do, or holds a wall. */
static bool weigh(const field *f, const cebus_market *m, double dearest, const cebus_block *first,
                  const cebus_block *last, double *out_net)
{
    double cost = 0;
    uint64_t gained = 0, evicted = 0;
    for (const cebus_block *b = first;; b = b->next) {
        bool goes = b->state == CEBUS_BLOCK_EVICTABLE && cebus_market_sells(m, b, dearest);
        if (b->state != CEBUS_BLOCK_FREE && !goes && b->immovable)
            return false;
        if (goes)
            cost += (double)b->weight / (double)(NOW > b->tick ? NOW - b->tick : 1);
        else if (b->state != CEBUS_BLOCK_FREE)
            cost += m->move_byte * (double)b->bytes + m->move_block;
        gained += goes || b->state == CEBUS_BLOCK_FREE ? b->bytes : 0;
        evicted += goes ? b->bytes : 0;
        if (b == last)
            break;
    }
    *out_net = cost - cebus_market_worth(m, f->arena.limit, evicted);
    return gained >= m->bytes;
}

static bool find(const field *f, const cebus_market *m, double dearest, cebus_clearing *out)
{
    cebus_board board;
    cebus_shares shares;
    cr_assert(cebus_board_make(&board, &f->arena, NOW));
    cebus_shares_lay(&board, dearest, m->move_byte, m->move_block, &shares);
    cebus_clearing_find(&board, m, &shares, out);
    cebus_board_free(&board);
    return out->first != NULL;
}

/** The best of the runs that are as short as they can be for their last block. */
static bool search(const field *f, const cebus_market *m, double dearest, double *out_net)
{
    bool found = false;
    double net;
    for (const cebus_block *last = f->arena.first; last != NULL; last = last->next) {
        const cebus_block *first = last;
        while (first != NULL && !weigh(f, m, dearest, first, last, &net))
            first = first->prev;
        if (first == NULL)
            continue;
        if (!found || net < *out_net)
            *out_net = net;
        found = true;
    }
    return found;
}

Test(clearing, finds_the_run_that_is_best)
{
    uint64_t seed = 5;
    int some = 0, none = 0;
    for (int round = 0; round < 20000; round++) {
        field f;
        cebus_clearing got;
        double best = 0, net = 0, dearest = (double)draw(&seed, 200) / UNIT;
        lay(&f, &seed);
        cebus_market m = market_of(&seed);
        bool expected = search(&f, &m, dearest, &best);
        cr_assert_eq(find(&f, &m, dearest, &got), expected);
        *(expected ? &some : &none) += 1;
        if (expected) {
            cr_assert(weigh(&f, &m, dearest, got.first, got.last, &net));
            cr_assert_float_eq(net, best, 1e-6 * (1 + (best < 0 ? -best : best)));
        }
        clear(&f);
    }
    cr_expect_gt(some, 1000);
    cr_expect_gt(none, 100);
}

/** All that goes has gone, and the rest slides: the request fits. */
Test(clearing, makes_the_room)
{
    uint64_t seed = 13;
    int some = 0;
    for (int round = 0; round < 5000; round++) {
        field f;
        cebus_clearing got;
        cebus_gather gather;
        double dearest = (double)draw(&seed, 200) / UNIT;
        lay(&f, &seed);
        cebus_market m = market_of(&seed);
        if (find(&f, &m, dearest, &got)) {
            uint64_t end = got.last->offset + got.last->bytes;
            for (cebus_block *b = got.first; b != NULL && b->offset < end; b = b->next) {
                if (b->state == CEBUS_BLOCK_EVICTABLE && cebus_market_sells(&m, b, dearest))
                    b = cebus_arena_release(&f.arena, b);
            }
            cr_assert(cebus_arena_fits(&f.arena, m.bytes) ||
                      cebus_gather_find(&f.arena, m.bytes, &gather));
            some++;
        }
        clear(&f);
    }
    cr_expect_gt(some, 1000);
}

Test(clearing, needs_blocks_that_move)
{
    uint64_t seed = 3;
    field f;
    cebus_clearing got;
    lay(&f, &seed);
    cebus_market m = market_of(&seed);
    m.moves = false;
    cr_expect_not(find(&f, &m, 1e9, &got));
    cr_expect_null(got.first);
    clear(&f);
}

/** The more there is of it the less a byte is worth, and never more than the market says. */
Test(clearing, what_nobody_asked_for_is_worth_less)
{
    cebus_market m = {.bytes = 100, .byte_price = 2};
    double last = 0;
    cr_expect_float_eq(cebus_market_worth(&m, 8000, 100), 180, 1e-9);
    for (uint64_t bytes = 0; bytes < 8000; bytes += 100) {
        double worth = cebus_market_worth(&m, 8000, bytes);
        cr_expect(worth >= last && worth <= 2 * (double)bytes);
        last = worth;
    }
    cr_expect_lt(last, 2 * (100 + 1000));
    m.passing = true;
    cr_expect_lt(cebus_market_worth(&m, 8000, 100), 180);
}

/** A request that is much of the memory needs little where most of it is idle already: all else
 * that goes for it only adds to that. One that is small leaves what is idle to those after it. */
Test(clearing, what_is_idle_already_need_not_go)
{
    cebus_market m = {.bytes = 1000, .idle = 874, .byte_price = 2};
    cr_expect_float_eq(cebus_market_useful(&m, 8000, 1000), 1000, 1e-9);
    m.idle = 900;
    cr_expect_float_eq(cebus_market_useful(&m, 8000, 100), 100, 1e-9);
    cr_expect_float_eq(cebus_market_useful(&m, 8000, 1100), 100 + 500, 1e-9);
    cr_expect_float_eq(cebus_market_useful(&m, 8008, 1000), 1000, 1e-9);
    m.idle = 1000;
    cr_expect_float_eq(cebus_market_useful(&m, 8000, 1000), 1000, 1e-9, "enough: others decide");
}
