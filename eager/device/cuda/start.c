/**
 * start.c: what a device makes when it is opened, and gives back when it is closed. The only file
 * with staging.c and slab.c where the device's memory is allocated or freed.
 */
#include <cublasLt.h>
#include <cudnn.h>

#include "eager/device/cuda/device_cuda.h"
#include "eager/device/cuda/outside.h"
#include "eager/device/cuda/plans.h"

/** Of each copy that is measured; the best counts. */
#define TRIES 8

static const char op[] = "device cuda";

static cebus_status read_properties(cebus_cuda *cuda)
{
    int major = 0, minor = 0, shared = 0;
    const struct {
        enum cudaDeviceAttr attribute;
        int *out;
    } wanted[] = {
        {cudaDevAttrComputeCapabilityMajor, &major},
        {cudaDevAttrComputeCapabilityMinor, &minor},
        {cudaDevAttrMultiProcessorCount, &cuda->processors},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        cebus_status status = cebus_cuda_check(
            cudaDeviceGetAttribute(wanted[i].out, wanted[i].attribute, cuda->ordinal), op,
            "cudaDeviceGetAttribute");
        if (status != CEBUS_OK)
            return status;
    }
    cuda->capability = 10 * major + minor;
    cuda->shared_bytes = (uint64_t)shared;
    return CEBUS_OK;
}

/** Bytes in use on the device before and after opening it, by two counts of which the first may be
 * missing: only differences within one mean anything. */
typedef struct usage {
    bool driver_known;
    uint64_t driver, context;
} usage;

/** The first look into the context makes it. */
static cebus_status look(const cebus_device *device, usage *out, uint64_t *out_free)
{
    size_t free = 0, total = 0;
    out->driver_known = cebus_outside_used(device->cuda.ordinal, &out->driver);
    cebus_status status =
        cebus_cuda_check(cudaSetDevice(device->cuda.ordinal), op, "cudaSetDevice");
    if (status == CEBUS_OK)
        status = cebus_cuda_check(cudaMemGetInfo(&free, &total), op, "cudaMemGetInfo");
    out->context = total - free;
    *out_free = free;
    return status;
}

static cebus_status note_usage(cebus_device *device, const usage *before)
{
    usage after;
    cebus_status status = look(device, &after, &device->memory_bytes);
    bool driver = before->driver_known && after.driver_known;
    uint64_t from = driver ? before->driver : before->context;
    uint64_t to = driver ? after.driver : after.context;
    device->outside_at_start = to > from ? to - from : 0;
    device->used_at_start = after.context;
    return status;
}

static cebus_status make_fault(cebus_cuda *cuda)
{
    void *fault = NULL;
    cebus_status status = cebus_cuda_check(
        cudaHostAlloc(&fault, sizeof *cuda->fault, cudaHostAllocPortable | cudaHostAllocMapped), op,
        "page-locked memory for reports of kernels");
    if (status == CEBUS_OK)
        memset(fault, 0, sizeof *cuda->fault);
    cuda->fault = fault;
    return status;
}

static cebus_status make_handles(cebus_cuda *cuda)
{
    cebus_status status = cebus_cuda_check_blas(cublasLtCreate(&cuda->blas), op, "cublasLtCreate");
    if (status == CEBUS_OK)
        status = cebus_cuda_check_dnn(cudnnCreate(&cuda->dnn), op, "cudnnCreate");
    if (status == CEBUS_OK)
        status =
            cebus_cuda_check_dnn(cudnnSetStream(cuda->dnn, cuda->stream), op, "cudnnSetStream");
    return status;
}

/** Copies of one kind, each between two timed events. */
typedef struct way {
    void *to;
    const void *from;
    enum cudaMemcpyKind kind;
    cudaStream_t stream;
    const cebus_cuda_timing *pair;
    float best; /**< ms; 0: none was measured */
} way;

static bool way_start(const way *w, uint64_t bytes)
{
    return cudaEventRecord(w->pair->start, w->stream) == cudaSuccess &&
           cudaMemcpyAsync(w->to, w->from, bytes, w->kind, w->stream) == cudaSuccess &&
           cudaEventRecord(w->pair->stop, w->stream) == cudaSuccess;
}

static void way_end(way *w)
{
    float ms = 0;
    bool ok = cudaEventSynchronize(w->pair->stop) == cudaSuccess &&
              cudaEventElapsedTime(&ms, w->pair->start, w->pair->stop) == cudaSuccess;
    if (ok && ms > 0 && (w->best == 0 || ms < w->best))
        w->best = ms;
}

/** The ways at the same time, TRIES times. */
static void measure_ways(way *ways, int n, uint64_t bytes)
{
    for (int k = 0; k < n; k++)
        ways[k].best = 0;
    for (int i = 0; i < TRIES; i++) {
        int started = 0;
        while (started < n && way_start(&ways[started], bytes))
            started++;
        for (int k = 0; k < started; k++)
            way_end(&ways[k]);
    }
}

