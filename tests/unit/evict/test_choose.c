#include <criterion/criterion.h>

#include "evict/choice/pricing.h"
#include "evict/wish.h"
#include "lineage/version.h"
#include "tests/unit/evict/room.h"

TestSuite(choose, .init = setup, .fini = teardown);

static cebus_victims choose(const cebus_policy *policy, uint64_t units)
{
    cebus_chooser chooser = {.policy = policy, .arena = &arena, .lineage = &lineage, .now = 1000};
    return cebus_choose_victims(&chooser, units * UNIT);
}

Test(choose, none_gives_nothing_up)
{
    place(1, 1, 0);
    fill_the_rest();
    cr_expect_null(choose(&cebus_policy_none, 1).first);
}

Test(choose, lru_takes_the_oldest_whatever_it_costs)
{
    place(1, 1, 500);
    cebus_candidate *oldest = place(1, 1000000, 100);
    place(1, 1, 300);
    fill_the_rest();
    cr_expect_eq(choose(&cebus_policy_lru, 1).first, oldest->block);
}

Test(choose, dtr_divides_cost_by_bytes_and_age)
{
    place(1, 100, 0);
    cebus_candidate *large = place(4, 300, 0);
    place(1, 100, 900);
    fill_the_rest();
    cr_expect_eq(choose(&cebus_policy_dtr, 1).first, large->block);
}

Test(choose, dtr_counts_the_absent_neighbourhood_and_dtr_local_does_not)
{
    cebus_candidate *parent = place(1, 10000, 0), *other = place(1, 200, 0);
    cebus_candidate *child = &candidates[count++];
    cebus_call *call = cebus_call_create(&lineage, "op", 1, 1, 0);
    cebus_value_init(&child->value, UNIT);
    child->value.resident = true;
    call->cost_ns = 100;
    cebus_call_read(call, 0, &parent->value);
    cebus_call_make(&lineage, call, 0, &child->value);
    cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &child->block);
    child->block->owner = child;
    child->block->tick = 0;
    cebus_arena_release(&arena, parent->block);
    parent->block = NULL;
    parent->value.resident = false;
    cebus_cost_leave(&lineage, &parent->value);
    fill_the_rest();
    cr_expect_eq(choose(&cebus_policy_dtr_local, 1).first, child->block);
    cr_expect_eq(choose(&cebus_policy_dtr, 1).first, other->block);
}

/** A value made of `parent` alone. */
static cebus_candidate *place_child(cebus_candidate *parent, uint64_t cost, uint64_t tick)
{
    cebus_candidate *child = &candidates[count++];
    cebus_call *call = cebus_call_create(&lineage, "op", 1, 1, 0);
    cebus_value_init(&child->value, UNIT);
    child->value.resident = true;
    call->cost_ns = cost;
    cebus_call_read(call, 0, &parent->value);
    cebus_call_make(&lineage, call, 0, &child->value);
    cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &child->block);
    child->block->owner = child;
    child->block->tick = tick;
    return child;
}

static void give_up(cebus_candidate *candidate)
{
    cebus_arena_release(&arena, candidate->block);
    candidate->block = NULL;
    candidate->value.resident = false;
    cebus_cost_leave(&lineage, &candidate->value);
    cebus_version_changed(&lineage, &candidate->value);
}

/** It is cheap only while what it is made of is there. */
Test(choose, keeps_digests_of_what_is_large)
{
    cebus_candidate *large = place(CEBUS_DIGEST_PART, 1, 0), *digest = place_child(large, 1, 0);
    cebus_candidate *dear = place(1, 100, 0);
    large->value.pins = 1;
    fill_the_rest();
    cr_expect(digest->value.digest && !dear->value.digest);
    cr_expect_eq(choose(&cebus_policy_dtr, 1).first, dear->block);
    cr_expect_eq(choose(&cebus_policy_dte, 1).first, dear->block);
    cr_expect_eq(choose(&cebus_policy_coop, 1).first, dear->block);
    dear->value.pins = 1;
    cr_expect_eq(choose(&cebus_policy_dtr, 1).first, digest->block);
    cr_expect_eq(choose(&cebus_policy_coop, 1).first, digest->block);
}

