/**
 * clip.c: clipping gradients by their common norm.
 */
#include <math.h>

#include <cebus/autograd.h>

#include "eager/capture/hooks.h"
#include "eager/op.h"
#include "eager/ops/optim.h"
#include "eager/optim/optimizer.h"
#include "eager/residency.h"
#include "eager/tensor.h"

#define GROUP_BYTES (UINT64_C(16) << 20)

static cebus_status no_host_memory(size_t n)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "clip_grad_norm", "cannot list %zu gradients", n);
}

/* The gradients there are, new references. */
static cebus_status gather_grads(cebus_tensor *const *params, size_t n, cebus_tensor **grads,
                                 size_t *out_count)
{
    size_t count = 0;
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        status = params[i] ? cebus_tensor_grad(params[i], &grads[count])
                           : cebus_fail(CEBUS_INVALID_ARGUMENT, "clip_grad_norm",
                                        "parameter %zu is NULL", i);
        count += status == CEBUS_OK && grads[count] != NULL;
    }
    *out_count = count;
    return status;
}

/* The sum must have the same bits under every budget. */
size_t cebus_gradient_group(cebus_tensor *const *grads, size_t n)
{
    uint64_t bytes = 0;
    size_t count = 0;
    while (count < n && count < CEBUS_MAX_TRACKED - 1) {
        bytes += grads[count]->storage->now->value.bytes;
        if (count > 0 && bytes > GROUP_BYTES)
            break;
        count++;
    }
    return count;
}

/* The 2-norm of all of them. */
static cebus_status measure(cebus_runtime *rt, cebus_tensor *const *grads, size_t n, double *out)
{
    double total = 0, part;
    for (size_t i = 0, count; i < n; i += count) {
        count = cebus_gradient_group(grads + i, n - i);
        cebus_status status = cebus_sum_squares(rt, grads + i, (uint32_t)count, &part);
        if (status != CEBUS_OK)
            return status;
        total += part;
    }
    *out = sqrt(total);
    return CEBUS_OK;
}

static cebus_status scale_all(cebus_runtime *rt, cebus_tensor *const *grads, size_t n,
                              double factor)
{
    /* Written so that a norm which is not a number shows in the gradients, as in PyTorch. */
    bool keeps = factor >= 1;
    for (size_t i = 0; i < n && !keeps; i++) {
        cebus_status status = cebus_scale_grad(rt, grads[i], factor);
        if (status == CEBUS_OK)
            continue;
        const cebus_error why = *cebus_last_error();
        return cebus_fail(status, "clip_grad_norm", "%zu of %zu gradients were scaled by %g: %s", i,
                          n, factor, why.message);
    }
    return CEBUS_OK;
}

/* What was made resident first is still so when it is scaled: scaling takes no memory. (It gives
 * gradients new versions, so they cannot be held meanwhile.) */
static cebus_status measure_held(cebus_runtime *rt, cebus_tensor *const *grads, size_t n,
                                 double *out_norm)
{
    cebus_status status = cebus_residency_hold(rt, grads, n);
    if (status != CEBUS_OK)
        return status;
    status = measure(rt, grads, n, out_norm);
    cebus_residency_unhold(rt, grads, n);
    return status;
}

/* With the lock held from first to last. Gradients that do not fit together come one after the
 * other. */
static cebus_status clip(cebus_runtime *rt, cebus_tensor *const *grads, size_t n, double max_norm,
                         double *out_norm)
{
    cebus_status status = cebus_runtime_lock(rt, "clip_grad_norm");
    if (status != CEBUS_OK)
        return status;
    if (rt->capture)
        status =
            cebus_capture_forbid(rt, "clip_grad_norm", "the host reads the norm of the gradients");
    if (status == CEBUS_OK)
        status = cebus_residency_exceeds(rt, grads, n) ? measure(rt, grads, n, out_norm)
                                                       : measure_held(rt, grads, n, out_norm);
    if (status == CEBUS_OK)
        status = scale_all(rt, grads, n, max_norm / (*out_norm + 1e-6));
    cebus_runtime_unlock(rt);
    return status;
}

cebus_status cebus_clip_grad_norm(cebus_runtime *rt, cebus_tensor *const *params, size_t n,
                                  double max_norm, double *out_norm)
{
    double norm = 0;
    size_t count = 0;
    if (out_norm)
        *out_norm = 0;
    if (!rt || (n > 0 && !params) || !(max_norm >= 0))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "clip_grad_norm",
                          "rt or params is NULL, or max_norm (%g) is not >= 0", max_norm);
    if (n == 0)
        return CEBUS_OK;
    if (n > SIZE_MAX / sizeof(cebus_tensor *))
        return no_host_memory(n);
    cebus_tensor **grads = rt->host.alloc(rt->host.context, n * sizeof *grads);
    if (!grads)
        return no_host_memory(n);
    cebus_status status = gather_grads(params, n, grads, &count);
    if (status == CEBUS_OK)
        status = clip(rt, grads, count, max_norm, &norm);
    for (size_t i = 0; i < count; i++)
        cebus_tensor_release(grads[i]);
    rt->host.free(rt->host.context, grads);
    if (status == CEBUS_OK && out_norm)
        *out_norm = norm;
    return status;
}
