/**
 * program_custom.h: a user's own ops for random programs: two outputs of which one may die,
 * random numbers, a write in place, one that must never run again.
 */
#ifndef CEBUS_TESTS_PROPERTY_PROGRAM_CUSTOM_H
#define CEBUS_TESTS_PROPERTY_PROGRAM_CUSTOM_H

#include <cebus/cebus.h>

enum {
    CEBUS_PROGRAM_CUSTOM_OPS = 4
};

/** Each program starts with fresh counts of runs. */
void cebus_program_custom_reset(void);

extern const cebus_custom_op cebus_program_custom[CEBUS_PROGRAM_CUSTOM_OPS];

#endif
