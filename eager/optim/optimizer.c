/**
 * optimizer.c: optimizer objects: who owns what. Steps are in step.c, their arithmetic in the step
 * ops (ops/optim.c).
 */
#include <math.h>

#include <cebus/autograd.h>
#include <cebus/ops/fill.h>

#include "eager/optim/optimizer.h"
#include "eager/optim/slot.h"

static const cebus_optimizer_buffer sgd_buffers[] = {CEBUS_SGD_MOMENTUM};
static const cebus_optimizer_buffer adam_buffers[] = {CEBUS_ADAM_EXP_AVG, CEBUS_ADAM_EXP_AVG_SQ};

/* Once a counter counts, all steps go by it. */
static cebus_step_scaling scaling_of(const cebus_optimizer *optimizer, const cebus_slot *slot)
{
    cebus_step_scaling scaling = {.steps = slot->counter};
    if (optimizer->scaling) {
        scaling.scale = optimizer->scaling->scale;
        scaling.found_inf = optimizer->scaling->found_inf;
    }
    return scaling;
}

static cebus_status update_sgd(const cebus_optimizer *optimizer, const cebus_slot *slot,
                               int64_t step)
{
    const cebus_sgd_tensors tensors = {slot->param, slot->grad, slot->buffer[0],
                                       scaling_of(optimizer, slot)};
    return cebus_sgd_update(optimizer->rt, &tensors, step, &optimizer->how.sgd);
}

static cebus_status update_adam(const cebus_optimizer *optimizer, const cebus_slot *slot,
                                int64_t step)
{
    const cebus_adam_tensors tensors = {slot->param, slot->grad, slot->buffer[0], slot->buffer[1],
                                        scaling_of(optimizer, slot)};
    return cebus_adam_update(optimizer->rt, &tensors, step, &optimizer->how.adam);
}

static cebus_status no_host_memory(const char *function, size_t bytes)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, function, "cannot allocate %zu bytes", bytes);
}

/* Checks what both constructors take; *out becomes NULL. */
static cebus_status begin_create(const cebus_runtime *rt, const char *function,
                                 cebus_optimizer **out)
{
    if (out)
        *out = NULL;
    if (rt && out)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "%s is NULL", rt ? "out" : "rt");
}

static atomic_uint_fast64_t births;

static cebus_status create(cebus_runtime *rt, const cebus_optimizer *like, const char *function,
                           cebus_optimizer **out)
{
    cebus_optimizer *optimizer = rt->host.alloc(rt->host.context, sizeof *optimizer);
    if (!optimizer)
        return no_host_memory(function, sizeof *optimizer);
    *optimizer = *like;
    atomic_init(&optimizer->refs, 1);
    optimizer->birth = atomic_fetch_add(&births, 1);
    optimizer->rt = rt;
    optimizer->host = rt->host;
    *out = optimizer;
    return CEBUS_OK;
}

cebus_status cebus_optimizer_create_sgd(cebus_runtime *rt, const cebus_sgd_options *options,
                                        cebus_optimizer **out)
{
    static const char function[] = "optimizer_create_sgd";
    cebus_optimizer like = {.update = update_sgd, .buffer_kinds = sgd_buffers};
    cebus_status status = begin_create(rt, function, out);
    if (status == CEBUS_OK)
        status = cebus_sgd_options_read(options, function, &like.how.sgd);
    like.n_buffers = like.how.sgd.momentum != 0 ? 1 : 0;
    return status == CEBUS_OK ? create(rt, &like, function, out) : status;
}

cebus_status cebus_optimizer_create_adam(cebus_runtime *rt, const cebus_adam_options *options,
                                         cebus_optimizer **out)
{
    static const char function[] = "optimizer_create_adam";
    cebus_optimizer like = {.update = update_adam, .buffer_kinds = adam_buffers, .n_buffers = 2};
    cebus_status status = begin_create(rt, function, out);
    if (status == CEBUS_OK)
        status = cebus_adam_options_read(options, function, &like.how.adam);
    return status == CEBUS_OK ? create(rt, &like, function, out) : status;
}

static void release_slot(cebus_slot *slot)
{
    for (size_t i = 0; i < CEBUS_SLOT_BUFFERS; i++)
        cebus_tensor_release(slot->buffer[i]);
    cebus_tensor_release(slot->counter);
    cebus_tensor_release(slot->param);
}

