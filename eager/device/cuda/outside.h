/**
 * outside.h: device memory beside the slab: the context, library handles, code that was loaded,
 * buffers of the device layer. The driver's own count of the whole device (NVML, loaded if it is
 * there) before anything was made is the base; without it the base is what the first look into the
 * context says, which leaves the context itself out. What other processes take or give back
 * meanwhile is counted, too.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_OUTSIDE_H
#define CEBUS_EAGER_DEVICE_CUDA_OUTSIDE_H

#include "eager/device/cuda/cuda.h"

/** Bytes in use on device `ordinal` by the driver's count, without making a context; false when
 * that count is not to be had. */
bool cebus_outside_used(int ordinal, uint64_t *out_bytes);

#endif
