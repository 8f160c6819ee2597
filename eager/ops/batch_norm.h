/**
 * batch_norm.h: the inside of batch normalization. Four ops:
 *
 *   batch_norm           x, weight?, bias?                 -> y, mean, var      (training)
 *   batch_norm_eval      x, weight?, bias?, mean, var      -> y
 *   batch_norm_backward  grad, x, mean, var, weight?       -> grad of x, weight, bias
 *   batch_norm_running   running mean, var; mean, var      -> the first two, in place
 *
 * Mean and variance are f32 where x is f16 or bf16. The variance (not its root's inverse) is what
 * is kept: the running one is made from it exactly.
 */
#ifndef CEBUS_EAGER_OPS_BATCH_NORM_H
#define CEBUS_EAGER_OPS_BATCH_NORM_H

#include <cebus/ops/batch_norm.h>

#include "eager/op.h"

/** Attributes of all but batch_norm_running. */
typedef struct cebus_batch_norm_attrs {
    double eps;
    int64_t training;       /**< of the backward op: mean and var depend on x */
    int64_t dweight, dbias; /**< of the backward op: element types of the two */
} cebus_batch_norm_attrs;

typedef struct cebus_batch_norm_running_attrs {
    double momentum;
    double correction; /**< n / (n - 1) */
} cebus_batch_norm_running_attrs;

extern const cebus_op cebus_op_batch_norm_backward;

/** @name Gradients (eager/autograd/batch_norm.c) */
/** @{ */
cebus_saves cebus_batch_norm_saves(const void *attrs, uint64_t needs);
cebus_status cebus_batch_norm_gradient(const cebus_gradient *io);
cebus_saves cebus_batch_norm_eval_saves(const void *attrs, uint64_t needs);
cebus_status cebus_batch_norm_eval_gradient(const cebus_gradient *io);
/** @} */

#endif
