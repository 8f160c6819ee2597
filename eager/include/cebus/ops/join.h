/**
 * @file join.h
 * Putting tensors together, around and in another order. Any element type; every op moves
 * elements and computes none. Their inverse, cebus_split(), is a view (tensor.h).
 *
 * Results are new tensors, contiguous unless said otherwise. Gradients save nothing.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL, a dimension or count out of range;
 * CEBUS_SHAPE_MISMATCH and CEBUS_DTYPE_MISMATCH for tensors that do not go together.
 */
#ifndef CEBUS_OPS_JOIN_H
#define CEBUS_OPS_JOIN_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Tensors that cebus_cat() and cebus_stack() take at once. */
#define CEBUS_MAX_JOIN 4096

/**
 * The `n` tensors one after another along `dim`; their shapes agree in all other dimensions.
 * Channels-last images stay channels-last. The gradients are slices of the output's: views.
 * More than 64 tensors are joined in groups first, at the cost of one more copy.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_cat(cebus_runtime *rt, cebus_tensor *const *tensors,
                                                  size_t n, int dim, cebus_tensor **out);

/**
 * The `n` tensors of one shape along a new dimension `dim`, in [-ndim - 1, ndim]. The gradients
 * are selections of the output's: views. Otherwise as cebus_cat().
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_stack(cebus_runtime *rt, cebus_tensor *const *tensors,
                                                    size_t n, int dim, cebus_tensor **out);

/**
 * `x` with a border of `value`, or cut where a width is negative.
 *
 * `pads` holds `n_pads` widths in PyTorch's order: {before, after} of the last dimension, then of
 * the one before it, and so on; dimensions that it does not reach keep their length. `value` is
 * converted to the type of `x`. The memory order of `x` is kept. The gradient is a view unless
 * some width is negative.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_pad(cebus_runtime *rt, cebus_tensor *x, int n_pads,
                                                  const int64_t *pads, double value,
                                                  cebus_tensor **out);

/**
 * Moves the elements of dims[i] by shifts[i] places, those pushed over the end to the front; a
 * dimension may come several times. With `dims` NULL the one shift rolls the row-major sequence
 * of all elements. `n` counts the shifts. The gradient is rolled back.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_roll(cebus_runtime *rt, cebus_tensor *x, int n,
                                                   const int64_t *shifts, const int *dims,
                                                   cebus_tensor **out);

CEBUS_END_DECLS

#endif
