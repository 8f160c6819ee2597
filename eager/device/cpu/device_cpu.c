/**
 * The CPU device: kernels run at once on the calling thread (and OpenMP's), the slab is an
 * anonymous mapping whose pages are committed by the first write.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cebus_config.h"
#include "eager/device/cpu/cpu.h"
#include "eager/device/cpu/dnnl_cache.h"
#include "eager/device/cpu/families.h"
#include "eager/device/device.h"

#if CEBUS_HAVE_OPENMP
#include <omp.h>
#endif

struct cebus_device {
    cebus_cpu cpu;
    cebus_host_allocator host;
    int threads;
    uint64_t rss_at_open;
    char *slab;
    uint64_t slab_bytes;
};

static const cebus_kernel *const families[] = {
    cebus_cpu_fill,       cebus_cpu_random,    cebus_cpu_cast,    cebus_cpu_unary, cebus_cpu_binary,
    cebus_cpu_inplace,    cebus_cpu_reduce,    cebus_cpu_softmax, cebus_cpu_loss,  cebus_cpu_matmul,
    cebus_cpu_attention,  cebus_cpu_recurrent, cebus_cpu_conv,    cebus_cpu_pool,  cebus_cpu_norm,
    cebus_cpu_batch_norm, cebus_cpu_resize,    cebus_cpu_index,   cebus_cpu_join,  cebus_cpu_optim,
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

/** Pages of the slab that have memory behind them. */
static uint64_t slab_resident(const cebus_device *device)
{
    enum {
        CHUNK = 4096
    };
    unsigned char pages[CHUNK];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), count = 0;
    for (uint64_t at = 0; at < device->slab_bytes; at += CHUNK * page) {
        uint64_t bytes =
            device->slab_bytes - at < CHUNK * page ? device->slab_bytes - at : CHUNK * page;
        if (mincore(device->slab + at, bytes, pages) != 0)
            return count * page;
        for (uint64_t i = 0; i < (bytes + page - 1) / page; i++)
            count += pages[i] & 1;
    }
    return count * page;
}

/** Growth of the process beside the slab since the device opened: library handles, generated
 * code, their hidden scratch, and whatever the program itself took meanwhile. */
static uint64_t outside_bytes(const cebus_device *device)
{
    uint64_t now = resident_set();
    uint64_t known = device->rss_at_open + slab_resident(device);
    return now > known ? now - known : 0;
}

static cebus_status cpu_open(int threads, const cebus_host_allocator *host, cebus_device **out)
{
    cebus_device *device = host->alloc(host->context, sizeof *device);
    if (device == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device cpu", "no host memory to open it");
    memset(device, 0, sizeof *device);
    device->host = *host;
    device->threads = threads > 0 ? threads : available_threads();
    device->rss_at_open = resident_set();
    *out = device;
    return CEBUS_OK;
}

static void cpu_close(cebus_device *device)
{
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
    *out = (cebus_device_info){
        .memory_bytes = usable_memory(),
        .alignment = 64,
        .outside_bytes = outside_bytes(device),
        .threads = device->threads,
    };
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
    device->slab = *out_base = base;
    device->slab_bytes = bytes;
    return CEBUS_OK;
}

static void cpu_slab_decommit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    (void)device;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to)
        madvise(base + from, to - from, MADV_DONTNEED);
}

static void cpu_slab_release(cebus_device *device, char *base, uint64_t bytes)
{
    (void)device;
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

static void cpu_discard(cebus_device *device, char *at, uint64_t bytes)
{
    (void)device;
    (void)at;
    (void)bytes;
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
                               const cebus_launch *launch)
{
#if CEBUS_HAVE_OPENMP
    if (omp_get_max_threads() != device->threads)
        omp_set_num_threads(device->threads);
#else
    (void)device;
#endif
    return kernel->run(launch);
}

static cebus_status cpu_synchronize(cebus_device *device)
{
    (void)device;
    return CEBUS_OK;
}

static uint64_t cpu_clock(cebus_device *device)
{
    (void)device;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

const cebus_device_ops cebus_device_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .query = cpu_query,
    .slab_reserve = cpu_slab_reserve,
    .slab_decommit = cpu_slab_decommit,
    .slab_release = cpu_slab_release,
    .copy = cpu_copy,
    .discard = cpu_discard,
    .context = cpu_context,
    .kernel_find = cpu_kernel_find,
    .launch = cpu_launch,
    .synchronize = cpu_synchronize,
    .clock = cpu_clock,
};
