/**
 * The CUDA device: launches and copies are enqueued on streams, the host goes on. What each
 * function does at once and what it enqueues is said in device.h; how streams, memory and costs
 * work, in the headers of their files.
 */
#include "eager/device/cuda/device_cuda.h"

#include <assert.h>
#include <time.h>
#include <unistd.h>

#include "eager/device/cuda/families.h"

static const char op[] = "device cuda";

/** Other code of the thread may have chosen another device. */
static cebus_status enter(const cebus_device *device)
{
    return cebus_cuda_check(cudaSetDevice(device->cuda.ordinal), op, "cudaSetDevice");
}

static void cuda_close(cebus_device *device)
{
    cebus_host_allocator host = device->cuda.host;
    (void)enter(device);
    (void)cebus_streams_finish(&device->streams);
    cebus_cuda_stop(device);
    host.free(host.context, device);
}

static cebus_status cuda_open(const cebus_device_options *options, cebus_device **out)
{
    int ordinal;
    bool tf32;
    const cebus_host_allocator *host = options->host;
    cebus_status status = cebus_cuda_parse(options->name, &ordinal, &tf32);
    if (status == CEBUS_OK && (options->unlimited || options->profile != NULL))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                            "real addresses and real costs: layout \"commodity\" and profiles are "
                            "for sim:*");
    if (status == CEBUS_OK)
        status = cebus_cuda_available(ordinal);
    if (status != CEBUS_OK)
        return status;
    cebus_device *device = host->alloc(host->context, sizeof *device);
    if (device == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to open it");
    memset(device, 0, sizeof *device);
    device->cuda.host = *host;
    device->cuda.ordinal = ordinal;
    device->cuda.tf32 = tf32;
    status = cebus_cuda_start(device);
    if (status != CEBUS_OK) {
        cebus_cuda_stop(device);
        host->free(host->context, device);
        return status;
    }
    *out = device;
    return CEBUS_OK;
}

/** What it took to open the device, and all that went since but for the slab up to the budget. */
static uint64_t outside_bytes(const cebus_device *device)
{
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess)
        return 0;
    uint64_t known = device->used_at_start + device->slab.wanted, used = total - free;
    return device->outside_at_start + (used > known ? used - known : 0);
}

static void cuda_query(cebus_device *device, cebus_device_info *out)
{
    (void)enter(device);
    *out = (cebus_device_info){
        .memory_bytes = device->memory_bytes,
        .host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
        .alignment = CEBUS_CUDA_ALIGNMENT,
        .outside_bytes = outside_bytes(device),
        .out_rate = device->out_rate,
        .in_rate = device->in_rate,
        .copy_rate = device->copy_rate,
        .latency_ns = device->latency_ns,
        .copy_ns = 4000,
        .stall_ns = cebus_stalls_collect(&device->streams.stalls),
        .host_waits = device->streams.waits,
        .threads = 1,
        .deferred = true,
        .late_costs = true,
        .remote = true,
        .commits = true,
        .timed = true,
        .pins = true,
    };
}

/* --- memory -------------------------------------------------------------------------------- */

static cebus_status cuda_slab_reserve(cebus_device *device, uint64_t bytes, char **out_base)
{
    cebus_status status = enter(device);
    return status == CEBUS_OK ? cebus_slab_reserve(&device->slab, bytes, out_base) : status;
}

static cebus_status cuda_slab_commit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    (void)base;
    (void)from;
    cebus_status status = enter(device);
    return status == CEBUS_OK ? cebus_slab_commit(&device->slab, to) : status;
}

/** Nothing that was enqueued may find its memory gone: shrinking is the one change that waits. */
static void cuda_slab_decommit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    (void)base;
    (void)to;
    (void)enter(device);
    (void)cebus_streams_finish(&device->streams);
    cebus_slab_decommit(&device->slab, from);
}

static void cuda_slab_release(cebus_device *device, char *base, uint64_t bytes)
{
    (void)base;
    (void)bytes;
    (void)enter(device);
    (void)cebus_streams_finish(&device->streams);
    cebus_slab_release(&device->slab);
}

static void *cuda_host_alloc(cebus_device *device, uint64_t bytes)
{
    return enter(device) == CEBUS_OK ? cebus_pinned_alloc(&device->pinned, bytes) : NULL;
}

static void cuda_host_free(cebus_device *device, void *pointer, uint64_t bytes)
{
    cebus_pinned_free(&device->pinned, pointer, bytes);
}

static uint64_t cuda_discard(cebus_device *device, cebus_stream stream, char *at, uint64_t bytes)
{
    (void)device;
    (void)stream;
    (void)at;
    (void)bytes;
    return 0;
}

/* --- copies -------------------------------------------------------------------------------- */

/** What a kernel found wrong with its data, once. The host has waited for it. */
static cebus_status take_fault(cebus_device *device)
{
    cebus_cuda_fault found = *device->cuda.fault;
    if (found.op == 0)
        return CEBUS_OK;
    device->cuda.fault->op = 0;
    return cebus_cuda_fault_fail(&found);
}

