/**
 * gemm.h: matrix products of the CPU: C = alpha op(A) op(B) (+ C), row-major, f32 and f64.
 *
 * One product always runs on the calling thread alone; kernels that want more threads cut their
 * work into products first (gemm_batch.h, attention.c). So the bits never depend on a library's
 * own idea of the thread count, and nothing global has to be set.
 *
 * Two engines do the work; which one is fixed for the life of the process:
 *  - OpenBLAS, where its kernels are as wide as the processor's vectors (a release older than the
 *    processor falls back to SSE code, five times slower than need be) and its threads are
 *    OpenMP's or none (its own pool obeys a global count only). Each thread that multiplies keeps
 *    one packing buffer of OpenBLAS outside the arena: address space of 32 MiB, of which it
 *    touches what it packs, 0.2 to 5 MiB as measured; later products use it again.
 *  - gemm_blocked.c, our own, as fast with AVX2 and AVX-512. It packs into the caller's scratch.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_GEMM_H
#define CEBUS_EAGER_DEVICE_CPU_GEMM_H

#include <cebus/tensor.h>

/** Leading dimensions count elements from row to row of the matrix as stored: A is [m, k], or
 * [k, m] with trans_a; B is [k, n], or [n, k] with trans_b. They are at least the row length, and
 * at most INT_MAX unless that is longer. */
typedef struct cebus_gemm {
    cebus_dtype dtype; /**< CEBUS_F32 or CEBUS_F64 */
    bool trans_a, trans_b;
    bool accumulate; /**< add to C; otherwise C is only written, and may hold anything before */
    int64_t m, n, k; /**< any may be 0; with k == 0 the product is zero */
    int64_t lda, ldb, ldc;
    double alpha;
    const void *a, *b;
    void *c;
} cebus_gemm;

/** Bytes of scratch, a multiple of 64; never less for a product that is larger in m, n or k, so
 * that one buffer serves several. Reads the type and the sizes alone. */
uint64_t cebus_gemm_scratch(const cebus_gemm *gemm);

/** Multiplies on the calling thread. Every element's sum runs over k in an order that the sizes
 * fix. `scratch` is aligned to 64 bytes. */
void cebus_gemm_run(const cebus_gemm *gemm, void *scratch);

#endif
