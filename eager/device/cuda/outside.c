#include "eager/device/cuda/outside.h"

#include <dlfcn.h>

/** Of NVML's interface (docs.nvidia.com/deploy/nvml-api), as much as is called here. */
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;
typedef int nvml_call(void);
typedef int nvml_find(const char *bus, void **out);
typedef int nvml_read(void *device, nvml_memory *out);

typedef struct nvml {
    void *library;
    nvml_call *start, *stop;
    nvml_find *find;
    nvml_read *read;
} nvml;

static bool find_function(void *library, const char *name, void *out)
{
    void *function = dlsym(library, name);
    memcpy(out, &function, sizeof function);
    return function != NULL;
}

static bool load(nvml *out)
{
    out->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    return out->library != NULL && find_function(out->library, "nvmlInit_v2", &out->start) &&
           find_function(out->library, "nvmlShutdown", &out->stop) &&
           find_function(out->library, "nvmlDeviceGetHandleByPciBusId_v2", &out->find) &&
           find_function(out->library, "nvmlDeviceGetMemoryInfo", &out->read);
}

bool cebus_outside_used(int ordinal, uint64_t *out_bytes)
{
    nvml lib = {0};
    char bus[32];
    nvml_memory memory = {0};
    void *device = NULL;
    bool known = cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal) == cudaSuccess && load(&lib) &&
                 lib.start() == 0;
    if (known) {
        known = lib.find(bus, &device) == 0 && lib.read(device, &memory) == 0;
        (void)lib.stop();
    }
    if (lib.library != NULL)
        dlclose(lib.library);
    if (!known)
        (void)cudaGetLastError();
    *out_bytes = memory.used;
    return known;
}