/** Whatever it costs, and by whatever that is multiplied: a hint, a digest, a crowded rebuild. */
Test(choose, finds_what_is_too_dear_for_a_price)
{
    cebus_candidate *large = place(20, UINT64_C(1) << 62, 0);
    cebus_candidate *digest = place_child(large, UINT64_C(1) << 60, 0);
    cebus_chooser chooser = {.policy = &cebus_policy_coop, .arena = &arena, .lineage = &lineage};
    uint64_t weight = 0;
    fill_the_rest();
    large->value.pins = 1;
    cr_expect_eq(choose(&cebus_policy_coop, 1).first, digest->block);
    cebus_pricing_block(&chooser, digest->block);
    cr_expect(cebus_pricing_exact_within(&chooser, digest->block, UINT64_MAX, &weight));
    cr_expect_eq(weight, UINT64_MAX);
    large->value.pins = 0;
    give_up(large);
    cr_expect(cebus_pricing_exact_within(&chooser, digest->block, UINT64_MAX, &weight));
    cr_expect_eq(weight, UINT64_MAX);
}

/** One class ties the two chains together through what was made of both and is dead by now; only
 * what lies behind a value must be made again for it. */
Test(choose, tells_chains_apart_that_one_class_ties_together)
{
    cebus_candidate *dear = place(1, 100000, 0), *cheap = place(1, 10, 0);
    cebus_candidate *of_dear = place_child(dear, 10, 100), *of_cheap = place_child(cheap, 10, 900);
    cebus_candidate *both = &candidates[count++];
    cebus_call *call = cebus_call_create(&lineage, "op", 2, 1, 0);
    cebus_value_init(&both->value, UNIT);
    call->cost_ns = 10;
    cebus_call_read(call, 0, &dear->value);
    cebus_call_read(call, 1, &cheap->value);
    cebus_call_make(&lineage, call, 0, &both->value);
    cebus_cost_leave(&lineage, &both->value);
    give_up(dear);
    give_up(cheap);
    both->value.holders = 0;
    fill_the_rest();
    cr_expect_gt(cebus_cost_price(&lineage, &of_cheap->value), 100000);
    cr_expect_neq(choose(&cebus_policy_dtr, 1).first, of_dear->block);
    cr_expect_neq(choose(&cebus_policy_coop, 1).first, of_dear->block);
}

/** The class that a dead value ties to a dear one says that it takes 100000 ns: it takes 10. The
 * copy out does not count against that, since nobody need wait for it. */
Test(choose, drops_what_is_made_for_less_than_its_copy_back)
{
    cebus_candidate *dear = place(1, 100000, 0), *both = place_child(dear, 10, 0);
    cebus_candidate *cheap = place_child(dear, 10, 900);
    cebus_chooser chooser = {.policy = &cebus_policy_coop,
                             .arena = &arena,
                             .lineage = &lineage,
                             .now = 1000,
                             .swap = {.use = CEBUS_SWAP_CHEAPER,
                                      .out_rate = 1000000000,
                                      .in_rate = 1000000000,
                                      .room = 1 << 20,
                                      .memory = 1 << 20}};
    cebus_call *reader = cebus_call_create(&lineage, "op", 2, 1, 0);
    cheap->zone = CEBUS_ZONE_EXPENSIVE;
    cebus_value_init(&candidates[count].value, UNIT);
    reader->cost_ns = 100000;
    cebus_call_read(reader, 0, &cheap->value);
    cebus_call_read(reader, 1, &both->value);
    cebus_call_make(&lineage, reader, 0, &candidates[count].value);
    cebus_cost_leave(&lineage, &candidates[count].value);
    candidates[count].value.holders = 0;
    fill_the_rest();
    cr_expect_gt(cebus_cost_price(&lineage, &cheap->value), 100000);
    cebus_pricing_block(&chooser, cheap->block);
    cr_expect_eq(cheap->method, CEBUS_GO_DROP);
    cr_expect_eq(cheap->block->weight, 10);
    cebus_cost_revise(&lineage, cheap->value.producer, UNIT + 2);
    cebus_pricing_block(&chooser, cheap->block);
    cr_expect_eq(cheap->method, CEBUS_GO_SWAP, "the copy back takes a ns a byte");
    cr_expect_eq(cheap->block->weight, 2 * UNIT + 2);
}

