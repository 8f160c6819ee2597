/**
 * check.h: the checks that most ops of reductions, losses and normalizations share.
 */
#ifndef CEBUS_EAGER_OPS_CHECK_H
#define CEBUS_EAGER_OPS_CHECK_H

#include "eager/op.h"
#include "eager/view.h"

/** The pointers an entry cannot do without; clears *out. */
static inline cebus_status cebus_check_pointers(const char *op, const cebus_runtime *rt,
                                                const cebus_tensor *x, cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL: give a place for the result");
    *out = NULL;
    if (rt == NULL || x == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s is NULL: give a %s",
                          rt == NULL ? "rt" : "x", rt == NULL ? "runtime" : "tensor");
    return CEBUS_OK;
}

/** A float type: what products, reductions and normalizations take. */
static inline cebus_status cebus_check_real(const char *op, const cebus_view *x)
{
    if (cebus_dtype_is_float(x->dtype))
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, op,
                      "takes f32, f64, f16 or bf16, got %s %s: cebus_cast() it",
                      cebus_dtype_name(x->dtype), CEBUS_SHAPE(x));
}

#endif
