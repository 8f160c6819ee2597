#include "eager/tensor.h"

#include <stdio.h>

#include "eager/autograd/hook.h"
#include "eager/autograd/node.h"
#include "eager/capture/hooks.h"
#include "eager/guidance/guidance.h"
#include "eager/residency.h"
#include "eager/view.h"
#include "evict/placement.h"

cebus_tensor *cebus_tensor_create(cebus_runtime *rt, cebus_storage *storage, const cebus_view *view)
{
    cebus_tensor *tensor = cebus_pool_alloc(&rt->pool, sizeof *tensor);
    if (tensor == NULL)
        return NULL;
    atomic_init(&tensor->refs, 1);
    tensor->alive = CEBUS_TENSOR_ALIVE;
    tensor->rt = rt;
    tensor->storage = storage;
    tensor->view = *view;
    tensor->requires_grad = false;
    tensor->node_output = 0;
    tensor->node = NULL;
    tensor->node_rebased = 0;
    tensor->base = NULL;
    tensor->grad = NULL;
    tensor->incoming = NULL;
    tensor->hooks = NULL;
    tensor->moves = tensor->base_moves = 0;
    tensor->captured = tensor->captured_at = 0;
    storage->refs++;
    rt->handles++;
    return tensor;
}

cebus_tensor *cebus_tensor_retain(cebus_tensor *tensor)
{
    if (tensor != NULL)
        atomic_fetch_add_explicit(&tensor->refs, 1, memory_order_relaxed);
    return tensor;
}

static void destroy(cebus_tensor *tensor)
{
    cebus_runtime *rt = tensor->rt;
    cebus_runtime_lock_always(rt);
    if (tensor->node != NULL)
        cebus_node_release(rt, tensor->node);
    cebus_tensor_release(tensor->base);
    cebus_tensor_release(tensor->grad);
    cebus_hooks_drop(rt, &tensor->hooks);
    cebus_storage_release(rt, tensor->storage);
    tensor->alive = 0;
    cebus_pool_free_object(&rt->pool, tensor, sizeof *tensor);
    rt->handles--;
    cebus_runtime_unlock(rt);
}

void cebus_tensor_release(cebus_tensor *tensor)
{
    if (tensor == NULL)
        return;
    if (atomic_fetch_sub_explicit(&tensor->refs, 1, memory_order_acq_rel) == 1)
        destroy(tensor);
}

