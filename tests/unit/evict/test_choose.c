#include "evict/choose.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lineage/cost.h"

#define UNIT 64
#define MAX 16

static cebus_pool pool;
static cebus_arena arena;
static cebus_lineage lineage;
static cebus_candidate candidates[MAX];
static size_t count;

static void setup(void)
{
    cebus_pool_init(&pool, NULL);
    cebus_lineage_init(&lineage, &pool);
    cr_assert_eq(cebus_arena_init(&arena, MAX * UNIT, UNIT, &pool), CEBUS_PLACED);
    memset(candidates, 0, sizeof candidates);
    count = 0;
}

static void teardown(void)
{
    cebus_arena_deinit(&arena);
    cebus_lineage_deinit(&lineage);
    cebus_pool_deinit(&pool);
}

TestSuite(choose, .init = setup, .fini = teardown);

/** Places a resident value of `units`, rebuildable at `cost`, last used at `tick`. */
static cebus_candidate *place(uint64_t units, uint64_t cost, uint64_t tick)
{
    cebus_candidate *candidate = &candidates[count++];
    cebus_call *call = cebus_call_create(&lineage, "op", 0, 1, 0);
    cebus_value_init(&candidate->value, units * UNIT);
    candidate->value.resident = true;
    candidate->zone = CEBUS_ZONE_EXPENSIVE;
    call->cost_ns = cost;
    cebus_call_make(call, 0, &candidate->value);
    cr_assert_eq(cebus_arena_place(&arena, units * UNIT, CEBUS_ZONE_EXPENSIVE, &candidate->block),
                 CEBUS_PLACED);
    candidate->block->owner = candidate;
    candidate->block->tick = tick;
    return candidate;
}

static void fill_the_rest(void)
{
    cebus_block *block;
    while (cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &block) == CEBUS_PLACED)
        continue;
}

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
    cebus_call_make(call, 0, &child->value);
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

Test(choose, finds_policies_by_name)
{
    cr_expect_eq(cebus_policy_find("dtr-local"), &cebus_policy_dtr_local);
    cr_expect_null(cebus_policy_find("best"));
    cr_expect_null(cebus_policy_at(100));
}
