/**
 * parallel.h: loops over index ranges on the calling thread and, when worth it, its helpers.
 *
 * The range [0, n) is cut into at most `threads` consecutive parts, a pure function of
 * (n, grain, threads): results never depend on timing. Small ranges (n <= grain) run on the
 * calling thread alone, without entering a parallel region.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_PARALLEL_H
#define CEBUS_EAGER_DEVICE_CPU_PARALLEL_H

#include <stdint.h>

/** Elements below which a simple elementwise loop is not worth a second thread. */
#define CEBUS_GRAIN 16384

typedef void (*cebus_range_fn)(void *context, int64_t begin, int64_t end);

void cebus_parallel_for(int threads, int64_t n, int64_t grain, cebus_range_fn body, void *context);

#endif
