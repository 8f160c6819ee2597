/**
 * fault.c: what kernels found wrong with the data, in words.
 */
#include "eager/device/cuda/cuda.h"

cebus_status cebus_cuda_fault_fail(const cebus_cuda_fault *fault)
{
    const char *op = (const char *)(uintptr_t)fault->op;
    bool classes = strstr(op, "cross_entropy") != NULL || strstr(op, "nll_loss") != NULL;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                      classes ? "target %lld at position %lld is out of range: classes lie in "
                                "[0, %lld)"
                              : "index %lld at position %lld of the indices is out of range: "
                                "indices lie in [0, %lld)",
                      (long long)fault->index, (long long)fault->position,
                      (long long)fault->length);
}
