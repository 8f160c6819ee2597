/**
 * dense.h: inputs brought into the memory order a kernel works in. Inputs that lie so already
 * are read where they are; others are copied to scratch first.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_DENSE_H
#define CEBUS_EAGER_DEVICE_CPU_DENSE_H

#include "eager/op.h"
#include "layout/number.h"

/** Scratch bytes cebus_dense_read() needs; 0 when `view` lies like `layout` (a dense view of the
 * same shape). Multiples of 64. */
uint64_t cebus_dense_bytes(const cebus_view *view, const cebus_view *layout);

/** The elements of `x` in the order of `layout`: x's own, or a copy at *scratch, which then
 * moves on by its size. */
const void *cebus_dense_read(int threads, const cebus_array *x, const cebus_view *layout,
                             char **scratch);

/** The same with the row-major order of the view's own shape. An absent array stays NULL. */
uint64_t cebus_row_major_bytes(const cebus_view *view);
const void *cebus_row_major_read(int threads, const cebus_array *x, char **scratch);

/** Sizes of what lies in scratch are multiples of a cache line. */
static inline uint64_t cebus_scratch_round(uint64_t bytes)
{
    return cebus_align_up(bytes, 64);
}

/** `bytes` into the workspace of a kernel; NULL where it asked for none, as nothing has elements.
 */
static inline void *cebus_scratch_at(void *workspace, uint64_t bytes)
{
    return workspace != NULL ? (char *)workspace + bytes : NULL;
}

#endif
