/**
 * slab.h: the one range of device addresses that tensors live in. Addresses are reserved for all
 * that the budget can grow to; memory is mapped behind them chunk by chunk as far as the budget
 * reaches, and unmapped when it shrinks (CUDA's virtual memory management). The driver's functions
 * are asked from the runtime, so that nothing links against libcuda.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_SLAB_H
#define CEBUS_EAGER_DEVICE_CUDA_SLAB_H

#include <cuda.h>
#include <cudaTypedefs.h> /* after cuda.h, which it does not include */

#include "eager/device/cuda/cuda.h"

/** Most bytes of a chunk: the budget gives memory back in such steps. */
#define CEBUS_SLAB_CHUNK (UINT64_C(32) << 20)

typedef struct cebus_slab_chunk {
    uint64_t offset, bytes;
    CUmemGenericAllocationHandle handle;
} cebus_slab_chunk;

/** The driver's functions by name. */
typedef struct cebus_slab_driver {
    PFN_cuMemGetAllocationGranularity_v10020 granularity;
    PFN_cuMemAddressReserve_v10020 reserve;
    PFN_cuMemAddressFree_v10020 free;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
} cebus_slab_driver;

typedef struct cebus_cuda_slab {
    const cebus_host_allocator *host; /**< borrowed */
    cebus_slab_driver driver;
    CUmemAllocationProp memory; /**< what chunks are made of */
    uint64_t step;              /**< of sizes and offsets of chunks */
    char *base;
    uint64_t reserved;
    cebus_slab_chunk *chunks; /**< ascending, without gaps, from offset 0 */
    size_t count, capacity;
    uint64_t committed; /**< end of the last */
    uint64_t wanted;    /**< how far the budget reaches */
} cebus_cuda_slab;

/** CEBUS_UNSUPPORTED where the driver or the device has no virtual memory management. */
cebus_status cebus_slab_init(cebus_cuda_slab *slab, int ordinal, const cebus_host_allocator *host);
cebus_status cebus_slab_reserve(cebus_cuda_slab *slab, uint64_t bytes, char **out_base);
/** Maps memory behind [0, to). On failure what was mapped before stays, and no more. */
cebus_status cebus_slab_commit(cebus_cuda_slab *slab, uint64_t to);
/** Gives back the chunks that lie beyond `from`. Nothing enqueued may use them any more. */
void cebus_slab_decommit(cebus_cuda_slab *slab, uint64_t from);
/** All memory and the addresses. */
void cebus_slab_release(cebus_cuda_slab *slab);

#endif
