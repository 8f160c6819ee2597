/**
 * reduce.h: the inside of the reductions: attributes, ops, and the sum that undoes a broadcast.
 */
#ifndef CEBUS_EAGER_OPS_REDUCE_H
#define CEBUS_EAGER_OPS_REDUCE_H

#include "eager/op.h"

/** Attributes of every reduction and of every reduction's backward op. */
typedef struct cebus_reduce_attrs {
    uint32_t dims;  /**< bit d: dimension d is reduced */
    uint32_t drop;  /**< bit d: it is also dropped (a subset of `dims`, both of length 1 then) */
    double divisor; /**< sum, mean, var: what the total is divided by */
} cebus_reduce_attrs;

/**
 * The sum of `x` to the shape of `like`, where like's shape broadcasts to x's: the gradient of an
 * input that was broadcast. *out is `x` retained when the shapes are equal already.
 */
CEBUS_MUST_CHECK cebus_status cebus_sum_to(cebus_runtime *rt, cebus_tensor *x,
                                           const cebus_view *like, cebus_tensor **out);

/** x / divisor; used on small gradients before they are expanded. */
CEBUS_MUST_CHECK cebus_status cebus_reduce_divide(cebus_runtime *rt, cebus_tensor *x,
                                                  double divisor, cebus_tensor **out);

/** @name Backward ops; inputs (grad, x, out or mean), all but x of the shape with keepdim; the
 * last contiguous. */
/** @{ */
extern const cebus_op cebus_op_extremum_backward;
extern const cebus_op cebus_op_var_backward;
extern const cebus_op cebus_op_logsumexp_backward;
/** @} */

/** @name Gradients (eager/autograd/reduce.c) */
/** @{ */
cebus_status cebus_sum_gradient(const cebus_gradient *io);
cebus_saves cebus_extremum_saves(const void *attrs, uint64_t needs);
cebus_status cebus_extremum_gradient(const cebus_gradient *io);
cebus_saves cebus_var_saves(const void *attrs, uint64_t needs);
cebus_status cebus_var_gradient(const cebus_gradient *io);
cebus_saves cebus_logsumexp_saves(const void *attrs, uint64_t needs);
cebus_status cebus_logsumexp_gradient(const cebus_gradient *io);
/** @} */

#endif