cebus_status cebus_tensor_check(const cebus_runtime *rt, const cebus_tensor *tensor, const char *op,
                                const char *what)
{
    if (rt == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the runtime is NULL");
    if (tensor == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s is NULL", what);
    if (tensor->alive != CEBUS_TENSOR_ALIVE)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s was released before", what);
    if (tensor->rt != rt)
        return cebus_fail(CEBUS_RUNTIME_MISMATCH, op,
                          "%s belongs to another runtime; copy it over with "
                          "cebus_tensor_to_host and cebus_tensor_from_host",
                          what);
    return CEBUS_OK;
}

cebus_status cebus_tensor_alive(const cebus_tensor *tensor, const char *op)
{
    if (tensor == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the tensor is NULL");
    return cebus_tensor_check(tensor->rt, tensor, op, "the tensor");
}

cebus_status cebus_tensor_lock(const cebus_tensor *tensor, const char *op)
{
    cebus_status status = cebus_tensor_alive(tensor, op);
    return status == CEBUS_OK ? cebus_runtime_lock(tensor->rt, op) : status;
}

const cebus_view *cebus_tensor_view(const cebus_tensor *tensor)
{
    return &tensor->view;
}

cebus_runtime *cebus_tensor_runtime(const cebus_tensor *tensor)
{
    return tensor->rt;
}

cebus_dtype cebus_tensor_dtype(const cebus_tensor *tensor)
{
    return tensor->view.dtype;
}

int cebus_tensor_ndim(const cebus_tensor *tensor)
{
    return tensor->view.ndim;
}

int64_t cebus_tensor_size(const cebus_tensor *tensor, int dim)
{
    int wrapped = cebus_dim_wrap(dim, tensor->view.ndim);
    return wrapped < 0 ? -1 : tensor->view.shape[wrapped];
}

int64_t cebus_tensor_numel(const cebus_tensor *tensor)
{
    return cebus_view_numel(&tensor->view);
}

bool cebus_tensor_is_contiguous(const cebus_tensor *tensor)
{
    return cebus_view_is_contiguous(&tensor->view);
}

bool cebus_tensor_is_resident(const cebus_tensor *tensor)
{
    cebus_runtime_lock_always(tensor->rt);
    bool resident = tensor->storage->now->value.resident;
    cebus_runtime_unlock(tensor->rt);
    return resident;
}

uint64_t cebus_tensor_version(const cebus_tensor *tensor)
{
    cebus_runtime_lock_always(tensor->rt);
    uint64_t version = tensor->storage->version;
    cebus_runtime_unlock(tensor->rt);
    return version;
}

cebus_status cebus_tensor_empty_like(cebus_runtime *rt, const cebus_view *view, cebus_zone zone,
                                     const char *op, cebus_tensor **out)
{
    uint64_t bytes;
    *out = NULL;
    if (!cebus_view_bytes(view, &bytes))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "a tensor of shape %s has more bytes than can be addressed",
                          CEBUS_SHAPE(view));
    cebus_storage *storage = cebus_storage_create(rt, bytes);
    cebus_tensor *tensor = storage != NULL ? cebus_tensor_create(rt, storage, view) : NULL;
    cebus_storage_release(rt, storage);
    if (tensor == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for a tensor");
    cebus_status status = cebus_candidate_place(rt, storage->now, zone, CEBUS_ANYWHERE, op);
    if (status != CEBUS_OK) {
        cebus_tensor_release(tensor);
        return status;
    }
    *out = tensor;
    return CEBUS_OK;
}

cebus_status cebus_tensor_set_persistent(cebus_tensor *tensor)
{
    static const char op[] = "set_persistent";
    cebus_status status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    cebus_runtime *rt = tensor->rt;
    cebus_storage *storage = tensor->storage;
    cebus_candidate *now = storage->now;
    if (!storage->persistent && rt->capture != NULL)
        status = cebus_capture_forbid(rt, op, "a tensor becomes persistent once; before it begins");
    if (!storage->persistent && status == CEBUS_OK) {
        status = cebus_residency_begin(rt, &now, 1, op);
        if (status == CEBUS_OK) {
            cebus_guidance_persist(rt, now);
            cebus_value_detach(&rt->lineage, &now->value);
            now->zone = CEBUS_ZONE_PERSISTENT;
            storage->persistent = true;
            rt->stats.active_bytes_persistent += now->value.bytes;
            cebus_candidate_move_low(rt, now);
            cebus_residency_end(rt, &now, 1);
            cebus_storage_reap(rt);
        }
    }
    cebus_runtime_unlock(rt);
    return status;
}

bool cebus_tensor_is_persistent(const cebus_tensor *tensor)
{
    cebus_runtime_lock_always(tensor->rt);
    bool persistent = tensor->storage->persistent;
    cebus_runtime_unlock(tensor->rt);
    return persistent;
}

static cebus_status check_all(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                              const char *op)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        char what[40];
        snprintf(what, sizeof what, "tensor %zu", i);
        if (tensors[i] != NULL)
            status = cebus_tensor_check(rt, tensors[i], op, what);
    }
    return status;
}

static cebus_status restore(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                            const char *op)
{
    if (n > SIZE_MAX / sizeof(cebus_candidate *))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%zu tensors are too many", n);
    cebus_candidate **versions = cebus_pool_alloc(&rt->pool, n * sizeof *versions);
    if (versions == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for a list of %zu", n);
    for (size_t i = 0; i < n; i++)
        versions[i] = tensors[i] != NULL ? tensors[i]->storage->now : NULL;
    cebus_status status = cebus_residency_begin(rt, versions, n, op);
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        if (versions[i] == NULL)
            continue;
        cebus_guidance_read(rt, versions[i]);
        cebus_candidate_touch(rt, versions[i]);
    }
    if (status == CEBUS_OK)
        cebus_residency_end(rt, versions, n);
    cebus_pool_free_object(&rt->pool, versions, n * sizeof *versions);
    return status;
}

cebus_status cebus_tensors_restore(cebus_tensor *const *tensors, size_t n)
{
    static const char op[] = "restore";
    size_t first = 0;
    if (tensors == NULL && n > 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "tensors is NULL");
    while (first < n && tensors[first] == NULL)
        first++;
    if (first == n)
        return CEBUS_OK;
    cebus_runtime *rt = tensors[first]->rt;
    cebus_status status = cebus_runtime_lock(rt, op);
    if (status != CEBUS_OK)
        return status;
    status = check_all(rt, tensors, n, op);
    if (status == CEBUS_OK)
        status = restore(rt, tensors, n, op);
    cebus_runtime_unlock(rt);
    return status;
}
