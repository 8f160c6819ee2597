/**
 * cpu.h: the state of one CPU device instance (one per runtime): what kernels may cache between
 * calls. A kernel reaches it as launch->device; the runtime's lock protects it.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_CPU_H
#define CEBUS_EAGER_DEVICE_CPU_CPU_H

#include "eager/op.h"

typedef struct cebus_dnnl cebus_dnnl; /**< engine, stream, primitive cache (dnnl_cache.h) */

typedef struct cebus_cpu {
    cebus_dnnl *dnnl; /**< created at first use, NULL before and without oneDNN */
} cebus_cpu;

#endif
