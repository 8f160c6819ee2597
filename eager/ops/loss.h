/**
 * loss.h: the inside of the losses.
 */
#ifndef CEBUS_EAGER_OPS_LOSS_H
#define CEBUS_EAGER_OPS_LOSS_H

#include <cebus/ops/loss.h>

#include "eager/op.h"

/** Attributes of cross_entropy, nll_loss and their backward ops. */
typedef struct cebus_class_loss_attrs {
    int64_t reduction;
    int64_t ignore_index;
    int64_t classes;
    double smoothing;
} cebus_class_loss_attrs;

typedef struct cebus_mse_attrs {
    int64_t reduction;
} cebus_mse_attrs;

/** Dimension of the classes. */
static inline int cebus_class_dim(const cebus_view *x)
{
    return x->ndim == 1 ? 0 : 1;
}

/** The memory order the losses over classes work in: channels-last where x is, else row-major; in
 * both, lines along the classes come in the row-major order of the targets. */
void cebus_class_layout(const cebus_view *x, cebus_view *out);

/** @name Backward ops */
/** @{ */
extern const cebus_op cebus_op_cross_entropy_backward; /**< (grad, x, target, logsumexp) -> x's */
extern const cebus_op cebus_op_nll_loss_backward;      /**< (grad, target) -> x's, row-major */
extern const cebus_op cebus_op_mse_loss_backward;      /**< (grad, a, b) -> a's */
/** @} */

/** @name Gradients (eager/autograd/loss.c) */
/** @{ */
cebus_saves cebus_cross_entropy_saves(const void *attrs, uint64_t needs);
cebus_status cebus_cross_entropy_gradient(const cebus_gradient *io);
cebus_saves cebus_nll_loss_saves(const void *attrs, uint64_t needs);
cebus_status cebus_nll_loss_gradient(const cebus_gradient *io);
cebus_saves cebus_mse_loss_saves(const void *attrs, uint64_t needs);
cebus_status cebus_mse_loss_gradient(const cebus_gradient *io);
/** @} */

#endif
