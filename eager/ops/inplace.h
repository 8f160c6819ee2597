/**
 * inplace.h: the inside of the in-place ops. Input 0 is written; attributes are
 * cebus_number_attrs (entry.h) or none.
 */
#ifndef CEBUS_EAGER_OPS_INPLACE_H
#define CEBUS_EAGER_OPS_INPLACE_H

#include "eager/op.h"

/** @name Gradients (eager/autograd/inplace.c) */
/** @{ */
cebus_status cebus_add_inplace_gradient(const cebus_gradient *io);
cebus_status cebus_lerp_inplace_gradient(const cebus_gradient *io);
cebus_status cebus_copy_inplace_gradient(const cebus_gradient *io);
cebus_status cebus_fill_inplace_gradient(const cebus_gradient *io);
/** @} */

#endif
