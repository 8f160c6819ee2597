/**
 * cuda_host.h: the device "cuda-host": the CPU's, but for the CUDA plug-in's own kernels, which run
 * as plain C++ (eager/device/cuda/grid.h). A block has one thread, so that loops take everything.
 * "cuda-host:N" has N threads in each block (a power of two, at most 512, and never more than the
 * kernel asks for): these meet, shuffle and share memory as they do on a GPU. A thread that is done
 * where others wait for it ends the program.
 *
 * Workspaces are poisoned before a kernel gets them.
 */
#ifndef CEBUS_TESTS_SUPPORT_CUDA_HOST_H
#define CEBUS_TESTS_SUPPORT_CUDA_HOST_H

#include <stdbool.h>

/** Adds the device to the registry; false when that is full. Absent without a C++ compiler. */
bool cebus_cuda_host_register(void);

#endif
