/**
 * gemm_kernels.h: the library's own matrix product: its loops (gemm_blocked.c), and what they are
 * made of (gemm_kernels.c): a micro-kernel with its packing and merging, for each element type and
 * each width of vectors. With one kernel an element's bits depend on the sizes alone, not on how
 * a product is cut.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_GEMM_KERNELS_H
#define CEBUS_EAGER_DEVICE_CPU_GEMM_KERNELS_H

#include "eager/device/cpu/gemm.h"

/** Elements of the largest tile of any kernel. */
#define CEBUS_GEMM_TILE 384

/** Rows of A or columns of B: line i, element p is first[i * stride + p * step]; one of the two is
 * 1. */
typedef struct cebus_gemm_lines {
    const void *first;
    int64_t stride, step;
    int64_t count, depth;
} cebus_gemm_lines;

/** The rows of A that one tile is made of: element (i, p) is first[i * row + p * col]. */
typedef struct cebus_gemm_strip {
    const void *first;
    int64_t row, col;
} cebus_gemm_strip;

/** Where a tile goes: `rows` and `cols` of it, the rest is dropped. */
typedef struct cebus_gemm_target {
    void *c;
    int64_t ldc, rows, cols;
    double alpha;
    bool accumulate;
} cebus_gemm_target;

typedef struct cebus_gemm_kernel {
    int64_t rows, cols; /**< of a tile */
    /** C = alpha A B (+ C) for a strip of `rows` rows and a packed panel of `cols` columns, the
     * whole tile. */
    void (*multiply)(int64_t depth, const cebus_gemm_strip *a, const void *b,
                     const cebus_gemm_target *whole);
    /** C = tile, or C += tile, for a part of a dense tile that is multiplied already. */
    void (*merge)(const cebus_gemm_target *part, const void *tile);
    /** Lays element p of up to `width` lines side by side, missing lines as zeros. */
    void (*pack)(const cebus_gemm_lines *lines, int64_t width, void *panel);
} cebus_gemm_kernel;

/** Bytes of a vector register of this processor: 64 with AVX-512, 32 with AVX2 and FMA, else 16. */
int cebus_gemm_vector_bytes(void);

/** The kernel for vectors of 64, 32 or 16 bytes, which the processor must have. */
const cebus_gemm_kernel *cebus_gemm_kernel_find(cebus_dtype dtype, int vector_bytes);

/** cebus_gemm_scratch() and cebus_gemm_run() by one kernel. */
uint64_t cebus_gemm_blocked_scratch(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel);
void cebus_gemm_blocked_run(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel, void *scratch);

#endif
