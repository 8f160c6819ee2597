/**
 * move_terms.h: what it takes to move bytes on the device.
 */
#ifndef CEBUS_EVICT_CHOICE_MOVE_TERMS_H
#define CEBUS_EVICT_CHOICE_MOVE_TERMS_H

#include <stdint.h>

/** Bytes/s, and ns for each copy beside that. Rate 0: nothing moves. */
typedef struct cebus_move_terms {
    uint64_t rate;
    uint64_t ns;
} cebus_move_terms;

#endif
