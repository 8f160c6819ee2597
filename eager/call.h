/**
 * call.h: inside of the one call path: what a record's payload holds, and how a kernel is run
 * for the program and for replays alike.
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

/** A launch and its arrays, ready to point at bytes. */
typedef struct cebus_prepared {
    cebus_launch launch;
    cebus_array in[CEBUS_MAX_INPUTS];
    cebus_array out[CEBUS_MAX_OUTPUTS];
} cebus_prepared;

/** Fills everything but addresses and workspace. `call` carries views, attributes, counters. */
void cebus_call_prepare(cebus_runtime *rt, const cebus_call *call, cebus_prepared *out);

/** Bytes of workspace that a run takes. */
uint64_t cebus_call_workspace(cebus_runtime *rt, const cebus_call *call,
                              const cebus_kernel *kernel);

/**
 * Takes workspace from the arena (before addresses are resolved: reserving may move blocks),
 * resolves addresses, runs the kernel, counts its cost and releases the workspace.
 * in[i] (NULL: absent) and out[j] (NULL: not wanted) must be pinned and resident.
 */
cebus_status cebus_call_launch(cebus_runtime *rt, cebus_call *call, cebus_op_entry *entry,
                               cebus_candidate *const *in, cebus_candidate *const *out,
                               uint64_t *out_ns);

/** True when input i of the op is written in place. */
static inline bool cebus_op_mutates(const cebus_op *op, uint32_t i)
{
    return i < CEBUS_MAX_TRACKED && ((op->mutates >> i) & 1);
}

#endif
