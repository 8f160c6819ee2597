#include "evict/choice/lowest.h"

#include <criterion/criterion.h>
#include <string.h>

#include "evict/choice/choose.h"
#include "evict/wish.h"
#include "layout/window/index.h"

#define UNIT 64
#define MAX (CEBUS_STANDING_BLOCKS + 500)

static cebus_pool pool;
static cebus_arena arena;
static cebus_lineage lineage;
static cebus_candidate candidates[MAX];
static cebus_standing standing;
static uint64_t now, state, priced;

static uint64_t draw(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

/** The value's own cost; counts what is priced. */
static uint64_t weigh(cebus_lineage *of, const cebus_candidate *candidate)
{
    priced++;
    return cebus_policy_weight_own(of, candidate);
}

/** Fills candidate `i`'s place with a value that is rebuilt at `cost`. */
static void place(size_t i, uint64_t cost)
{
    cebus_candidate *candidate = &candidates[i];
    cebus_call *call = cebus_call_create(&lineage, "op", 0, 1, 0);
    memset(candidate, 0, sizeof *candidate);
    cebus_value_init(&candidate->value, UNIT);
    candidate->value.resident = true;
    call->cost_ns = cost;
    cebus_call_make(&lineage, call, 0, &candidate->value);
    cr_assert_eq(cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &candidate->block),
                 CEBUS_PLACED);
    cebus_candidate_lodge(&arena, candidate, candidate->block);
    candidate->block->tick = now;
}

static void release(cebus_block *block)
{
    cebus_candidate *candidate = block->owner;
    cebus_arena_release(&arena, block);
    candidate->block = NULL;
    candidate->value.resident = false;
}

static void setup(void)
{
    state = priced = 0;
    now = 1000;
    standing = (cebus_standing){0};
    cebus_pool_init(&pool, NULL);
    cebus_lineage_init(&lineage, &pool);
    cr_assert_eq(cebus_arena_init(&arena, MAX * UNIT, UNIT, &pool), CEBUS_PLACED);
    for (size_t i = 0; i < MAX; i++, now += 100)
        place(i, 1000 + draw(100000));
}

static void teardown(void)
{
    cebus_arena_deinit(&arena);
    cebus_lineage_deinit(&lineage);
    cebus_pool_deinit(&pool);
}

TestSuite(lowest, .init = setup, .fini = teardown, .timeout = 120);

static cebus_chooser chooser_of(const cebus_policy *policy, cebus_standing *stands)
{
    return (cebus_chooser){
        .policy = policy, .arena = &arena, .lineage = &lineage, .now = now, .standing = stands};
}

/** What only makes values dearer: some are read, some pinned, some let go; some cost more. */
static void disturb(void)
{
    now += 1000;
    for (int i = 0; i < 8; i++) {
        cebus_candidate *candidate = &candidates[draw(MAX)];
        if (candidate->block == NULL)
            continue;
        if (draw(2) == 0)
            candidate->block->tick = now;
        else if (draw(2) == 0)
            candidate->value.pins = (uint32_t)draw(2);
        else
            candidate->value.producer->cost_ns += draw(1000000);
    }
}

/** A new value takes the victim's place; it is young and dear. */
static void replace(const cebus_victims *victims)
{
    cebus_candidate *candidate = victims->first->owner;
    release(victims->first);
    place((size_t)(candidate - candidates), UINT64_C(1) << 40);
}

static void check_policy(const cebus_policy *shipped)
{
    cebus_policy policy = *shipped;
    policy.weight = weigh;
    for (int i = 0; i < 400; i++) {
        cebus_chooser plain = chooser_of(&policy, NULL);
        disturb();
        plain.now = now;
        cebus_victims wanted = cebus_choose_one(&plain);
        cebus_chooser chooser = chooser_of(&policy, &standing);
        cebus_victims victims = cebus_choose_one(&chooser);
        cr_assert_eq(victims.first, wanted.first, "%s, choice %d", policy.name, i);
        cr_assert_eq(victims.price, wanted.price);
        cr_assert_eq(victims.next_price, wanted.next_price);
        if (i % 7 == 0)
            release(victims.first); /* a hole, for scores that look beside */
        else
            replace(&victims);
    }
}

Test(lowest, prices_that_stand_choose_as_a_sweep_does_where_nothing_fell)
{
    check_policy(&cebus_policy_dtr_local);
    check_policy(&cebus_policy_dte);
    check_policy(&cebus_policy_lru);
}

/** Anything that may happen to a value, cheaper or dearer, between two choices. */
static void upset(cebus_candidate *candidate, bool hints)
{
    cebus_block *block = candidate->block;
    if (block == NULL) {
        place((size_t)(candidate - candidates), 1 + draw(1000));
        if (draw(2) == 0)
            candidate->block->tick = draw(1000); /* as of a value that has moved there */
        candidate->value.pins = (uint32_t)draw(2);
        return;
    }
    switch (draw(8)) {
    case 0:
    case 1:
        if (block->tick > now) /* as who touches a prefetched value does */
            cebus_window_index_cheaper(arena.index, block);
        block->tick = now;
        break;
    case 2:
        block->tick = now + draw(100000);
        break;
    case 3:
        candidate->value.pins = (uint32_t)draw(2);
        break;
    case 4:
        candidate->hint = hints ? (uint8_t)draw(CEBUS_HINT_COUNT) : CEBUS_HINT_NONE;
        cebus_candidate_lodge(&arena, candidate, block);
        break;
    case 5:
        candidate->gradient = draw(2) == 0;
        break;
    case 6:
        candidate->method = (uint8_t)draw(2);
        break;
    default:
        release(block);
    }
}

