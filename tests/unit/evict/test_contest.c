#include <criterion/criterion.h>

#include "tests/unit/evict/room.h"

TestSuite(contest, .init = setup, .fini = teardown);

/** Bytes a second at which moves take next to no time beside what each takes at least. */
#define FAST UINT64_C(1000000000000)

static cebus_chooser chooser_of(uint64_t rate, uint64_t ns)
{
    return (cebus_chooser){.policy = &cebus_policy_coop,
                           .arena = &arena,
                           .lineage = &lineage,
                           .now = 1000,
                           .moves = {.rate = rate, .ns = ns}};
}

/** Between two cheap values lies a dear one: it may go with them, or move. */
Test(contest, coop_moves_what_is_dear_where_that_is_cheaper)
{
    cebus_candidate *first = place(2, 100, 0), *dear = place(1, 100000, 0);
    cebus_candidate *last = place(2, 100, 0);
    fill_the_rest();
    cebus_chooser chooser = chooser_of(FAST, 1);
    cebus_victims victims = cebus_choose_victims(&chooser, 4 * UNIT);
    cr_expect(cebus_way_moves(victims.way) && victims.weighs_moves);
    cr_expect_eq(victims.first, first->block);
    cr_expect_eq(victims.last, last->block);
    cr_expect_eq(dear->block->state, CEBUS_BLOCK_BARRIER);
    cr_expect_eq(first->block->state, CEBUS_BLOCK_EVICTABLE);
    chooser.moves.ns = 10000000;
    victims = cebus_choose_victims(&chooser, 4 * UNIT);
    cr_expect(!cebus_way_moves(victims.way));
    cr_expect_eq(dear->block->state, CEBUS_BLOCK_EVICTABLE);
}

/** All of it is made again sooner than the search for something better would take. */
Test(contest, coop_does_not_look_for_what_saves_little)
{
    cebus_candidate *first = place(2, 10, 0), *dear = place(1, 100, 0), *last = place(2, 10, 0);
    fill_the_rest();
    cebus_chooser chooser = chooser_of(FAST, 1);
    cebus_victims victims = cebus_choose_victims(&chooser, 4 * UNIT);
    cr_expect(!cebus_way_moves(victims.way));
    cr_expect_eq(victims.first, first->block);
    cr_expect_eq(victims.last, last->block);
    cebus_cost_revise(&lineage, dear->value.producer, 1000);
    cr_expect(cebus_way_moves(cebus_choose_victims(&chooser, 4 * UNIT).way));
}

/** Enough is free, but apart: the more of it lies idle the dearer a move may be. */
Test(contest, coop_only_moves_where_much_lies_idle)
{
    cebus_candidate *low = place(3, 1, 0), *dear = place(1, 1000000, 0), *high = place(3, 1, 0);
    cebus_candidate *cheap = place(4, 4000, 0), *more = place(1, 1, 0);
    fill_the_rest();
    cebus_block *first = cebus_arena_release(&arena, low->block);
    cebus_block *last = cebus_arena_release(&arena, high->block);
    cebus_chooser chooser = chooser_of(FAST, 450);
    more->value.pins = 1;
    cebus_victims victims = cebus_choose_victims(&chooser, 4 * UNIT);
    cr_expect(!cebus_way_moves(victims.way), "two units: 1.25 x 2 x 2 / 8, and a copy is 0.9");
    cr_expect_eq(victims.first, cheap->block);
    cebus_arena_release(&arena, more->block);
    victims = cebus_choose_victims(&chooser, 4 * UNIT);
    cr_expect(cebus_way_moves(victims.way) && victims.weighs_moves,
              "three units: 1.25 x 3 x 3 / 8");
    cr_expect_eq(victims.price, 0);
    cr_expect_eq(victims.first, first);
    cr_expect_eq(victims.last, last);
    cr_expect_eq(dear->block->state, CEBUS_BLOCK_BARRIER, "nothing goes");
    chooser.moves.rate = 0;
    victims = cebus_choose_victims(&chooser, 4 * UNIT);
    cr_expect_eq(victims.first, cheap->block, "nothing moves here");
}

