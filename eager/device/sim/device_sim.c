/**
 * The simulated device: addresses without bytes, kernels that take time and do nothing, copies that
 * take time and move nothing. README.md is its documentation.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "eager/device/sim/clock.h"
#include "eager/device/sim/duration.h"
#include "eager/device/sim/link.h"
#include "eager/device/sim/profile.h"
#include "eager/device/sim/roofline.h"
#include "eager/device/sim/sim.h"
#include "eager/trace/signature.h"

static const char device_sim[] = "device sim";

/** A kernel, as the device hands it out. */
typedef struct sim_kernel {
    cebus_kernel kernel; /**< first: a kernel of this device is one */
    const cebus_work_entry *work;
    uint64_t name; /**< cebus_profile_name */
    struct sim_kernel *next;
} sim_kernel;

struct cebus_device {
    cebus_host_allocator host;
    cebus_machine machine;
    cebus_roofline roofline;
    cebus_sim_clock clock;
    cebus_link link;
    cebus_profile profile;
    cebus_sim_counts counts;
    sim_kernel *kernels; /**< all that were asked for */
    bool unlimited;
    int threads;
    uint64_t host_bytes; /**< of tokens that are out */
    uint64_t next_token;
};

/** First address that host_alloc hands out. No mapping of any system reaches it: on 64-bit machines
 * it lies between the two halves of the address space. */
#define FIRST_TOKEN (UINT64_C(3) << 52)

static void *host_alloc(const cebus_device *device, size_t bytes)
{
    return device->host.alloc(device->host.context, bytes);
}

static void host_free(const cebus_device *device, void *pointer)
{
    if (pointer != NULL)
        device->host.free(device->host.context, pointer);
}

static bool alloc_clocks(cebus_device *device)
{
    cebus_link *link = &device->link;
    const cebus_machine *machine = &device->machine;
    link->rate[CEBUS_LINK_OUT] = machine->link_out;
    link->rate[CEBUS_LINK_IN] = machine->link_in;
    link->both = machine->link_both;
    /* A step at the start and the end of every copy that is under way or waits. */
    link->capacity = 2 * (CEBUS_STREAM_COUNT * machine->queue + 2);
    link->steps = host_alloc(device, link->capacity * sizeof *link->steps);
    return link->steps != NULL &&
           cebus_sim_clock_init(&device->clock, machine->issue_ns, machine->queue, &device->host);
}

static void sim_close(cebus_device *device)
{
    while (device->kernels != NULL) {
        sim_kernel *kernel = device->kernels;
        device->kernels = kernel->next;
        host_free(device, kernel);
    }
    cebus_profile_free(&device->profile, &device->host);
    cebus_sim_clock_deinit(&device->clock, &device->host);
    host_free(device, device->link.steps);
    host_free(device, device);
}

static cebus_status sim_open(const cebus_device_options *options, cebus_device **out)
{
    const cebus_host_allocator *host = options->host;
    cebus_machine machine;
    cebus_status status = cebus_machine_parse(options->name, &machine);
    if (status != CEBUS_OK)
        return status;
    cebus_device *device = host->alloc(host->context, sizeof *device);
    if (device == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, device_sim, "no host memory to open it");
    memset(device, 0, sizeof *device);
    device->host = *host;
    device->machine = machine;
    device->unlimited = options->unlimited;
    device->threads = options->threads > 0 ? options->threads : 1;
    device->next_token = FIRST_TOKEN;
    cebus_roofline_init(&device->roofline, &machine);
    if (!alloc_clocks(device))
        status = cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, device_sim, "no host memory for its clock");
    else if (options->profile != NULL)
        status = cebus_profile_read(options->profile, host, &device->profile);
    if (status != CEBUS_OK) {
        sim_close(device);
        return status;
    }
    *out = device;
    return CEBUS_OK;
}

static void sim_query(cebus_device *device, cebus_device_info *out)
{
    *out = (cebus_device_info){
        .memory_bytes = device->machine.memory,
        .host_bytes = device->machine.link_out > 0 ? device->machine.host : 0,
        .alignment = device->unlimited ? 1 : 512,
        .out_rate = device->machine.link_out,
        .latency_ns = device->machine.link_out > 0 ? device->machine.latency_ns : 0,
        .copy_rate = device->machine.bandwidth / 2, /* it reads and writes */
        .copy_ns = device->machine.launch_ns,
        .issue_ns = device->machine.issue_ns,
        .in_rate = device->machine.link_in,
        .stall_ns = device->clock.stall,
        .threads = device->threads,
        .deferred = true,
        .simulated = true,
    };
}

/* --- memory -------------------------------------------------------------------------------- */

/** Pages of zeros that nothing may write: one page of the system stands behind all of them. */
static cebus_status sim_slab_reserve(cebus_device *device, uint64_t bytes, char **out_base)
{
    (void)device;
    void *base = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, device_sim,
                          "cannot reserve %" PRIu64 " bytes of address space", bytes);
    *out_base = base;
    return CEBUS_OK;
}

