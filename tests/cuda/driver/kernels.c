/**
 * kernels.c: the CPU's kernels as those of the CUDA device: launches are copied and put on the
 * stream. What a kernel finds wrong with the data goes the way it goes on a GPU, by
 * cebus_cuda_fault; what a GPU does not look for, a divisor of 0, is no fault here either.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "eager/device/cpu/cpu.h"
#include "eager/device/cuda/families.h"
#include "eager/device/device.h"

#define MAX_KERNELS 256

typedef struct entry {
    cebus_kernel kernel;     /**< as the device hands it out */
    const cebus_kernel *cpu; /**< what it stands for */
} entry;

static entry entries[MAX_KERNELS];
static size_t n_entries;
static cebus_device *cpu;

static void *plain_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void *plain_realloc(void *context, void *pointer, size_t bytes)
{
    (void)context;
    return realloc(pointer, bytes);
}

static void plain_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

/** Of the launch that runs; no op: nothing. */
static cebus_cuda_fault found;

/** The linker puts this before the plug-in's own: what a kernel says in words becomes the numbers
 * that a kernel on a GPU reports. */
cebus_status __real_cebus_fail(cebus_status status, const char *op, const char *format, ...);
cebus_status __wrap_cebus_fail(cebus_status status, const char *op, const char *format, ...);

cebus_status __wrap_cebus_fail(cebus_status status, const char *op, const char *format, ...)
{
    char message[256], word[16];
    long long index, position, length;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const char *range = strchr(message, '[');
    if (sscanf(message, "%15s %lld at position %lld", word, &index, &position) == 3 &&
        range != NULL && sscanf(range, "[0, %lld)", &length) == 1)
        found = (cebus_cuda_fault){(uint64_t)(uintptr_t)op, index, position, length};
    return __real_cebus_fail(status, op, "%s", message);
}

/** A launch that waits: all it refers to follows in one allocation. */
typedef struct pending {
    const cebus_kernel *cpu;
    cebus_cuda_fault *fault;
    cebus_launch launch;
} pending;

static bool run_late(void *argument)
{
    pending *p = argument;
    uint64_t ns;
    found.op = 0;
    cebus_status status = cebus_device_cpu.launch(cpu, p->cpu, &p->launch, &ns);
    if (found.op != 0)
        *p->fault = found;
    free(p);
    return status == CEBUS_OK || status == CEBUS_INVALID_ARGUMENT;
}

static cebus_status run_at(size_t i, const cebus_launch *launch)
{
    const cebus_cuda *cuda = cebus_cuda_of(launch);
    size_t n = launch->n_in + launch->n_out;
    size_t arrays_at = (sizeof(pending) + 15) & ~(size_t)15;
    size_t views_at = arrays_at + n * sizeof(cebus_array);
    size_t attrs_at = (views_at + n * sizeof(cebus_view) + 15) & ~(size_t)15;
    char *memory = malloc(attrs_at + launch->attr_bytes + 1);
    if (memory == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, entries[i].cpu->op, "no host memory");
    pending *p = (pending *)memory;
    cebus_array *arrays = (cebus_array *)(memory + arrays_at);
    cebus_view *views = (cebus_view *)(memory + views_at);
    for (size_t k = 0; k < n; k++) {
        arrays[k] = k < launch->n_in ? launch->in[k] : launch->out[k - launch->n_in];
        views[k] = *arrays[k].view;
        arrays[k].view = &views[k];
    }
    if (launch->attr_bytes > 0)
        memcpy(memory + attrs_at, launch->attrs, launch->attr_bytes);
    *p = (pending){.cpu = entries[i].cpu, .fault = cuda->fault, .launch = *launch};
    p->launch.in = arrays;
    p->launch.out = arrays + launch->n_in;
    p->launch.attrs = memory + attrs_at;
    p->launch.device = cebus_device_cpu.context(cpu);
    cebus_fake_enqueue(cuda->stream, run_late, p);
    return cebus_cuda_launched(entries[i].cpu->op);
}

static uint64_t workspace_at(size_t i, const cebus_launch *launch)
{
    cebus_launch own = *launch;
    own.device = cebus_device_cpu.context(cpu);
    return entries[i].cpu->workspace(&own);
}

/* A kernel's functions are not told which kernel it is: each entry has its own. */
#define ENTRY(i)                                                                                   \
    static cebus_status run_##i(const cebus_launch *launch)                                        \
    {                                                                                              \
        return run_at(0x##i, launch);                                                              \
    }                                                                                              \
    static uint64_t workspace_##i(const cebus_launch *launch)                                      \
    {                                                                                              \
        return workspace_at(0x##i, launch);                                                        \
    }
#define NAME(i) {run_##i, workspace_##i},
/* clang-format off */
#define SIXTEEN(X, h)                                                                              \
    X(h##0) X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7)                                \
    X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
#define ALL(X)                                                                                     \
    SIXTEEN(X, 0) SIXTEEN(X, 1) SIXTEEN(X, 2) SIXTEEN(X, 3) SIXTEEN(X, 4) SIXTEEN(X, 5)            \
    SIXTEEN(X, 6) SIXTEEN(X, 7) SIXTEEN(X, 8) SIXTEEN(X, 9) SIXTEEN(X, a) SIXTEEN(X, b)            \
    SIXTEEN(X, c) SIXTEEN(X, d) SIXTEEN(X, e) SIXTEEN(X, f)
/* clang-format on */

ALL(ENTRY)

static const struct {
    cebus_status (*run)(const cebus_launch *launch);
    uint64_t (*workspace)(const cebus_launch *launch);
} functions[MAX_KERNELS] = {ALL(NAME)};

static bool open_cpu(void)
{
    static const cebus_host_allocator host = {plain_alloc, plain_realloc, plain_free, NULL};
    const cebus_device_options options = {.name = "cpu", .threads = 1, .host = &host};
    return cpu != NULL || cebus_device_cpu.open(&options, &cpu) == CEBUS_OK;
}

const cebus_kernel *cebus_cuda_kernel_find(const char *op)
{
    if (!open_cpu())
        return NULL;
    for (size_t i = 0; i < n_entries; i++) {
        if (strcmp(entries[i].cpu->op, op) == 0)
            return &entries[i].kernel;
    }
    const cebus_kernel *plain = cebus_device_cpu.kernel_find(cpu, op);
    if (plain == NULL || n_entries == MAX_KERNELS)
        return NULL;
    entry *fresh = &entries[n_entries];
    *fresh = (entry){
        .kernel = {.op = plain->op,
                   .run = functions[n_entries].run,
                   .workspace = plain->workspace != NULL ? functions[n_entries].workspace : NULL},
        .cpu = plain,
    };
    n_entries++;
    return &fresh->kernel;
}
