/**
 * memory.c: device memory, page-locked memory and virtual memory management of the fake driver.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cuda.h>

#define MAX_RANGES 4096
#define STEP (UINT64_C(2) << 20)

typedef enum use {
    NOTHING,
    PINNED,    /**< cudaHostAlloc */
    ALLOCATED, /**< cudaMalloc */
    MAPPED,    /**< cuMemMap */
} use;

typedef struct range {
    use use;
    char *base;
    size_t bytes;
} range;

static range ranges[MAX_RANGES];
static uint64_t used = UINT64_C(10) << 20; /* the context */

static void add(use what, void *base, size_t bytes)
{
    for (int i = 0; i < MAX_RANGES; i++) {
        if (ranges[i].use == NOTHING) {
            ranges[i] = (range){what, base, bytes};
            return;
        }
    }
    cebus_fake_die("too many allocations");
}

/** The bytes of what is given back. */
static size_t drop(use what, const void *base)
{
    for (int i = 0; i < MAX_RANGES; i++) {
        if (ranges[i].use != what || ranges[i].base != base)
            continue;
        if (cebus_fake_is_used(base, ranges[i].bytes))
            cebus_fake_die("memory was given back while enqueued work uses it");
        ranges[i].use = NOTHING;
        return ranges[i].bytes;
    }
    cebus_fake_die("what was never allocated was given back");
    return 0;
}

/** Chunk by chunk: neighbours may be mapped apart. */
static bool is_in(const void *base, size_t bytes, unsigned uses)
{
    const char *at = base, *end = at + bytes;
    while (at < end) {
        const range *found = NULL;
        for (int i = 0; i < MAX_RANGES && found == NULL; i++) {
            const range *r = &ranges[i];
            if ((uses >> r->use & 1) && at >= r->base && at < r->base + r->bytes)
                found = r;
        }
        if (found == NULL)
            return false;
        at = found->base + found->bytes;
    }
    return true;
}

bool cebus_fake_is_pinned(const void *base, size_t bytes)
{
    return is_in(base, bytes, 1 << PINNED);
}

bool cebus_fake_is_device(const void *base, size_t bytes)
{
    return is_in(base, bytes, 1 << ALLOCATED | 1 << MAPPED);
}

static bool take(uint64_t bytes)
{
    if (bytes > CEBUS_FAKE_MEMORY - used)
        return false;
    used += bytes;
    return true;
}

/* --- the runtime's ------------------------------------------------------------------------- */

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    if (!take(bytes))
        return cebus_fake_last_error = cudaErrorMemoryAllocation;
    *out = aligned_alloc(512, (bytes + 511) / 512 * 512);
    add(ALLOCATED, *out, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *base)
{
    used -= drop(ALLOCATED, base);
    free(base);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    add(PINNED, *out, bytes);
    return *out != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *base)
{
    (void)drop(PINNED, base);
    free(base);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *out_free, size_t *out_total)
{
    *out_free = CEBUS_FAKE_MEMORY - used;
    *out_total = CEBUS_FAKE_MEMORY;
    return cudaSuccess;
}

/* --- the driver's, found by name ----------------------------------------------------------- */

static CUresult granularity(size_t *out, const CUmemAllocationProp *prop,
                            CUmemAllocationGranularity_flags option)
{
    (void)prop;
    (void)option;
    *out = STEP;
    return CUDA_SUCCESS;
}

static CUresult reserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr at,
                        unsigned long long flags)
{
    (void)alignment;
    (void)at;
    (void)flags;
    void *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *out = (CUdeviceptr)(uintptr_t)base;
    return base != MAP_FAILED && bytes % STEP == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult free_addresses(CUdeviceptr base, size_t bytes)
{
    return munmap((void *)(uintptr_t)base, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** A handle is the number of its bytes. */
static CUresult create(CUmemGenericAllocationHandle *out, size_t bytes,
                       const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)prop;
    (void)flags;
    *out = bytes;
    if (bytes % STEP != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return take(bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    used -= handle;
    return CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr at, size_t bytes, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)offset;
    (void)flags;
    if (bytes != handle)
        return CUDA_ERROR_INVALID_VALUE;
    add(MAPPED, (void *)(uintptr_t)at, bytes);
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access,
                           size_t count)
{
    (void)access;
    (void)count;
    int failed = mprotect((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE);
    return failed == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** What comes next to these addresses finds nothing of what was there. */
static CUresult unmap(CUdeviceptr at, size_t bytes)
{
    void *base = (void *)(uintptr_t)at;
    if (drop(MAPPED, base) != bytes)
        return CUDA_ERROR_INVALID_VALUE;
    madvise(base, bytes, MADV_DONTNEED);
    return mprotect(base, bytes, PROT_NONE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {
        {"cuMemGetAllocationGranularity", (void (*)(void))granularity},
        {"cuMemAddressReserve", (void (*)(void))reserve},
        {"cuMemAddressFree", (void (*)(void))free_addresses},
        {"cuMemCreate", (void (*)(void))create},
        {"cuMemRelease", (void (*)(void))release},
        {"cuMemMap", (void (*)(void))map},
        {"cuMemUnmap", (void (*)(void))unmap},
        {"cuMemSetAccess", (void (*)(void))set_access},
    };
    (void)version;
    (void)flags;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, name) == 0) {
            memcpy(out, &all[i].function, sizeof *out);
            *result = cudaDriverEntryPointSuccess;
            return cudaSuccess;
        }
    }
    *result = cudaDriverEntryPointSymbolNotFound;
    return cudaErrorSymbolNotFound;
}