/** However much lies idle: a move may cost what the request's bytes have for a price. */
Test(contest, coop_moves_no_dearer_than_the_request_is_worth)
{
    cebus_candidate *holes[8];
    for (int i = 0; i < 8; i++) {
        holes[i] = place(1, 1, 0);
        place(1, 1000000, 0);
    }
    cebus_candidate *cheap = place(2, 4000, 0);
    fill_the_rest();
    for (int i = 0; i < 8; i++)
        cebus_arena_release(&arena, holes[i]->block);
    cebus_chooser chooser = chooser_of(FAST, 2600);
    cebus_victims victims = cebus_choose_victims(&chooser, 2 * UNIT);
    cr_expect_eq(victims.first, cheap->block, "two units at 2 each, and a copy is 5.2");
    chooser.moves.ns = 1500;
    cr_expect(cebus_way_moves(cebus_choose_victims(&chooser, 2 * UNIT).way), "3");
    chooser.replaying = true;
    victims = cebus_choose_victims(&chooser, 2 * UNIT);
    cr_expect_eq(victims.first, cheap->block, "replays to come need room, too");
}

/** One small value after the other is cheap, and none lies beside another: in the long run they
 * serve better than the dear one that is large enough. */
Test(contest, coop_takes_what_is_cheap_wherever_it_lies)
{
    cebus_candidate *small[6];
    for (int i = 0; i < 6; i++) {
        small[i] = place(1, 100, 0);
        place(1, 1, 0)->value.pins = 1;
    }
    cebus_candidate *large = place(2, 700, 0);
    fill_the_rest();
    cebus_chooser chooser = chooser_of(1, 1);
    cebus_victims victims = cebus_choose_victims(&chooser, 2 * UNIT);
    cr_expect(!cebus_way_moves(victims.way));
    cr_expect_eq(victims.first, small[0]->block);
    cr_expect_eq(victims.last, large->block);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(small[i]->block->state, CEBUS_BLOCK_EVICTABLE);
    cebus_cost_revise(&lineage, large->value.producer, 150);
    victims = cebus_choose_victims(&chooser, 2 * UNIT);
    cr_expect_eq(victims.first, large->block, "as cheap as they are by the byte");
    cr_expect_eq(victims.last, large->block);
}

/** Dear values lie at both sides of a hole: one of them moves to another hole. */
Test(contest, coop_vacates_where_nothing_has_to_go)
{
    place(3, 100000, 0);
    cebus_candidate *hole = place(1, 1, 0), *b = place(1, 100000, 0);
    place(3, 100000, 0);
    cebus_candidate *other = place(1, 1, 0);
    fill_the_rest();
    cebus_arena_release(&arena, hole->block);
    cebus_arena_release(&arena, other->block);
    hole->block = other->block = NULL;
    cebus_chooser chooser = chooser_of(FAST, 1);
    cebus_victims victims = cebus_choose_victims(&chooser, 2 * UNIT);
    cr_expect_eq(victims.way, CEBUS_WAY_VACANCY);
    cr_expect_eq(victims.to - victims.from, 2 * UNIT);
    cr_expect(b->block->offset >= victims.from && b->block->offset < victims.to);
    cr_expect_eq(b->block->state, CEBUS_BLOCK_BARRIER, "it stays, if elsewhere");
}

/** Where the device waits, what is made again sooner than the search takes goes for requests to
 * come, too; what is dear does not. */
Test(contest, coop_gives_up_more_where_searches_are_dear)
{
    cebus_candidate *cheap[12];
    for (int i = 0; i < 12; i++)
        cheap[i] = place(1, 2, 0);
    place(1, 100000, 0);
    fill_the_rest();
    cebus_chooser chooser = chooser_of(0, 0);
    cebus_victims victims = cebus_choose_victims(&chooser, UNIT);
    cr_expect_eq(victims.first, victims.last, "it computes meanwhile");
    chooser.waits = true;
    victims = cebus_choose_victims(&chooser, UNIT);
    uint64_t units = (victims.last->offset - victims.first->offset) / UNIT + 1;
    cr_expect_geq(units, 8);
    cr_expect_leq(units, 12);
    for (int i = 0; i < 12; i++)
        cebus_cost_revise(&lineage, cheap[i]->value.producer, 10000);
    victims = cebus_choose_victims(&chooser, UNIT);
    cr_expect_eq(victims.first, victims.last);
}