static cebus_status cuda_copy(cebus_device *device, void *to, const void *from, uint64_t bytes,
                              cebus_copy_kind kind)
{
    cebus_status status = enter(device);
    if (status != CEBUS_OK || bytes == 0)
        return status;
    switch (kind) {
    case CEBUS_COPY_TO_DEVICE:
        return cebus_staging_upload(&device->staging, &device->streams, to, from, bytes);
    case CEBUS_COPY_TO_HOST:
        status = cebus_staging_download(&device->staging, &device->streams, to, from, bytes);
        return status == CEBUS_OK ? take_fault(device) : status;
    case CEBUS_COPY_ON_DEVICE:
        break;
    }
    return cebus_staging_move(&device->staging, &device->streams, to, from, bytes);
}

static cebus_status cuda_copy_async(cebus_device *device, cebus_stream stream, void *to,
                                    const void *from, uint64_t bytes, cebus_copy_kind kind)
{
    static const enum cudaMemcpyKind kinds[] = {
        [CEBUS_COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
        [CEBUS_COPY_TO_HOST] = cudaMemcpyDeviceToHost,
        [CEBUS_COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice,
    };
    cebus_status status = enter(device);
    if (status != CEBUS_OK)
        return status;
    status = cebus_cuda_check(
        cudaMemcpyAsync(to, from, bytes, kinds[kind], device->streams.of[stream].stream), op,
        "cudaMemcpyAsync");
    cebus_stream_gave(&device->streams, stream);
    return status;
}

static cebus_status cuda_stream_call(cebus_device *device, cebus_stream stream,
                                     void (*run)(void *context), void *context)
{
    cebus_status status = enter(device);
    if (status != CEBUS_OK)
        return status;
    status = cebus_cuda_check(cudaLaunchHostFunc(device->streams.of[stream].stream, run, context),
                              op, "cudaLaunchHostFunc");
    cebus_stream_gave(&device->streams, stream);
    return status;
}

/* --- streams ------------------------------------------------------------------------------- */

static uint64_t cuda_stream_mark(cebus_device *device, cebus_stream stream)
{
    return device->streams.of[stream].given;
}

static void cuda_stream_wait(cebus_device *device, cebus_stream stream, cebus_stream on,
                             uint64_t mark)
{
    (void)enter(device);
    cebus_stream_follow(&device->streams, stream, on, mark);
}

static bool cuda_stream_reached(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    return enter(device) == CEBUS_OK && cebus_stream_reached(&device->streams, stream, mark);
}

static cebus_status cuda_stream_await(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    cebus_status status = enter(device);
    return status == CEBUS_OK ? cebus_stream_await(&device->streams, stream, mark) : status;
}

static cebus_status cuda_synchronize(cebus_device *device)
{
    cebus_status status = enter(device);
    if (status == CEBUS_OK)
        status = cebus_streams_finish(&device->streams);
    return status == CEBUS_OK ? take_fault(device) : status;
}

static uint64_t cuda_clock(cebus_device *device, cebus_stream stream)
{
    struct timespec now;
    (void)device;
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* --- kernels ------------------------------------------------------------------------------- */

static void *cuda_context(cebus_device *device)
{
    return &device->cuda;
}

static const cebus_kernel *cuda_kernel_find(cebus_device *device, const char *name)
{
    (void)device;
    return cebus_cuda_kernel_find(name);
}

static cebus_status cuda_launch(cebus_device *device, const cebus_kernel *kernel,
                                const cebus_launch *launch, uint64_t *out_ns)
{
    cebus_status status = enter(device);
    if (status != CEBUS_OK)
        return status;
    uint64_t waits = device->streams.waits;
    cudaStream_t stream = device->cuda.stream;
    cebus_cuda_timing *timing = cebus_costs_begin(&device->costs, stream, kernel, launch, out_ns);
    status = kernel->run(launch);
    cebus_stream_gave(&device->streams, CEBUS_STREAM_COMPUTE);
    cebus_costs_end(&device->costs, stream, timing, device->streams.of[CEBUS_STREAM_COMPUTE].given,
                    status != CEBUS_OK);
    assert(device->streams.waits == waits && "a launch made the host wait");
    (void)waits;
    return status;
}

static size_t cuda_collect(cebus_device *device, size_t n, cebus_late_cost *out)
{
    return cebus_costs_collect(&device->costs, n, out);
}

/** Known once the device got there, so for the most part in the next iteration. */
static uint64_t cuda_stalled(cebus_device *device)
{
    return cebus_stalls_collect(&device->streams.stalls);
}

const cebus_device_ops cebus_device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .query = cuda_query,
    .slab_reserve = cuda_slab_reserve,
    .slab_commit = cuda_slab_commit,
    .slab_decommit = cuda_slab_decommit,
    .slab_release = cuda_slab_release,
    .copy = cuda_copy,
    .copy_async = cuda_copy_async,
    .stream_call = cuda_stream_call,
    .discard = cuda_discard,
    .stream_mark = cuda_stream_mark,
    .stream_wait = cuda_stream_wait,
    .stream_reached = cuda_stream_reached,
    .stream_await = cuda_stream_await,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .context = cuda_context,
    .kernel_find = cuda_kernel_find,
    .launch = cuda_launch,
    .collect = cuda_collect,
    .synchronize = cuda_synchronize,
    .clock = cuda_clock,
    .stalled = cuda_stalled,
};
