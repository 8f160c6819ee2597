/**
 * operand.h: views as operands of matrix products. Whatever the strides, an operand ends up as
 * matrices with unit stride in one direction, walked by batch strides: mostly by reading the
 * view where it is, else from a dense copy in the workspace. Decided by views alone.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_OPERAND_H
#define CEBUS_EAGER_DEVICE_CPU_OPERAND_H

#include "eager/op.h"

/** A view as [batch.., rows, cols], its batch expanded: stride 0 where it is repeated. */
typedef struct cebus_operand {
    const void *data;
    int64_t rows, cols, row_stride, col_stride;
    int64_t batch_stride[CEBUS_MAX_DIMS];
    bool copied; /**< `data` is to be filled by cebus_operand_copy() first */
} cebus_operand;

/** What a kernel has given out of its workspace; `base` NULL only counts. */
typedef struct cebus_scratch {
    char *base;
    uint64_t bytes;
} cebus_scratch;

/** The next `bytes`, aligned to 64; NULL when only counting. */
void *cebus_scratch_take(cebus_scratch *scratch, uint64_t bytes);

/** The last two dimensions as a matrix, the others as the last of `batch_ndim`. A vector is a
 * column. */
cebus_operand cebus_operand_describe(const cebus_array *array, int batch_ndim);

/** The same for an argument of a product: takes scratch for a copy when neither direction has
 * stride 1. */
cebus_operand cebus_operand_init(const cebus_array *array, int batch_ndim, cebus_scratch *scratch);

/** Fills the copy, if it is one. `array` is the one it was made from. */
void cebus_operand_copy(const cebus_operand *operand, const cebus_array *array, int threads);

/** The matrices transposed; a vector becomes a row. */
cebus_operand cebus_operand_transpose(const cebus_operand *operand);

/** True when a row lies in one piece (trans false), or else a column. One of both holds. */
bool cebus_operand_by_rows(const cebus_operand *operand);

/** The operand as an argument of a product (gemm.h): transposition and leading dimension. */
void cebus_operand_place(const cebus_operand *operand, bool *out_trans, int64_t *out_ld);

#endif