Test(choose, keeps_what_is_dearer_than_a_rebuild_may_cost)
{
    cebus_candidate *old = place(1, 5000, 0), *young = place(1, 400, 999);
    cebus_chooser chooser = {
        .policy = &cebus_policy_lru, .arena = &arena, .lineage = &lineage, .now = 1000};
    fill_the_rest();
    cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, old->block);
    chooser.dearest = 4999;
    cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, young->block);
    cebus_cost_wait(&lineage, young->value.producer,
                    4600); /* of which its neighbourhood knows nothing */
    cr_expect_null(cebus_choose_victims(&chooser, UNIT).first);
    cebus_cost_wait(&lineage, young->value.producer, 0);
    chooser.dearest = 399;
    cr_expect_null(cebus_choose_victims(&chooser, UNIT).first);
}

/** Of what is very old, as much as years, the urgency must not wrap. */
Test(choose, keeps_what_the_rebuild_reads_next)
{
    cebus_candidate *next = place(1, 100, 0), *other = place(1, UINT64_C(1) << 50, 0);
    cebus_replay_cursor cursor = {.waiting = 1};
    cebus_chooser chooser = {
        .policy = &cebus_policy_dtr_local, .arena = &arena, .lineage = &lineage, .now = 1000};
    cebus_call *reader = cebus_call_create(&lineage, "reader", 1, 0, 0);
    cr_assert_not_null(reader);
    cebus_call_read(reader, 0, &next->value);
    reader->waiting = 1;
    fill_the_rest();
    cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, next->block, "the cheaper");
    chooser.rebuild = &cursor;
    chooser.now = UINT64_C(1) << 45;
    cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, other->block);
}

Test(choose, tells_beforehand_whether_giving_up_is_enough)
{
    cebus_candidate *one = place(2, 100, 0), *two = place(3, 5000, 0);
    cebus_chooser chooser = {
        .policy = &cebus_policy_coop, .arena = &arena, .lineage = &lineage, .now = 1000};
    fill_the_rest();
    cr_expect(cebus_choose_suffices(&chooser, 5 * UNIT));
    cr_expect_not(cebus_choose_suffices(&chooser, 5 * UNIT + 1));
    chooser.dearest = 200;
    cr_expect(cebus_choose_suffices(&chooser, 2 * UNIT));
    cr_expect_not(cebus_choose_suffices(&chooser, 3 * UNIT));
    chooser.dearest = 0;
    one->value.pins = 1;
    cr_expect_not(cebus_choose_suffices(&chooser, 4 * UNIT));
    one->value.pins = 0;
    chooser.policy = &cebus_policy_none;
    cr_expect_not(cebus_choose_suffices(&chooser, UNIT));
    cebus_arena_release(&arena, two->block);
    cr_expect(cebus_choose_suffices(&chooser, 3 * UNIT), "what is free counts");
}

Test(choose, dte_favours_the_neighbour_of_a_hole)
{
    cebus_block *hole;
    place(1, 100, 0);
    cebus_arena_place(&arena, 2 * UNIT, CEBUS_ZONE_EXPENSIVE, &hole);
    cebus_candidate *beside = place(1, 150, 0);
    place(1, 100, 0);
    fill_the_rest();
    cebus_arena_release(&arena, hole);
    cr_expect_neq(choose(&cebus_policy_dtr, 3).first, beside->block);
    cr_expect_eq(choose(&cebus_policy_dte, 3).first, candidates[0].block,
                 "the cheaper of the two neighbours of the hole");
}

Test(choose, coop_takes_the_cheapest_window_of_the_requested_size)
{
    place(1, 1, 0);
    cebus_candidate *wall = place(1, 1, 0);
    cebus_candidate *first = place(1, 50, 0);
    cebus_candidate *last = place(1, 60, 0);
    place(2, 500, 0);
    fill_the_rest();
    wall->value.pins = 1;
    cebus_victims window = choose(&cebus_policy_coop, 2);
    cr_expect_eq(window.first, first->block);
    cr_expect_eq(window.last, last->block);
}

Test(choose, coop_takes_more_at_once_where_it_is_cheap_by_the_byte)
{
    cebus_candidate *small = place(1, 100, 0), *wall = place(1, 1, 0);
    cebus_candidate *large = place(4, 110, 0);
    fill_the_rest();
    wall->value.pins = 1;
    cr_expect_eq(choose(&cebus_policy_coop, 1).first, large->block,
                 "110 less 2.5 units at 0.9 of 27.5 against 100 less one");
    cebus_cost_revise(&lineage, large->value.producer, 400);
    cr_expect_eq(choose(&cebus_policy_coop, 1).first, small->block,
                 "400 less 2.5 units at 90 against 100 less one");
    cr_expect_eq(choose(&cebus_policy_coop, 2).first, large->block, "the only one that does");
}

