/**
 * memory.h: what the files of the fake driver share.
 */
#ifndef CEBUS_TESTS_CUDA_MEMORY_H
#define CEBUS_TESTS_CUDA_MEMORY_H

#include "driver.h"

/** What cudaGetLastError answers next. */
extern cudaError_t cebus_fake_last_error;

void cebus_fake_die(const char *why);

/** Whether all of the range is page-locked host memory; or device memory that is there. */
bool cebus_fake_is_pinned(const void *base, size_t bytes);
bool cebus_fake_is_device(const void *base, size_t bytes);
/** Whether a copy that is enqueued reads or writes a part of the range. */
bool cebus_fake_is_used(const void *base, size_t bytes);

#endif
