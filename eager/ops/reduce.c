#include "eager/ops/reduce.h"

#include <cebus/ops/reduce.h>

#include "eager/ops/check.h"

/* ---- inference --------------------------------------------------------------------------- */

static void reduced_view(const cebus_view *x, const cebus_reduce_attrs *attrs, cebus_dtype dtype,
                         cebus_view *out)
{
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (!(attrs->drop >> d & 1))
            shape[ndim++] = attrs->dims >> d & 1 ? 1 : x->shape[d];
    }
    cebus_view_contiguous(out, dtype, ndim, shape);
}

static bool is_integer(cebus_dtype dtype)
{
    return dtype == CEBUS_I64 || dtype == CEBUS_I32 || dtype == CEBUS_U8 || dtype == CEBUS_BOOL;
}

static cebus_status check_number(const cebus_infer *io)
{
    return is_integer(io->in[0]->dtype) ? CEBUS_OK : cebus_check_real(io->op->name, io->in[0]);
}

static cebus_status check_not_empty(const cebus_infer *io)
{
    const cebus_reduce_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    for (int d = 0; d < x->ndim; d++) {
        if (attrs->dims >> d & 1 && x->shape[d] == 0)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name,
                              "dimension %d of %s is empty: there is no element to choose", d,
                              CEBUS_SHAPE(x));
    }
    return CEBUS_OK;
}

/** Takes every type. */
static cebus_status sum_infer(cebus_infer *io)
{
    cebus_dtype dtype = io->in[0]->dtype;
    reduced_view(io->in[0], io->attrs, is_integer(dtype) ? CEBUS_I64 : dtype, &io->out[0]);
    return CEBUS_OK;
}

static cebus_status mean_infer(cebus_infer *io)
{
    if (!cebus_dtype_is_float(io->in[0]->dtype))
        return cebus_check_real(io->op->name, io->in[0]);
    return sum_infer(io);
}

/** Of logsumexp and var; the latter has a second output, the mean, of the same shape. */
static cebus_status real_infer(cebus_infer *io)
{
    cebus_status status = cebus_check_real(io->op->name, io->in[0]);
    if (status != CEBUS_OK)
        return status;
    reduced_view(io->in[0], io->attrs, io->in[0]->dtype, &io->out[0]);
    if (io->n_out > 1)
        reduced_view(io->in[0], io->attrs, cebus_dtype_wide(io->in[0]->dtype), &io->out[1]);
    return CEBUS_OK;
}

static cebus_status extremum_infer(cebus_infer *io)
{
    cebus_status status = check_number(io);
    if (status == CEBUS_OK)
        status = check_not_empty(io);
    if (status == CEBUS_OK)
        reduced_view(io->in[0], io->attrs, io->in[0]->dtype, &io->out[0]);
    return status;
}

static cebus_status position_infer(cebus_infer *io)
{
    cebus_status status = check_number(io);
    if (status == CEBUS_OK)
        status = check_not_empty(io);
    if (status == CEBUS_OK)
        reduced_view(io->in[0], io->attrs, CEBUS_I64, &io->out[0]);
    return status;
}

/** Inputs (grad, x, statistic): only this library calls these, with shapes it made itself. */
static cebus_status backward_infer(cebus_infer *io)
{
    cebus_view_like(&io->out[0], io->in[1], io->in[1]->dtype);
    return CEBUS_OK;
}

/* ---- ops --------------------------------------------------------------------------------- */

static const cebus_op op_sum = {
    .name = "sum",
    .infer = sum_infer,
    .gradient = cebus_sum_gradient,
};
static const cebus_op op_mean = {
    .name = "mean",
    .infer = mean_infer,
    .gradient = cebus_sum_gradient,
};
static const cebus_op op_max = {
    .name = "max",
    .infer = extremum_infer,
    .saves = cebus_extremum_saves,
    .gradient = cebus_extremum_gradient,
};
static const cebus_op op_min = {
    .name = "min",
    .infer = extremum_infer,
    .saves = cebus_extremum_saves,
    .gradient = cebus_extremum_gradient,
};
static const cebus_op op_argmax = {.name = "argmax", .infer = position_infer};
static const cebus_op op_argmin = {.name = "argmin", .infer = position_infer};
static const cebus_op op_var = {
    .name = "var",
    .infer = real_infer,
    .saves = cebus_var_saves,
    .gradient = cebus_var_gradient,
};
static const cebus_op op_logsumexp = {
    .name = "logsumexp",
    .infer = real_infer,
    .saves = cebus_logsumexp_saves,
    .gradient = cebus_logsumexp_gradient,
};

const cebus_op cebus_op_extremum_backward = {.name = "extremum_backward", .infer = backward_infer};
const cebus_op cebus_op_var_backward = {.name = "var_backward", .infer = backward_infer};
const cebus_op cebus_op_logsumexp_backward = {
    .name = "logsumexp_backward",
    .infer = backward_infer,
};

/* ---- public entries ---------------------------------------------------------------------- */

