/**
 * blas.h: matrix products by cuBLASLt, planned once for each call description (product.h) and
 * device: f32 (true f32, or tf32 where the device was opened so), f64, bf16 and f16, the last two
 * accumulated in f32.
 *
 * Which algorithm runs: the first of cuBLASLt's own ranking that needs no split sums added in
 * place, and at most CEBUS_CUDA_BLAS_BOUND of workspace. cuBLASLt gives the same bits for the same
 * algorithm, device and library version as long as each stream has its own workspace: there is one
 * compute stream, and the workspace is the call's own piece of the arena ("Results
 * Reproducibility" in the cuBLAS manual). CUBLAS_WORKSPACE_CONFIG sizes workspaces that the library
 * would allocate, and plays no part.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_BLAS_H
#define CEBUS_EAGER_DEVICE_CUDA_BLAS_H

#include "eager/device/cuda/cuda.h"
#include "eager/device/cuda/product.h"

/** Workspace that a product may take, on Hopper and later; before, a quarter. */
#define CEBUS_CUDA_BLAS_BOUND (UINT64_C(32) << 20)

typedef struct cebus_cuda_blas_info {
    uint64_t workspace; /**< a multiple of CEBUS_CUDA_PIECE */
    bool adds_bias;     /**< false: gemm->bias is left to the caller */
} cebus_cuda_blas_info;

/** One call; a, b, c, bias and workspace are aligned as the gemm says, the last two to
 * CEBUS_CUDA_USEFUL_ALIGNMENT at least. */
typedef struct cebus_cuda_blas_call {
    const cebus_cuda_gemm *gemm;
    double alpha;
    const void *a, *b;
    void *c;
    const void *bias;
    void *workspace;
} cebus_cuda_blas_call;

/** What a run will take. CEBUS_UNSUPPORTED when cuBLASLt has nothing for it, naming the sizes. */
cebus_status cebus_cuda_blas_query(cebus_cuda *cuda, const char *op, const cebus_cuda_gemm *gemm,
                                   cebus_cuda_blas_info *out);
/** Enqueues the call on the compute stream. */
cebus_status cebus_cuda_blas_run(cebus_cuda *cuda, const char *op,
                                 const cebus_cuda_blas_call *call);

/** A call for each part of a product; every part has the workspace to itself in turn. */
typedef struct cebus_cuda_blas_batch {
    const cebus_cuda_product *product;
    double alpha;
    const void *a, *b;
    void *c;
    const void *bias;
    void *workspace;
} cebus_cuda_blas_batch;

cebus_status cebus_cuda_blas_run_all(cebus_cuda *cuda, const char *op,
                                     const cebus_cuda_blas_batch *batch);

#endif