/** Bytes/s; 0: it is not known. */
static uint64_t rate_of(float ms, uint64_t bytes)
{
    return ms > 0 ? (uint64_t)((double)bytes / (double)ms * 1e3) : 0;
}

/** The rates of both directions at once, as swaps come: either alone is faster by a tenth. What a
 * copy takes however small it is, is no part of the rate: planners add it to each copy. It is a
 * twentieth of the time of what is measured here, and swaps are much larger. */
static void measure_both(way link[2], uint64_t bytes, uint64_t *out_rates)
{
    measure_ways(link, 2, CEBUS_CUDA_ALIGNMENT);
    const float least[] = {link[0].best, link[1].best};
    measure_ways(link, 2, bytes);
    for (int i = 0; i < 2; i++) {
        const float rest = link[i].best - least[i];
        out_rates[i] = least[i] > 0 && rest > 0 ? rate_of(rest, bytes - CEBUS_CUDA_ALIGNMENT)
                                                : rate_of(link[i].best, bytes);
    }
}

static void measure_link(cebus_device *device)
{
    const cebus_cuda_staging *staging = &device->staging;
    const cebus_cuda_timing *pairs = device->costs.pairs;
    uint64_t bytes = CEBUS_STAGING_PIECES * CEBUS_STAGING_BYTES, half = CEBUS_BOUNCE_BYTES / 2;
    half = bytes / 2 < half ? bytes / 2 : half;
    way link[] = {
        {staging->pieces, staging->bounce, cudaMemcpyDeviceToHost,
         device->streams.of[CEBUS_STREAM_OUT].stream, &pairs[0], 0},
        {staging->bounce + half, staging->pieces + half, cudaMemcpyHostToDevice,
         device->streams.of[CEBUS_STREAM_IN].stream, &pairs[1], 0},
    };
    way inside = {staging->bounce,
                  staging->bounce + half,
                  cudaMemcpyDeviceToDevice,
                  device->cuda.stream,
                  &pairs[2],
                  0};
    uint64_t rates[2];
    measure_both(link, half, rates);
    measure_ways(&inside, 1, half);
    device->out_rate = rates[0];
    device->in_rate = rates[1];
    device->copy_rate = rate_of(inside.best, half);
    measure_ways(link, 1, CEBUS_CUDA_ALIGNMENT);
    device->latency_ns = (uint64_t)((double)link[0].best * 1e6);
}

static void *lock_pages(void *context, uint64_t bytes)
{
    void *base = NULL;
    (void)context;
    if (cudaHostAlloc(&base, bytes, cudaHostAllocPortable) != cudaSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    return base;
}

static void unlock_pages(void *context, void *base)
{
    (void)context;
    (void)cudaFreeHost(base);
}

cebus_status cebus_cuda_start(cebus_device *device)
{
    usage before;
    cebus_cuda *cuda = &device->cuda;
    device->pinned =
        (cebus_cuda_pinned){.host = &cuda->host, .lock = lock_pages, .unlock = unlock_pages};
    cebus_status status = look(device, &before, &device->memory_bytes);
    if (status == CEBUS_OK)
        status = read_properties(cuda);
    if (status == CEBUS_OK)
        status = cebus_streams_init(&device->streams);
    cuda->stream = device->streams.of[CEBUS_STREAM_COMPUTE].stream;
    if (status == CEBUS_OK)
        status = make_fault(cuda);
    if (status == CEBUS_OK)
        status = cebus_staging_init(&device->staging, cuda);
    if (status == CEBUS_OK)
        status = cebus_costs_init(&device->costs);
    if (status == CEBUS_OK)
        status = cebus_slab_init(&device->slab, cuda->ordinal, &cuda->host);
    if (status == CEBUS_OK)
        status = make_handles(cuda);
    if (status != CEBUS_OK)
        return status;
    measure_link(device);
    device->costs.bytes_per_us = device->copy_rate / 500000 + 1; /* each is read and written */
    return note_usage(device, &before);
}

void cebus_cuda_stop(cebus_device *device)
{
    cebus_cuda *cuda = &device->cuda;
    for (int i = 0; i < CEBUS_CUDA_PLANS_COUNT; i++)
        cebus_cuda_plans_destroy(cuda->plans[i]);
    if (cuda->dnn != NULL)
        (void)cudnnDestroy(cuda->dnn);
    if (cuda->blas != NULL)
        (void)cublasLtDestroy(cuda->blas);
    cebus_costs_deinit(&device->costs);
    cebus_pinned_deinit(&device->pinned);
    cebus_staging_deinit(&device->staging);
    cebus_slab_release(&device->slab);
    if (cuda->fault != NULL)
        (void)cudaFreeHost(cuda->fault);
    cebus_streams_deinit(&device->streams);
}
