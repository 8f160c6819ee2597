#include "eager/device/cuda/families.h"

#define TABLE(family) cebus_cuda_##family##_kernels,

static const cebus_kernel *const families[] = {CEBUS_CUDA_FAMILIES(TABLE) NULL};

const cebus_kernel *cebus_cuda_kernel_find(const char *op)
{
    for (const cebus_kernel *const *family = families; *family != NULL; family++) {
        for (const cebus_kernel *kernel = *family; kernel->op != NULL; kernel++) {
            if (strcmp(kernel->op, op) == 0)
                return kernel;
        }
    }
    return NULL;
}
