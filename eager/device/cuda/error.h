/**
 * error.h: how the plug-in's errors reach the library (cuda.h has what kernels use).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_ERROR_H
#define CEBUS_EAGER_DEVICE_CUDA_ERROR_H

#include "eager/device/plugin.h"

/** Before anything that may fail. `host` outlives the plug-in. */
void cebus_cuda_error_init(const cebus_plugin_host *host);

#endif
