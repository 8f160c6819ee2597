/**
 * resize.h: the inside of interpolation: ops interpolate (x -> y) and interpolate_backward (grad
 * of y -> grad of x).
 */
#ifndef CEBUS_EAGER_OPS_RESIZE_H
#define CEBUS_EAGER_OPS_RESIZE_H

#include <cebus/ops/resize.h>

#include "eager/op.h"

typedef struct cebus_resize_attrs {
    int64_t mode, align_corners;
    int64_t size[2]; /**< height and width of what is written */
    double step[2];  /**< pixels of the image from one of the result to the next; 0: by the sizes */
} cebus_resize_attrs;

extern const cebus_op cebus_op_interpolate_backward;

/** eager/autograd/resize.c */
cebus_status cebus_interpolate_gradient(const cebus_gradient *io);

#endif
