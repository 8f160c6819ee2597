#include <cebus/ops/index.h>
#include <cebus/ops/join.h>

#include "eager/ops/index.h"
#include "eager/view.h"

cebus_saves cebus_index_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return (cebus_saves){.in = needs & 1 ? 1U << 1 : 0};
}

cebus_saves cebus_scatter_add_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return (cebus_saves){.in = needs & (1U << 2) ? 1U << 1 : 0};
}

/* Runs a backward op on (gradient of the output, indices) into the gradient of input 0. */
static cebus_status add_at(const cebus_gradient *io, const cebus_op *op, const void *attrs,
                           size_t attr_bytes)
{
    if (!(io->needs & 1) || !io->grad_out[0])
        return CEBUS_OK;
    cebus_tensor *const in[] = {io->grad_out[0], io->in[1]};
    const cebus_call_spec spec = {op, attrs, attr_bytes, in, 2, 1};
    return cebus_call_run(io->rt, &spec, &io->grad_in[0]);
}

cebus_status cebus_embedding_gradient(const cebus_gradient *io)
{
    cebus_embedding_attrs attrs = *(const cebus_embedding_attrs *)io->attrs;
    attrs.rows = io->in_view[0].shape[0];
    return add_at(io, &cebus_op_embedding_backward, &attrs, sizeof attrs);
}

static cebus_status along_gradient(const cebus_gradient *io, const cebus_op *op)
{
    const cebus_index_attrs *forward = io->attrs;
    cebus_index_attrs attrs = {.dim = forward->dim, .ndim = io->in_view[0].ndim};
    for (int d = 0; d < io->in_view[0].ndim; d++)
        attrs.shape[d] = io->in_view[0].shape[d];
    return add_at(io, op, &attrs, sizeof attrs);
}

cebus_status cebus_gather_gradient(const cebus_gradient *io)
{
    return along_gradient(io, &cebus_op_gather_backward);
}

cebus_status cebus_index_select_gradient(const cebus_gradient *io)
{
    return along_gradient(io, &cebus_op_index_select_backward);
}

/* The gathered gradient, with zeros where `index` is shorter than src. */
static cebus_status src_gradient(const cebus_gradient *io)
{
    const cebus_index_attrs *attrs = io->attrs;
    const cebus_view *index = &io->in_view[1], *src = &io->in_view[2];
    int64_t pads[2 * CEBUS_MAX_DIMS] = {0};
    cebus_tensor *reached;
    cebus_status status =
        cebus_gather(io->rt, io->grad_out[0], (int)attrs->dim, io->in[1], &reached);
    if (status != CEBUS_OK || cebus_view_same_shape(index, src)) {
        io->grad_in[2] = reached;
        return status;
    }
    for (int d = 0; d < src->ndim; d++)
        pads[2 * (src->ndim - 1 - d) + 1] = src->shape[d] - index->shape[d];
    status = cebus_pad(io->rt, reached, 2 * src->ndim, pads, 0, &io->grad_in[2]);
    cebus_tensor_release(reached);
    return status;
}

cebus_status cebus_scatter_add_gradient(const cebus_gradient *io)
{
    if (!io->grad_out[0])
        return CEBUS_OK;
    if (io->needs & 1)
        io->grad_in[0] = cebus_tensor_retain(io->grad_out[0]);
    return io->needs & (1U << 2) ? src_gradient(io) : CEBUS_OK;
}
