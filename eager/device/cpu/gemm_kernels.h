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

/** Rows of A or columns of B: line i, element p is first[i * stride + p * step]. */
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

/** The part of C that one tile goes to; the tile's other rows and columns are dropped. */
typedef struct cebus_gemm_target {
    void *c;
    int64_t ldc, rows, cols;
    double alpha;
    bool accumulate;
} cebus_gemm_target;

typedef struct cebus_gemm_kernel {
    int64_t rows, cols; /**< of a tile */
    /** tile = A B for a strip of `rows` rows and a packed panel of `cols` columns; the rows of the
     * tile are `stride` elements apart. */
    void (*multiply)(int64_t depth, const cebus_gemm_strip *a, const void *b, void *tile,
                     int64_t stride);
    /** Lays element p of up to `width` lines side by side, missing lines as zeros. */
    void (*pack)(const cebus_gemm_lines *lines, int64_t width, void *panel);
    /** C = alpha tile, or C += alpha tile. */
    void (*merge)(const cebus_gemm_target *target, const void *tile);
} cebus_gemm_kernel;

/** Bytes of a vector register of this processor: 64 with AVX-512, 32 with AVX2 and FMA, else 16. */
int cebus_gemm_vector_bytes(void);

/** The kernel for vectors of 64, 32 or 16 bytes, which the processor must have. */
const cebus_gemm_kernel *cebus_gemm_kernel_find(cebus_dtype dtype, int vector_bytes);

/** cebus_gemm_scratch() and cebus_gemm_run() by one kernel. */
uint64_t cebus_gemm_blocked_scratch(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel);
void cebus_gemm_blocked_run(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel, void *scratch);

#endif
