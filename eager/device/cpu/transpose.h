/**
 * transpose.h: copies between memory orders whose innermost dimensions differ (a transposed matrix,
 * channels first to channels last), tile by tile, so that every cache line is read and written
 * once.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_TRANSPOSE_H
#define CEBUS_EAGER_DEVICE_CPU_TRANSPOSE_H

#include "eager/op.h"

/**
 * Copies `from` to `to`, of the same shape and type, when the former's contiguous dimension is
 * another one than the latter's and both are long enough for tiles. False: nothing was done, and a
 * plain copy does as well.
 */
bool cebus_transpose_copy(int threads, const cebus_array *to, const cebus_array *from);

#endif
