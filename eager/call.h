/**
 * call.h: inside of the one call path (cebus_call_run, op.h): what a record's payload holds.
 */
#ifndef CEBUS_EAGER_CALL_H
#define CEBUS_EAGER_CALL_H

#include "eager/storage.h"

/** The payload of a cebus_call made by eager: views of inputs, then of outputs, then attributes. */
static inline cebus_view *cebus_call_views(const cebus_call *call)
{
    return call->payload;
}
static inline const cebus_view *cebus_call_out_views(const cebus_call *call)
{
    return cebus_call_views(call) + call->n_in;
}
static inline size_t cebus_call_attr_bytes(const cebus_call *call)
{
    const cebus_view *end = cebus_call_out_views(call) + call->n_out;
    return call->bytes - (size_t)((const char *)end - (const char *)call);
}
/** NULL when the op has none. */
static inline void *cebus_call_attrs(const cebus_call *call)
{
    bool none = cebus_call_attr_bytes(call) == 0;
    return none ? NULL : (void *)(cebus_call_views(call) + call->n_in + call->n_out);
}

/** True when input i of the op is written in place. */
static inline bool cebus_op_mutates(const cebus_op *op, uint32_t i)
{
    return i < CEBUS_MAX_TRACKED && ((op->mutates >> i) & 1);
}

#endif
