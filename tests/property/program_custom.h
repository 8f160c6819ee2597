/**
 * program_custom.h: a user's own ops for random programs: two outputs of which one may die,
 * random numbers, a write in place, one that must never run again, two that fail half-way.
 */
#ifndef CEBUS_TESTS_PROPERTY_PROGRAM_CUSTOM_H
#define CEBUS_TESTS_PROPERTY_PROGRAM_CUSTOM_H

#include <cebus/cebus.h>

enum {
    CEBUS_PROGRAM_CUSTOM_OPS = 6,
    CEBUS_PROGRAM_CAREFUL_OPS = 4 /**< of these: the first so many do not fail */
};

/** Each program starts with fresh counts of runs. */
void cebus_program_custom_reset(void);

extern const cebus_custom_op cebus_program_custom[CEBUS_PROGRAM_CUSTOM_OPS];

#endif
