/**
 * binary.h: kernels that the in-place family runs too; writing over the first operand is all the
 * same to them.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_BINARY_H
#define CEBUS_EAGER_DEVICE_CPU_BINARY_H

#include "eager/op.h"

cebus_status cebus_cpu_run_mul(const cebus_launch *launch);
cebus_status cebus_cpu_run_div(const cebus_launch *launch);
cebus_status cebus_cpu_run_add_scalar(const cebus_launch *launch);
cebus_status cebus_cpu_run_mul_scalar(const cebus_launch *launch);

#endif
