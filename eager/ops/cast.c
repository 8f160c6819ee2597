#include "eager/ops/cast.h"

#include <cebus/ops/cast.h>

#include "eager/ops/entry.h"
#include "eager/tensor.h"
#include "eager/view.h"

static cebus_status cast_infer(cebus_infer *io)
{
    const cebus_cast_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    if (attrs->row_major)
        cebus_view_contiguous(&io->out[0], attrs->dtype, x->ndim, x->shape);
    else
        cebus_view_like(&io->out[0], x, attrs->dtype);
    return CEBUS_OK;
}

static const cebus_op op_cast = {
    .name = "cast", .infer = cast_infer, .gradient = cebus_cast_gradient};

static cebus_status run_cast(cebus_runtime *rt, cebus_tensor *x, cebus_cast_attrs attrs,
                             cebus_tensor **out)
{
    return cebus_entry_with(rt, &op_cast, &attrs, sizeof attrs, x, out);
}

/** What every copy checks before it looks at x. */
static cebus_status begin(cebus_runtime *rt, const cebus_tensor *x, const char *op,
                          cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = NULL;
    return cebus_tensor_check(rt, x, op, "input 0");
}

cebus_status cebus_cast(cebus_runtime *rt, cebus_tensor *x, cebus_dtype dtype, cebus_tensor **out)
{
    cebus_status status = begin(rt, x, "cast", out);
    if (status != CEBUS_OK)
        return status;
    if (cebus_dtype_size(dtype) == 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "cast", "%d is no element type", (int)dtype);
    if (cebus_tensor_dtype(x) != dtype)
        return run_cast(rt, x, (cebus_cast_attrs){.dtype = dtype}, out);
    *out = cebus_tensor_retain(x);
    return CEBUS_OK;
}

cebus_status cebus_clone(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    cebus_status status = begin(rt, x, "clone", out);
    if (status != CEBUS_OK)
        return status;
    return run_cast(rt, x, (cebus_cast_attrs){.dtype = cebus_tensor_dtype(x)}, out);
}

cebus_status cebus_contiguous(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    cebus_status status = begin(rt, x, "contiguous", out);
    if (status != CEBUS_OK)
        return status;
    if (!cebus_tensor_is_contiguous(x))
        return run_cast(rt, x, (cebus_cast_attrs){.dtype = cebus_tensor_dtype(x), .row_major = 1},
                        out);
    *out = cebus_tensor_retain(x);
    return CEBUS_OK;
}
