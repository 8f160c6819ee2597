/**
 * The CPU device: kernels run at once on the calling thread (and OpenMP's), copies to and from the
 * host tier and the spill file on threads of their own (streams.h). The slab is an anonymous
 * mapping whose pages are committed by the first write.
 *
 * "cpu:link=2GB" has the host tier at the end of a link of so many bytes/s, for tests and what-ifs.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cebus/runtime.h>

#include "cebus_config.h"
#include "eager/device/cpu/cpu.h"
#include "eager/device/cpu/dnnl_cache.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/pages.h"
#include "eager/device/cpu/streams.h"
#include "eager/device/device.h"
#include "layout/number.h"

#if CEBUS_HAVE_OPENMP
#include <omp.h>
#endif

struct cebus_device {
    cebus_cpu cpu;
    cebus_host_allocator host;
    int threads;
    uint64_t rss_at_open;
    cebus_cpu_pages pages; /**< of the slab */
    uint64_t committed;    /**< nothing lies beyond; 0: nobody says what is used */
    uint64_t launches;
    cebus_cpu_streams streams;
};

static const cebus_kernel *const families[] = {
    cebus_cpu_fill,       cebus_cpu_random,    cebus_cpu_cast,    cebus_cpu_unary, cebus_cpu_binary,
    cebus_cpu_inplace,    cebus_cpu_reduce,    cebus_cpu_softmax, cebus_cpu_loss,  cebus_cpu_matmul,
    cebus_cpu_attention,  cebus_cpu_recurrent, cebus_cpu_conv,    cebus_cpu_pool,  cebus_cpu_norm,
    cebus_cpu_batch_norm, cebus_cpu_resize,    cebus_cpu_index,   cebus_cpu_join,  cebus_cpu_optim,
    cebus_cpu_amp,
};

static int available_threads(void)
{
#if CEBUS_HAVE_OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

static uint64_t resident_set(void)
{
    unsigned long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/** Growth of the process beside the slab since the device opened: library handles, generated
 * code, their hidden scratch, and whatever the program itself took meanwhile. */
static uint64_t outside_bytes(cebus_device *device)
{
    uint64_t now = resident_set();
    uint64_t known = device->rss_at_open + cebus_cpu_pages_count(&device->pages);
    return now > known ? now - known : 0;
}

/** What follows the colon, if any: "link=SIZE". */
static bool read_link(const char *name, uint64_t *out_rate)
{
    static const char key[] = "link=";
    const char *colon = strchr(name, ':');
    if (colon == NULL)
        return true;
    return strncmp(colon + 1, key, sizeof key - 1) == 0 &&
           cebus_size_parse(colon + sizeof key, 0, out_rate) == CEBUS_OK && *out_rate > 0;
}

static cebus_status cpu_open(const cebus_device_options *options, cebus_device **out)
{
    const cebus_host_allocator *host = options->host;
    uint64_t link = 0;
    if (options->unlimited || options->profile != NULL || !read_link(options->name, &link))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "device cpu",
                          "\"%s\": the CPU is one machine with real addresses and real costs: "
                          "\"cpu\", or \"cpu:link=2GB\" to play a link of so many bytes/s; layout "
                          "\"commodity\" and profiles are for sim:*",
                          options->name);
    cebus_device *device = host->alloc(host->context, sizeof *device);
    if (device == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device cpu", "no host memory to open it");
    memset(device, 0, sizeof *device);
    device->host = *host;
    device->threads = options->threads > 0 ? options->threads : available_threads();
    device->rss_at_open = resident_set();
    cebus_cpu_streams_init(&device->streams);
    device->streams.rate = link;
    *out = device;
    return CEBUS_OK;
}

static void cpu_close(cebus_device *device)
{
    cebus_cpu_streams_deinit(&device->streams);
    cebus_dnnl_destroy(device->cpu.dnnl);
    device->host.free(device->host.context, device);
}

/** The least of physical memory and the cgroup's limit (v2, then v1). */
static uint64_t usable_memory(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        FILE *file = fopen(limits[i], "re");
        unsigned long long limit;
        if (file == NULL)
            continue;
        if (fscanf(file, "%llu", &limit) == 1 && limit > 0 && limit < bytes)
            bytes = limit;
        fclose(file);
    }
    return bytes;
}

static void cpu_query(cebus_device *device, cebus_device_info *out)
{
    uint64_t usable = usable_memory();
    *out = (cebus_device_info){
        .memory_bytes = usable,
        .host_bytes = usable,
        .alignment = 64,
        .outside_bytes = outside_bytes(device),
        .out_rate = device->streams.rate,
        .in_rate = device->streams.rate,
        .latency_ns = cebus_cpu_streams_latency(&device->streams),
        .stall_ns = device->streams.stall_ns,
        .threads = device->threads,
    };
}

/** Counted on the program's thread, which asks. */
static uint64_t cpu_stalled(cebus_device *device)
{
    return device->streams.stall_ns;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_clock(cebus_device *device, cebus_stream stream)
{
    (void)device;
    (void)stream;
    return now_ns();
}

static cebus_status cpu_slab_reserve(cebus_device *device, uint64_t bytes, char **out_base)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device cpu",
                          "cannot reserve %llu bytes of address space", (unsigned long long)bytes);
#ifdef MADV_HUGEPAGE
    madvise(base, bytes, MADV_HUGEPAGE);
#endif
    *out_base = base;
    cebus_cpu_pages_open(&device->pages, base, bytes, &device->host);
    return CEBUS_OK;
}

