/**
 * device_cuda.h: one CUDA device instance (one per runtime), as the device layer sees it.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_DEVICE_CUDA_H
#define CEBUS_EAGER_DEVICE_CUDA_DEVICE_CUDA_H

#include "eager/device/cuda/costs.h"
#include "eager/device/cuda/pinned.h"
#include "eager/device/cuda/slab.h"
#include "eager/device/cuda/staging.h"
#include "eager/device/cuda/streams.h"

struct cebus_device {
    cebus_cuda cuda; /**< what kernels see */
    cebus_cuda_streams streams;
    cebus_cuda_slab slab;
    cebus_cuda_staging staging;
    cebus_cuda_pinned pinned;
    cebus_cuda_costs costs;
    uint64_t outside_at_start; /**< what opening it took (outside.h) */
    uint64_t used_at_start;    /**< bytes in use on the device then, as the context counts */
    uint64_t memory_bytes;
    uint64_t out_rate, in_rate, copy_rate; /**< measured when it was opened */
    uint64_t latency_ns;                   /**< of a copy to the host, the same */
};

extern const cebus_device_ops cebus_device_cuda;

/** Whether device `ordinal` can be opened: CEBUS_OK, or CEBUS_UNSUPPORTED that says what is
 * missing: a driver, a newer driver, a device at all, one of that number, one that is not too old.
 */
cebus_status cebus_cuda_available(int ordinal);

/** Reads "cuda", "cuda:1" or "cuda:1,tf32=on". */
cebus_status cebus_cuda_parse(const char *name, int *out_ordinal, bool *out_tf32);

/** Streams, handles and buffers; measures the link. All of the device's allocations happen here. */
cebus_status cebus_cuda_start(cebus_device *device);
/** Gives back what start() made, also when it failed half-way. */
void cebus_cuda_stop(cebus_device *device);

#endif
