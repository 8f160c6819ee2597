/**
 * transfer.c: bytes between tensors and the host.
 */
#include <inttypes.h>

#include <cebus/ops.h>

#include "eager/capture/hooks.h"
#include "eager/guidance/guidance.h"
#include "eager/residency.h"
#include "eager/swap/swap.h"
#include "eager/tensor.h"
#include "eager/view.h"

/** Takes the lock; fails while calls are recorded: what passes between host and device would be
 * settled once and for all. What is only watched may be written to: that comes in. */
static cebus_status enter(cebus_runtime *rt, const char *op, const char *why, bool writes)
{
    cebus_status status = cebus_runtime_lock(rt, op);
    if (status != CEBUS_OK || rt->capture == NULL || (writes && !cebus_capture_is_explicit(rt)))
        return status;
    status = cebus_capture_forbid(rt, op, why);
    if (status != CEBUS_OK)
        cebus_runtime_unlock(rt);
    return status;
}

/** What the host reads is made for it alone: no part of an iteration, nor of a graph. */
typedef struct aside {
    bool recorded, former;
} aside;

static aside step_aside(cebus_runtime *rt)
{
    aside a = {.recorded = cebus_grad_enable(false), .former = rt->watch.aside};
    rt->watch.aside = true;
    return a;
}

static void step_back(cebus_runtime *rt, aside a)
{
    rt->watch.aside = a.former;
    cebus_grad_enable(a.recorded);
}

static const char reads[] = "the host would read it once and never again; read it after the end";
static const char writes[] = "the host would write it once and never again; make tensors before "
                             "the beginning, and write to them between launches";

cebus_status cebus_tensor_from_host(cebus_runtime *rt, const void *data, cebus_dtype dtype,
                                    int ndim, const int64_t *shape, cebus_tensor **out)
{
    static const char op[] = "from_host";
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = NULL;
    if (rt == NULL || (shape == NULL && ndim > 0))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the %s is NULL",
                          rt == NULL ? "runtime" : "shape");
    if (!cebus_shape_valid(dtype, ndim, shape))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "the shape is impossible: 0 to %d dimensions, none negative, and fewer "
                          "than 2^62 bytes of a known type",
                          CEBUS_MAX_DIMS);
    cebus_view view;
    cebus_view_contiguous(&view, dtype, ndim, shape);
    if (data == NULL && cebus_view_numel(&view) > 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "data is NULL");
    cebus_status status = enter(rt, op, writes, true);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *tensor;
    status = cebus_tensor_empty_like(rt, &view, CEBUS_ZONE_CHEAP, op, &tensor);
    cebus_candidate *now = status == CEBUS_OK ? tensor->storage->now : NULL;
    if (status == CEBUS_OK && now->block != NULL) {
        status = rt->device_ops->copy(rt->device, cebus_candidate_address(rt, now), data,
                                      now->value.bytes, CEBUS_COPY_TO_DEVICE);
        cebus_candidate_used(rt, now);
        now->uploaded = true;
    }
    if (status == CEBUS_OK && rt->capture != NULL)
        cebus_capture_upload(rt, tensor);
    if (status == CEBUS_OK)
        *out = tensor;
    else
        cebus_tensor_release(tensor);
    cebus_runtime_unlock(rt);
    return status;
}

static cebus_status check_bytes(const cebus_tensor *tensor, const void *data, size_t bytes,
                                const char *op)
{
    cebus_status status = cebus_tensor_alive(tensor, op);
    if (status != CEBUS_OK)
        return status;
    uint64_t wanted =
        (uint64_t)cebus_view_numel(&tensor->view) * cebus_dtype_size(tensor->view.dtype);
    if (bytes != wanted)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "%zu bytes given, but shape %s of %s has %" PRIu64, bytes,
                          CEBUS_SHAPE(&tensor->view), cebus_dtype_name(tensor->view.dtype), wanted);
    if (data == NULL && bytes > 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "data is NULL");
    return CEBUS_OK;
}

