#include "eager/ops/fill.h"

#include <math.h>
#include <string.h>

#include <cebus/ops/fill.h>

#include "eager/call.h"
#include "eager/ops/entry.h"
#include "eager/tensor.h"
#include "eager/view.h"

static cebus_status fill_infer(cebus_infer *io)
{
    const cebus_fill_attrs *attrs = io->attrs;
    io->out[0] = attrs->view;
    return CEBUS_OK;
}

static const cebus_op op_full = {.name = "full", .flags = CEBUS_OP_NUMBERS, .infer = fill_infer};
static const cebus_op op_arange = {
    .name = "arange", .flags = CEBUS_OP_NUMBERS, .infer = fill_infer};

/* --- checks -------------------------------------------------------------------------------- */

cebus_status cebus_fill_shape(const char *op, cebus_dtype dtype, int ndim, const int64_t *shape,
                              cebus_view *out)
{
    if (cebus_dtype_size(dtype) == 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%d is no element type", (int)dtype);
    if (ndim < 0 || ndim > CEBUS_MAX_DIMS)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%d dimensions: must be in [0, %d]", ndim,
                          CEBUS_MAX_DIMS);
    if (ndim > 0 && !shape)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "shape is NULL");
    cebus_view wanted = {.dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; i++)
        wanted.shape[i] = shape[i];
    if (!cebus_shape_valid(dtype, ndim, shape))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "shape %s: lengths must not be negative, nor the size reach 2^62 bytes",
                          CEBUS_SHAPE(&wanted));
    *out = (cebus_view){0};
    cebus_view_contiguous(out, dtype, ndim, shape);
    return CEBUS_OK;
}

void cebus_fill_view(cebus_view *view, const cebus_view *from)
{
    cebus_view dense = {0};
    cebus_view_like(&dense, from, from->dtype);
    *view = dense;
}

cebus_status cebus_fill_check_value(const char *op, double value, cebus_dtype dtype)
{
    double low = 0, high = 0;
    switch (dtype) {
    case CEBUS_I64:
        low = -0x1p63, high = 0x1p63 - 1024; /* the largest double below 2^63 */
        break;
    case CEBUS_I32:
        low = INT32_MIN, high = INT32_MAX;
        break;
    case CEBUS_U8:
        high = UINT8_MAX;
        break;
    default:
        return CEBUS_OK;
    }
    if (value >= low && value <= high)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%g does not fit into %s: choose a wider type",
                      value, cebus_dtype_name(dtype));
}

/* --- entries ------------------------------------------------------------------------------- */

static cebus_status run_fill(cebus_runtime *rt, const cebus_op *op, const cebus_fill_attrs *attrs,
                             cebus_tensor **out)
{
    cebus_call_spec spec = {
        .op = op, .attrs = attrs, .attr_bytes = sizeof *attrs, .n_in = 0, .n_out = 1};
    return cebus_entry_run(rt, &spec, out);
}

cebus_status cebus_full(cebus_runtime *rt, double value, cebus_dtype dtype, int ndim,
                        const int64_t *shape, cebus_tensor **out)
{
    cebus_fill_attrs attrs = {.start = value};
    if (out)
        *out = NULL;
    cebus_status status = cebus_fill_shape("full", dtype, ndim, shape, &attrs.view);
    if (status == CEBUS_OK)
        status = cebus_fill_check_value("full", value, dtype);
    return status == CEBUS_OK ? run_fill(rt, &op_full, &attrs, out) : status;
}

cebus_status cebus_zeros(cebus_runtime *rt, cebus_dtype dtype, int ndim, const int64_t *shape,
                         cebus_tensor **out)
{
    return cebus_full(rt, 0.0, dtype, ndim, shape, out);
}

cebus_status cebus_ones(cebus_runtime *rt, cebus_dtype dtype, int ndim, const int64_t *shape,
                        cebus_tensor **out)
{
    return cebus_full(rt, 1.0, dtype, ndim, shape, out);
}

cebus_status cebus_empty(cebus_runtime *rt, cebus_dtype dtype, int ndim, const int64_t *shape,
                         cebus_tensor **out)
{
    return cebus_full(rt, 0.0, dtype, ndim, shape, out);
}

cebus_call *cebus_fill_record(cebus_runtime *rt, uint64_t bytes)
{
    cebus_fill_attrs attrs = {0};
    const int64_t length = (int64_t)bytes;
    cebus_view_contiguous(&attrs.view, CEBUS_U8, 1, &length);
    cebus_call *call =
        cebus_call_create(&rt->lineage, &op_full, 0, 1, sizeof attrs.view + sizeof attrs);
    if (!call)
        return NULL;
    *cebus_call_views(call) = attrs.view;
    memcpy(cebus_call_attrs(call), &attrs, sizeof attrs);
    call->cost_ns = 500 + bytes / 10;
    return call;
}

cebus_status cebus_fill_like(cebus_runtime *rt, const cebus_view *like, double value,
                             cebus_tensor **out)
{
    cebus_fill_attrs attrs = {.start = value};
    cebus_fill_view(&attrs.view, like);
    return run_fill(rt, &op_full, &attrs, out);
}

cebus_status cebus_full_like(cebus_runtime *rt, cebus_tensor *x, double value, cebus_tensor **out)
{
    if (out)
        *out = NULL;
    cebus_status status = cebus_tensor_alive(x, "full_like");
    if (status == CEBUS_OK)
        status = cebus_fill_check_value("full_like", value, cebus_tensor_dtype(x));
    if (status != CEBUS_OK)
        return status;
    return cebus_fill_like(rt, cebus_tensor_view(x), value, out);
}

cebus_status cebus_zeros_like(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    return cebus_full_like(rt, x, 0.0, out);
}

cebus_status cebus_arange(cebus_runtime *rt, double start, double stop, double step,
                          cebus_dtype dtype, cebus_tensor **out)
{
    if (out)
        *out = NULL;
    double count = ceil((stop - start) / step);
    if (!isfinite(count) || !isfinite(start) || !isfinite(stop) || !isfinite(step) ||
        count >= 0x1p62)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "arange",
                          "from %g to %g by %g: all must be finite, the step not zero, and the "
                          "count below 2^62",
                          start, stop, step);
    if (dtype == CEBUS_BOOL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "arange",
                          "bool has no ranges: take an integer type");
    int64_t length = count > 0 ? (int64_t)count : 0;
    cebus_fill_attrs attrs = {.start = start, .step = step};
    cebus_status status = cebus_fill_shape("arange", dtype, 1, &length, &attrs.view);
    if (status == CEBUS_OK && length > 0)
        status = cebus_fill_check_value("arange", start, dtype);
    if (status == CEBUS_OK && length > 0)
        status = cebus_fill_check_value("arange", start + (double)(length - 1) * step, dtype);
    return status == CEBUS_OK ? run_fill(rt, &op_arange, &attrs, out) : status;
}