static cebus_status sim_slab_commit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    (void)device;
    (void)base;
    (void)from;
    (void)to;
    return CEBUS_OK;
}

static void sim_slab_decommit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    (void)device;
    (void)base;
    (void)from;
    (void)to;
}

static void sim_slab_release(cebus_device *device, char *base, uint64_t bytes)
{
    (void)device;
    munmap(base, bytes);
}

static uint64_t sim_discard(cebus_device *device, cebus_stream stream, char *at, uint64_t bytes)
{
    (void)device;
    (void)stream;
    (void)at;
    (void)bytes;
    return 0;
}

/** Copies move nothing, so an address of its own is all that an allocation must be. */
static void *sim_host_alloc(cebus_device *device, uint64_t bytes)
{
    if (bytes > device->machine.host - device->host_bytes || device->machine.link_out == 0)
        return NULL;
    uint64_t token = device->next_token;
    device->host_bytes += bytes;
    device->next_token += bytes < 64 ? 64 : (bytes + 63) / 64 * 64;
    return (void *)(uintptr_t)token;
}

static void sim_host_free(cebus_device *device, void *pointer, uint64_t bytes)
{
    if (pointer != NULL)
        device->host_bytes -= bytes;
}

/* --- copies -------------------------------------------------------------------------------- */

/** The copy as a piece of work of the stream. */
static void enqueue_copy(cebus_device *device, cebus_stream stream, uint64_t bytes,
                         cebus_copy_kind kind)
{
    cebus_sim_clock *clock = &device->clock;
    uint64_t start = cebus_sim_clock_begin(clock, stream), end;
    if (kind == CEBUS_COPY_ON_DEVICE) {
        end = cebus_ns_add(start, cebus_roofline_copy_time(&device->roofline, bytes));
    } else {
        bool out = kind == CEBUS_COPY_TO_HOST;
        if (device->machine.link_out > 0)
            start = cebus_ns_add(start, device->machine.latency_ns);
        end = cebus_link_book(&device->link, out ? CEBUS_LINK_OUT : CEBUS_LINK_IN, clock->host,
                              start, bytes);
    }
    cebus_sim_clock_end(clock, stream, end);
}

static cebus_status sim_copy(cebus_device *device, void *to, const void *from, uint64_t bytes,
                             cebus_copy_kind kind)
{
    (void)from;
    enqueue_copy(device, CEBUS_STREAM_COMPUTE, bytes, kind);
    if (kind != CEBUS_COPY_ON_DEVICE)
        cebus_sim_clock_await(&device->clock, CEBUS_STREAM_COMPUTE,
                              device->clock.streams[CEBUS_STREAM_COMPUTE].count);
    if (kind == CEBUS_COPY_TO_HOST)
        memset(to, 0, bytes);
    return CEBUS_OK;
}

static cebus_status sim_copy_async(cebus_device *device, cebus_stream stream, void *to,
                                   const void *from, uint64_t bytes, cebus_copy_kind kind)
{
    (void)to;
    (void)from;
    if (device->machine.link_out == 0 && kind != CEBUS_COPY_ON_DEVICE)
        return cebus_fail(CEBUS_UNSUPPORTED, device_sim, "link=0: nothing can be swapped");
    enqueue_copy(device, stream, bytes, kind);
    return CEBUS_OK;
}

static cebus_status sim_stream_call(cebus_device *device, cebus_stream stream,
                                    void (*run)(void *context), void *context)
{
    (void)device;
    (void)stream;
    (void)run;
    (void)context;
    return cebus_fail(CEBUS_UNSUPPORTED, device_sim, "there are no bytes to work on");
}

/* --- streams ------------------------------------------------------------------------------- */

static uint64_t sim_stream_mark(cebus_device *device, cebus_stream stream)
{
    return device->clock.streams[stream].count;
}

static void sim_stream_wait(cebus_device *device, cebus_stream stream, cebus_stream on,
                            uint64_t mark)
{
    cebus_sim_clock_wait(&device->clock, stream, on, mark);
}

static bool sim_stream_reached(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    return cebus_sim_clock_reached_at(&device->clock, stream, mark) <= device->clock.host;
}

static cebus_status sim_stream_await(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    cebus_sim_clock_await(&device->clock, stream, mark);
    return CEBUS_OK;
}

static size_t sim_collect(cebus_device *device, size_t n, cebus_late_cost *out)
{
    (void)device;
    (void)n;
    (void)out;
    return 0;
}

static cebus_status sim_synchronize(cebus_device *device)
{
    cebus_sim_clock_synchronize(&device->clock);
    return CEBUS_OK;
}

static uint64_t sim_clock(cebus_device *device, cebus_stream stream)
{
    return cebus_sim_clock_done(&device->clock, stream);
}

