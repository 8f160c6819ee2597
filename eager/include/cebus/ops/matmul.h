/**
 * @file matmul.h
 * Matrix products.
 *
 * Operands are read where they are: a transposed, sliced or broadcast view costs no copy as long
 * as one of its two matrix dimensions has stride 1 (other views are copied to workspace). The
 * result is a new contiguous tensor. Both operands are of one float type; f16 and bf16
 * are summed in f32 and rounded once.
 *
 * Sums run in an order that the shapes and the runtime's thread count fix: same inputs, same
 * bits. With OpenBLAS its packing buffers lie outside the budget, at most about 5 MiB a thread.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL; CEBUS_SHAPE_MISMATCH when the shapes do not go
 * together; CEBUS_DTYPE_MISMATCH for two types or one that is not taken.
 */
#ifndef CEBUS_OPS_MATMUL_H
#define CEBUS_OPS_MATMUL_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/**
 * a b by PyTorch's rules: [.., m, k] and [.., k, n] give [.., m, n], leading dimensions
 * broadcast; a vector on the left counts as one row, on the right as one column, and that
 * dimension is dropped from the result (two vectors: a 0-d dot product).
 *
 * The gradients are products with the other operand transposed, summed over the dimensions that
 * were broadcast; each operand is saved only if the other one needs a gradient.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_matmul(cebus_runtime *rt, cebus_tensor *a,
                                                     cebus_tensor *b, cebus_tensor **out);

/**
 * x weight^T + bias for x [.., k], weight [n, k] and bias [n] or NULL; the result is [.., n]. One
 * product for all leading dimensions, the bias added on the way.
 *
 * The gradient saves x if the weight needs one and the weight if x does; the bias costs nothing.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_linear(cebus_runtime *rt, cebus_tensor *x,
                                                     cebus_tensor *weight, cebus_tensor *bias,
                                                     cebus_tensor **out);

CEBUS_END_DECLS

#endif