cebus_optimizer *cebus_optimizer_retain(cebus_optimizer *optimizer)
{
    atomic_fetch_add_explicit(&optimizer->refs, 1, memory_order_relaxed);
    return optimizer;
}

void cebus_optimizer_destroy(cebus_optimizer *optimizer)
{
    if (!optimizer || atomic_fetch_sub_explicit(&optimizer->refs, 1, memory_order_acq_rel) > 1)
        return;
    cebus_host_allocator host = optimizer->host;
    for (size_t i = 0; i < optimizer->count; i++)
        release_slot(&optimizer->slots[i]);
    host.free(host.context, optimizer->slots);
    host.free(host.context, optimizer->held);
    host.free(host.context, optimizer);
}

static cebus_status check_param(const cebus_optimizer *optimizer, const cebus_tensor *param)
{
    const char *wrong = NULL;
    if (!param)
        wrong = "is NULL";
    else if (cebus_tensor_runtime(param) != optimizer->rt)
        return cebus_fail(CEBUS_RUNTIME_MISMATCH, "optimizer_add",
                          "parameter and optimizer are of different runtimes");
    else if (cebus_tensor_dtype(param) != CEBUS_F32 && cebus_tensor_dtype(param) != CEBUS_F64)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, "optimizer_add",
                          "parameters are f32 or f64, got %s: cebus_cast() a copy",
                          cebus_dtype_name(cebus_tensor_dtype(param)));
    else if (!cebus_tensor_is_persistent(param))
        wrong = "may be given up: call cebus_tensor_set_persistent() first";
    else if (!cebus_tensor_requires_grad(param))
        wrong = "collects no gradient: call cebus_tensor_set_requires_grad() first";
    for (size_t i = 0; !wrong && i < optimizer->count; i++)
        if (optimizer->slots[i].param == param)
            wrong = "was added before";
    if (!wrong)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_add", "the parameter %s", wrong);
}

/* Makes `*array` hold `count` elements of `size`. */
static bool grow(const cebus_host_allocator *host, void **array, size_t count, size_t size)
{
    void *larger = host->realloc(host->context, *array, count * size);
    if (larger)
        *array = larger;
    return larger != NULL;
}

static cebus_status make_room(cebus_optimizer *optimizer)
{
    if (optimizer->count < optimizer->capacity)
        return CEBUS_OK;
    size_t capacity = optimizer->capacity ? 2 * optimizer->capacity : 32;
    void *slots = optimizer->slots, *held = optimizer->held;
    bool grown = grow(&optimizer->host, &slots, capacity, sizeof(cebus_slot));
    optimizer->slots = slots;
    grown =
        grown && grow(&optimizer->host, &held, CEBUS_SLOT_TENSORS * capacity + CEBUS_SHARED_TENSORS,
                      sizeof(cebus_tensor *));
    optimizer->held = held;
    if (!grown)
        return no_host_memory("optimizer_add", capacity * sizeof(cebus_slot));
    optimizer->capacity = capacity;
    return CEBUS_OK;
}

/* Persistent zeros in the shape and memory order of the parameter, outside any graph. */
static cebus_status make_buffer(cebus_runtime *rt, cebus_tensor *param, cebus_tensor **out)
{
    bool was_enabled = cebus_grad_enable(false);
    cebus_status status = cebus_zeros_like(rt, param, out);
    cebus_grad_enable(was_enabled);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_persistent(*out);
    return status;
}

cebus_status cebus_optimizer_add(cebus_optimizer *optimizer, cebus_tensor *param)
{
    if (!optimizer)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_add", "optimizer is NULL");
    cebus_slot added = {0};
    cebus_status status = check_param(optimizer, param);
    if (status == CEBUS_OK)
        status = make_room(optimizer);
    for (size_t i = 0; i < optimizer->n_buffers && status == CEBUS_OK; i++)
        status = make_buffer(optimizer->rt, param, &added.buffer[i]);
    if (status != CEBUS_OK) {
        release_slot(&added);
        return status;
    }
    added.param = cebus_tensor_retain(param);
    optimizer->slots[optimizer->count++] = added;
    return CEBUS_OK;
}

size_t cebus_optimizer_count(const cebus_optimizer *optimizer)
{
    return optimizer ? optimizer->count : 0;
}

void cebus_optimizer_attrs(const cebus_optimizer *optimizer, size_t slot, cebus_update_attrs *out)
{
    const cebus_slot *s = &optimizer->slots[slot];
    int64_t step = s->counter ? 0 : s->steps + 1;
    if (optimizer->update == update_sgd)
        out->sgd = cebus_sgd_attrs_of(&optimizer->how.sgd, step);
    else
        out->adam = cebus_adam_attrs_of(&optimizer->how.adam, step);
}

