#include "test_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POISON 0xA5
#define QUEUE_LIMIT 32

typedef enum work_kind {
    WORK_LAUNCH,
    WORK_COPY,
    WORK_CALL,
    WORK_POISON
} work_kind;

/** One queued piece of work. A launch owns copies of its views and attributes. It starts once each
 * stream has done as many pieces as `after` says. */
typedef struct work {
    work_kind kind;
    const cebus_kernel *kernel;
    cebus_launch launch;
    void *owned; /**< arrays, views, attributes of a launch; staged bytes of a copy */
    void (*run)(void *context); /**< a call's */
    void *context;
    char *to;
    const char *from;
    uint64_t bytes;
    uint64_t after[CEBUS_STREAM_COUNT];
} work;

typedef struct queue {
    work items[QUEUE_LIMIT]; /* a ring */
    uint64_t given, done;
    uint64_t after[CEBUS_STREAM_COUNT]; /* for the next piece */
} queue;

#define COST_LIMIT 64

struct cebus_device {
    cebus_device *cpu; /* the device that does the work */
    queue queues[CEBUS_STREAM_COUNT];
    uint64_t random;
    cebus_error failed;                /* of a kernel that ran late */
    cebus_late_cost costs[COST_LIMIT]; /* a ring */
    uint64_t measured, collected;
    char *base;
    uint64_t slab;
    uint64_t committed; /* bytes from the base on that may be used */
    uint64_t waits;     /* of the host */
};

cebus_test_device_faults cebus_test_faults;
static bool defer = true;

void cebus_test_device_defer(bool deferred)
{
    defer = deferred;
}

static bool strikes(uint64_t *at)
{
    if (*at == 0 || --*at > 0)
        return false;
    cebus_test_faults.fired = true;
    return true;
}

static cebus_status test_open(const cebus_device_options *options, cebus_device **out)
{
    cebus_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device test", "no host memory");
    cebus_status status = cebus_device_cpu.open(options, &device->cpu);
    if (status != CEBUS_OK) {
        free(device);
        return status;
    }
    *out = device;
    return CEBUS_OK;
}

/** What lies in the slab must be committed. */
static void check_committed(const cebus_device *device, const void *at, uint64_t bytes)
{
    const char *from = at;
    if (from == NULL || device->base == NULL || from < device->base)
        return;
    uint64_t offset = (uint64_t)(from - device->base);
    if (offset >= device->slab || offset + bytes <= device->committed)
        return;
    fputs("test device: bytes beyond what was committed\n", stderr);
    abort();
}

static void check_arrays(const cebus_device *device, const cebus_array *arrays, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        check_committed(device, arrays[i].data, 0);
}

static void run_launch(cebus_device *device, const work *w)
{
    uint64_t ns;
    check_arrays(device, w->launch.in, w->launch.n_in);
    check_arrays(device, w->launch.out, w->launch.n_out);
    check_committed(device, w->launch.workspace, w->launch.workspace_bytes);
    if (cebus_device_cpu.launch(device->cpu, w->kernel, &w->launch, &ns) != CEBUS_OK) {
        device->failed = *cebus_last_error();
        return;
    }
    if (device->measured - device->collected == COST_LIMIT)
        device->collected++;
    device->costs[device->measured++ % COST_LIMIT] =
        (cebus_late_cost){.mark = device->queues[CEBUS_STREAM_COMPUTE].done + 1, .ns = ns};
}

static void run_work(cebus_device *device, const work *w)
{
    switch (w->kind) {
    case WORK_LAUNCH:
        run_launch(device, w);
        break;
    case WORK_COPY:
        check_committed(device, w->to, w->bytes);
        check_committed(device, w->from, w->bytes);
        memmove(w->to, w->from, w->bytes);
        break;
    case WORK_CALL:
        w->run(w->context);
        break;
    case WORK_POISON:
        memset(w->to, POISON, w->bytes);
        break;
    }
    free(w->owned);
}

static bool may_start(const cebus_device *device, const queue *q)
{
    if (q->done == q->given)
        return false;
    const work *next = &q->items[q->done % QUEUE_LIMIT];
    for (int on = 0; on < CEBUS_STREAM_COUNT; on++) {
        if (device->queues[on].done < next->after[on])
            return false;
    }
    return true;
}

/** Runs one piece of work of any stream that may start, whichever chance says. */
static void run_any(cebus_device *device)
{
    device->random = device->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    unsigned first = (unsigned)(device->random >> 33) % CEBUS_STREAM_COUNT;
    for (unsigned i = 0; i < CEBUS_STREAM_COUNT; i++) {
        queue *q = &device->queues[(first + i) % CEBUS_STREAM_COUNT];
        if (!may_start(device, q))
            continue;
        run_work(device, &q->items[q->done % QUEUE_LIMIT]);
        q->done++;
        return;
    }
    fputs("test device: the streams wait for each other\n", stderr);
    abort();
}

static void run_until(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    while (device->queues[stream].done < mark)
        run_any(device);
}

