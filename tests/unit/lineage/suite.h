/**
 * suite.h: a program of its own for each test of a suite, of which nothing may be left in the end.
 * For inclusion by one test program.
 */
#ifndef CEBUS_TESTS_UNIT_LINEAGE_SUITE_H
#define CEBUS_TESTS_UNIT_LINEAGE_SUITE_H

#include <criterion/criterion.h>

#include "tests/unit/lineage/program.h"

static program p;

static void setup(void)
{
    program_init(&p);
}

static void teardown(void)
{
    cr_expect_eq(p.live, 0, "%zu values leaked", p.live);
    cr_expect_eq(p.lineage.live_calls, 0);
    program_deinit(&p);
    cr_expect_eq(p.pool.live_objects, 0, "%d objects leaked", (int)p.pool.live_objects);
}

#endif
