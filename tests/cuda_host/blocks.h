/**
 * blocks.h: how blocks run (tests/support/cuda_host.h).
 */
#ifndef CEBUS_TESTS_CUDA_HOST_BLOCKS_H
#define CEBUS_TESTS_CUDA_HOST_BLOCKS_H

/** Threads that blocks have from now on, at most. */
void cebus_cuda_host_threads(int threads);

#endif
