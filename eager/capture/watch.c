/**
 * watch.c: iterations that are recorded as the program goes on, and the last one as a
 * capture. There is one recording at a time, rt->capture:
 *
 *     calls        a b c d | a b c d | a b c d
 *     recorded     -  -  - : a b c d : a b c d      - : the watch began in the middle
 *     cebus_capture_last()  no  no  1   no   2 3    at a mark, or where one is known to end
 *
 * An end is noticed by the call after it (guidance.h), or by a mark. The recording stands until a
 * further call of the program is made: values that are read on the host in between cost calls,
 * which are no part of any iteration (watch.aside). What is no call but changes what the next one
 * finds (gradients let go, tensors from the host) is carried over.
 */
#include <inttypes.h>
#include <string.h>

#include "eager/capture/capture.h"
#include "eager/guidance/guidance.h"
#include "eager/trace/signature.h"

static const char name[] = "capture_last";
static const char short_of_memory[] = "host memory ran short";

/* --- what spoils a recording ------------------------------------------------------------------ */

void cebus_capture_spoil(cebus_capture *capture, const char *op, const char *why)
{
    if (capture->spoiled)
        return;
    capture->spoiled = true;
    capture->past = capture->seen;
    capture->blemish = (cebus_captured_blemish){.op = op, .why = why, .at = capture->seen};
    if (capture->n_calls > 0)
        capture->blemish.after =
            ((const cebus_op *)capture->calls[capture->n_calls - 1].call->op)->name;
    cebus_capture_clear(capture);
}

cebus_status cebus_capture_forbid(cebus_runtime *rt, const char *op, const char *why)
{
    cebus_capture *capture = rt->capture;
    if (!capture->watched)
        return cebus_capture_refuse(op, why);
    const bool is_said = capture->blemish.why != NULL && capture->blemish.at == capture->seen;
    if (!capture->spoiled && !rt->watch.due && !is_said)
        capture->blemish = (cebus_captured_blemish){.op = op, .why = why, .at = capture->seen};
    return CEBUS_OK;
}

/* --- tensors from the host -------------------------------------------------------------------- */

static bool add_upload(cebus_capture *capture, const cebus_captured_upload *upload)
{
    void *uploads = capture->uploads;
    if (!cebus_pool_grow(&capture->rt->pool, &uploads, &capture->uploads_room, capture->n_uploads,
                         sizeof *capture->uploads))
        return false;
    capture->uploads = uploads;
    capture->uploads[capture->n_uploads++] = *upload;
    return true;
}

void cebus_capture_let_past_go(cebus_capture *capture)
{
    if (!capture->spoiled || capture->past == capture->seen)
        return;
    cebus_capture_clear_leaves(capture);
    capture->n_uploads = 0;
    capture->past = capture->seen;
}

void cebus_capture_upload(cebus_runtime *rt, const cebus_tensor *tensor)
{
    cebus_capture_let_past_go(rt->capture);
    const cebus_captured_upload upload = {
        .serial = tensor->storage->now->serial, .at = rt->capture->seen, .view = tensor->view};
    if (!add_upload(rt->capture, &upload))
        cebus_capture_spoil(rt->capture, "from_host", short_of_memory);
}

const cebus_captured_upload *cebus_capture_upload_of(const cebus_capture *capture,
                                                     const cebus_candidate *version)
{
    size_t low = 0, high = capture->n_uploads;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (capture->uploads[middle].serial < version->serial)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < capture->n_uploads && capture->uploads[low].serial == version->serial;
    return found ? &capture->uploads[low] : NULL;
}

/* --- from one iteration to the next ----------------------------------------------------------- */

/** What decides: how many calls there were, and what the last one is. Those between need not be the
 * same each time: where memory is short a gradient is added up in place once, and once not. */
