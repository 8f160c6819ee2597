/**
 * signature.h: one number for what decides the cost of a launch: element types, shapes, strides and
 * attributes, but for numbers that a program may change from step to step. Addresses, offsets and
 * random counters do not count, nor does the op: its name stands beside the signature wherever one
 * is kept (traces, measured profiles).
 */
#ifndef CEBUS_EAGER_TRACE_SIGNATURE_H
#define CEBUS_EAGER_TRACE_SIGNATURE_H

#include "eager/call.h"

/** Never 0. The same in every process on machines of one byte order. Data pointers may be NULL. */
uint64_t cebus_launch_signature(const cebus_launch *launch);

/**
 * What tells a call of the program from others of its op without regard to what it reads:
 * attributes (CEBUS_OP_NUMBERS: only what they say of the outputs), views of the inputs, and
 * whether the graph records it. Never 0. Some 10 ns an input: each call under a policy that plans
 * has it worked out.
 */
uint64_t cebus_call_signature(const cebus_call *call, bool in_graph);

#endif
