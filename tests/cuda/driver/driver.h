/**
 * driver.h: a CUDA driver and runtime in host memory, as much of them as the device layer of the
 * plug-in calls, so that it runs where no GPU is at hand. It is stricter than a real one:
 *
 *  - Streams run late, one piece of work at a time, in whichever order events allow: chance
 * decides.
 *  - Addresses of the slab without memory behind them cannot be touched.
 *  - Asynchronous copies need page-locked host memory and must not overlap; freeing or unmapping
 *    what enqueued work still uses, or what was never allocated, ends the program.
 *  - A piece of work takes 1 us, and copies CEBUS_FAKE_BYTES_PER_NS beside that.
 *  - The device has little memory (CEBUS_FAKE_MEMORY bytes), and counts it.
 *
 * Kernels are the CPU's (kernels.c), put on the stream.
 */
#ifndef CEBUS_TESTS_CUDA_DRIVER_H
#define CEBUS_TESTS_CUDA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#define CEBUS_FAKE_MEMORY (UINT64_C(3) << 30)
#define CEBUS_FAKE_BYTES_PER_NS 4096

/** Puts a function on the stream; it owns `argument`. False: the stream's next synchronization
 * fails with cudaErrorLaunchFailure. */
typedef bool cebus_fake_work(void *argument);
void cebus_fake_enqueue(cudaStream_t stream, cebus_fake_work *run, void *argument);

#endif
