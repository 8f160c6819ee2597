/**
 * signature.h: one number for what decides the cost of a launch: attributes, element types, shapes
 * and strides. Addresses, offsets and random counters do not count, nor does the op: its name
 * stands beside the signature wherever one is kept (traces, measured profiles).
 */
#ifndef CEBUS_EAGER_SIGNATURE_H
#define CEBUS_EAGER_SIGNATURE_H

#include "eager/op.h"

/** Never 0. The same in every process on machines of one byte order. Data pointers may be NULL. */
uint64_t cebus_launch_signature(const cebus_launch *launch);

#endif
