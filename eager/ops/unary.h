/**
 * unary.h: the inside of the functions of one number: how an op finds its gradient.
 */
#ifndef CEBUS_EAGER_OPS_UNARY_H
#define CEBUS_EAGER_OPS_UNARY_H

#include "eager/op.h"

/** An op f and its backward op (g, x or f(x)) -> g f'(x). `op` comes first: the gradient is given
 * only that, and finds the rest behind it. */
typedef struct cebus_unary_op {
    cebus_op op;
    cebus_op backward;
    size_t attr_bytes; /**< both take the same attributes */
} cebus_unary_op;

typedef struct cebus_clamp_attrs {
    double low, high;
} cebus_clamp_attrs;

typedef struct cebus_leaky_relu_attrs {
    double slope;
} cebus_leaky_relu_attrs;

/** @name Gradients (eager/autograd/unary.c) */
/** @{ */
cebus_saves cebus_unary_saves_in(const void *attrs, uint64_t needs);
cebus_saves cebus_unary_saves_out(const void *attrs, uint64_t needs);
/** Of every cebus_unary_op; passes the attributes on. */
cebus_status cebus_unary_gradient(const cebus_gradient *io);
cebus_status cebus_neg_gradient(const cebus_gradient *io);
cebus_status cebus_sign_gradient(const cebus_gradient *io);
/** @} */

#endif
