/**
 * room.h: what the tests of choices share: an arena of some units, and values in it that can be
 * made again at a cost.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_ROOM_H
#define CEBUS_TESTS_UNIT_EVICT_ROOM_H

#include <criterion/criterion.h>
#include <string.h>

#include "evict/choice/choose.h"
#include "lineage/cost.h"

#define UNIT 64
#define MAX 24

static cebus_pool pool;
static cebus_arena arena;
static cebus_lineage lineage;
static cebus_candidate candidates[MAX];
static size_t count;

static inline void setup(void)
{
    cebus_pool_init(&pool, NULL);
    cebus_lineage_init(&lineage, &pool);
    cr_assert_eq(cebus_arena_init(&arena, MAX * UNIT, UNIT, &pool), CEBUS_PLACED);
    memset(candidates, 0, sizeof candidates);
    count = 0;
}

static inline void teardown(void)
{
    cebus_arena_deinit(&arena);
    cebus_lineage_deinit(&lineage);
    cebus_pool_deinit(&pool);
}

/** Places a resident value of `units`, rebuildable at `cost`, last used at `tick`. */
static inline cebus_candidate *place(uint64_t units, uint64_t cost, uint64_t tick)
{
    cebus_candidate *candidate = &candidates[count++];
    cebus_call *call = cebus_call_create(&lineage, "op", 0, 1, 0);
    cebus_value_init(&candidate->value, units * UNIT);
    candidate->value.resident = true;
    candidate->zone = CEBUS_ZONE_EXPENSIVE;
    call->cost_ns = cost;
    cebus_call_make(&lineage, call, 0, &candidate->value);
    cr_assert_eq(cebus_arena_place(&arena, units * UNIT, CEBUS_ZONE_EXPENSIVE, &candidate->block),
                 CEBUS_PLACED);
    candidate->block->owner = candidate;
    candidate->block->tick = tick;
    return candidate;
}

static inline void fill_the_rest(void)
{
    cebus_block *block;
    while (cebus_arena_place(&arena, UNIT, CEBUS_ZONE_EXPENSIVE, &block) == CEBUS_PLACED)
        continue;
}

#endif
