/**
 * product.h: matrix products over views as a GEMM library takes them: matrices with unit stride in
 * one direction, a leading dimension, and one strided batch. Everything is row-major; blas.c turns
 * it around for cuBLASLt. Needs no CUDA.
 *
 * A view becomes an operand: read where it is, or, where neither direction has unit stride, from a
 * dense copy in the workspace. Batch dimensions that lie regularly in all three operands become
 * one; the longest of what remains is the library's batch, and over the others the product is
 * called again and again. Where that would be too many calls, the operands in the way are copied.
 * All of it is decided by views alone.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_PRODUCT_H
#define CEBUS_EAGER_DEVICE_CUDA_PRODUCT_H

#include "eager/op.h"

/** Pieces of a workspace begin at multiples of this. */
#define CEBUS_CUDA_PIECE 256
/** Calls of the library that a product may take before operands are copied instead. */
#define CEBUS_CUDA_CALLS 16
/** The alignment of data that libraries make use of, in bytes. */
#define CEBUS_CUDA_USEFUL_ALIGNMENT 16

/** What a kernel has given out of its workspace; `base` NULL only counts. */
typedef struct cebus_cuda_scratch {
    char *base;
    uint64_t bytes;
} cebus_cuda_scratch;

/** The next `bytes`; NULL when only counting. */
void *cebus_cuda_scratch_take(cebus_cuda_scratch *scratch, uint64_t bytes);

/** Whether a launch has as much: how much was planned without host memory is not known. */
static inline cebus_status cebus_cuda_scratch_check(const cebus_cuda_scratch *scratch,
                                                    const cebus_launch *launch, const char *op)
{
    if (scratch->bytes <= launch->workspace_bytes)
        return CEBUS_OK;
    return cebus_fail(CEBUS_DEVICE_ERROR, op,
                      "host memory ran out while its workspace was measured: try again");
}

/** A view as [batch.., rows, cols], its batch expanded: stride 0 where it is repeated. */
typedef struct cebus_cuda_operand {
    char *data;
    int64_t rows, cols, row_stride, col_stride;
    int64_t batch_stride[CEBUS_MAX_DIMS];
    int64_t align; /**< of `data`, bytes: a power of two, at most CEBUS_CUDA_USEFUL_ALIGNMENT */
    bool copied;   /**< `data` is to be filled with the view's elements, row-major, first */
} cebus_cuda_operand;

/** The last two dimensions as a matrix, the others as the last of `batch_ndim`. A vector is a
 * column. */
cebus_cuda_operand cebus_cuda_operand_describe(const cebus_array *array, int batch_ndim);
/** The matrices transposed; a vector becomes a row. */
cebus_cuda_operand cebus_cuda_operand_transpose(const cebus_cuda_operand *operand);
/** Whether rows lie in one piece each, without meeting: what the library reads untransposed. */
bool cebus_cuda_operand_by_rows(const cebus_cuda_operand *operand);
/** Makes `operand`, that describes `array`, its dense copy, unless it is already. */
void cebus_cuda_operand_copy(cebus_cuda_operand *operand, const cebus_array *array, int batch_ndim,
                             cebus_cuda_scratch *scratch);
/** The same where neither direction has unit stride. */
void cebus_cuda_operand_settle(cebus_cuda_operand *operand, const cebus_array *array,
                               int batch_ndim, cebus_cuda_scratch *scratch);

/** One call of the library, C = alpha op(A) op(B) (+ C) (+ bias): the key of its plan, so all
 * fields are int64. Leading dimensions and strides count elements. */
typedef struct cebus_cuda_gemm {
    int64_t dtype;  /**< of A, B and the bias */
    int64_t result; /**< of C: the same, or f32 of f16 and bf16 */
    int64_t tf32;   /**< f32 may be rounded to tf32 */
    int64_t m, n, k;
    int64_t trans_a, trans_b; /**< A is stored [k, m], B [n, k] */
    int64_t lda, ldb, ldc;
    int64_t batch, a_stride, b_stride, c_stride;
    int64_t a_align, b_align, c_align; /**< bytes */
    int64_t bias;                      /**< n dense elements are added to each row */
    int64_t accumulate;
} cebus_cuda_gemm;

/** A call for each index of `shape`, its operands that many elements on. */
typedef struct cebus_cuda_product {
    cebus_cuda_gemm gemm;
    int ndim;
    int64_t shape[CEBUS_MAX_DIMS];
    int64_t a_step[CEBUS_MAX_DIMS], b_step[CEBUS_MAX_DIMS], c_step[CEBUS_MAX_DIMS];
} cebus_cuda_product;

/** An input of a product. */
typedef struct cebus_cuda_factor {
    const cebus_array *array;
    bool turned;                  /**< it is multiplied transposed */
    cebus_cuda_operand as_stored; /**< filled in by cebus_cuda_product_plan() */
} cebus_cuda_factor;

typedef struct cebus_cuda_factors {
    cebus_dtype dtype;
    cebus_dtype result; /**< 0: dtype */
    int ndim;           /**< of the batch */
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_cuda_factor a, b;
    cebus_cuda_operand c; /**< by rows */
} cebus_cuda_factors;

/** Decides what is copied (as_stored.copied: its `data`, taken from scratch, is to be filled before
 * the product runs) and folds the batch. tf32, bias and accumulate are left 0. Nothing may be
 * empty. */
void cebus_cuda_product_plan(cebus_cuda_product *product, cebus_cuda_factors *factors,
                             cebus_cuda_scratch *scratch);
/** The same of operands that are settled, a and b as multiplied. */
void cebus_cuda_product_init(cebus_cuda_product *product, const cebus_cuda_factors *factors,
                             const cebus_cuda_operand *a, const cebus_cuda_operand *b);
/** Calls that it takes. */
int64_t cebus_cuda_product_calls(const cebus_cuda_product *product);
/** Where call number `index` begins, elements from the operands' first. */
typedef struct cebus_cuda_place {
    int64_t a, b, c;
} cebus_cuda_place;
cebus_cuda_place cebus_cuda_product_place(const cebus_cuda_product *product, int64_t index);

/** The alignment in bytes of an address that is `elements` of `size` bytes from one aligned to
 * more: a power of two, at most CEBUS_CUDA_USEFUL_ALIGNMENT. */
int64_t cebus_cuda_alignment(int64_t elements, int64_t size);

#endif
