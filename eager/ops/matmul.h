/**
 * matmul.h: the inside of the matrix products. Neither op has attributes; inputs are (a, b) and
 * (x, weight, bias or absent).
 */
#ifndef CEBUS_EAGER_OPS_MATMUL_H
#define CEBUS_EAGER_OPS_MATMUL_H

#include "eager/op.h"

/** @name Gradients (eager/autograd/matmul.c) */
/** @{ */
cebus_saves cebus_matmul_saves(const void *attrs, uint64_t needs);
cebus_status cebus_matmul_gradient(const cebus_gradient *io);
cebus_saves cebus_linear_saves(const void *attrs, uint64_t needs);
cebus_status cebus_linear_gradient(const cebus_gradient *io);
/** @} */

#endif