/* --- kernels ------------------------------------------------------------------------------- */

static void *sim_context(cebus_device *device)
{
    return device;
}

/** Nobody calls it: launches take their time instead. */
static cebus_status never_run(const cebus_launch *launch)
{
    (void)launch;
    return cebus_fail(CEBUS_INTERNAL, device_sim, "a simulated kernel was run");
}

static const cebus_kernel *sim_kernel_find(cebus_device *device, const char *op)
{
    for (const sim_kernel *kernel = device->kernels; kernel != NULL; kernel = kernel->next) {
        if (strcmp(kernel->kernel.op, op) == 0)
            return &kernel->kernel;
    }
    size_t length = strlen(op) + 1;
    sim_kernel *kernel = host_alloc(device, sizeof *kernel + length);
    if (kernel == NULL)
        return NULL;
    char *name = (char *)(kernel + 1);
    memcpy(name, op, length);
    *kernel = (sim_kernel){
        .kernel = {.op = name, .run = never_run},
        .work = cebus_work_find(op),
        .name = cebus_profile_name(op),
        .next = device->kernels,
    };
    device->kernels = kernel;
    return &kernel->kernel;
}

/** A custom op's kernel is not one of the device's. */
static const sim_kernel *own_kernel(const cebus_kernel *kernel, const cebus_launch *launch)
{
    return launch->user == NULL ? (const sim_kernel *)kernel : NULL;
}

static bool is_profiled(cebus_device *device, const cebus_kernel *kernel,
                        const cebus_launch *launch, uint64_t *out_ns)
{
    if (device->profile.count == 0)
        return false;
    const sim_kernel *own = own_kernel(kernel, launch);
    uint64_t name = own != NULL ? own->name : cebus_profile_name(kernel->op);
    const cebus_profile_cost *cost =
        cebus_profile_find(&device->profile, name, cebus_launch_signature(launch));
    if (cost == NULL)
        return false;
    *out_ns = cost->cost_ns;
    return true;
}

static uint64_t modelled_cost(const cebus_device *device, const cebus_kernel *kernel,
                              const cebus_launch *launch)
{
    static const cebus_work_entry custom = {.family = CEBUS_WORK_ELEMENTWISE};
    const sim_kernel *own = own_kernel(kernel, launch);
    cebus_work work = cebus_work_of(own != NULL ? own->work : &custom, launch);
    const cebus_array *first = launch->n_in > 0 ? launch->in : launch->out;
    cebus_dtype dtype = launch->n_in + launch->n_out > 0 ? first->view->dtype : CEBUS_F32;
    return cebus_roofline_time(&device->roofline, &work, dtype);
}

static uint64_t cost_of(cebus_device *device, const cebus_kernel *kernel,
                        const cebus_launch *launch)
{
    uint64_t ns = 0;
    if (is_profiled(device, kernel, launch, &ns)) {
        device->counts.profiled++;
        return ns;
    }
    if (kernel->cost != NULL && (ns = kernel->cost(launch)) > 0) {
        device->counts.said++;
        return ns < CEBUS_NS_MAX ? ns : CEBUS_NS_MAX;
    }
    device->counts.modelled++;
    return modelled_cost(device, kernel, launch);
}

static cebus_status sim_launch(cebus_device *device, const cebus_kernel *kernel,
                               const cebus_launch *launch, uint64_t *out_ns)
{
    *out_ns = cost_of(device, kernel, launch);
    uint64_t start = cebus_sim_clock_begin(&device->clock, CEBUS_STREAM_COMPUTE);
    cebus_sim_clock_end(&device->clock, CEBUS_STREAM_COMPUTE, cebus_ns_add(start, *out_ns));
    return CEBUS_OK;
}

cebus_sim_counts cebus_sim_counts_of(const cebus_device *device)
{
    return device->counts;
}

static uint64_t sim_stalled(cebus_device *device)
{
    return device->clock.stall;
}

const cebus_device_ops cebus_device_sim = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .query = sim_query,
    .slab_reserve = sim_slab_reserve,
    .slab_commit = sim_slab_commit,
    .slab_decommit = sim_slab_decommit,
    .slab_release = sim_slab_release,
    .copy = sim_copy,
    .copy_async = sim_copy_async,
    .stream_call = sim_stream_call,
    .discard = sim_discard,
    .stream_mark = sim_stream_mark,
    .stream_wait = sim_stream_wait,
    .stream_reached = sim_stream_reached,
    .stream_await = sim_stream_await,
    .host_alloc = sim_host_alloc,
    .host_free = sim_host_free,
    .context = sim_context,
    .kernel_find = sim_kernel_find,
    .launch = sim_launch,
    .collect = sim_collect,
    .synchronize = sim_synchronize,
    .clock = sim_clock,
    .stalled = sim_stalled,
};