/** Eight that seem the cheapest took long to get to when they were last made: where rebuilds take
 * long all prices are exact, and nothing goes along with the cheapest. */
Test(choose, prices_all_exactly_where_rebuilds_are_long)
{
    const cebus_policy *policies[] = {&cebus_policy_dtr, &cebus_policy_dte, &cebus_policy_coop};
    for (int i = 0; i < 8; i++)
        place(1, 100, 0)->value.producer->wait_ns = 1000000;
    cebus_candidate *cheapest = place(1, 101, 0);
    fill_the_rest();
    for (size_t i = 0; i < 3; i++) {
        cebus_chooser chooser = {
            .policy = policies[i], .arena = &arena, .lineage = &lineage, .now = 1000};
        if (policies[i] != &cebus_policy_coop)
            cr_expect_neq(cebus_choose_victims(&chooser, UNIT).first, cheapest->block);
        chooser.strained = true;
        cebus_victims victims = cebus_choose_victims(&chooser, 2 * UNIT);
        cr_expect_eq(victims.first, cheapest->block);
        cr_expect_eq(victims.last, cheapest->block);
    }
}

Test(choose, leaves_what_is_in_use_alone)
{
    cebus_candidate *pinned = place(1, 1, 0), *planned = place(1, 1, 0), *mapped = place(1, 1, 0);
    cebus_candidate *leaf = place(1, 1, 0);
    pinned->value.pins = 1;
    planned->value.plan_uses = 1;
    mapped->exports = 1;
    cebus_value_detach(&lineage, &leaf->value);
    fill_the_rest();
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++)
        cr_expect_null(choose(cebus_policy_at(i), 1).first, "%s", cebus_policy_at(i)->name);
    cr_expect_str_eq(cebus_candidate_reason(pinned), "in use by the running call");
    cr_expect_str_eq(cebus_candidate_reason(planned), "needed by the running replay");
    cr_expect_str_eq(cebus_candidate_reason(mapped), "its address was handed out (unmap it)");
    cr_expect_str_eq(cebus_candidate_reason(leaf), "a leaf: nothing recorded can rebuild it");
}

Test(choose, one_takes_a_single_victim_under_any_policy)
{
    cebus_candidate *cheap = place(1, 1, 0);
    place(1, 100, 0);
    fill_the_rest();
    cebus_chooser chooser = {
        .policy = &cebus_policy_coop, .arena = &arena, .lineage = &lineage, .now = 1000};
    cr_expect_eq(cebus_choose_one(&chooser).first, cheap->block);
}

/** Segments lie apart, with addresses between them that nothing lies behind. */
Test(choose, looks_at_all_segments)
{
    static const cebus_policy *const policies[] = {&cebus_policy_dtr, &cebus_policy_dtr_local,
                                                   &cebus_policy_coop};
    const uint64_t mib = UINT64_C(1) << 20;
    cebus_arena_setup setup = {cebus_layout_find("caching"), 256 * mib, 1024 * mib, UNIT};
    cebus_arena_deinit(&arena);
    cr_assert_eq(cebus_arena_open(&arena, &setup, &pool), CEBUS_PLACED);
    cr_assert_eq(cebus_arena_resize(&arena, 120 * mib), CEBUS_PLACED);
    for (int i = 0; i < 10; i++)
        place(12 * mib / UNIT, 1000, 0);
    cr_expect_gt(arena.blocks, arena.used_blocks + arena.free_blocks);
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < count; k++) {
            cebus_cost_revise(&lineage, candidates[k].value.producer, 1);
            cr_expect_eq(choose(policies[i], 12 * mib / UNIT).first, candidates[k].block);
            cebus_cost_revise(&lineage, candidates[k].value.producer, 1000);
        }
    }
}

