/**
 * gemm_blocked.c: the library's own matrix product. The loops are those of Goto and van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication" (TOMS 2008): a block of B is packed into
 * panels that the caches hold, the rows of A stream past it, and a micro-kernel keeps one tile of
 * C in registers.
 */
#include "eager/device/cpu/gemm_kernels.h"

#include "layout/number.h"

/* A panel of B (depth x tile columns) and one of A fit the first-level cache together, a block of
 * A the second level, a block of B the second or third. */
#define BLOCK_DEPTH 256
#define BLOCK_ROWS 120
#define BLOCK_COLS 512

/* One block of the loops: C[0:m, 0:n] (+)= alpha A[0:m, 0:depth] B[0:depth, 0:n]. */
typedef struct block {
    const cebus_gemm_kernel *kernel;
    const cebus_gemm *gemm;
    int64_t size; /* of an element */
    int64_t m, n, depth;
    int64_t a_row, a_col, b_row, b_col;
    const char *a, *b;
    char *c;
    char *packed_a, *packed_b;
    bool accumulate;
} block;

/* Bytes of one packed operand, a multiple of the alignment. */
static uint64_t packed_bytes(const cebus_gemm *gemm, int64_t lines, int64_t unit)
{
    int64_t depth = cebus_min_i64(gemm->k, BLOCK_DEPTH);
    int64_t bytes =
        cebus_round_up_i64(lines, unit) * depth * (int64_t)cebus_dtype_size(gemm->dtype);
    return (uint64_t)cebus_round_up_i64(bytes, 64);
}

static uint64_t packed_a_bytes(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel)
{
    return packed_bytes(gemm, cebus_min_i64(gemm->m, BLOCK_ROWS), kernel->rows);
}

uint64_t cebus_gemm_blocked_scratch(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel)
{
    return packed_a_bytes(gemm, kernel) +
           packed_bytes(gemm, cebus_min_i64(gemm->n, BLOCK_COLS), kernel->cols);
}

static void pack(const block *b, cebus_gemm_lines lines, int64_t width, char *packed)
{
    int64_t count = lines.count;
    for (int64_t i = 0; i < count; i += width) {
        lines.count = cebus_min_i64(width, count - i);
        b->kernel->pack(&lines, width, packed + i * lines.depth * b->size);
        lines.first = (const char *)lines.first + width * lines.stride * b->size;
    }
}

/* Rows of A that lie along k are read where they are; others, and the last few, are packed. */
static int64_t pack_a(const block *b)
{
    int64_t in_place = b->a_col == 1 ? b->m / b->kernel->rows * b->kernel->rows : 0;
    pack(b,
         (cebus_gemm_lines){.first = b->a + in_place * b->a_row * b->size,
                            .stride = b->a_row,
                            .step = b->a_col,
                            .count = b->m - in_place,
                            .depth = b->depth},
         b->kernel->rows, b->packed_a);
    return in_place;
}

static void pack_b(const block *b)
{
    pack(b,
         (cebus_gemm_lines){
             .first = b->b, .stride = b->b_col, .step = b->b_row, .count = b->n, .depth = b->depth},
         b->kernel->cols, b->packed_b);
}

static cebus_gemm_target target_at(const block *b, int64_t i, int64_t j)
{
    return (cebus_gemm_target){.c = b->c + (i * b->gemm->ldc + j) * b->size,
                               .ldc = b->gemm->ldc,
                               .rows = cebus_min_i64(b->kernel->rows, b->m - i),
                               .cols = cebus_min_i64(b->kernel->cols, b->n - j),
                               .alpha = b->gemm->alpha,
                               .accumulate = b->accumulate};
}

/* Tiles that reach over the border are made beside it first. */
static void multiply_tile(const block *b, const cebus_gemm_strip *strip, const void *panel,
                          const cebus_gemm_target *target)
{
    _Alignas(64) double tile[CEBUS_GEMM_TILE];
    const cebus_gemm_kernel *kernel = b->kernel;
    if (target->rows == kernel->rows && target->cols == kernel->cols) {
        kernel->multiply(b->depth, strip, panel, target);
        return;
    }
    cebus_gemm_target beside = {.c = tile, .ldc = kernel->cols, .alpha = target->alpha};
    kernel->multiply(b->depth, strip, panel, &beside);
    kernel->merge(target, tile);
}

static void multiply_block(const block *b)
{
    const cebus_gemm_kernel *kernel = b->kernel;
    const int64_t in_place = pack_a(b);
    for (int64_t j = 0; j < b->n; j += kernel->cols) {
        const char *panel = b->packed_b + j * b->depth * b->size;
        for (int64_t i = 0; i < b->m; i += kernel->rows) {
            cebus_gemm_strip strip = {b->a + i * b->a_row * b->size, b->a_row, 1};
            if (i >= in_place)
                strip = (cebus_gemm_strip){b->packed_a + (i - in_place) * b->depth * b->size, 1,
                                           kernel->rows};
            cebus_gemm_target target = target_at(b, i, j);
            multiply_tile(b, &strip, panel, &target);
        }
    }
}

/* All rows of A against the packed block of B. */
static void multiply_rows(block b)
{
    const int64_t m = b.m;
    for (int64_t i = 0; i < m; i += BLOCK_ROWS) {
        b.m = cebus_min_i64(BLOCK_ROWS, m - i);
        multiply_block(&b);
        b.a += BLOCK_ROWS * b.a_row * b.size;
        b.c += BLOCK_ROWS * b.gemm->ldc * b.size;
    }
}

static void write_zeros(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel)
{
    static const double zeros[CEBUS_GEMM_TILE];
    block b = {.kernel = kernel,
               .gemm = gemm,
               .size = (int64_t)cebus_dtype_size(gemm->dtype),
               .m = gemm->m,
               .n = gemm->n,
               .c = gemm->c,
               .accumulate = gemm->accumulate};
    for (int64_t i = 0; i < b.m; i += kernel->rows) {
        for (int64_t j = 0; j < b.n; j += kernel->cols) {
            cebus_gemm_target target = target_at(&b, i, j);
            kernel->merge(&target, zeros);
        }
    }
}

void cebus_gemm_blocked_run(const cebus_gemm *gemm, const cebus_gemm_kernel *kernel, void *scratch)
{
    if (gemm->k == 0) {
        write_zeros(gemm, kernel);
        return;
    }
    block b = {.kernel = kernel,
               .gemm = gemm,
               .size = (int64_t)cebus_dtype_size(gemm->dtype),
               .m = gemm->m,
               .a_row = gemm->trans_a ? 1 : gemm->lda,
               .a_col = gemm->trans_a ? gemm->lda : 1,
               .b_row = gemm->trans_b ? 1 : gemm->ldb,
               .b_col = gemm->trans_b ? gemm->ldb : 1,
               .packed_a = scratch,
               .packed_b = (char *)scratch + packed_a_bytes(gemm, kernel)};
    for (int64_t j = 0; j < gemm->n; j += BLOCK_COLS) {
        b.n = cebus_min_i64(BLOCK_COLS, gemm->n - j);
        b.c = (char *)gemm->c + j * b.size;
        for (int64_t p = 0; p < gemm->k; p += BLOCK_DEPTH) {
            b.depth = cebus_min_i64(BLOCK_DEPTH, gemm->k - p);
            b.a = (const char *)gemm->a + p * b.a_col * b.size;
            b.b = (const char *)gemm->b + (p * b.b_row + j * b.b_col) * b.size;
            b.accumulate = gemm->accumulate || p > 0;
            pack_b(&b);
            multiply_rows(b);
        }
    }
}
