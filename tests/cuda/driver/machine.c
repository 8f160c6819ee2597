/**
 * machine.c: the one device of the fake driver, and library handles that are only made and freed.
 * CEBUS_FAKE_DRIVER in the environment takes things away: "none" the driver, "old" makes it too
 * old, "empty" takes the device, "small" gives it an old processor.
 */
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>
#include <cudnn.h>

#include "memory.h"

static bool is_set(const char *what)
{
    const char *set = getenv("CEBUS_FAKE_DRIVER");
    return set != NULL && strcmp(set, what) == 0;
}

cudaError_t cudaGetDeviceCount(int *out)
{
    if (is_set("none") || is_set("old"))
        return cudaErrorInsufficientDriver;
    if (is_set("empty"))
        return cudaErrorNoDevice;
    *out = 1;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *out)
{
    *out = is_set("none") ? 0 : is_set("old") ? 12040 : 13000;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal)
{
    return ordinal == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr attribute, int ordinal)
{
    (void)ordinal;
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        *out = is_set("small") ? 7 : 9;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *out = 0;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *out = 4;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *out = 227 << 10;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int bytes, int ordinal)
{
    (void)out;
    (void)bytes;
    (void)ordinal;
    return cebus_fake_last_error = cudaErrorNotSupported;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cebus_fake_last_error;
    cebus_fake_last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    *out = malloc(1);
    return *out != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    (void)status;
    return "a status of cuBLASLt";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *out)
{
    *out = malloc(1);
    return *out != NULL ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    (void)handle;
    (void)stream;
    return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    (void)status;
    return "a status of cuDNN";
}

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}