static void check_next(bool last_resort)
{
    cebus_victims found[CEBUS_SHORTLIST_MAX], wanted[CEBUS_SHORTLIST_MAX];
    cebus_chooser plain = chooser_of(&cebus_policy_lru, NULL),
                  chooser = chooser_of(&cebus_policy_lru, &standing);
    plain.last_resort = chooser.last_resort = last_resort;
    uint64_t bytes = UNIT * (1 + draw(12));
    size_t limit = 1 + draw(8), count = cebus_choose_next(&chooser, bytes, found, limit);
    cr_assert_eq(count, cebus_choose_next(&plain, bytes, wanted, limit));
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(found[i].first, wanted[i].first, "victim %zu of %zu", i, count);
        cr_assert_eq(found[i].price, wanted[i].price);
        cr_assert_eq(found[i].next_price, wanted[i].next_price);
    }
    if (count > 0 && draw(4) == 0)
        release(found[0].first);
}

Test(lowest, by_age_it_is_as_by_a_sweep_whatever_happened)
{
    for (int i = 0; i < 1500; i++, now += draw(2) * draw(5000)) {
        for (uint64_t n = draw(i % 100 == 0 ? 2000 : 20); n > 0; n--)
            upset(&candidates[draw(MAX)], i > 700);
        check_next(i % 5 == 0);
    }
}

Test(lowest, by_age_few_are_read)
{
    cebus_policy policy = cebus_policy_lru;
    policy.weight = weigh;
    cebus_chooser chooser = chooser_of(&policy, &standing);
    for (int i = 0; i < 1000; i++) {
        cebus_victims victims = cebus_choose_one(&chooser);
        cr_assert_eq(victims.first, candidates[i].block);
        replace(&victims);
    }
#if CEBUS_CHECKS < 2 /* which look at all */
    cr_expect_lt(priced, 1000 * 40);
#endif
}

Test(lowest, prices_that_stand_choose_the_same_windows)
{
    cebus_policy policy = cebus_policy_coop;
    policy.weight = weigh;
    for (int i = 0; i < 400; i++) {
        disturb();
        cebus_chooser plain = chooser_of(&policy, NULL), chooser = chooser_of(&policy, &standing);
        cebus_victims victims = cebus_choose_victims(&chooser, UNIT * (1 + draw(3)));
        cr_assert_not_null(victims.first);
        uint64_t bytes = victims.last->offset + victims.last->bytes - victims.first->offset,
                 price = victims.price;
        cr_assert_eq(cebus_choose_victims(&plain, bytes).price, price, "choice %d", i);
        cebus_candidate *owner = victims.first->owner;
        if (victims.first == victims.last && owner != NULL)
            replace(&victims);
    }
}

Test(lowest, a_sweep_lasts_for_many_choices)
{
    cebus_policy policy = cebus_policy_dtr_local;
    policy.weight = weigh;
    int choices = 1 + MAX / CEBUS_STANDING_PART;
    for (int i = 0; i < choices; i++, now += 1000) {
        cebus_chooser chooser = chooser_of(&policy, &standing);
        cebus_victims victims = cebus_choose_one(&chooser);
        replace(&victims);
    }
    cr_expect_geq(priced, MAX);
    cr_expect_lt(priced, MAX + (uint64_t)choices * MAX / 64);
}

Test(lowest, a_value_that_became_cheaper_unseen_goes_after_the_next_sweep)
{
    cebus_policy policy = cebus_policy_dtr_local;
    int waited = 0;
    cebus_chooser chooser = chooser_of(&policy, &standing);
    cebus_victims victims = cebus_choose_one(&chooser);
    cebus_candidate *cheap = &candidates[MAX / 2];
    cr_assert_neq(victims.first, cheap->block);
    cheap->value.producer->cost_ns = 1;
    do {
        replace(&victims);
        victims = cebus_choose_one(&chooser);
    } while (victims.first != cheap->block && ++waited < MAX);
    cr_expect_leq(waited, MAX / CEBUS_STANDING_PART + 1);
}

Test(lowest, other_terms_end_what_stands)
{
    cebus_policy policy = cebus_policy_dtr_local;
    cebus_chooser chooser = chooser_of(&policy, &standing);
    cr_assert_not_null(cebus_choose_one(&chooser).first);
    cebus_chooser same = chooser, other = chooser;
    cr_expect(cebus_lowest_stands(&same));
    other.last_resort = true;
    cr_expect_not(cebus_lowest_stands(&other));
    other = chooser;
    other.dearest = 1;
    cr_expect_not(cebus_lowest_stands(&other));
    other = chooser;
    other.policy = &cebus_policy_dte;
    cr_expect_not(cebus_lowest_stands(&other));
    cebus_replay_cursor cursor = {0};
    other = chooser;
    other.rebuild = &cursor;
    cr_expect_not(cebus_lowest_stands(&other));
}

Test(lowest, nothing_found_by_what_stands_is_looked_for_again)
{
    const cebus_policy *policies[] = {&cebus_policy_dtr_local, &cebus_policy_coop};
    for (int p = 0; p < 2; p++) {
        standing = (cebus_standing){0};
        for (size_t i = 0; i < MAX; i++)
            candidates[i].value.pins = i > 0;
        cebus_chooser chooser = chooser_of(policies[p], &standing);
        cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, candidates[0].block);
        for (size_t i = 0; i < MAX; i++)
            candidates[i].value.pins = i != 1;
        cr_expect_eq(cebus_choose_victims(&chooser, UNIT).first, candidates[1].block);
        for (size_t i = 0; i < MAX; i++)
            candidates[i].value.pins = 1;
        cr_expect_null(cebus_choose_victims(&chooser, UNIT).first);
    }
}
