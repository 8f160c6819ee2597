#include <cebus/ops/join.h>

#include "eager/ops/join.h"

/* Every gradient is the slice of the output's where the input went. */
cebus_status cebus_cat_gradient(const cebus_gradient *io)
{
    int dim = (int)((const cebus_join_attrs *)io->attrs)->dim;
    int64_t begin = 0;
    for (uint32_t i = 0; i < io->n_in; i++) {
        int64_t end = begin + io->in_view[i].shape[dim];
        if (io->needs >> i & 1) {
            cebus_status status =
                cebus_slice(io->rt, io->grad_out[0], dim, begin, end, 1, &io->grad_in[i]);
            if (status != CEBUS_OK)
                return status;
        }
        begin = end;
    }
    return CEBUS_OK;
}

cebus_status cebus_stack_gradient(const cebus_gradient *io)
{
    int dim = (int)((const cebus_join_attrs *)io->attrs)->dim;
    cebus_status status = CEBUS_OK;
    for (uint32_t i = 0; i < io->n_in && status == CEBUS_OK; i++)
        if (io->needs >> i & 1)
            status = cebus_select(io->rt, io->grad_out[0], dim, i, &io->grad_in[i]);
    return status;
}

/* Replaces *x by the part of it without the border. */
static cebus_status strip(cebus_runtime *rt, cebus_tensor **x, int dim, int64_t before,
                          int64_t after)
{
    cebus_tensor *whole = *x;
    if (before == 0 && after == 0)
        return CEBUS_OK;
    int64_t end = cebus_tensor_size(whole, dim) - after;
    cebus_status status = cebus_slice(rt, whole, dim, before, end, 1, x);
    if (status != CEBUS_OK)
        *x = whole;
    else
        cebus_tensor_release(whole);
    return status;
}

/* What was added is stripped, as a view; what was cut off gets zeros. */
cebus_status cebus_pad_gradient(const cebus_gradient *io)
{
    const cebus_pad_attrs *attrs = io->attrs;
    int ndim = io->in_view[0].ndim;
    int64_t pads[2 * CEBUS_MAX_DIMS] = {0};
    bool cut = false;
    cebus_status status = CEBUS_OK;
    cebus_tensor *grad = cebus_tensor_retain(io->grad_out[0]);
    for (int d = 0; d < ndim && status == CEBUS_OK; d++) {
        cebus_pad_widths widths = cebus_pad_widths_of(attrs, d);
        pads[2 * (ndim - 1 - d)] = widths.cut_before;
        pads[2 * (ndim - 1 - d) + 1] = widths.cut_after;
        cut = cut || widths.cut_before > 0 || widths.cut_after > 0;
        status = strip(io->rt, &grad, d, widths.before, widths.after);
    }
    if (status == CEBUS_OK && !cut) {
        io->grad_in[0] = grad;
        return CEBUS_OK;
    }
    if (status == CEBUS_OK)
        status = cebus_pad(io->rt, grad, 2 * ndim, pads, 0, &io->grad_in[0]);
    cebus_tensor_release(grad);
    return status;
}

cebus_status cebus_roll_gradient(const cebus_gradient *io)
{
    const cebus_roll_attrs *attrs = io->attrs;
    int64_t shifts[CEBUS_MAX_DIMS];
    int dims[CEBUS_MAX_DIMS];
    for (int d = 0; d < io->in_view[0].ndim; d++) {
        shifts[d] = -attrs->shift[d];
        dims[d] = d;
    }
    return cebus_roll(io->rt, io->grad_out[0], io->in_view[0].ndim, shifts, dims, &io->grad_in[0]);
}
