/**
 * join.h: the inside of the ops that put tensors together: attributes and gradients.
 */
#ifndef CEBUS_EAGER_OPS_JOIN_H
#define CEBUS_EAGER_OPS_JOIN_H

#include "eager/op.h"

/** Of cat and stack: the dimension of the output along which the inputs lie. */
typedef struct cebus_join_attrs {
    int64_t dim;
} cebus_join_attrs;

/** Of pad: border widths of each dimension, negative where it is cut. */
typedef struct cebus_pad_attrs {
    double value;
    int64_t before[CEBUS_MAX_DIMS], after[CEBUS_MAX_DIMS];
} cebus_pad_attrs;

/** One dimension of a padding, with the signs taken apart: all four are >= 0. */
typedef struct cebus_pad_widths {
    int64_t before, after, cut_before, cut_after;
} cebus_pad_widths;

static inline cebus_pad_widths cebus_pad_widths_of(const cebus_pad_attrs *attrs, int dim)
{
    int64_t before = attrs->before[dim], after = attrs->after[dim];
    return (cebus_pad_widths){
        .before = before > 0 ? before : 0,
        .after = after > 0 ? after : 0,
        .cut_before = before < 0 ? -before : 0,
        .cut_after = after < 0 ? -after : 0,
    };
}

/** Of roll: how far each dimension moves, in [0, length). */
typedef struct cebus_roll_attrs {
    int64_t shift[CEBUS_MAX_DIMS];
} cebus_roll_attrs;

/** @name Gradients (eager/autograd/join.c); none saves anything. */
/** @{ */
cebus_status cebus_cat_gradient(const cebus_gradient *io);
cebus_status cebus_stack_gradient(const cebus_gradient *io);
cebus_status cebus_pad_gradient(const cebus_gradient *io);
cebus_status cebus_roll_gradient(const cebus_gradient *io);
/** @} */

#endif
