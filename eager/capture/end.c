/**
 * end.c: the recording is over: whether it can come again, and what it leaves behind.
 */
#include <inttypes.h>

#include "eager/capture/capture.h"

static const char name[] = "capture_end";

static bool is_input(const cebus_capture *capture, uint64_t birth)
{
    for (size_t i = 0; i < capture->n_values; i++) {
        const cebus_captured_value *value = &capture->values[i];
        if (value->maker == CEBUS_CAPTURE_NONE && value->storage->birth == birth)
            return true;
    }
    return false;
}

/** The next iteration must find a leaf's gradient as this one did. */
static cebus_status check_leaf(const cebus_capture *capture, const cebus_captured_leaf *touched,
                               const char *op)
{
    const cebus_tensor *grad = touched->leaf->grad;
    const uint64_t now = grad != NULL ? grad->storage->birth : 0;
    if (touched->former == 0 && touched->added && now != 0)
        return cebus_capture_refuse(op, "a leaf had no gradient when the backward added to it, and "
                                        "has one now, to which the next iteration would add; let "
                                        "gradients go in the iteration (cebus_tensor_set_grad)");
    if (touched->former != 0 && now != touched->former && is_input(capture, touched->former))
        return cebus_capture_refuse(op, "a gradient from before the beginning was read, and the "
                                        "next iteration would find another one: hold no other "
                                        "handle to it, or let it go before the backward");
    return CEBUS_OK;
}

/** In the iteration, not between it and the next. */
static bool is_reseeded(const cebus_capture *capture)
{
    return capture->reseeded && !(capture->watched && capture->reseeded_at == capture->seen);
}

cebus_status cebus_capture_check(const cebus_capture *capture, const char *op)
{
    const cebus_runtime *rt = capture->rt;
    if (capture->spoiled)
        return cebus_capture_refuse(op, capture->blemish.why);
    if (capture->n_calls == 0)
        return cebus_capture_refuse(op, "no call was made");
    if (is_reseeded(capture))
        return cebus_capture_refuse(op, "cebus_manual_seed() began the random numbers anew; call "
                                        "it before the beginning");
    if (rt->open_nodes > capture->open_nodes)
        return cebus_fail(CEBUS_CAPTURE_ERROR, op,
                          "cannot be captured: a backward is still to come for %" PRIu64
                          " calls; make it before the end, or let what they made go, or turn "
                          "gradients off",
                          rt->open_nodes - capture->open_nodes);
    for (size_t i = 0; i < capture->n_leaves; i++) {
        cebus_status status = check_leaf(capture, &capture->leaves[i], op);
        if (status != CEBUS_OK)
            return status;
    }
    return CEBUS_OK;
}

/** What the program still holds stays the current version of its storage; the storage is kept with
 * the first value of the buffer. */
static void find_outputs(cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_values; i++) {
        cebus_captured_value *value = &capture->values[i];
        cebus_storage *storage = value->storage;
        if (value->held || storage == NULL)
            continue;
        value->storage = NULL;
        if (cebus_capture_value_of(capture, storage->now) != i)
            continue;
        cebus_captured_value *first = value;
        first->held = true;
        while (first->over != CEBUS_CAPTURE_NONE) {
            first = &capture->values[first->over];
            first->held = true;
        }
        first->storage = storage;
        storage->refs++;
        storage->captured++;
    }
}

static void bind_gradients(cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_leaves; i++) {
        cebus_captured_leaf *touched = &capture->leaves[i];
        touched->grad = cebus_tensor_retain(touched->leaf->grad);
        if (!is_input(capture, touched->former))
            touched->former = 0;
    }
}

/** What stays as it is from launch to launch is no input. */
static void find_inputs(cebus_capture *capture)
{
    size_t n = 0;
    for (size_t i = 0; i < capture->n_inputs; i++) {
        if (capture->program_values[capture->inputs[i].value].given)
            capture->inputs[n++] = capture->inputs[i];
    }
    capture->n_inputs = n;
}

cebus_status cebus_capture_finish(cebus_runtime *rt, const char *op, cebus_capture **out)
{
    cebus_capture *capture = rt->capture;
    if (rt->info.late_costs)
        cebus_measure_collect(rt);
    capture->rng_blocks =
        (capture->watched ? capture->rng_end : rt->rng_offset) - capture->rng_offset;
    if (!cebus_capture_describe(capture))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to complete a capture");
    find_outputs(capture);
    bind_gradients(capture);
    cebus_capture_label(capture);
    find_inputs(capture);
    capture->watched = false;
    rt->capture = NULL;
    *out = capture;
    return CEBUS_OK;
}

static cebus_status end(cebus_runtime *rt, cebus_capture **out)
{
    if (rt->capture == NULL || rt->capture->watched)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "no calls are being recorded; cebus_capture_begin() first");
    cebus_status status = out != NULL ? cebus_capture_check(rt->capture, name) : CEBUS_OK;
    if (status == CEBUS_OK && out != NULL)
        status = cebus_capture_finish(rt, name, out);
    else
        cebus_capture_abandon(rt);
    cebus_capture_resume(rt);
    return status;
}

cebus_status cebus_capture_end(cebus_runtime *rt, cebus_capture **out)
{
    if (out != NULL)
        *out = NULL;
    cebus_status status = cebus_runtime_lock(rt, name);
    if (status != CEBUS_OK)
        return status;
    status = end(rt, out);
    cebus_runtime_unlock(rt);
    return status;
}

void cebus_capture_destroy(cebus_capture *capture)
{
    if (capture == NULL)
        return;
    cebus_runtime *rt = capture->rt;
    cebus_runtime_lock_always(rt);
    cebus_capture_free(capture);
    cebus_runtime_unlock(rt);
}
