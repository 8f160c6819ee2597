/**
 * available.c: whether there is a CUDA device to open, and if not, exactly why.
 */
#include <stdio.h>
#include <stdlib.h>

#include "eager/device/cuda/device_cuda.h"

#define MIN_CAPABILITY 80

static const char op[] = "device cuda";

static cebus_status no_driver(void)
{
    return cebus_fail(CEBUS_UNSUPPORTED, op,
                      "no NVIDIA driver: the CUDA runtime %d.%d finds none (libcuda.so.1)",
                      CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

static cebus_status explain(cudaError_t error)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return no_driver();
    if (error == cudaErrorInsufficientDriver)
        return cebus_fail(CEBUS_UNSUPPORTED, op,
                          "the NVIDIA driver is too old: it knows CUDA %d.%d, this plug-in runs on "
                          "%d.%d; install a newer driver",
                          driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                          CUDART_VERSION % 1000 / 10);
    if (error == cudaErrorNoDevice)
        return cebus_fail(CEBUS_UNSUPPORTED, op, "the NVIDIA driver (CUDA %d.%d) sees no device%s",
                          driver / 1000, driver % 1000 / 10,
                          getenv("CUDA_VISIBLE_DEVICES") != NULL
                              ? "; CUDA_VISIBLE_DEVICES is set and may hide them"
                              : "");
    return cebus_fail(CEBUS_UNSUPPORTED, op, "the CUDA runtime does not start: %s (%s)",
                      cudaGetErrorString(error), cudaGetErrorName(error));
}

cebus_status cebus_cuda_available(int ordinal)
{
    int count = 0, major = 0, minor = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        error = cudaErrorNoDevice;
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return explain(error);
    }
    if (ordinal >= count)
        return cebus_fail(CEBUS_UNSUPPORTED, op, "there is no cuda:%d: the driver sees %d device%s",
                          ordinal, count, count == 1 ? "" : "s");
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal);
    if (error != cudaSuccess)
        return cebus_cuda_check(error, op, "cudaDeviceGetAttribute");
    if (10 * major + minor < MIN_CAPABILITY)
        return cebus_fail(CEBUS_UNSUPPORTED, op,
                          "cuda:%d has compute capability %d.%d; at least %d.%d is needed", ordinal,
                          major, minor, MIN_CAPABILITY / 10, MIN_CAPABILITY % 10);
    return CEBUS_OK;
}

cebus_status cebus_cuda_parse(const char *name, int *out_ordinal, bool *out_tf32)
{
    const char *at = strchr(name, ':');
    char *end = NULL;
    *out_ordinal = 0;
    *out_tf32 = false;
    if (at == NULL)
        return CEBUS_OK;
    long ordinal = strtol(at + 1, &end, 10);
    bool ok = end != at + 1 && at[1] >= '0' && at[1] <= '9' && ordinal < 1024;
    if (ok && *end == ',') {
        *out_tf32 = strcmp(end, ",tf32=on") == 0;
        ok = *out_tf32 || strcmp(end, ",tf32=off") == 0;
    } else {
        ok = ok && *end == '\0';
    }
    if (!ok)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "\"%.64s\": expected cuda:N, or cuda:N,tf32=on", name);
    *out_ordinal = (int)ordinal;
    return CEBUS_OK;
}
