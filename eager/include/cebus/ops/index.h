/**
 * @file index.h
 * Reading and adding at positions that a tensor of indices names.
 *
 * Indices are i64 or i32, of any strides, and lie in [0, length) of the indexed dimension; a
 * negative one is an error, as in PyTorch. A kernel looks at all indices before it writes
 * anything, so a bad one fails the call with CEBUS_INVALID_ARGUMENT (the message names the index,
 * its position and the bound) and nothing has changed.
 *
 * Results are new contiguous tensors of the type of `x` (or `weight`). Reading takes every type.
 * Adding takes the floating-point and integer types (not bool), and equal indices are added in
 * row-major order of the indices, whatever the number of threads: same input, same bits.
 * Gradients flow to the values, never to the indices; only the indices are saved for them.
 *
 * Other errors: CEBUS_INVALID_ARGUMENT for NULL and for a dimension out of range,
 * CEBUS_SHAPE_MISMATCH and CEBUS_DTYPE_MISMATCH as the functions say.
 */
#ifndef CEBUS_OPS_INDEX_H
#define CEBUS_OPS_INDEX_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** For cebus_embedding(): every row of the table learns. */
#define CEBUS_NO_PADDING INT64_MIN

/**
 * Rows of a table: out[i..., :] = weight[indices[i...], :], of shape indices.shape + [columns].
 *
 * `weight` is [rows, columns]. Row `padding_idx` (negative counts from the end, as in PyTorch;
 * CEBUS_NO_PADDING for none) is read like any other, but its gradient is zero. The gradient is
 * dense, as large as `weight`.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_embedding(cebus_runtime *rt, cebus_tensor *weight,
                                                        cebus_tensor *indices, int64_t padding_idx,
                                                        cebus_tensor **out);

/**
 * out[i][j][k] = x[i][index[i][j][k]][k] for dim 1 of 3, and so on; of the shape of `index`.
 *
 * `index` has as many dimensions as `x` and is no longer than it in any but `dim`.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gather(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                     cebus_tensor *index, cebus_tensor **out);

/**
 * The slices of `x` along `dim` in the order of `index`, which is 1-D or 0-D (read as one
 * element); of the shape of `x` but for `dim`, which is as long as `index`. `x` is not 0-D.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_index_select(cebus_runtime *rt, cebus_tensor *x,
                                                           int dim, cebus_tensor *index,
                                                           cebus_tensor **out);

/**
 * A copy of `x` to which out[i][index[i][j][k]][k] += src[i][j][k] was done for dim 1 of 3, and
 * so on, over the positions of `index`.
 *
 * All three have as many dimensions; `index` is no longer than `src` in any, and no longer than
 * `x` in any but `dim`. Gradients: the output's for `x`; for `src` the output's gathered at
 * `index` (zero at positions that `index` does not reach).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_scatter_add(cebus_runtime *rt, cebus_tensor *x,
                                                          int dim, cebus_tensor *index,
                                                          cebus_tensor *src, cebus_tensor **out);

CEBUS_END_DECLS

#endif
