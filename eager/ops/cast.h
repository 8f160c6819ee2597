/**
 * cast.h: the inside of the copies.
 */
#ifndef CEBUS_EAGER_OPS_CAST_H
#define CEBUS_EAGER_OPS_CAST_H

#include "eager/op.h"

/** Of the op "cast", which all three functions run. */
typedef struct cebus_cast_attrs {
    cebus_dtype dtype;
    uint32_t row_major; /**< whatever the order of x is */
} cebus_cast_attrs;

/** The gradient (eager/autograd/cast.c). */
cebus_status cebus_cast_gradient(const cebus_gradient *io);

#endif