static cebus_status cpu_slab_commit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    (void)base;
    (void)from;
    if (to > device->committed)
        device->pages.used = device->committed = to;
    return CEBUS_OK;
}

static void cpu_slab_decommit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    cebus_cpu_streams_finish(&device->streams); /* copies may still read what goes */
    from = cebus_align_up(from, page);
    to = to / page * page;
    if (from >= to)
        return;
    madvise(base + from, to - from, MADV_DONTNEED);
    cebus_cpu_pages_forget(&device->pages, from, to);
}

static void cpu_slab_idle(cebus_device *device, uint64_t from, uint64_t to)
{
    device->pages.idle_from = from;
    device->pages.idle_to = to;
}

static void cpu_slab_release(cebus_device *device, char *base, uint64_t bytes)
{
    cebus_cpu_streams_finish(&device->streams);
    cebus_cpu_pages_close(&device->pages, &device->host);
    munmap(base, bytes);
}

static cebus_status cpu_copy(cebus_device *device, void *to, const void *from, uint64_t bytes,
                             cebus_copy_kind kind)
{
    (void)device;
    (void)kind;
    memmove(to, from, bytes);
    return CEBUS_OK;
}

static cebus_status cpu_copy_async(cebus_device *device, cebus_stream stream, void *to,
                                   const void *from, uint64_t bytes, cebus_copy_kind kind)
{
    (void)kind;
    cebus_cpu_stream_give(&device->streams, stream,
                          (cebus_cpu_work){.to = to, .from = from, .bytes = bytes});
    return CEBUS_OK;
}

static cebus_status cpu_stream_call(cebus_device *device, cebus_stream stream,
                                    void (*run)(void *context), void *context)
{
    cebus_cpu_stream_give(&device->streams, stream,
                          (cebus_cpu_work){.run = run, .context = context});
    return CEBUS_OK;
}

static uint64_t cpu_stream_mark(cebus_device *device, cebus_stream stream)
{
    return stream == CEBUS_STREAM_COMPUTE ? device->launches
                                          : cebus_cpu_stream_mark(&device->streams, stream);
}

static void cpu_stream_wait(cebus_device *device, cebus_stream stream, cebus_stream on,
                            uint64_t mark)
{
    cebus_cpu_stream_wait(&device->streams, stream, on, mark);
}

static bool cpu_stream_reached(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    return stream == CEBUS_STREAM_COMPUTE ||
           cebus_cpu_stream_reached(&device->streams, stream, mark);
}

static cebus_status cpu_stream_await(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    cebus_cpu_stream_wait(&device->streams, CEBUS_STREAM_COMPUTE, stream, mark);
    return CEBUS_OK;
}

static void *cpu_host_alloc(cebus_device *device, uint64_t bytes)
{
    return device->host.alloc(device->host.context, bytes);
}

static void cpu_host_free(cebus_device *device, void *pointer, uint64_t bytes)
{
    (void)bytes;
    device->host.free(device->host.context, pointer);
}

static uint64_t cpu_discard(cebus_device *device, cebus_stream stream, char *at, uint64_t bytes)
{
    (void)device;
    (void)stream;
    (void)at;
    (void)bytes;
    return 0;
}

static void *cpu_context(cebus_device *device)
{
    return &device->cpu;
}

static const cebus_kernel *cpu_kernel_find(cebus_device *device, const char *op)
{
    (void)device;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        for (const cebus_kernel *kernel = families[i]; kernel != NULL && kernel->op != NULL;
             kernel++) {
            if (strcmp(kernel->op, op) == 0)
                return kernel;
        }
    }
    return NULL;
}

static cebus_status cpu_launch(cebus_device *device, const cebus_kernel *kernel,
                               const cebus_launch *launch, uint64_t *out_ns)
{
    uint64_t start = now_ns();
#if CEBUS_HAVE_OPENMP
    if (omp_get_max_threads() != device->threads)
        omp_set_num_threads(device->threads);
#endif
    cebus_status status = kernel->run(launch);
    device->launches++;
    *out_ns = now_ns() - start;
    return status;
}

static size_t cpu_collect(cebus_device *device, size_t n, cebus_late_cost *out)
{
    (void)device;
    (void)n;
    (void)out;
    return 0;
}

static cebus_status cpu_synchronize(cebus_device *device)
{
    cebus_cpu_streams_finish(&device->streams);
    return CEBUS_OK;
}

const cebus_device_ops cebus_device_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .query = cpu_query,
    .slab_reserve = cpu_slab_reserve,
    .slab_commit = cpu_slab_commit,
    .slab_decommit = cpu_slab_decommit,
    .slab_idle = cpu_slab_idle,
    .slab_release = cpu_slab_release,
    .copy = cpu_copy,
    .copy_async = cpu_copy_async,
    .stream_call = cpu_stream_call,
    .discard = cpu_discard,
    .stream_mark = cpu_stream_mark,
    .stream_wait = cpu_stream_wait,
    .stream_reached = cpu_stream_reached,
    .stream_await = cpu_stream_await,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .context = cpu_context,
    .kernel_find = cpu_kernel_find,
    .launch = cpu_launch,
    .collect = cpu_collect,
    .synchronize = cpu_synchronize,
    .clock = cpu_clock,
    .stalled = cpu_stalled,
};
