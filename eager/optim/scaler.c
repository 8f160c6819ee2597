/**
 * scaler.c: loss scaling: a scale on the device, and what it knows of each optimizer between two
 * updates.
 */
#include <cebus/ops/binary.h>
#include <cebus/ops/cast.h>
#include <cebus/ops/fill.h>

#include "eager/ops/amp.h"
#include "eager/optim/optimizer.h"
#include "eager/tensor.h"
#include "eager/view.h"

/* Since the last update. */
struct seen {
    uint64_t optimizer;  /* its birth: it may be gone, and another may lie at its address */
    cebus_tensor *found; /* whether its gradients are not finite */
    bool unscaled;       /* its gradients are divided already */
    bool stepped;
};

struct cebus_grad_scaler {
    cebus_runtime *rt;
    cebus_host_allocator host; /* a copy: the runtime may go first */
    cebus_grad_scaler_options how;
    cebus_tensor *scale, *tracker;
    struct seen *seen;
    size_t count, capacity;
};

static cebus_status no_host_memory(const char *function)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, function, "no host memory: free some, try again");
}

/* ---- scalers ----------------------------------------------------------------------------- */

static cebus_status make_scalar(cebus_runtime *rt, double value, cebus_dtype dtype,
                                cebus_tensor **out)
{
    cebus_status status = cebus_full(rt, value, dtype, 0, NULL, out);
    return status == CEBUS_OK ? cebus_tensor_set_persistent(*out) : status;
}

cebus_status cebus_grad_scaler_create(cebus_runtime *rt, const cebus_grad_scaler_options *options,
                                      cebus_grad_scaler **out)
{
    static const char function[] = "grad_scaler_create";
    cebus_grad_scaler_options how;
    if (out != NULL)
        *out = NULL;
    if (rt == NULL || out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "%s is NULL", rt ? "out" : "rt");
    cebus_status status = cebus_grad_scaler_options_read(options, function, &how);
    if (status != CEBUS_OK)
        return status;
    cebus_grad_scaler *scaler = rt->host.alloc(rt->host.context, sizeof *scaler);
    if (scaler == NULL)
        return no_host_memory(function);
    *scaler = (cebus_grad_scaler){.rt = rt, .host = rt->host, .how = how};
    status = make_scalar(rt, how.init_scale, CEBUS_F32, &scaler->scale);
    if (status == CEBUS_OK)
        status = make_scalar(rt, 0, CEBUS_I32, &scaler->tracker);
    if (status == CEBUS_OK)
        *out = scaler;
    else
        cebus_grad_scaler_destroy(scaler);
    return status;
}

static void forget(cebus_grad_scaler *scaler)
{
    for (size_t i = 0; i < scaler->count; i++)
        cebus_tensor_release(scaler->seen[i].found);
    scaler->count = 0;
}

void cebus_grad_scaler_destroy(cebus_grad_scaler *scaler)
{
    if (scaler == NULL)
        return;
    cebus_host_allocator host = scaler->host;
    forget(scaler);
    cebus_tensor_release(scaler->scale);
    cebus_tensor_release(scaler->tracker);
    host.free(host.context, scaler->seen);
    host.free(host.context, scaler);
}

/** Another reference to what the scaler keeps; `kept` is NULL where there is no scaler. */
static cebus_status hand_out(cebus_tensor *kept, const char *op, cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = cebus_tensor_retain(kept);
    return kept != NULL ? CEBUS_OK : cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the scaler is NULL");
}

cebus_status cebus_grad_scaler_tensor(cebus_grad_scaler *scaler, cebus_tensor **out)
{
    return hand_out(scaler != NULL ? scaler->scale : NULL, "grad_scaler_tensor", out);
}

cebus_status cebus_grad_scaler_tracker(cebus_grad_scaler *scaler, cebus_tensor **out)
{
    return hand_out(scaler != NULL ? scaler->tracker : NULL, "grad_scaler_tracker", out);
}

/* ---- the loss ---------------------------------------------------------------------------- */