/** All that the stream was given, and what it was told to wait for next. */
static void finish_stream(cebus_device *device, cebus_stream stream)
{
    run_until(device, stream, device->queues[stream].given);
    for (int on = 0; on < CEBUS_STREAM_COUNT; on++)
        run_until(device, on, device->queues[stream].after[on]);
}

static void drain(cebus_device *device)
{
    for (int stream = 0; stream < CEBUS_STREAM_COUNT; stream++)
        run_until(device, stream, device->queues[stream].given);
}

static void enqueue(cebus_device *device, cebus_stream stream, work w)
{
    queue *q = &device->queues[stream];
    if (q->given - q->done == QUEUE_LIMIT)
        run_until(device, stream, q->done + 1);
    memcpy(w.after, q->after, sizeof w.after);
    q->items[q->given % QUEUE_LIMIT] = w;
    q->given++;
    if (!defer)
        drain(device);
}

static void test_close(cebus_device *device)
{
    drain(device);
    cebus_device_cpu.close(device->cpu);
    free(device);
}

static void test_query(cebus_device *device, cebus_device_info *out)
{
    cebus_device_cpu.query(device->cpu, out);
    out->poisons = true;
    out->deferred = out->late_costs = defer;
    out->remote = out->commits = out->pins = true;
    out->host_waits = device->waits;
}

static cebus_status test_slab_reserve(cebus_device *device, uint64_t bytes, char **out_base)
{
    if (strikes(&cebus_test_faults.reserve_at))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device test", "ordered to fail");
    cebus_status status = cebus_device_cpu.slab_reserve(device->cpu, bytes, out_base);
    if (status == CEBUS_OK) {
        device->base = *out_base;
        device->slab = bytes;
    }
    return status;
}

static cebus_status test_slab_commit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    if (strikes(&cebus_test_faults.reserve_at))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device test", "ordered to fail");
    if (cebus_test_faults.slab_most > 0 && to > cebus_test_faults.slab_most)
        return cebus_fail(CEBUS_DEVICE_ERROR, "device test", "others have it");
    if (from != device->committed) {
        fputs("test device: committed with a gap\n", stderr);
        abort();
    }
    device->committed = to;
    return cebus_device_cpu.slab_commit(device->cpu, base, from, to);
}

static void test_slab_decommit(cebus_device *device, char *base, uint64_t from, uint64_t to)
{
    drain(device);
    if (to != device->committed) {
        fputs("test device: a hole in what is committed\n", stderr);
        abort();
    }
    device->committed = from;
    cebus_device_cpu.slab_decommit(device->cpu, base, from, to);
}

static void test_slab_release(cebus_device *device, char *base, uint64_t bytes)
{
    drain(device);
    cebus_device_cpu.slab_release(device->cpu, base, bytes);
}

static cebus_status take_failure(cebus_device *device)
{
    cebus_error failed = device->failed;
    device->failed = (cebus_error){.status = CEBUS_OK};
    return failed.status == CEBUS_OK ? CEBUS_OK
                                     : cebus_fail(failed.status, failed.op, "%s", failed.message);
}

static cebus_status test_synchronize(cebus_device *device)
{
    device->waits++;
    drain(device);
    return take_failure(device);
}

static cebus_status test_copy(cebus_device *device, void *to, const void *from, uint64_t bytes,
                              cebus_copy_kind kind)
{
    if (strikes(&cebus_test_faults.copy_at))
        return cebus_fail(CEBUS_DEVICE_ERROR, "device test", "a copy was ordered to fail");
    if (kind == CEBUS_COPY_TO_HOST) {
        device->waits++;
        finish_stream(device, CEBUS_STREAM_COMPUTE);
        cebus_status status = take_failure(device);
        if (status == CEBUS_OK)
            memcpy(to, from, bytes);
        return status;
    }
    work w = {.kind = WORK_COPY, .to = to, .from = from, .bytes = bytes};
    if (kind == CEBUS_COPY_TO_DEVICE) {
        w.owned = malloc(bytes);
        if (w.owned == NULL)
            return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device test", "no host memory");
        w.from = memcpy(w.owned, from, bytes);
    }
    enqueue(device, CEBUS_STREAM_COMPUTE, w);
    return CEBUS_OK;
}

static cebus_status test_copy_async(cebus_device *device, cebus_stream stream, void *to,
                                    const void *from, uint64_t bytes, cebus_copy_kind kind)
{
    (void)kind;
    if (strikes(&cebus_test_faults.copy_at))
        return cebus_fail(CEBUS_DEVICE_ERROR, "device test", "a copy was ordered to fail");
    enqueue(device, stream, (work){.kind = WORK_COPY, .to = to, .from = from, .bytes = bytes});
    return CEBUS_OK;
}

static cebus_status test_stream_call(cebus_device *device, cebus_stream stream,
                                     void (*run)(void *context), void *context)
{
    if (strikes(&cebus_test_faults.copy_at))
        return cebus_fail(CEBUS_DEVICE_ERROR, "device test", "a call was ordered to fail");
    enqueue(device, stream, (work){.kind = WORK_CALL, .run = run, .context = context});
    return CEBUS_OK;
}