Test(choose, takes_as_many_victims_as_the_bytes_need)
{
    cebus_victims victims[4];
    cebus_candidate *third = place(1, 30, 0), *first = place(1, 1, 0), *second = place(2, 20, 0);
    place(1, 40, 0);
    fill_the_rest();
    cebus_chooser chooser = {
        .policy = &cebus_policy_coop, .arena = &arena, .lineage = &lineage, .now = 1000};
    cr_assert_eq(cebus_choose_cheapest(&chooser, 4 * UNIT, victims, 4), 3);
    cr_expect_eq(victims[0].first, first->block);
    cr_expect_eq(victims[1].first, second->block);
    cr_expect_eq(victims[2].first, third->block);
    cr_expect_eq(victims[0].next_price, victims[1].price);
    cr_expect_gt(victims[2].next_price, victims[2].price);
    cr_expect_eq(cebus_choose_cheapest(&chooser, 4 * UNIT, victims, 2), 2, "no more than asked");
    cr_expect_eq(cebus_choose_cheapest(&chooser, MAX * UNIT, victims, 4), 4, "all there are");
    cr_expect_eq(victims[3].next_price, 0);
    chooser.policy = &cebus_policy_dte;
    cr_expect_eq(cebus_choose_cheapest(&chooser, 4 * UNIT, victims, 4), 1, "its prices depend");
    chooser.policy = &cebus_policy_none;
    cr_expect_eq(cebus_choose_cheapest(&chooser, 4 * UNIT, victims, 4), 0);
}

/* A random program under every policy, against a chooser that remembers nothing. */

static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

/** The situation and the weight as they are, worked out from nothing. */
static double score_anew(const cebus_policy *policy, cebus_block *block, uint64_t now)
{
    cebus_situation situation = {.age = now > block->tick ? now - block->tick : 1,
                                 .bytes = block->bytes};
    const cebus_block *beside[] = {block->prev, block->next};
    for (int i = 0; i < 2; i++) {
        if (beside[i] != NULL && beside[i]->state == CEBUS_BLOCK_FREE)
            situation.adjacent_free += beside[i]->bytes;
    }
    uint64_t weight = policy->weight(&lineage, block->owner);
    if (policy->score != NULL)
        return policy->score(weight, &situation);
    return (double)weight / ((double)situation.bytes * (double)situation.age);
}

static cebus_block *lowest_anew(const cebus_policy *policy, uint64_t now, bool last_resort)
{
    cebus_block *lowest = NULL;
    double lowest_score = 0;
    for (cebus_block *block = arena.first; block != NULL; block = block->next) {
        const cebus_candidate *candidate = block->owner;
        if (block->state == CEBUS_BLOCK_FREE || candidate == NULL ||
            !cebus_candidate_is_evictable(candidate) || (candidate->gradient && !last_resort))
            continue;
        double score = score_anew(policy, block, now);
        if (lowest == NULL || score < lowest_score) {
            lowest = block;
            lowest_score = score;
        }
    }
    return lowest;
}

/** Weights and states of all blocks, after a choice. */
static void check_prices(const cebus_chooser *chooser)
{
    for (const cebus_block *block = arena.first; block != NULL; block = block->next) {
        const cebus_candidate *candidate = block->owner;
        if (block->state == CEBUS_BLOCK_FREE)
            continue;
        bool offered = candidate != NULL && cebus_candidate_is_evictable(candidate) &&
                       (!candidate->gradient || chooser->last_resort);
        cr_expect_eq(block->state, offered ? CEBUS_BLOCK_EVICTABLE : CEBUS_BLOCK_BARRIER);
        if (offered)
            cr_expect_eq(block->weight, chooser->policy->weight(&lineage, candidate));
    }
}

static void check_choice(const cebus_policy *policy, uint64_t now)
{
    cebus_chooser chooser = {.policy = policy,
                             .arena = &arena,
                             .lineage = &lineage,
                             .now = now,
                             .last_resort = draw(2) == 0};
    if (policy->unit == CEBUS_UNIT_WINDOW) {
        cebus_choose_victims(&chooser, UNIT);
        check_prices(&chooser);
        chooser.keep_prices = draw(2) == 0;
    }
    cr_expect_eq(cebus_choose_one(&chooser).first, lowest_anew(policy, now, chooser.last_resort));
    check_prices(&chooser);
}

/** What a value really costs, by walks that remember nothing. */
static uint64_t cost_anew(const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    cebus_effort behind = cebus_replay_behind(&lineage, value, 1024, UINT64_MAX),
                 ahead = cebus_replay_ahead(&lineage, value, 1024, UINT64_MAX);
    double fill = 3.0 * (double)behind.bytes / (double)arena.limit;
    return (uint64_t)((double)(behind.ns + ahead.ns) * (1 + fill * fill));
}

static bool is_free(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE;
}

