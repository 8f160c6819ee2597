/**
 * entry.h: what the public entries of the elementwise families share.
 */
#ifndef CEBUS_EAGER_OPS_ENTRY_H
#define CEBUS_EAGER_OPS_ENTRY_H

#include "eager/op.h"
#include "eager/ops/number.h"

/** Runs a call of one output all of whose inputs are needed, after refusing NULL arguments. */
static inline cebus_status cebus_entry_run(cebus_runtime *rt, const cebus_call_spec *spec,
                                           cebus_tensor **out)
{
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, spec->op->name, "out is NULL");
    *out = NULL;
    if (!rt)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, spec->op->name, "the runtime is NULL");
    for (uint32_t i = 0; i < spec->n_in; i++)
        if (!spec->in[i])
            return cebus_fail(CEBUS_INVALID_ARGUMENT, spec->op->name, "input %u is NULL", i);
    return cebus_call_run(rt, spec, out);
}

/** A call with one input and one output. */
static inline cebus_status cebus_entry_unary(cebus_runtime *rt, const cebus_op *op, cebus_tensor *x,
                                             cebus_tensor **out)
{
    return cebus_entry_run(rt, &(cebus_call_spec){.op = op, .in = &x, .n_in = 1, .n_out = 1}, out);
}

/** A call with one input, one output and attributes. */
static inline cebus_status cebus_entry_with(cebus_runtime *rt, const cebus_op *op,
                                            const void *attrs, size_t attr_bytes, cebus_tensor *x,
                                            cebus_tensor **out)
{
    return cebus_entry_run(
        rt,
        &(cebus_call_spec){
            .op = op, .attrs = attrs, .attr_bytes = attr_bytes, .in = &x, .n_in = 1, .n_out = 1},
        out);
}

/** A call with one input, one output and one number. */
static inline cebus_status cebus_entry_number(cebus_runtime *rt, const cebus_op *op,
                                              cebus_tensor *x, double value, cebus_tensor **out)
{
    cebus_number_attrs attrs = {value};
    return cebus_entry_with(rt, op, &attrs, sizeof attrs, x, out);
}

/** A call with two inputs and one output. */
static inline cebus_status cebus_entry_binary(cebus_runtime *rt, const cebus_op *op,
                                              cebus_tensor *a, cebus_tensor *b, cebus_tensor **out)
{
    cebus_tensor *in[2] = {a, b};
    return cebus_entry_run(rt, &(cebus_call_spec){.op = op, .in = in, .n_in = 2, .n_out = 1}, out);
}

#endif
