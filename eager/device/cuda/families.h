/**
 * families.h: the CUDA device's kernel tables, one a family, each ended by an entry whose op is
 * NULL. A family is one line of eager/device/cuda/meson.build (its name and its files), which also
 * makes the list CEBUS_CUDA_FAMILIES(X); its file defines
 *
 *     const cebus_kernel cebus_cuda_<family>_kernels[] = {{"add", add_run, NULL, NULL}, ..., {0}};
 *
 * after including this header (C linkage in .cu files). Names of ops are those of the CPU's tables
 * (eager/device/cpu/families.h), whose families these mirror.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_FAMILIES_H
#define CEBUS_EAGER_DEVICE_CUDA_FAMILIES_H

#include "eager/device/cuda/cuda.h"

#include "eager/device/cuda/cuda_families.h" /* made by meson.build */

CEBUS_BEGIN_DECLS

#define CEBUS_CUDA_DECLARE(family) extern const cebus_kernel cebus_cuda_##family##_kernels[];
CEBUS_CUDA_FAMILIES(CEBUS_CUDA_DECLARE)

/** Of all families, by op name; NULL: the device lacks it. */
const cebus_kernel *cebus_cuda_kernel_find(const char *op);

CEBUS_END_DECLS

#endif
