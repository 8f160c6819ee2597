/**
 * copy.h: elements moved or set on the device, whatever their strides; every bit pattern survives.
 * For kernels of all families (C linkage).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_COPY_H
#define CEBUS_EAGER_DEVICE_CUDA_COPY_H

#include "eager/device/cuda/cuda.h"
#include "layout/number.h"

CEBUS_BEGIN_DECLS

/** to := from, of one shape and type. */
void cebus_cuda_copy(const cebus_launch *launch, const cebus_array *to, const cebus_array *from);
/** Every element of `to` := the low bytes of `bits`. */
void cebus_cuda_fill(const cebus_launch *launch, const cebus_array *to, uint64_t bits);
/** `value` as an element of `dtype`, in the low bytes: rounded, saturated or "not zero". */
uint64_t cebus_cuda_encode(cebus_dtype dtype, double value);

/** Bytes of workspace that cebus_cuda_dense() takes, a multiple of 256; 0 when `view` lies like
 * `layout`, a dense view of the same shape. */
uint64_t cebus_cuda_dense_bytes(const cebus_view *view, const cebus_view *layout);
/** The elements of `x` in the order of `layout`: x's own, or a copy at *scratch, which then moves
 * on by the bytes it took. */
const void *cebus_cuda_dense(const cebus_launch *launch, const cebus_array *x,
                             const cebus_view *layout, char **scratch);

/** Pieces of a workspace begin at multiples of this. */
static inline uint64_t cebus_cuda_round(uint64_t bytes)
{
    return cebus_align_up(bytes, 256);
}

CEBUS_END_DECLS

#endif
