/**
 * leaf.c: what a leaf says of its gradient.
 */
#include <cebus/ops.h>

#include "eager/autograd/node.h"
#include "eager/capture/hooks.h"
#include "eager/view.h"

/** A view that becomes a leaf leaves the graph of its base: a write to the base that depends on the
 * leaf would close a circle. */
static void mark_leaf(cebus_tensor *tensor, bool requires_grad)
{
    tensor->requires_grad = requires_grad;
    if (requires_grad) {
        cebus_tensor_release(tensor->base);
        tensor->base = NULL;
    }
}

cebus_status cebus_tensor_set_requires_grad(cebus_tensor *tensor, bool requires_grad)
{
    static const char op[] = "set_requires_grad";
    cebus_status status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    if (!cebus_dtype_is_float(tensor->view.dtype))
        status = cebus_fail(CEBUS_DTYPE_MISMATCH, op, "%s tensors have no gradient",
                            cebus_dtype_name(tensor->view.dtype));
    else if (cebus_node_of(tensor->rt, tensor, &status) != NULL)
        status = cebus_fail(CEBUS_AUTOGRAD_ERROR, op,
                            "only leaves collect a gradient; cebus_detach() it first");
    else if (status == CEBUS_OK)
        mark_leaf(tensor, requires_grad);
    cebus_runtime_unlock(tensor->rt);
    return status;
}

cebus_status cebus_tensor_grad(cebus_tensor *tensor, cebus_tensor **out)
{
    static const char op[] = "grad";
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = NULL;
    cebus_status status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    *out = cebus_tensor_retain(tensor->grad);
    cebus_runtime_unlock(tensor->rt);
    return CEBUS_OK;
}

cebus_status cebus_tensor_set_grad(cebus_tensor *tensor, cebus_tensor *grad)
{
    static const char op[] = "set_grad";
    cebus_status status = cebus_tensor_alive(tensor, op);
    if (status == CEBUS_OK && grad != NULL)
        status = cebus_gradient_check(tensor, grad, op, "the tensor");
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *kept = NULL;
    if (grad != NULL)
        status = cebus_detach(tensor->rt, grad, &kept);
    if (status == CEBUS_OK)
        status = cebus_runtime_lock(tensor->rt, op);
    if (status != CEBUS_OK) {
        cebus_tensor_release(kept);
        return status;
    }
    if (tensor->rt->capture != NULL)
        status = cebus_capture_touch(tensor->rt, tensor, false);
    if (status != CEBUS_OK) {
        cebus_tensor_release(kept);
        cebus_runtime_unlock(tensor->rt);
        return status;
    }
    cebus_tensor *former = tensor->grad;
    tensor->grad = kept;
    cebus_tensor_release(former);
    cebus_runtime_unlock(tensor->rt);
    return CEBUS_OK;
}

static bool is_like(const cebus_view *a, const cebus_view *b)
{
    return a->dtype == b->dtype && cebus_view_same_shape(a, b);
}

static cebus_status check_data(cebus_tensor *tensor, const cebus_tensor *source)
{
    static const char op[] = "set_data";
    cebus_status status;
    const bool computed = cebus_node_of(tensor->rt, tensor, &status) != NULL;
    if (status != CEBUS_OK)
        return cebus_fail(status, op, "no host memory for a node of the graph");
    if (tensor->requires_grad && !cebus_dtype_is_float(source->view.dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, op, "%s tensors have no gradient",
                          cebus_dtype_name(source->view.dtype));
    if ((computed && !is_like(&tensor->view, &source->view)) ||
        (tensor->grad != NULL && !is_like(&tensor->grad->view, &source->view)))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op,
                          "what has a gradient, or was computed from what collects one, keeps its "
                          "type and shape: %s of %s, not %s of %s",
                          CEBUS_SHAPE(&tensor->view), cebus_dtype_name(tensor->view.dtype),
                          CEBUS_SHAPE(&source->view), cebus_dtype_name(source->view.dtype));
    return CEBUS_OK;
}

cebus_status cebus_tensor_set_data(cebus_tensor *tensor, cebus_tensor *source)
{
    static const char op[] = "set_data";
    cebus_status status = cebus_tensor_alive(tensor, op);
    if (status != CEBUS_OK)
        return status;
    cebus_runtime *rt = tensor->rt;
    status = cebus_tensor_check(rt, source, op, "the source");
    if (status == CEBUS_OK)
        status = cebus_runtime_lock(rt, op);
    if (status != CEBUS_OK)
        return status;
    status = check_data(tensor, source);
    if (status == CEBUS_OK) {
        cebus_storage *former = tensor->storage;
        tensor->storage = source->storage;
        tensor->storage->refs++;
        tensor->view = source->view;
        cebus_storage_release(rt, former);
        cebus_tensor_release(tensor->base);
        tensor->base = NULL;
        tensor->moves++;
    }
    cebus_runtime_unlock(rt);
    return status;
}

static cebus_status lay_out(cebus_runtime *rt, cebus_tensor *tensor)
{
    const cebus_storage *storage = tensor->storage;
    cebus_tensor *straight = NULL;
    if (storage->refs - storage->captured > 1 || storage->persistent || storage->now->exports > 0 ||
        cebus_view_is_contiguous(&tensor->view) || !cebus_view_is_dense(&tensor->view))
        return CEBUS_OK;
    const bool recorded = cebus_grad_enable(false);
    cebus_status status = cebus_contiguous(rt, tensor, &straight);
    cebus_grad_enable(recorded);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_data(tensor, straight);
    cebus_tensor_release(straight);
    return status;
}

cebus_status cebus_tensor_straighten(cebus_tensor *tensor)
{
    static const char op[] = "straighten";
    cebus_status status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    status = lay_out(tensor->rt, tensor);
    cebus_runtime_unlock(tensor->rt);
    return status;
}
