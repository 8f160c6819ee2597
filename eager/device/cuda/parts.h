/**
 * parts.h: a long sum that was cut into slices, each summed on its own: the slices are added in
 * order, so that the bits follow from their number alone.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_PARTS_H
#define CEBUS_EAGER_DEVICE_CUDA_PARTS_H

#include "eager/device/cuda/cuda.h"

CEBUS_BEGIN_DECLS

/** What slices of results of `dtype` are kept in: f32 of narrower floats, else the same. */
static inline cebus_dtype cebus_cuda_parts_dtype(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? CEBUS_F64 : CEBUS_F32;
}

/** out[i] = the sum of parts[s, i] over `slices`, for `n` dense elements of `dtype`, a float. On
 * the compute stream. */
void cebus_cuda_add_parts(const cebus_launch *launch, const void *parts, int64_t slices, void *out,
                          cebus_dtype dtype, int64_t n);

CEBUS_END_DECLS

#endif