/** The lowest score of all that may go, each worked out in full; the lower address at a tie. */
static cebus_block *lowest_exactly(const cebus_chooser *chooser)
{
    cebus_block *lowest = NULL;
    double least = 0;
    for (cebus_block *block = arena.first; block != NULL; block = block->next) {
        cebus_candidate *owner = block->owner;
        if (is_free(block) || owner == NULL || !cebus_pricing_may_go(chooser, owner))
            continue;
        bool missed = cebus_version_is_missed(&lineage, &owner->value);
        cebus_quote quote = {missed ? cost_anew(owner) : 0, block->tick, block->bytes,
                             (is_free(block->prev) ? block->prev->bytes : 0) +
                                 (is_free(block->next) ? block->next->bytes : 0)};
        quote.weight = cebus_wish_price(quote.weight, cebus_pricing_shift(owner));
        double score = cebus_pricing_score(chooser, block, &quote);
        if (lowest == NULL || score < least) {
            lowest = block;
            least = score;
        }
    }
    return lowest;
}

/** Where rebuilds took long: a search that works out no more than it must finds the lowest. */
static void check_exact_choice(const cebus_policy *policy, uint64_t now)
{
    cebus_chooser chooser = {.policy = policy,
                             .arena = &arena,
                             .lineage = &lineage,
                             .now = now,
                             .strained = true,
                             .dearest = draw(2) * draw(3000),
                             .last_resort = draw(2) == 0};
    cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, lowest_exactly(&chooser));
}

static void put(cebus_candidate *candidate, uint64_t now)
{
    uint64_t units = candidate->value.bytes / UNIT;
    if (cebus_arena_place(&arena, units * UNIT, CEBUS_ZONE_EXPENSIVE, &candidate->block) !=
        CEBUS_PLACED) {
        candidate->block = NULL;
        return;
    }
    candidate->block->owner = candidate;
    candidate->block->tick = now;
    cebus_cost_return(&lineage, &candidate->value);
    candidate->value.resident = true;
    cebus_version_changed(&lineage, &candidate->value);
}

static void take_away(cebus_candidate *candidate)
{
    cebus_arena_release(&arena, candidate->block);
    candidate->block = NULL;
    candidate->value.resident = false;
    cebus_cost_leave(&lineage, &candidate->value);
    cebus_version_changed(&lineage, &candidate->value);
}

/** Value number `count`: reads up to two earlier ones; it stays absent where there is no room. */
static void make_candidate(uint64_t now)
{
    cebus_candidate *candidate = &candidates[count];
    cebus_call *call = cebus_call_create(&lineage, "op", 2, 1, 0);
    call->cost_ns = 1 + draw(1000);
    cebus_value_init(&candidate->value, (1 + draw(3)) * UNIT);
    for (uint32_t i = 0; i < 2 && count > 0; i++)
        cebus_call_read(call, i, &candidates[draw(count)].value);
    cebus_call_make(&lineage, call, 0, &candidate->value);
    cebus_call_release(&lineage, call);
    cebus_cost_leave(&lineage, &candidate->value);
    candidate->gradient = draw(8) == 0;
    count++;
    put(candidate, now);
}

static void happen(uint64_t now)
{
    cebus_candidate *candidate = &candidates[draw(count)];
    uint64_t what = draw(10);
    if (!candidate->value.resident)
        put(candidate, now);
    else if (what < 4)
        take_away(candidate);
    else if (what < 5)
        candidate->value.pins ^= 1;
    else if (what < 6)
        candidate->value.plan_uses ^= 1;
    else if (what < 7)
        candidate->exports ^= 1;
    else if (what < 8)
        cebus_cost_lower(&lineage, candidate->value.producer, 1 + draw(1000));
    else
        candidate->block->tick = now;
}

Test(choose, answers_as_if_it_remembered_nothing)
{
    static const cebus_policy *const policies[] = {&cebus_policy_lru, &cebus_policy_dtr,
                                                   &cebus_policy_dtr_local, &cebus_policy_dte,
                                                   &cebus_policy_coop};
    for (int program = 0; program < 30; program++) {
        uint64_t now = 1;
        teardown();
        setup();
        while (count < MAX)
            make_candidate(now += draw(10));
        for (int i = 0; i < 200; i++) {
            happen(now += draw(10));
            if (draw(3) == 0)
                check_choice(policies[draw(5)], now);
            if (draw(2) == 0)
                check_exact_choice(draw(2) == 0 ? &cebus_policy_dtr : &cebus_policy_dte, now);
        }
    }
}

Test(choose, finds_policies_by_name)
{
    cr_expect_eq(cebus_policy_find("dtr-local"), &cebus_policy_dtr_local);
    cr_expect_null(cebus_policy_find("best"));
    cr_expect_null(cebus_policy_at(100));
}
