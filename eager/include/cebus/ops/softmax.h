/**
 * @file softmax.h
 * Softmax and its logarithm.
 */
#ifndef CEBUS_OPS_SOFTMAX_H
#define CEBUS_OPS_SOFTMAX_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/**
 * exp(x) / sum(exp(x)) along `dim` (negative counts from the end), from the distance to the
 * maximum so that it does not overflow. Any float type. The result lies in memory like x (row-major
 * when x has holes). The gradient saves the output alone.
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL or a dimension out of range, CEBUS_DTYPE_MISMATCH.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_softmax(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                      cebus_tensor **out);

/** log(softmax(x)), without the loss of digits that taking the logarithm afterwards has. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_log_softmax(cebus_runtime *rt, cebus_tensor *x,
                                                          int dim, cebus_tensor **out);

CEBUS_END_DECLS

#endif
