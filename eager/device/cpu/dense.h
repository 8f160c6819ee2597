/**
 * dense.h: inputs brought into the memory order a kernel works in. Inputs that lie so already
 * are read where they are; others are copied to scratch first.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_DENSE_H
#define CEBUS_EAGER_DEVICE_CPU_DENSE_H

#include "eager/op.h"

/** Scratch bytes cebus_dense_read() needs; 0 when `view` lies like `layout` (a dense view of the
 * same shape). Multiples of 64. */
uint64_t cebus_dense_bytes(const cebus_view *view, const cebus_view *layout);

/** The elements of `x` in the order of `layout`: x's own, or a copy at *scratch, which then
 * moves on by its size. */
const void *cebus_dense_read(int threads, const cebus_array *x, const cebus_view *layout,
                             char **scratch);

#endif
