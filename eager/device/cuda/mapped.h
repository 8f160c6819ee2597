/**
 * mapped.h: copies between the device and page-locked host memory by a kernel, which reaches that
 * memory as the device's own ("mapped" or "zero-copy" in CUDA's words).
 *
 * A copy engine has one queue for each direction, whatever stream a copy is of: the four bytes of a
 * loss would wait behind all swaps that were enqueued before, for milliseconds. A kernel waits for
 * nothing but its own stream.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_MAPPED_H
#define CEBUS_EAGER_DEVICE_CUDA_MAPPED_H

#include "eager/device/cuda/cuda.h"

CEBUS_BEGIN_DECLS

/** to := from on the compute stream, of ranges that do not overlap; one of them, or both, on the
 * host and page-locked. Any alignment will do; that of 16 bytes is quickest. */
cebus_status cebus_mapped_copy(cebus_cuda *cuda, void *to, const void *from, uint64_t bytes);

CEBUS_END_DECLS

#endif