void cebus_capture_see(cebus_capture *capture, const cebus_call *call)
{
    const uint64_t what = cebus_call_signature(call, false) ^ (uint64_t)(uintptr_t)call->op;
    if (capture->print != 0)
        capture->print = (what ^ capture->seen * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

static bool is_known(const cebus_runtime *rt, uint64_t print)
{
    for (size_t i = 0; i < rt->watch.n_prints && i < CEBUS_WATCH_PRINTS; i++) {
        if (print != 0 && rt->watch.prints[i] == print)
            return true;
    }
    return false;
}

void cebus_capture_turn(cebus_runtime *rt, bool whole)
{
    const cebus_capture *capture = rt->capture;
    if (!rt->watch.on || rt->watch.due)
        return;
    rt->watch.due = true;
    rt->watch.whole = whole;
    const uint64_t print = capture != NULL && capture->watched && whole ? capture->print : 0;
    if (print != 0 && !is_known(rt, print))
        rt->watch.prints[rt->watch.n_prints++ % CEBUS_WATCH_PRINTS] = print;
}

/** What stood after the last call of the old one. False without host memory. */
static bool carry_over(const cebus_capture *old, cebus_capture *fresh)
{
    bool carried = true;
    fresh->optimizer = old->optimizer;
    fresh->slot = old->slot;
    for (size_t i = 0; i < old->n_leaves && carried; i++) {
        const cebus_captured_leaf *touched = &old->leaves[i];
        if (touched->let_go != old->seen)
            continue;
        carried = cebus_capture_add_leaf(fresh, touched->leaf, touched->later, false);
        if (carried)
            fresh->leaves[touched->leaf->captured_at].later = touched->later;
    }
    for (size_t i = 0; i < old->n_uploads && carried; i++) {
        cebus_captured_upload upload = old->uploads[i];
        if (upload.at != old->seen)
            continue;
        upload.at = 0;
        carried = add_upload(fresh, &upload);
    }
    return carried;
}

void cebus_capture_renew(cebus_runtime *rt)
{
    cebus_capture *old = rt->capture, *fresh = cebus_capture_create(rt);
    if (fresh == NULL) {
        if (old != NULL)
            cebus_capture_spoil(old, "capture", short_of_memory);
        return;
    }
    fresh->watched = true;
    fresh->print = old != NULL; /* else what stood after the last call is not known */
    if (old == NULL || !carry_over(old, fresh))
        cebus_capture_spoil(fresh, "capture", short_of_memory);
    cebus_capture_abandon(rt);
    rt->capture = fresh;
}

void cebus_capture_resume(cebus_runtime *rt)
{
    if (!rt->watch.on || rt->capture != NULL)
        return;
    rt->capture = cebus_capture_create(rt);
    if (rt->capture == NULL)
        return;
    rt->capture->watched = rt->capture->spoiled = true;
}

void cebus_capture_restart(cebus_runtime *rt)
{
    if (!rt->watch.on || (rt->capture != NULL && !rt->capture->watched))
        return;
    rt->watch.due = false;
    cebus_capture_abandon(rt);
    cebus_capture_resume(rt);
}

/* --- what the program asks for ---------------------------------------------------------------- */

static cebus_status watch(cebus_runtime *rt, bool on)
{
    if (rt->watch.on == on)
        return CEBUS_OK;
    rt->watch.on = on;
    rt->watch.due = false;
    rt->watch.n_prints = 0;
    if (on && rt->guidance == NULL)
        cebus_guidance_start(rt);
    if (on && rt->guidance == NULL) {
        rt->watch.on = false;
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "capture_watch",
                          "no host memory to find iterations");
    }
    if (rt->capture != NULL && rt->capture->watched)
        cebus_capture_abandon(rt);
    if (!on && !cebus_guidance_learns(rt))
        cebus_guidance_stop(rt);
    cebus_capture_resume(rt);
    return CEBUS_OK;
}

cebus_status cebus_capture_watch(cebus_runtime *rt, bool on)
{
    cebus_status status = cebus_runtime_lock(rt, "capture_watch");
    if (status != CEBUS_OK)
        return status;
    status = watch(rt, on);
    cebus_runtime_unlock(rt);
    return status;
}

/** Whether all calls since the recording began are an iteration: it just ended, or calls like them
 * were one before. */
static bool has_ended(const cebus_runtime *rt)
{
    if (rt->watch.due)
        return rt->watch.whole;
    return is_known(rt, rt->capture->print);
}

static cebus_status refuse_spoiled(const cebus_capture *capture)
{
    const cebus_captured_blemish *blemish = &capture->blemish;
    if (blemish->why == NULL)
        return cebus_capture_refuse(name, "no iteration has been seen from its beginning; let the "
                                          "program go on, and mark where iterations end "
                                          "(cebus_iteration_mark()) if none is found");
    return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                      "the iteration cannot be captured: %s after %zu of its calls (the last: %s): "
                      "%s",
                      blemish->op, blemish->at, blemish->after != NULL ? blemish->after : "none",
                      blemish->why);
}

static cebus_status last(cebus_runtime *rt, cebus_capture **out)
{
    const cebus_capture *capture = rt->capture;
    if (!rt->watch.on)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "nobody watches; cebus_capture_watch() before the iteration");
    if (capture != NULL && !capture->watched)
        return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                          "calls are being recorded; cebus_capture_end() that first");
    if (capture == NULL)
        return cebus_capture_refuse(name, short_of_memory);
    if (capture->spoiled && capture->blemish.why == NULL)
        return refuse_spoiled(capture);
    if (!has_ended(rt))
        return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                          "the program is %zu calls into an iteration that is not known to end "
                          "here; ask between two, or mark where they end (cebus_iteration_mark())",
                          capture->seen);
    if (capture->spoiled)
        return refuse_spoiled(capture);
    cebus_status status = cebus_capture_check(capture, name);
    if (status == CEBUS_OK)
        status = cebus_capture_finish(rt, name, out);
    cebus_capture_resume(rt);
    return status;
}

cebus_status cebus_capture_last(cebus_runtime *rt, cebus_capture **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "out is NULL");
    *out = NULL;
    cebus_status status = cebus_runtime_lock(rt, name);
    if (status != CEBUS_OK)
        return status;
    status = last(rt, out);
    cebus_runtime_unlock(rt);
    return status;
}

/* --- what comes in ---------------------------------------------------------------------------- */

size_t cebus_capture_input_count(const cebus_capture *capture)
{
    return capture != NULL ? capture->n_inputs : 0;
}

cebus_status cebus_capture_input(cebus_capture *capture, size_t i, cebus_tensor **out)
{
    static const char op[] = "capture_input";
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "out is NULL");
    *out = NULL;
    if (capture == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the capture is NULL");
    if (i >= capture->n_inputs)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "input %zu of %zu", i, capture->n_inputs);
    cebus_status status = cebus_runtime_lock(capture->rt, op);
    if (status != CEBUS_OK)
        return status;
    const cebus_captured_input *input = &capture->inputs[i];
    *out = cebus_tensor_create(capture->rt, capture->values[input->value].storage, &input->view);
    cebus_runtime_unlock(capture->rt);
    return *out != NULL ? CEBUS_OK
                        : cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory for a handle");
}
