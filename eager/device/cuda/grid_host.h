/**
 * grid_host.h: what grid.h needs in the place of CUDA when CEBUS_CUDA_HOST is defined: a launch
 * runs block after block, and the threads of a block take turns at each meeting point. Tests
 * implement it (tests/cuda_host).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_GRID_HOST_H
#define CEBUS_EAGER_DEVICE_CUDA_GRID_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/** A kernel with its argument. */
template <class P> struct cebus_host_kernel {
    void (*kernel)(P);
    P params;
};
extern "C" {
#endif

/** Which thread is running. */
typedef struct cebus_host_place {
    int64_t block, blocks;
    int thread, threads;
} cebus_host_place;

extern __thread cebus_host_place cebus_host_at;

/** Waits for all threads of the block. */
void cebus_host_sync(void);
/** Hands out the `bytes` of the thread `delta` behind in the warp, one's own at its end. */
void cebus_host_shuffle(const void *mine, void *other, size_t bytes, int delta);
/** Hands out the `bytes` of the thread whose place in the warp differs in the bits of `mask`. */
void cebus_host_exchange(const void *mine, void *other, size_t bytes, int mask);
/** Calls `call(what)` for every thread of every block. */
void cebus_host_run(void (*call)(const void *what), const void *what, int64_t blocks, int threads);

#ifdef __cplusplus
}
#endif

#endif
