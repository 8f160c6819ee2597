#include "eager/autograd/rebase.h"

#include <string.h>

#include <cebus/ops.h>

#include "eager/autograd/window.h"
#include "eager/ops/reduce.h"
#include "eager/views.h"

cebus_status cebus_rebase_check(cebus_runtime *rt, const cebus_op *op, cebus_tensor *tensor)
{
    (void)rt;
    if (!cebus_grad_is_enabled())
        return CEBUS_OK;
    if (cebus_tensor_is_parameter(tensor))
        return cebus_fail(CEBUS_AUTOGRAD_ERROR, op->name,
                          "a leaf that collects a gradient cannot be written in place; turn "
                          "gradients off around the write (cebus_grad_enable(false))");
    return CEBUS_OK;
}

cebus_node *cebus_view_node_create(cebus_runtime *rt, const cebus_op *op,
                                   const cebus_view *in_views, uint32_t n_in,
                                   const cebus_view *out_view, const void *attrs, size_t attr_bytes)
{
    size_t payload = (n_in + 1) * sizeof(cebus_view) + attr_bytes;
    cebus_call *call = cebus_call_create(&rt->lineage, op, n_in, 1, payload);
    if (call == NULL)
        return NULL;
    memcpy(cebus_call_views(call), in_views, n_in * sizeof *in_views);
    cebus_call_views(call)[n_in] = *out_view;
    if (attr_bytes > 0)
        memcpy(cebus_call_attrs(call), attrs, attr_bytes);
    cebus_node *node = cebus_node_create_bare(rt, call);
    if (node != NULL)
        node->needs = (UINT64_C(1) << n_in) - 1;
    cebus_call_release(&rt->lineage, call);
    return node;
}

/** The region without its repeated dimensions: where the sum of the repetitions goes. */
static cebus_view unrepeated(const cebus_view *region, int64_t offset)
{
    cebus_view view = *region;
    view.offset -= offset;
    for (int d = 0; d < view.ndim; d++) {
        if (view.strides[d] == 0 && view.shape[d] > 1)
            view.shape[d] = 1;
    }
    return view;
}

/** zeros(like the base) with the view's region set to its gradient. */
static cebus_status as_view_gradient(const cebus_gradient *io)
{
    cebus_runtime *rt = io->rt;
    const cebus_view *base = &io->in_view[0];
    cebus_view region = unrepeated(&io->out_view[0], base->offset);
    cebus_tensor *zeros = NULL, *sum = NULL;
    cebus_status status = cebus_views_zeros(rt, base, &zeros);
    if (status == CEBUS_OK)
        status = cebus_sum_to(rt, io->grad_out[0], &region, &sum);
    if (status == CEBUS_OK)
        status = cebus_window_add(rt, zeros, &region, sum);
    cebus_tensor_release(sum);
    if (status == CEBUS_OK)
        io->grad_in[0] = zeros;
    else
        cebus_tensor_release(zeros);
    return status;
}

/** A view of a base that was written in place. */
static const cebus_op as_view_op = {.name = "as_view", .gradient = as_view_gradient};

/** The gradient in the base's own layout, so that the region's strides apply to it. */
static cebus_status in_layout(cebus_runtime *rt, cebus_tensor *grad, const cebus_view *layout,
                              cebus_tensor **out)
{
    cebus_status status = cebus_views_zeros(rt, layout, out);
    if (status == CEBUS_OK)
        status = cebus_copy_(rt, *out, grad);
    if (status != CEBUS_OK) {
        cebus_tensor_release(*out);
        *out = NULL;
    }
    return status;
}

static cebus_status write_view_gradient(const cebus_gradient *io)
{
    cebus_runtime *rt = io->rt;
    cebus_view region = io->in_view[1];
    region.offset -= io->in_view[0].offset;
    cebus_tensor *whole = NULL, *window = NULL;
    cebus_status status = in_layout(rt, io->grad_out[0], &io->out_view[0], &whole);
    if (status == CEBUS_OK)
        status = cebus_views_alias(rt, whole, &region, &window);
    if (status == CEBUS_OK && (io->needs & 2))
        status = cebus_clone(rt, window, &io->grad_in[1]);
    if (status == CEBUS_OK && (io->needs & 1))
        status = cebus_zero_(rt, window);
    if (status == CEBUS_OK && (io->needs & 1))
        io->grad_in[0] = cebus_tensor_retain(whole);
    cebus_tensor_release(window);
    cebus_tensor_release(whole);
    return status;
}

/** A base after a write through one of its views: [base before, what was written]. */
static const cebus_op write_view_op = {.name = "write_view", .gradient = write_view_gradient};

cebus_node *cebus_rebase_reserve(cebus_runtime *rt, cebus_tensor *view)
{
    cebus_tensor *base = view->base;
    const cebus_view in[2] = {base->view, view->view};
    cebus_node *node = cebus_view_node_create(rt, &write_view_op, in, 2, &base->view, NULL, 0);
    if (node == NULL)
        return NULL;
    node->edges[0] = cebus_graph_edge_of(rt, base);
    if (node->edges[0].node == NULL && node->edges[0].leaf == NULL)
        node->needs &= ~UINT64_C(1);
    return node;
}

static void replace_source(cebus_runtime *rt, cebus_tensor *tensor, cebus_node *node,
                           uint32_t output)
{
    cebus_node *former = tensor->node;
    tensor->node = cebus_node_retain(node);
    tensor->node_output = output;
    if (former != NULL)
        cebus_node_release(rt, former);
}

void cebus_rebase_attach(cebus_runtime *rt, cebus_node *node, uint32_t output, cebus_tensor *tensor)
{
    tensor->storage->rebased++;
    if (cebus_tensor_base(tensor) == NULL) {
        replace_source(rt, tensor, node, output);
        return;
    }
    cebus_node *slices = node->slices;
    node->slices = NULL;
    slices->edges[1] = (cebus_graph_edge){.node = cebus_node_retain(node), .output = output};
    slices->sequence = ++rt->node_sequence;
    replace_source(rt, tensor->base, slices, 0);
    cebus_node_release(rt, slices);
}

static cebus_node *renew(cebus_runtime *rt, cebus_tensor *tensor, cebus_status *out_status)
{
    cebus_node *former = tensor->node, *node = NULL;
    cebus_graph_edge edge = cebus_graph_edge_of(rt, tensor->base);
    if (edge.node != NULL || edge.leaf != NULL) {
        node =
            cebus_view_node_create(rt, &as_view_op, &tensor->base->view, 1, &tensor->view, NULL, 0);
        if (node == NULL) {
            cebus_graph_edge_release(rt, &edge);
            *out_status = CEBUS_OUT_OF_HOST_MEMORY;
            return NULL;
        }
        node->edges[0] = edge;
    }
    tensor->node = node;
    tensor->node_output = 0;
    tensor->node_rebased = tensor->storage->rebased;
    if (former != NULL)
        cebus_node_release(rt, former);
    return node;
}

cebus_node *cebus_node_of(cebus_runtime *rt, cebus_tensor *tensor, cebus_status *out_status)
{
    *out_status = CEBUS_OK;
    if (cebus_tensor_base(tensor) == NULL || tensor->node_rebased == tensor->storage->rebased)
        return tensor->node;
    return renew(rt, tensor, out_status);
}
