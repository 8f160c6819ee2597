/**
 * stalls.h: how long the compute stream waits for copies: a timed event before each wait and one
 * behind it, collected once they are reached. What the host sees at once, whether a copy is done
 * when its reader is launched, says nothing of it: the host is far ahead.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_STALLS_H
#define CEBUS_EAGER_DEVICE_CUDA_STALLS_H

#include "eager/device/cuda/cuda.h"

#define CEBUS_STALL_PAIRS 256
/** What two events beside each other are apart: no wait. */
#define CEBUS_STALL_LEAST_NS 3000

typedef struct cebus_cuda_stall {
    cudaEvent_t before, behind;
} cebus_cuda_stall;

typedef struct cebus_cuda_stalls {
    cebus_cuda_stall pairs[CEBUS_STALL_PAIRS]; /**< a ring */
    uint64_t given, taken;
    uint64_t ns; /**< of those taken */
} cebus_cuda_stalls;

cudaError_t cebus_stalls_init(cebus_cuda_stalls *stalls);
void cebus_stalls_deinit(cebus_cuda_stalls *stalls);

/** Before `stream` is made to wait. NULL: all pairs are on their way, this wait is not counted. */
cebus_cuda_stall *cebus_stalls_begin(cebus_cuda_stalls *stalls, cudaStream_t stream);
/** Behind the wait; `stall` may be NULL. */
void cebus_stalls_end(cebus_cuda_stalls *stalls, cudaStream_t stream,
                      const cebus_cuda_stall *stall);
/** The sum of all waits that are over; waits for nothing. */
uint64_t cebus_stalls_collect(cebus_cuda_stalls *stalls);

#endif
