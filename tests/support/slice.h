/**
 * slice.h: a part of what takes too long at once, under a sanitizer say: CEBUS_TEST_SLICE=3/16 in
 * the environment runs every sixteenth item, from the third on. The slices 1/16 to 16/16 are the
 * whole. What an item is the test says: a fault of a sweep, a setting of a subject.
 */
#ifndef CEBUS_TESTS_SUPPORT_SLICE_H
#define CEBUS_TESTS_SUPPORT_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/** Whether item `number`, from 0 on, is to run. Ends the program with status 2 where the
 * environment makes no sense. */
bool cebus_test_slice_has(uint64_t number);
/** Whether there are items that do not run: a sweep may then have none. */
bool cebus_test_slice_is_part(void);

#endif
