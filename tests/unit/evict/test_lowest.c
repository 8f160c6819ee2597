#include "evict/lowest.h"

#include <criterion/criterion.h>
#include <string.h>

#include "layout/window_index.h"

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
    cebus_call_make(call, 0, &candidate->value);
    cr_assert_eq(cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &candidate->block),
                 CEBUS_PLACED);
    candidate->block->owner = candidate;
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
