/**
 * shifting.h: what the tests of shifts and stages share: shifts in a pool, and random numbers.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_SHIFTING_H
#define CEBUS_TESTS_UNIT_EVICT_SHIFTING_H

#include <criterion/criterion.h>

#include "evict/places/shifts.h"
#include "tests/support/host.h"

static cebus_test_host host;
static cebus_pool pool;
static cebus_shifts shifts;

static inline void setup(void)
{
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    pool.direct = true;
    cebus_shifts_init(&shifts, &pool);
}

static inline void teardown(void)
{
    cebus_shifts_deinit(&shifts);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

static uint64_t state;

static inline uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

#endif
