/**
 * gemm_batch.h: many products of one size, on several threads.
 *
 * The batch is walked by strides, so that broadcast and transposed operands are read where they
 * are. How it is cut is a pure function of (sizes, count, threads): whole matrices where there
 * are enough of them, else each C in as many parts as there are threads.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_GEMM_BATCH_H
#define CEBUS_EAGER_DEVICE_CPU_GEMM_BATCH_H

#include "eager/device/cpu/gemm.h"

typedef struct cebus_gemm_batch {
    cebus_gemm one; /**< the first product; C matrices follow each other densely */
    int ndim;
    int64_t shape[CEBUS_MAX_DIMS];                              /**< of the batch */
    int64_t a_stride[CEBUS_MAX_DIMS], b_stride[CEBUS_MAX_DIMS]; /**< elements, may be 0 */
    const void *bias; /**< n values added to every row of C; may be NULL */
    int64_t bias_stride;
} cebus_gemm_batch;

uint64_t cebus_gemm_batch_scratch(const cebus_gemm_batch *batch, int threads);
void cebus_gemm_batch_run(const cebus_gemm_batch *batch, int threads, void *scratch);

#endif
