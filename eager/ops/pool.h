/**
 * pool.h: the inside of pooling. Ops: max_pool2d (x -> y, place), avg_pool2d and
 * adaptive_avg_pool2d (x -> y), and the backward of each: (grad, place) or (grad) -> grad of x.
 */
#ifndef CEBUS_EAGER_OPS_POOL_H
#define CEBUS_EAGER_OPS_POOL_H

#include <cebus/ops/pool.h>

#include "eager/op.h"

/** Attributes of all; defaults filled in. */
typedef struct cebus_pool_attrs {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    int64_t size[2];         /**< height and width of what is written */
    int64_t exclude_padding; /**< a truth value */
    int64_t adaptive;        /**< a truth value; kernel to dilation do not matter then */
} cebus_pool_attrs;

extern const cebus_op cebus_op_max_pool2d_backward;
extern const cebus_op cebus_op_avg_pool2d_backward;

/** @name Gradients (eager/autograd/pool.c) */
/** @{ */
cebus_saves cebus_max_pool2d_saves(const void *attrs, uint64_t needs);
cebus_status cebus_max_pool2d_gradient(const cebus_gradient *io);
cebus_status cebus_avg_pool2d_gradient(const cebus_gradient *io);
/** @} */

#endif