/* In f16 the scale itself might not be finite. */
cebus_status cebus_grad_scaler_scale(cebus_grad_scaler *scaler, cebus_tensor *loss,
                                     cebus_tensor **out)
{
    if (out != NULL)
        *out = NULL;
    if (scaler == NULL || loss == NULL || out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "grad_scaler_scale", "an argument is NULL");
    cebus_dtype wide = cebus_dtype_wide(cebus_tensor_dtype(loss));
    cebus_tensor *value = NULL, *factor = NULL;
    cebus_status status = cebus_cast(scaler->rt, loss, wide, &value);
    if (status == CEBUS_OK)
        status = cebus_cast(scaler->rt, scaler->scale, wide, &factor);
    if (status == CEBUS_OK)
        status = cebus_mul(scaler->rt, value, factor, out);
    cebus_tensor_release(value);
    cebus_tensor_release(factor);
    return status;
}

/* ---- gradients --------------------------------------------------------------------------- */

static struct seen *find(cebus_grad_scaler *scaler, uint64_t optimizer)
{
    for (size_t i = 0; i < scaler->count; i++) {
        if (scaler->seen[i].optimizer == optimizer)
            return &scaler->seen[i];
    }
    return NULL;
}

/* The entry of the optimizer, a new one when there is none; NULL without host memory. */
static struct seen *find_or_add(cebus_grad_scaler *scaler, const cebus_optimizer *optimizer)
{
    const uint64_t birth = cebus_optimizer_birth(optimizer);
    struct seen *known = find(scaler, birth);
    if (known != NULL)
        return known;
    if (scaler->count == scaler->capacity) {
        size_t capacity = scaler->capacity > 0 ? 2 * scaler->capacity : 4;
        void *larger = scaler->host.realloc(scaler->host.context, scaler->seen,
                                            capacity * sizeof(struct seen));
        if (larger == NULL)
            return NULL;
        scaler->seen = larger;
        scaler->capacity = capacity;
    }
    scaler->seen[scaler->count] = (struct seen){.optimizer = birth};
    return &scaler->seen[scaler->count++];
}

/* Whether any of the gradients is not finite; group by group, so that not all need be there. */
static cebus_status look(cebus_runtime *rt, cebus_tensor *const *grads, size_t n,
                         cebus_tensor **out)
{
    cebus_tensor *found = NULL;
    cebus_status status = n > 0 ? CEBUS_OK : cebus_full(rt, 0, CEBUS_F32, 0, NULL, &found);
    for (size_t i = 0, count; i < n && status == CEBUS_OK; i += count) {
        cebus_tensor *next = NULL;
        count = cebus_gradient_group(grads + i, n - i);
        status = cebus_non_finite(rt, grads + i, count, found, &next);
        cebus_tensor_release(found);
        found = next;
    }
    *out = found;
    return status;
}

static cebus_status unscale_all(const cebus_grad_scaler *scaler, cebus_tensor *const *grads,
                                size_t n)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++)
        status = cebus_unscale_grad(scaler->rt, grads[i], scaler->scale);
    return status;
}

/* Looks at the optimizer's gradients, and divides them if asked to. */
static cebus_status visit(cebus_grad_scaler *scaler, const cebus_optimizer *optimizer,
                          struct seen *seen, bool unscale, const char *function)
{
    cebus_runtime *rt = scaler->rt;
    size_t room = cebus_optimizer_count(optimizer), n = 0;
    cebus_tensor **grads = rt->host.alloc(rt->host.context, (room + 1) * sizeof(cebus_tensor *));
    if (grads == NULL)
        return no_host_memory(function);
    cebus_tensor *found = NULL;
    cebus_status status = cebus_optimizer_gradients(optimizer, grads, &n);
    if (status == CEBUS_OK)
        status = look(rt, grads, n, &found);
    if (status == CEBUS_OK && unscale)
        status = unscale_all(scaler, grads, n);
    for (size_t i = 0; i < n; i++)
        cebus_tensor_release(grads[i]);
    rt->host.free(rt->host.context, grads);
    if (status != CEBUS_OK) {
        cebus_tensor_release(found);
        return status;
    }
    cebus_tensor_release(seen->found);
    seen->found = found;
    seen->unscaled = unscale;
    return CEBUS_OK;
}