static cebus_status read_contiguous(cebus_tensor *tensor, void *data, size_t bytes, const char *op)
{
    cebus_runtime *rt = tensor->rt;
    cebus_candidate *now = tensor->storage->now;
    cebus_status status = cebus_residency_begin(rt, &now, 1, op);
    if (status != CEBUS_OK)
        return status;
    cebus_guidance_read(rt, now);
    if (bytes > 0) {
        const char *from = cebus_candidate_address(rt, now) +
                           tensor->view.offset * (int64_t)cebus_dtype_size(tensor->view.dtype);
        cebus_swap_settle(rt, now);
        status = rt->device_ops->copy(rt->device, data, from, bytes, CEBUS_COPY_TO_HOST);
        cebus_candidate_used(rt, now);
    }
    cebus_candidate_touch(rt, now);
    cebus_residency_end(rt, &now, 1);
    return status;
}

cebus_status cebus_tensor_to_host(cebus_tensor *tensor, void *data, size_t bytes)
{
    static const char op[] = "to_host";
    cebus_status status = check_bytes(tensor, data, bytes, op);
    if (status != CEBUS_OK)
        return status;
    cebus_runtime *rt = tensor->rt;
    cebus_tensor *dense = NULL;
    status = enter(rt, op, reads, false);
    if (status != CEBUS_OK)
        return status;
    aside a = step_aside(rt);
    status = cebus_contiguous(rt, tensor, &dense);
    step_back(rt, a);
    if (status == CEBUS_OK)
        status = read_contiguous(dense, data, bytes, op);
    cebus_tensor_release(dense);
    cebus_runtime_unlock(rt);
    return status;
}

cebus_status cebus_tensor_set_from_host(cebus_tensor *tensor, const void *data, size_t bytes)
{
    cebus_status status = check_bytes(tensor, data, bytes, "set_from_host");
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *source = NULL;
    cebus_runtime *rt = tensor->rt;
    const cebus_view *view = &tensor->view;
    status = cebus_tensor_from_host(rt, data, view->dtype, view->ndim, view->shape, &source);
    if (status == CEBUS_OK)
        status = cebus_copy_(rt, tensor, source);
    cebus_tensor_release(source);
    return status;
}

cebus_status cebus_tensor_item(cebus_tensor *tensor, double *out)
{
    static const char op[] = "item";
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = 0;
    cebus_status status = cebus_tensor_alive(tensor, op);
    if (status != CEBUS_OK)
        return status;
    if (cebus_view_numel(&tensor->view) != 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op, "shape %s has %" PRId64 " elements, not one",
                          CEBUS_SHAPE(&tensor->view), cebus_view_numel(&tensor->view));
    cebus_tensor *wide = NULL;
    status = enter(tensor->rt, op, reads, false);
    if (status != CEBUS_OK)
        return status;
    aside a = step_aside(tensor->rt);
    status = cebus_cast(tensor->rt, tensor, CEBUS_F64, &wide);
    step_back(tensor->rt, a);
    if (status == CEBUS_OK)
        status = cebus_tensor_to_host(wide, out, sizeof *out);
    cebus_tensor_release(wide);
    cebus_runtime_unlock(tensor->rt);
    return status;
}

cebus_status cebus_tensor_map(cebus_tensor *tensor, const void **out)
{
    static const char op[] = "map";
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = NULL;
    cebus_status status = cebus_tensor_alive(tensor, op);
    if (status != CEBUS_OK)
        return status;
    cebus_runtime *rt = tensor->rt;
    status = enter(rt, op, reads, false);
    if (status != CEBUS_OK)
        return status;
    cebus_candidate *now = tensor->storage->now;
    status = cebus_residency_begin(rt, &now, 1, op);
    if (status == CEBUS_OK) {
        cebus_guidance_read(rt, now);
        cebus_swap_settle(rt, now);
        status = rt->device_ops->synchronize(rt->device);
        if (status == CEBUS_OK && now->block != NULL) {
            now->exports++;
            now->block->immovable = true;
            *out = cebus_candidate_address(rt, now) +
                   tensor->view.offset * (int64_t)cebus_dtype_size(tensor->view.dtype);
        }
        cebus_residency_end(rt, &now, 1);
    }
    cebus_runtime_unlock(rt);
    return status;
}

void cebus_tensor_unmap(cebus_tensor *tensor)
{
    if (tensor == NULL)
        return;
    cebus_runtime_lock_always(tensor->rt);
    cebus_candidate *now = tensor->storage->now;
    if (now->exports > 0 && --now->exports == 0 && now->block != NULL)
        now->block->immovable = false;
    cebus_runtime_unlock(tensor->rt);
}
