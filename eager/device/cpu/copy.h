/**
 * copy.h: elements moved from one array to another of the same shape and type, or set to one
 * value: what the ops that only move elements are made of. In parallel; any strides; the target
 * must not have two indices for one element, and must not overlap the source.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_COPY_H
#define CEBUS_EAGER_DEVICE_CPU_COPY_H

#include "eager/op.h"

void cebus_copy_array(int threads, const cebus_array *to, const cebus_array *from);

/** `value` points to one element of the array's type. */
void cebus_copy_value(int threads, const cebus_array *to, const void *value);

#endif
