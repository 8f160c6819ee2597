/**
 * asking.h: the advisor asked for a plan that it must have, and its plans held to the checker. For
 * inclusion by one test program.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_ASKING_H
#define CEBUS_TESTS_UNIT_EVICT_ASKING_H

#include <stdlib.h>

#include <criterion/criterion.h>

#include "tests/unit/evict/network.h"

static const cebus_advise_link link_10 = {
    .out = 10000000000, .in = 10000000000, .both = 16000000000, .latency_ns = 10};

static inline cebus_advise_options options_for(uint64_t memory, uint64_t generations)
{
    cebus_advise_options options = CEBUS_ADVISE_OPTIONS_INIT;
    options.memory = memory;
    options.link = link_10;
    options.generations = generations;
    return options;
}

static inline cebus_advice *ask(const network *n, const cebus_advise_options *options)
{
    cebus_advise_result result;
    cebus_advice *plan;
    cr_assert_eq(cebus_advise(&n->program, options, &result, &plan), CEBUS_OK);
    cr_assert_eq(result.verdict, CEBUS_ADVISE_PLANNED, "verdict %d", (int)result.verdict);
    return plan;
}

static inline uint64_t expect_good(const network *n, const cebus_advice *plan)
{
    char why[256];
    uint64_t ns;
    cr_assert_eq(cebus_advice_check(&n->program, &link_10, plan, why, sizeof why, &ns), CEBUS_OK,
                 "%s", why);
    cr_expect_leq(plan->height, plan->memory);
    cr_expect(llabs((long long)ns - (long long)plan->time_ns) <= (long long)plan->time_ns / 50);
    return ns;
}

#endif
