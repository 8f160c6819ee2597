/**
 * convert.h: elements copied from one array to another that is of another type or layout; the
 * source may be broadcast; or set to a number.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_CONVERT_H
#define CEBUS_EAGER_DEVICE_CPU_CONVERT_H

#include "eager/op.h"

/** out[0] := in[`source`] of the launch, by the rules of cebus/ops/cast.h. */
cebus_status cebus_convert_run(const cebus_launch *launch, uint32_t source);

/** All of out[0] := value, by the same rules (eager/device/cpu/fill.c). */
cebus_status cebus_convert_fill(const cebus_launch *launch, double value);

#endif