void cebus_optimizer_count_update(cebus_optimizer *optimizer, size_t slot)
{
    optimizer->slots[slot].steps++;
}

uint64_t cebus_optimizer_birth(const cebus_optimizer *optimizer)
{
    return optimizer->birth;
}

cebus_runtime *cebus_optimizer_runtime(const cebus_optimizer *optimizer)
{
    return optimizer->rt;
}

cebus_status cebus_optimizer_gradients(const cebus_optimizer *optimizer, cebus_tensor **out,
                                       size_t *out_n)
{
    size_t n = 0;
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < optimizer->count && status == CEBUS_OK; i++) {
        status = cebus_tensor_grad(optimizer->slots[i].param, &out[n]);
        n += status == CEBUS_OK && out[n] != NULL;
    }
    *out_n = status == CEBUS_OK ? n : 0;
    for (size_t i = 0; i < n && status != CEBUS_OK; i++)
        cebus_tensor_release(out[i]);
    return status;
}

cebus_status cebus_optimizer_zero_grad(cebus_optimizer *optimizer)
{
    cebus_status status = CEBUS_OK;
    if (!optimizer)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_zero_grad", "optimizer is NULL");
    for (size_t i = 0; i < optimizer->count && status == CEBUS_OK; i++)
        status = cebus_tensor_set_grad(optimizer->slots[i].param, NULL);
    return status;
}

static double *rate_of(cebus_optimizer *optimizer)
{
    return optimizer->update == update_sgd ? &optimizer->how.sgd.lr : &optimizer->how.adam.lr;
}

cebus_status cebus_optimizer_set_lr(cebus_optimizer *optimizer, double lr)
{
    if (!optimizer || !(lr >= 0 && lr < INFINITY))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_set_lr",
                          "optimizer is NULL or the learning rate %g is not in [0, inf)", lr);
    *rate_of(optimizer) = lr;
    return CEBUS_OK;
}

double cebus_optimizer_lr(const cebus_optimizer *optimizer)
{
    return optimizer ? *rate_of((cebus_optimizer *)optimizer) : 0;
}

/* The slot; NULL after an error in the name of `function`. */
static cebus_slot *find_slot(const cebus_optimizer *optimizer, size_t index, const char *function)
{
    if (optimizer && index < optimizer->count)
        return &optimizer->slots[index];
    (void)cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                     "no parameter %zu: %zu were added to the optimizer%s", index,
                     cebus_optimizer_count(optimizer), optimizer ? "" : " (which is NULL)");
    return NULL;
}

cebus_status cebus_optimizer_state(cebus_optimizer *optimizer, size_t index,
                                   cebus_optimizer_buffer buffer, cebus_tensor **out)
{
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_state", "out is NULL");
    *out = NULL;
    const cebus_slot *slot = find_slot(optimizer, index, "optimizer_state");
    if (!slot)
        return CEBUS_INVALID_ARGUMENT;
    for (size_t i = 0; i < optimizer->n_buffers; i++)
        if (optimizer->buffer_kinds[i] == buffer)
            *out = cebus_tensor_retain(slot->buffer[i]);
    if (*out)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_state",
                      "this optimizer keeps no buffer of kind %d", (int)buffer);
}

cebus_status cebus_optimizer_step_count(const cebus_optimizer *optimizer, size_t index,
                                        int64_t *out)
{
    if (!out)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_step_count", "out is NULL");
    const cebus_slot *slot = find_slot(optimizer, index, "optimizer_step_count");
    *out = slot ? slot->steps : 0;
    if (!slot || !slot->counter)
        return slot ? CEBUS_OK : CEBUS_INVALID_ARGUMENT;
    return cebus_tensor_to_host(slot->counter, out, sizeof *out);
}

cebus_status cebus_optimizer_set_step_count(cebus_optimizer *optimizer, size_t index, int64_t count)
{
    cebus_slot *slot = find_slot(optimizer, index, "optimizer_set_step_count");
    if (!slot)
        return CEBUS_INVALID_ARGUMENT;
    if (count < 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "optimizer_set_step_count", "count %lld is < 0",
                          (long long)count);
    slot->steps = count;
    return slot->counter ? cebus_tensor_set_from_host(slot->counter, &count, sizeof count)
                         : CEBUS_OK;
}
