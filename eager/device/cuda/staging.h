/**
 * staging.h: copies between the device and memory of the program that is not page-locked. They go
 * through page-locked pieces, taken once: uploads return as soon as the bytes are in them
 * (the host waits only when all pieces are on their way), host reads wait for each piece. Kernels
 * move them (mapped.h), so that neither waits behind swaps.
 *
 * And copies on the device whose ranges overlap: through a piece of device memory, taken once.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_STAGING_H
#define CEBUS_EAGER_DEVICE_CUDA_STAGING_H

#include "eager/device/cuda/streams.h"

#define CEBUS_STAGING_PIECES 64
#define CEBUS_STAGING_BYTES (UINT64_C(256) << 10)
#define CEBUS_BOUNCE_BYTES (UINT64_C(16) << 20)

typedef struct cebus_cuda_staging {
    char *pieces;                         /**< page-locked, CEBUS_STAGING_PIECES of them */
    uint64_t marks[CEBUS_STAGING_PIECES]; /**< of the compute stream: free from then on */
    unsigned next;
    char *bounce;     /**< on the device, CEBUS_BOUNCE_BYTES */
    cebus_cuda *cuda; /**< whose; borrowed */
} cebus_cuda_staging;

/** `cuda` has its compute stream. */
cebus_status cebus_staging_init(cebus_cuda_staging *staging, cebus_cuda *cuda);
void cebus_staging_deinit(cebus_cuda_staging *staging);

/** On the compute stream; `from` may go when it returns. */
cebus_status cebus_staging_upload(cebus_cuda_staging *staging, cebus_cuda_streams *streams,
                                  void *to, const void *from, uint64_t bytes);
/** On the compute stream; complete when it returns. */
cebus_status cebus_staging_download(cebus_cuda_staging *staging, cebus_cuda_streams *streams,
                                    void *to, const void *from, uint64_t bytes);
/** As memmove, on the compute stream. */
cebus_status cebus_staging_move(cebus_cuda_staging *staging, cebus_cuda_streams *streams, void *to,
                                const void *from, uint64_t bytes);

#endif
