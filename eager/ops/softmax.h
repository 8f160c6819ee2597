/**
 * softmax.h: the inside of softmax and log_softmax.
 */
#ifndef CEBUS_EAGER_OPS_SOFTMAX_H
#define CEBUS_EAGER_OPS_SOFTMAX_H

#include "eager/op.h"

typedef struct cebus_softmax_attrs {
    int32_t dim; /**< 0 of a 0-d tensor */
} cebus_softmax_attrs;

/** @name Backward ops: (grad, out) -> grad_in, which lies in memory like out. */
/** @{ */
extern const cebus_op cebus_op_softmax_backward;
extern const cebus_op cebus_op_log_softmax_backward;
/** @} */

/** @name Gradients (eager/autograd/softmax.c) */
/** @{ */
cebus_saves cebus_softmax_saves(const void *attrs, uint64_t needs);
cebus_status cebus_softmax_gradient(const cebus_gradient *io);
cebus_status cebus_log_softmax_gradient(const cebus_gradient *io);
/** @} */

#endif
