/* The device "cuda-host": the CPU's, but for the kernels of the CUDA plug-in. */
#include <stdlib.h>

#include "eager/device/cuda/families.h"
#include "eager/device/cuda/mapped.h"
#include "eager/device/device.h"
#include "tests/cuda_host/blocks.h"
#include "tests/support/cuda_host.h"

/* What a workspace holds when a kernel gets it. */
#define POISON 0xA5

static cebus_status host_open(const cebus_device_options *options, cebus_device **out)
{
    const char *colon = strchr(options->name, ':');
    int threads = colon != NULL ? atoi(colon + 1) : 1;
    if (threads < 1 || threads > 512 || (threads & (threads - 1)) != 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "device cuda-host",
                          "\"%s\": the threads of a block are a power of two up to 512",
                          options->name);
    cebus_device_options cpu = *options;
    cpu.name = "cpu";
    cebus_cuda_host_threads(threads);
    return cebus_device_cpu.open(&cpu, out);
}

static const cebus_kernel *host_kernel_find(cebus_device *device, const char *op)
{
    const cebus_kernel *own = cebus_cuda_kernel_find(op);
    return own != NULL ? own : cebus_device_cpu.kernel_find(device, op);
}

/* What kernels see: no stream, no libraries; nothing is kept between calls. */
static cebus_cuda_fault fault;
static cebus_cuda cuda = {.fault = &fault, .capability = 90, .processors = 1};

static void *host_context(cebus_device *device)
{
    (void)device;
    return &cuda;
}

static cebus_status host_launch(cebus_device *device, const cebus_kernel *kernel,
                                const cebus_launch *launch, uint64_t *out_ns)
{
    cebus_launch own = *launch;
    uint64_t start = cebus_device_cpu.clock(device, CEBUS_STREAM_COMPUTE);
    if (cebus_cuda_kernel_find(kernel->op) != kernel) {
        own.device = NULL; /* what the CPU's kernels keep is oneDNN's, of convolutions */
        return cebus_device_cpu.launch(device, kernel, &own, out_ns);
    }
    fault = (cebus_cuda_fault){0};
    if (own.workspace_bytes > 0)
        memset(own.workspace, POISON, own.workspace_bytes);
    cebus_status status = kernel->run(&own);
    if (status == CEBUS_OK && fault.op != 0)
        status = cebus_cuda_fault_fail(&fault);
    *out_ns = cebus_device_cpu.clock(device, CEBUS_STREAM_COMPUTE) - start;
    return status;
}

cebus_status cebus_cuda_launched(const char *op)
{
    (void)op;
    return CEBUS_OK;
}

static cebus_status host_copy(cebus_device *device, void *to, const void *from, uint64_t bytes,
                              cebus_copy_kind kind)
{
    if (kind == CEBUS_COPY_ON_DEVICE) /* ranges may overlap */
        return cebus_device_cpu.copy(device, to, from, bytes, kind);
    return cebus_mapped_copy(&cuda, to, from, bytes);
}

bool cebus_cuda_host_register(void)
{
    static cebus_device_ops ops;
    ops = cebus_device_cpu;
    ops.name = "cuda-host";
    ops.open = host_open;
    ops.kernel_find = host_kernel_find;
    ops.launch = host_launch;
    ops.copy = host_copy;
    ops.context = host_context;
    return cebus_device_register(&ops);
}