/** The dimensions of `view` named by a list as the public functions take it, as a bit mask. */
static cebus_status mask_of(const char *op, const cebus_view *view, int n_dims, const int *dims,
                            uint32_t *out_mask)
{
    *out_mask = 0;
    if (dims == NULL) {
        *out_mask = (1u << view->ndim) - 1;
        return CEBUS_OK;
    }
    if (n_dims < 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "n_dims is %d: give the length of dims",
                          n_dims);
    uint32_t mask = 0;
    for (int i = 0; i < n_dims; i++) {
        int d = cebus_dim_wrap(dims[i], view->ndim);
        if (d < 0)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "dimension %d is out of range for shape %s: use %d to %d", dims[i],
                              CEBUS_SHAPE(view), -view->ndim, view->ndim - 1);
        if (mask >> d & 1)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                              "dimension %d of shape %s is given twice: name it once", d,
                              CEBUS_SHAPE(view));
        mask |= 1u << d;
    }
    *out_mask = mask;
    return CEBUS_OK;
}

/** Elements that fall on one output. */
static double reduced_count(const cebus_view *view, uint32_t dims)
{
    double count = 1;
    for (int d = 0; d < view->ndim; d++) {
        if (dims >> d & 1)
            count *= (double)view->shape[d];
    }
    return count;
}

static cebus_status run(cebus_runtime *rt, const cebus_op *op, cebus_tensor *x,
                        const cebus_reduce_attrs *attrs, cebus_tensor **out)
{
    cebus_call_spec spec = {
        .op = op,
        .attrs = attrs,
        .attr_bytes = sizeof *attrs,
        .in = &x,
        .n_in = 1,
        .n_out = 1,
    };
    return cebus_call_run(rt, &spec, out);
}

/** The way of all ops but var: checks, the dimensions as attributes, one output. */
static cebus_status reduce(cebus_runtime *rt, const cebus_op *op, cebus_tensor *x, int n_dims,
                           const int *dims, bool keepdim, cebus_tensor **out)
{
    cebus_status status = cebus_check_pointers(op->name, rt, x, out);
    if (status != CEBUS_OK)
        return status;
    const cebus_view *view = cebus_tensor_view(x);
    cebus_reduce_attrs attrs = {.divisor = 1};
    status = mask_of(op->name, view, n_dims, dims, &attrs.dims);
    if (status != CEBUS_OK)
        return status;
    attrs.drop = keepdim ? 0 : attrs.dims;
    if (op == &op_mean)
        attrs.divisor = reduced_count(view, attrs.dims);
    return run(rt, op, x, &attrs, out);
}

cebus_status cebus_sum(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                       bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_sum, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_mean(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                        bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_mean, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_max(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                       bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_max, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_min(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                       bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_min, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_argmax(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                          bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_argmax, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_argmin(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                          bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_argmin, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_logsumexp(cebus_runtime *rt, cebus_tensor *x, int n_dims, const int *dims,
                             bool keepdim, cebus_tensor **out)
{
    return reduce(rt, &op_logsumexp, x, n_dims, dims, keepdim, out);
}

cebus_status cebus_var(cebus_runtime *rt, cebus_tensor *x, const cebus_var_options *options,
                       cebus_tensor **out)
{
    static const cebus_var_options unbiased = {.correction = 1};
    const cebus_var_options *o = options != NULL ? options : &unbiased;
    cebus_status status = cebus_check_pointers("var", rt, x, out);
    if (status != CEBUS_OK)
        return status;
    const cebus_view *view = cebus_tensor_view(x);
    cebus_reduce_attrs attrs = {0};
    status = mask_of("var", view, o->n_dims, o->dims, &attrs.dims);
    if (status != CEBUS_OK)
        return status;
    attrs.drop = o->keepdim ? 0 : attrs.dims;
    attrs.divisor = reduced_count(view, attrs.dims) - o->correction;
    if (attrs.divisor < 0)
        attrs.divisor = 0;

    cebus_tensor *both[2];
    cebus_call_spec spec = {
        .op = &op_var,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = &x,
        .n_in = 1,
        .n_out = 2,
    };
    status = cebus_call_run(rt, &spec, both);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(both[1]); /* the mean: the graph keeps it when it needs it */
    *out = both[0];
    return CEBUS_OK;
}

/* ---- inside ------------------------------------------------------------------------------ */

cebus_status cebus_sum_to(cebus_runtime *rt, cebus_tensor *x, const cebus_view *like,
                          cebus_tensor **out)
{
    const cebus_view *view = cebus_tensor_view(x);
    int lead = view->ndim - like->ndim;
    cebus_reduce_attrs attrs = {.drop = (1u << lead) - 1, .divisor = 1};
    attrs.dims = attrs.drop;
    for (int d = lead; d < view->ndim; d++) {
        if (like->shape[d - lead] != view->shape[d])
            attrs.dims |= 1u << d;
    }
    if (attrs.dims == 0) {
        *out = cebus_tensor_retain(x);
        return CEBUS_OK;
    }
    return run(rt, &op_sum, x, &attrs, out);
}

cebus_status cebus_reduce_divide(cebus_runtime *rt, cebus_tensor *x, double divisor,
                                 cebus_tensor **out)
{
    if (divisor == 1) {
        *out = cebus_tensor_retain(x);
        return CEBUS_OK;
    }
    cebus_reduce_attrs attrs = {.divisor = divisor};
    return run(rt, &op_mean, x, &attrs, out);
}
