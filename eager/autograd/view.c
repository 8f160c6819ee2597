#include "eager/autograd/view.h"

#include <cebus/ops.h>

#include "eager/autograd/window.h"
#include "eager/ops/reduce.h"
#include "eager/view.h"
#include "eager/views.h"

static cebus_status reshape_gradient(const cebus_gradient *io)
{
    const cebus_view *in = &io->in_view[0];
    return cebus_reshape(io->rt, io->grad_out[0], in->ndim, in->shape, &io->grad_in[0]);
}

static cebus_status permute_gradient(const cebus_gradient *io)
{
    const cebus_view_attrs *attrs = io->attrs;
    int inverse[CEBUS_MAX_DIMS];
    for (int d = 0; d < io->in_view[0].ndim; d++)
        inverse[attrs->dims[d]] = d;
    return cebus_permute(io->rt, io->grad_out[0], inverse, &io->grad_in[0]);
}

static cebus_status expand_gradient(const cebus_gradient *io)
{
    return cebus_sum_to(io->rt, io->grad_out[0], &io->in_view[0], &io->grad_in[0]);
}

/** The part of a tensor of the input's shape that the view showed. */
static cebus_status slice_window(cebus_runtime *rt, cebus_tensor *x, const cebus_view_attrs *attrs,
                                 cebus_tensor **out)
{
    return cebus_slice(rt, x, attrs->dims[0], attrs->start, attrs->stop, attrs->step, out);
}

static cebus_status select_window(cebus_runtime *rt, cebus_tensor *x, const cebus_view_attrs *attrs,
                                  cebus_tensor **out)
{
    return cebus_select(rt, x, attrs->dims[0], attrs->start, out);
}

static cebus_status diagonal_window(cebus_runtime *rt, cebus_tensor *x,
                                    const cebus_view_attrs *attrs, cebus_tensor **out)
{
    return cebus_diagonal(rt, x, attrs->start, attrs->dims[0], attrs->dims[1], out);
}

typedef cebus_status (*window_fn)(cebus_runtime *rt, cebus_tensor *x, const cebus_view_attrs *attrs,
                                  cebus_tensor **out);

/** Hands `zeros` out when all went well. */
static cebus_status give(const cebus_gradient *io, cebus_status status, cebus_tensor *zeros)
{
    if (status == CEBUS_OK)
        io->grad_in[0] = zeros;
    else
        cebus_tensor_release(zeros);
    return status;
}

/** zeros in the input's shape with the gradient written where the view lay. */
static cebus_status place(const cebus_gradient *io, window_fn window)
{
    const cebus_view *in = &io->in_view[0];
    cebus_tensor *zeros = NULL, *part = NULL;
    cebus_status status = cebus_zeros(io->rt, in->dtype, in->ndim, in->shape, &zeros);
    if (status == CEBUS_OK)
        status = window(io->rt, zeros, io->attrs, &part);
    if (status == CEBUS_OK)
        status = cebus_copy_(io->rt, part, io->grad_out[0]);
    cebus_tensor_release(part);
    return give(io, status, zeros);
}

/** Many views of one tensor (the steps of a sequence) so cost as much as the tensor, not each. */
static cebus_status add_to_window(const cebus_gradient *io, cebus_tensor *sum, window_fn window)
{
    cebus_tensor *part = NULL;
    cebus_status status = window(io->rt, sum, io->attrs, &part);
    if (status == CEBUS_OK)
        status = cebus_add_(io->rt, part, io->grad_out[0], 1);
    cebus_tensor_release(part);
    return status;
}

static cebus_status slice_gradient(const cebus_gradient *io)
{
    return place(io, slice_window);
}

static cebus_status slice_add_gradient(const cebus_gradient *io, cebus_tensor *sum)
{
    return add_to_window(io, sum, slice_window);
}

static cebus_status select_gradient(const cebus_gradient *io)
{
    return place(io, select_window);
}

static cebus_status select_add_gradient(const cebus_gradient *io, cebus_tensor *sum)
{
    return add_to_window(io, sum, select_window);
}

static cebus_status diagonal_gradient(const cebus_gradient *io)
{
    return place(io, diagonal_window);
}

static cebus_status diagonal_add_gradient(const cebus_gradient *io, cebus_tensor *sum)
{
    return add_to_window(io, sum, diagonal_window);
}

/** Windows share elements. */
static cebus_status windows_add_gradient(const cebus_gradient *io, cebus_tensor *sum)
{
    const cebus_view_attrs *attrs = io->attrs;
    cebus_tensor *part = NULL;
    cebus_status status =
        cebus_windows(io->rt, sum, attrs->dims[0], attrs->stop, attrs->step, &part);
    if (status == CEBUS_OK)
        status = cebus_window_add(io->rt, sum, &part->view, io->grad_out[0]);
    cebus_tensor_release(part);
    return status;
}

static cebus_status windows_gradient(const cebus_gradient *io)
{
    const cebus_view *in = &io->in_view[0];
    cebus_tensor *zeros = NULL;
    cebus_status status = cebus_zeros(io->rt, in->dtype, in->ndim, in->shape, &zeros);
    if (status == CEBUS_OK)
        status = windows_add_gradient(io, zeros);
    return give(io, status, zeros);
}

static cebus_status as_strided_gradient(const cebus_gradient *io)
{
    cebus_view region = io->out_view[0];
    region.offset -= io->in_view[0].offset;
    cebus_tensor *zeros = NULL;
    cebus_status status = cebus_views_zeros(io->rt, &io->in_view[0], &zeros);
    if (status == CEBUS_OK)
        status = cebus_window_add(io->rt, zeros, &region, io->grad_out[0]);
    return give(io, status, zeros);
}

const cebus_op cebus_op_reshape = {.name = "reshape", .gradient = reshape_gradient};
const cebus_op cebus_op_permute = {.name = "permute", .gradient = permute_gradient};
const cebus_op cebus_op_slice = {
    .name = "slice",
    .gradient = slice_gradient,
    .add_gradient = slice_add_gradient,
};
const cebus_op cebus_op_select = {
    .name = "select",
    .gradient = select_gradient,
    .add_gradient = select_add_gradient,
};
const cebus_op cebus_op_diagonal = {
    .name = "diagonal",
    .gradient = diagonal_gradient,
    .add_gradient = diagonal_add_gradient,
};
const cebus_op cebus_op_expand = {.name = "expand", .gradient = expand_gradient};
const cebus_op cebus_op_windows = {
    .name = "windows",
    .gradient = windows_gradient,
    .add_gradient = windows_add_gradient,
};
const cebus_op cebus_op_as_strided = {.name = "as_strided", .gradient = as_strided_gradient};
