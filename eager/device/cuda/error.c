/**
 * error.c: failures of the plug-in, recorded in the library's last error.
 */
#include "eager/device/cuda/error.h"

#include <stdarg.h>
#include <stdio.h>

#include <cublasLt.h>
#include <cudnn.h>

#include "eager/device/cuda/cuda.h"

static const cebus_plugin_host *library;

void cebus_cuda_error_init(const cebus_plugin_host *host)
{
    library = host;
}

/** Shadows the library's own, which is hidden: same contract. */
cebus_status cebus_fail(cebus_status status, const char *op, const char *format, ...)
{
    char message[sizeof((cebus_error *)NULL)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return library->fail(status, op, message);
}

cebus_status cebus_cuda_check(cudaError_t error, const char *op, const char *what)
{
    if (error == cudaSuccess)
        return CEBUS_OK;
    (void)cudaGetLastError(); /* or the next launch would be blamed for it */
    return cebus_fail(CEBUS_DEVICE_ERROR, op, "%s: %s (%s, %d)", what, cudaGetErrorString(error),
                      cudaGetErrorName(error), (int)error);
}

cebus_status cebus_cuda_launched(const char *op)
{
    return cebus_cuda_check(cudaGetLastError(), op, "the launch of its kernel");
}

cebus_status cebus_cuda_check_blas(int status, const char *op, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return CEBUS_OK;
    return cebus_fail(
        status == CUBLAS_STATUS_ALLOC_FAILED ? CEBUS_OUT_OF_HOST_MEMORY : CEBUS_DEVICE_ERROR, op,
        "%s: %s (%d)", what, cublasLtGetStatusString((cublasStatus_t)status), status);
}

cebus_status cebus_cuda_check_dnn(int status, const char *op, const char *what)
{
    if (status == CUDNN_STATUS_SUCCESS)
        return CEBUS_OK;
    return cebus_fail(CEBUS_DEVICE_ERROR, op, "%s: %s (%d)", what,
                      cudnnGetErrorString((cudnnStatus_t)status), status);
}
