/**
 * norm.h: the inside of layer, RMS and group norm.
 *
 * Forward ops: (x, weight, bias) -> (out, mean, rstd), the latter two one number for each group
 * (RMS norm has neither bias nor mean) in f32 where x is f16 or bf16. Backward ops: (grad, x,
 * weight, mean, rstd) -> those of (dx, dweight, dbias) that `wanted` names, in that order.
 */
#ifndef CEBUS_EAGER_OPS_NORM_H
#define CEBUS_EAGER_OPS_NORM_H

#include "eager/op.h"

enum {
    CEBUS_NORM_DX = 1,
    CEBUS_NORM_DWEIGHT = 2,
    CEBUS_NORM_DBIAS = 4,
};

typedef struct cebus_norm_attrs {
    int64_t n_dims; /**< layer and RMS norm: trailing dimensions */
    int64_t groups; /**< group norm */
    double eps;
    int64_t wanted;         /**< backward: a mask of CEBUS_NORM_* */
    int64_t dweight, dbias; /**< backward: element types, those of weight and bias */
} cebus_norm_attrs;

/** The memory order group norm works in and answers in. */
void cebus_group_norm_layout(const cebus_view *x, cebus_view *out);

extern const cebus_op cebus_op_layer_norm_backward;
extern const cebus_op cebus_op_rms_norm_backward;
extern const cebus_op cebus_op_group_norm_backward;

/** @name Gradients (eager/autograd/norm.c) */
/** @{ */
cebus_saves cebus_norm_saves(const void *attrs, uint64_t needs);
cebus_saves cebus_rms_norm_saves(const void *attrs, uint64_t needs);
cebus_status cebus_layer_norm_gradient(const cebus_gradient *io);
cebus_status cebus_rms_norm_gradient(const cebus_gradient *io);
cebus_status cebus_group_norm_gradient(const cebus_gradient *io);
/** @} */

#endif