/* Takes the lock; *out is the optimizer's entry, which has not stepped yet. */
static cebus_status begin(cebus_grad_scaler *scaler, const cebus_optimizer *optimizer,
                          const char *function, struct seen **out)
{
    if (scaler == NULL || optimizer == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "%s is NULL",
                          scaler == NULL ? "scaler" : "optimizer");
    if (cebus_optimizer_runtime(optimizer) != scaler->rt)
        return cebus_fail(CEBUS_RUNTIME_MISMATCH, function,
                          "scaler and optimizer are of different runtimes");
    *out = find_or_add(scaler, optimizer);
    if (*out == NULL)
        return no_host_memory(function);
    if ((*out)->stepped)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                          "the optimizer has stepped: call cebus_grad_scaler_update() first");
    return cebus_runtime_lock(scaler->rt, function);
}

cebus_status cebus_grad_scaler_unscale(cebus_grad_scaler *scaler, cebus_optimizer *optimizer)
{
    static const char function[] = "grad_scaler_unscale";
    struct seen *seen = NULL;
    cebus_status status = begin(scaler, optimizer, function, &seen);
    if (status != CEBUS_OK)
        return status;
    if (seen->unscaled)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                            "the gradients are unscaled already: once between updates");
    else
        status = visit(scaler, optimizer, seen, true, function);
    cebus_runtime_unlock(scaler->rt);
    return status;
}

cebus_status cebus_grad_scaler_step(cebus_grad_scaler *scaler, cebus_optimizer *optimizer)
{
    static const char function[] = "grad_scaler_step";
    struct seen *seen = NULL;
    cebus_status status = begin(scaler, optimizer, function, &seen);
    if (status != CEBUS_OK)
        return status;
    if (!seen->unscaled)
        status = visit(scaler, optimizer, seen, false, function);
    if (status == CEBUS_OK) {
        const cebus_step_scaling scaling = {.scale = seen->unscaled ? NULL : scaler->scale,
                                            .found_inf = seen->found};
        status = cebus_optimizer_step_scaled(optimizer, &scaling);
    }
    seen->stepped = status == CEBUS_OK;
    cebus_runtime_unlock(scaler->rt);
    return status;
}

/* ---- the next scale ---------------------------------------------------------------------- */

/* What was found in any optimizer's gradients; NULL: nobody looked. */
static cebus_status join_found(cebus_grad_scaler *scaler, cebus_tensor **out)
{
    cebus_tensor *all = NULL;
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < scaler->count && status == CEBUS_OK; i++) {
        cebus_tensor *found = scaler->seen[i].found, *both = NULL;
        if (found == NULL)
            continue;
        if (all == NULL) {
            all = cebus_tensor_retain(found);
            continue;
        }
        status = cebus_maximum(scaler->rt, all, found, &both);
        cebus_tensor_release(all);
        all = both;
    }
    *out = all;
    return status;
}

cebus_status cebus_grad_scaler_update(cebus_grad_scaler *scaler)
{
    static const char function[] = "grad_scaler_update";
    cebus_tensor *found = NULL;
    if (scaler == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "scaler is NULL");
    cebus_status status = cebus_runtime_lock(scaler->rt, function);
    if (status != CEBUS_OK)
        return status;
    status = join_found(scaler, &found);
    if (status == CEBUS_OK && found == NULL)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                            "no optimizer has stepped since the last update: call "
                            "cebus_grad_scaler_step() first");
    if (status == CEBUS_OK)
        status = cebus_scale_move(scaler->rt, scaler->scale, scaler->tracker, found, &scaler->how);
    cebus_tensor_release(found);
    if (status == CEBUS_OK)
        forget(scaler);
    cebus_runtime_unlock(scaler->rt);
    return status;
}