static uint64_t test_stream_mark(cebus_device *device, cebus_stream stream)
{
    return device->queues[stream].given;
}

static void test_stream_wait(cebus_device *device, cebus_stream stream, cebus_stream on,
                             uint64_t mark)
{
    uint64_t *after = &device->queues[stream].after[on];
    *after = mark > *after ? mark : *after;
}

static bool test_stream_reached(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    return device->queues[stream].done >= mark;
}

static cebus_status test_stream_await(cebus_device *device, cebus_stream stream, uint64_t mark)
{
    device->waits++;
    run_until(device, stream, mark);
    return CEBUS_OK;
}

static void *test_host_alloc(cebus_device *device, uint64_t bytes)
{
    return cebus_device_cpu.host_alloc(device->cpu, bytes);
}

static void test_host_free(cebus_device *device, void *pointer, uint64_t bytes)
{
    cebus_device_cpu.host_free(device->cpu, pointer, bytes);
}

static uint64_t test_discard(cebus_device *device, cebus_stream stream, char *at, uint64_t bytes)
{
    enqueue(device, stream, (work){.kind = WORK_POISON, .to = at, .bytes = bytes});
    return device->queues[stream].given;
}

static void *test_context(cebus_device *device)
{
    return cebus_device_cpu.context(device->cpu);
}

static const cebus_kernel *test_kernel_find(cebus_device *device, const char *op)
{
    return cebus_device_cpu.kernel_find(device->cpu, op);
}

/** A launch's arrays, views and attributes, copied: the originals live only during the call. */
static bool own_launch(const cebus_launch *launch, work *out)
{
    size_t arrays = launch->n_in + launch->n_out;
    size_t views_at = arrays * sizeof(cebus_array);
    size_t attrs_at = (views_at + arrays * sizeof(cebus_view) + 15) & ~(size_t)15;
    char *memory = malloc(attrs_at + launch->attr_bytes + 1);
    if (memory == NULL)
        return false;
    cebus_array *array = (cebus_array *)memory;
    cebus_view *views = (cebus_view *)(memory + views_at);
    for (size_t i = 0; i < arrays; i++) {
        array[i] = i < launch->n_in ? launch->in[i] : launch->out[i - launch->n_in];
        views[i] = *array[i].view;
        array[i].view = &views[i];
    }
    if (launch->attr_bytes > 0)
        memcpy(memory + attrs_at, launch->attrs, launch->attr_bytes);
    out->owned = memory;
    out->launch = *launch;
    out->launch.in = array;
    out->launch.out = array + launch->n_in;
    out->launch.attrs = memory + attrs_at;
    return true;
}

static uint64_t test_clock(cebus_device *device, cebus_stream stream)
{
    return cebus_device_cpu.clock(device->cpu, stream);
}

static cebus_status test_launch(cebus_device *device, const cebus_kernel *kernel,
                                const cebus_launch *launch, uint64_t *out_ns)
{
    if (strikes(&cebus_test_faults.launch_at))
        return cebus_fail(CEBUS_DEVICE_ERROR, kernel->op, "a launch was ordered to fail");
    if (!defer) {
        drain(device);
        return cebus_device_cpu.launch(device->cpu, kernel, launch, out_ns);
    }
    uint64_t start = test_clock(device, CEBUS_STREAM_COMPUTE);
    work w = {.kind = WORK_LAUNCH, .kernel = kernel};
    if (!own_launch(launch, &w))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "device test", "no host memory");
    enqueue(device, CEBUS_STREAM_COMPUTE, w);
    *out_ns = test_clock(device, CEBUS_STREAM_COMPUTE) - start;
    return CEBUS_OK;
}

static size_t test_collect(cebus_device *device, size_t n, cebus_late_cost *out)
{
    size_t count = 0;
    while (count < n && device->collected < device->measured)
        out[count++] = device->costs[device->collected++ % COST_LIMIT];
    return count;
}

static uint64_t test_stalled(cebus_device *device)
{
    return cebus_device_cpu.stalled(device->cpu);
}

static const cebus_device_ops test_device = {
    .name = "test",
    .open = test_open,
    .close = test_close,
    .query = test_query,
    .slab_reserve = test_slab_reserve,
    .slab_commit = test_slab_commit,
    .slab_decommit = test_slab_decommit,
    .slab_release = test_slab_release,
    .copy = test_copy,
    .copy_async = test_copy_async,
    .stream_call = test_stream_call,
    .discard = test_discard,
    .stream_mark = test_stream_mark,
    .stream_wait = test_stream_wait,
    .stream_reached = test_stream_reached,
    .stream_await = test_stream_await,
    .host_alloc = test_host_alloc,
    .host_free = test_host_free,
    .context = test_context,
    .kernel_find = test_kernel_find,
    .launch = test_launch,
    .collect = test_collect,
    .synchronize = test_synchronize,
    .clock = test_clock,
    .stalled = test_stalled,
};

bool cebus_test_device_register(void)
{
    return cebus_device_register(&test_device);
}
