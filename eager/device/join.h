/**
 * join.h: the ops that only move elements (cat, stack, pad, roll), for every device: each is a few
 * copies between parts of arrays, and of pad fills; a part is the same memory under a view whose
 * shape is cut.
 */
#ifndef CEBUS_EAGER_DEVICE_JOIN_H
#define CEBUS_EAGER_DEVICE_JOIN_H

#include "eager/op.h"

/** How a device moves elements. */
typedef struct cebus_mover {
    /** to := from, of one shape and type. */
    void (*copy)(const cebus_launch *launch, const cebus_array *to, const cebus_array *from);
    /** Every element of `to` := the low bytes of `bits`. */
    void (*fill)(const cebus_launch *launch, const cebus_array *to, uint64_t bits);
} cebus_mover;

void cebus_join_cat(const cebus_launch *launch, const cebus_mover *mover);
void cebus_join_stack(const cebus_launch *launch, const cebus_mover *mover);
void cebus_join_pad(const cebus_launch *launch, const cebus_mover *mover);
void cebus_join_roll(const cebus_launch *launch, const cebus_mover *mover);

#endif
