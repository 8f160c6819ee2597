#include "eager/device/cuda/slab.h"

#include <inttypes.h>

#include "layout/number.h"

static const char op[] = "device cuda";

/** CUresult 0 is success; its other numbers are those of cudaError_t wherever both have one. */
static cebus_status check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return CEBUS_OK;
    return cebus_fail(CEBUS_DEVICE_ERROR, op, "%s: %s (%d)", what,
                      cudaGetErrorString((cudaError_t)result), (int)result);
}

static void *driver_function(const char *name)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 10020, cudaEnableDefault, &found);
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : NULL;
}

/** Function pointers are as wide as others wherever CUDA runs. */
#define FIND(member, name)                                                                         \
    do {                                                                                           \
        void *function = driver_function(name);                                                    \
        memcpy(&driver->member, &function, sizeof function);                                       \
        if (function == NULL)                                                                      \
            return cebus_fail(CEBUS_UNSUPPORTED, op, "the driver has no %s: install a newer one",  \
                              name);                                                               \
    } while (0)

static cebus_status find_driver(cebus_slab_driver *driver)
{
    FIND(granularity, "cuMemGetAllocationGranularity");
    FIND(reserve, "cuMemAddressReserve");
    FIND(free, "cuMemAddressFree");
    FIND(create, "cuMemCreate");
    FIND(release, "cuMemRelease");
    FIND(map, "cuMemMap");
    FIND(unmap, "cuMemUnmap");
    FIND(set_access, "cuMemSetAccess");
    return CEBUS_OK;
}

cebus_status cebus_slab_init(cebus_cuda_slab *slab, int ordinal, const cebus_host_allocator *host)
{
    size_t step = 0;
    slab->host = host;
    slab->memory = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal},
    };
    cebus_status status = find_driver(&slab->driver);
    if (status == CEBUS_OK)
        status = check(
            slab->driver.granularity(&step, &slab->memory, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
            "cuMemGetAllocationGranularity");
    slab->step = step;
    return status;
}

static uint64_t round_up(const cebus_cuda_slab *slab, uint64_t bytes)
{
    return cebus_round_up_u64(bytes, slab->step);
}

cebus_status cebus_slab_reserve(cebus_cuda_slab *slab, uint64_t bytes, char **out_base)
{
    CUdeviceptr base = 0;
    uint64_t wanted = round_up(slab, bytes);
    cebus_status status =
        check(slab->driver.reserve(&base, wanted, 0, 0, 0), "cuMemAddressReserve");
    if (status != CEBUS_OK)
        return status;
    slab->base = *out_base = (char *)(uintptr_t)base;
    slab->reserved = wanted;
    return CEBUS_OK;
}

static CUdeviceptr address(const cebus_cuda_slab *slab, uint64_t offset)
{
    return (CUdeviceptr)(uintptr_t)(slab->base + offset);
}

/** Its entry in the books exists already. */
static CUresult map_chunk(cebus_cuda_slab *slab, uint64_t bytes)
{
    CUmemAccessDesc access = {.location = slab->memory.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    cebus_slab_chunk chunk = {.offset = slab->committed, .bytes = bytes};
    CUdeviceptr at = address(slab, chunk.offset);
    CUresult result = slab->driver.create(&chunk.handle, bytes, &slab->memory, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = slab->driver.map(at, bytes, 0, chunk.handle, 0);
    if (result != CUDA_SUCCESS) {
        (void)slab->driver.release(chunk.handle);
        return result;
    }
    result = slab->driver.set_access(at, bytes, &access, 1);
    if (result != CUDA_SUCCESS) {
        (void)slab->driver.unmap(at, bytes);
        (void)slab->driver.release(chunk.handle);
        return result;
    }
    slab->chunks[slab->count++] = chunk;
    slab->committed += bytes;
    return CUDA_SUCCESS;
}

static bool reserve_entry(cebus_cuda_slab *slab)
{
    if (slab->count < slab->capacity)
        return true;
    size_t capacity = slab->capacity == 0 ? 64 : 2 * slab->capacity;
    void *chunks =
        slab->host->realloc(slab->host->context, slab->chunks, capacity * sizeof *slab->chunks);
    if (chunks == NULL)
        return false;
    slab->chunks = chunks;
    slab->capacity = capacity;
    return true;
}

static void unmap_last(cebus_cuda_slab *slab)
{
    const cebus_slab_chunk *last = &slab->chunks[--slab->count];
    (void)slab->driver.unmap(address(slab, last->offset), last->bytes);
    (void)slab->driver.release(last->handle);
    slab->committed = last->offset;
}

cebus_status cebus_slab_commit(cebus_cuda_slab *slab, uint64_t to)
{
    size_t before = slab->count;
    uint64_t end = round_up(slab, to);
    CUresult result = CUDA_SUCCESS;
    while (slab->committed < end && result == CUDA_SUCCESS) {
        uint64_t left = end - slab->committed;
        result = CUDA_ERROR_OUT_OF_MEMORY;
        if (reserve_entry(slab))
            result = map_chunk(slab, left < CEBUS_SLAB_CHUNK ? left : CEBUS_SLAB_CHUNK);
    }
    if (result == CUDA_SUCCESS) {
        slab->wanted = to;
        return CEBUS_OK;
    }
    uint64_t had = slab->committed;
    while (slab->count > before)
        unmap_last(slab);
    return cebus_fail(CEBUS_DEVICE_ERROR, op,
                      "a budget of %" PRIu64 " bytes: only %" PRIu64 " could be had (%s); ask for "
                      "less, or see what else runs on the device",
                      to, had, cudaGetErrorString((cudaError_t)result));
}

void cebus_slab_decommit(cebus_cuda_slab *slab, uint64_t from)
{
    slab->wanted = from;
    while (slab->count > 0 && slab->chunks[slab->count - 1].offset >= from)
        unmap_last(slab);
}

void cebus_slab_release(cebus_cuda_slab *slab)
{
    cebus_slab_decommit(slab, 0);
    if (slab->base != NULL)
        (void)slab->driver.free(address(slab, 0), slab->reserved);
    if (slab->chunks != NULL)
        slab->host->free(slab->host->context, slab->chunks);
    slab->base = NULL;
    slab->chunks = NULL;
    slab->reserved = 0;
    slab->count = slab->capacity = 0;
}
