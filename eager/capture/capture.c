#include "eager/capture/capture.h"

#include "eager/capture/plan.h"
#include "eager/optim/optimizer.h"
#include "eager/view.h"
#include "lineage/iteration.h"

static const char begin_name[] = "capture_begin";

cebus_status cebus_capture_refuse(const char *op, const char *why)
{
    return cebus_fail(CEBUS_CAPTURE_ERROR, op, "cannot be captured: %s", why);
}

uint32_t cebus_capture_value_of(const cebus_capture *capture, const cebus_candidate *version)
{
    uint64_t id = version->capture_id;
    return id > capture->before ? (uint32_t)(id - capture->before - 1) : CEBUS_CAPTURE_NONE;
}

static bool grow(cebus_runtime *rt, void **items, size_t *room, size_t needed, size_t item_bytes)
{
    while (*room < needed) {
        if (!cebus_pool_grow(&rt->pool, items, room, *room, item_bytes))
            return false;
    }
    return true;
}

static bool make_room(cebus_capture *capture, size_t n_in, size_t n_out)
{
    cebus_runtime *rt = capture->rt;
    void *calls = capture->calls, *values = capture->values, *refs = capture->refs;
    void *inputs = capture->inputs;
    bool grown =
        grow(rt, &calls, &capture->calls_room, capture->n_calls + 1, sizeof *capture->calls) &&
        grow(rt, &values, &capture->values_room, capture->n_values + n_in + n_out,
             sizeof *capture->values) &&
        grow(rt, &refs, &capture->refs_room, capture->n_refs + n_in + n_out,
             sizeof *capture->refs) &&
        grow(rt, &inputs, &capture->inputs_room, capture->n_inputs + n_in, sizeof *capture->inputs);
    capture->calls = calls;
    capture->values = values;
    capture->refs = refs;
    capture->inputs = inputs;
    return grown;
}

/** What no recorded call made must have been there before, or come from the host, and be what a
 * tensor holds. NULL: it is. */
static const char *wrong_with(const cebus_capture *capture, const cebus_storage *storage)
{
    if (cebus_capture_value_of(capture, storage->now) != CEBUS_CAPTURE_NONE)
        return NULL;
    if (storage->saved)
        return "it is the gradient of a call from before the capture began; begin before the "
               "forward";
    if (storage->now->serial > capture->serial &&
        cebus_capture_upload_of(capture, storage->now) == NULL)
        return "it reads a tensor that no recorded call made; make that before the capture begins";
    return NULL;
}

static cebus_status expect(cebus_capture *capture, const cebus_call *call, cebus_tensor *const *in)
{
    const char *op = ((const cebus_op *)call->op)->name, *wrong = NULL;
    for (uint32_t i = 0; i < call->n_in && wrong == NULL; i++)
        wrong = in[i] != NULL ? wrong_with(capture, in[i]->storage) : NULL;
    if (wrong == NULL && make_room(capture, call->n_in, call->n_out))
        return CEBUS_OK;
    if (capture->watched) {
        cebus_capture_spoil(capture, op, wrong != NULL ? wrong : "host memory ran short");
        return CEBUS_OK;
    }
    if (wrong != NULL)
        return cebus_capture_refuse(op, wrong);
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to capture the call");
}

/** The program goes on after the end of an iteration. */
static void begin_iteration(cebus_runtime *rt)
{
    if (rt->watch.due && (rt->capture == NULL || rt->capture->watched))
        cebus_capture_renew(rt);
    rt->watch.due = false;
}

cebus_status cebus_capture_expect(cebus_runtime *rt, const cebus_call *call,
                                  cebus_tensor *const *in)
{
    begin_iteration(rt);
    cebus_capture *capture = rt->capture;
    if (capture == NULL)
        return CEBUS_OK;
    if (capture->blemish.why != NULL && capture->blemish.at > 0)
        cebus_capture_spoil(capture, capture->blemish.op, capture->blemish.why);
    if (capture->watched && capture->seen >= CEBUS_ITERATION_MAX_CALLS)
        cebus_capture_spoil(capture, "capture", "it has more calls than an iteration may have");
    return capture->spoiled ? CEBUS_OK : expect(capture, call, in);
}

static uint32_t add_value(cebus_capture *capture, cebus_candidate *version, uint32_t maker,
                          uint32_t over)
{
    uint32_t value = (uint32_t)capture->n_values++;
    capture->values[value] = (cebus_captured_value){
        .bytes = version->value.bytes, .maker = maker, .over = over, .under = CEBUS_CAPTURE_NONE};
    version->capture_id = ++capture->rt->capture_ids;
    return value;
}

static void count_storage(cebus_storage *storage)
{
    storage->refs++;
    storage->captured++;
}

static void uncount_storage(cebus_runtime *rt, cebus_storage *storage)
{
    if (storage == NULL)
        return;
    storage->captured--;
    cebus_storage_release(rt, storage);
}

/** All of a storage, as the program made it where that is known, else as it reads it. */
static cebus_view whole_of(const cebus_capture *capture, const cebus_tensor *tensor)
{
    const cebus_captured_upload *upload = cebus_capture_upload_of(capture, tensor->storage->now);
    const uint64_t bytes = tensor->storage->now->value.bytes;
    const cebus_tensor *base = cebus_tensor_base(tensor);
    cebus_view flat, view = base != NULL ? base->view : tensor->view;
    const size_t size = cebus_dtype_size(view.dtype);
    const int64_t numel = (int64_t)(bytes / size);
    if (upload != NULL)
        return upload->view;
    if (view.offset == 0 && cebus_view_numel(&view) == numel && cebus_view_is_dense(&view))
        return view;
    cebus_view_contiguous(&flat, view.dtype, 1, &numel);
    return flat;
}

/** What was there before stays as long as the capture. */
static uint32_t read_value(cebus_capture *capture, const cebus_tensor *tensor)
{
    cebus_storage *storage = tensor->storage;
    uint32_t value = cebus_capture_value_of(capture, storage->now);
    if (value == CEBUS_CAPTURE_NONE) {
        value = add_value(capture, storage->now, CEBUS_CAPTURE_NONE, CEBUS_CAPTURE_NONE);
        capture->values[value].storage = storage;
        capture->values[value].held = true;
        capture->inputs[capture->n_inputs++] =
            (cebus_captured_input){.value = value, .view = whole_of(capture, tensor)};
        count_storage(storage);
    }
    return value;
}

static void take_inputs(cebus_capture *capture, cebus_captured_call *taken, cebus_tensor *const *in)
{
    uint32_t *refs = capture->refs + taken->refs;
    for (uint32_t i = 0; i < taken->call->n_in; i++) {
        refs[i] = CEBUS_CAPTURE_NONE;
        if (in[i] == NULL)
            continue;
        refs[i] = read_value(capture, in[i]);
        if (i < CEBUS_MAX_TRACKED && cebus_tensor_is_parameter(in[i]))
            taken->in_graph |= UINT64_C(1) << i;
    }
}

/** A write in place: the buffer goes on with a new value, be the version new or not. */
static void take_write(cebus_capture *capture, uint32_t maker, uint32_t old, cebus_storage *storage,
                       cebus_candidate *version, uint32_t *out)
{
    *out = add_value(capture, version, maker, old);
    cebus_captured_value *before = &capture->values[old], *after = &capture->values[*out];
    before->under = *out;
    after->gradient = before->gradient;
    after->held = before->held;
    if (!before->held) { /* of an input, its first value keeps the storage */
        after->storage = storage;
        before->storage = NULL;
    }
}

static void take_outputs(cebus_capture *capture, const cebus_captured_call *taken,
                         cebus_tensor *const *in, cebus_candidate *const *out,
                         cebus_tensor *const *made)
{
    const cebus_call *call = taken->call;
    const cebus_op *op = call->op;
    uint32_t maker = (uint32_t)capture->n_calls, *refs = capture->refs + taken->refs;
    for (uint32_t j = 0; op->mutates == 0 && j < call->n_out; j++) {
        refs[call->n_in + j] = add_value(capture, out[j], maker, CEBUS_CAPTURE_NONE);
        capture->values[refs[call->n_in + j]].storage = made[j]->storage;
    }
    for (uint32_t i = 0, j = 0; op->mutates != 0 && i < call->n_in; i++) {
        if (!cebus_op_mutates(op, i))
            continue;
        take_write(capture, maker, refs[i], in[i]->storage, out[j], &refs[call->n_in + j]);
        j++;
    }
}

void cebus_capture_call(cebus_runtime *rt, cebus_call *call, cebus_tensor *const *in,
                        cebus_candidate *const *out, cebus_tensor *const *made)
{
    cebus_capture *capture = rt->capture;
    const cebus_op *op = call->op;
    if (capture->watched)
        cebus_capture_see(capture, call);
    capture->seen++;
    capture->rng_end = rt->rng_offset;
    if (capture->spoiled)
        return;
    cebus_captured_call *taken = &capture->calls[capture->n_calls];
    *taken = (cebus_captured_call){.call = call, .refs = capture->n_refs};
    cebus_call_retain(call);
    if (op->flags & CEBUS_OP_UPDATE && capture->optimizer != NULL) {
        taken->optimizer = cebus_optimizer_retain(capture->optimizer);
        taken->slot = capture->slot;
    }
    take_inputs(capture, taken, in);
    take_outputs(capture, taken, in, out, made);
    capture->n_refs += call->n_in + call->n_out;
    capture->n_calls++;
}

void cebus_capture_forget(cebus_runtime *rt, const cebus_storage *storage)
{
    uint32_t value = cebus_capture_value_of(rt->capture, storage->now);
    if (value != CEBUS_CAPTURE_NONE && rt->capture->values[value].storage == storage)
        rt->capture->values[value].storage = NULL;
}

void cebus_capture_gradient(cebus_runtime *rt, const cebus_candidate *version,
                            cebus_captured_gradient kind)
{
    uint32_t value = cebus_capture_value_of(rt->capture, version);
    if (value != CEBUS_CAPTURE_NONE)
        rt->capture->values[value].gradient = (uint8_t)kind;
}

bool cebus_capture_add_leaf(cebus_capture *capture, cebus_tensor *leaf, uint64_t former, bool added)
{
    void *leaves = capture->leaves;
    if (!cebus_pool_grow(&capture->rt->pool, &leaves, &capture->leaves_room, capture->n_leaves,
                         sizeof *capture->leaves))
        return false;
    capture->leaves = leaves;
    leaf->captured = capture->stamp;
    leaf->captured_at = capture->n_leaves;
    capture->leaves[capture->n_leaves++] =
        (cebus_captured_leaf){.leaf = cebus_tensor_retain(leaf), .former = former, .added = added};
    return true;
}

cebus_status cebus_capture_touch(cebus_runtime *rt, cebus_tensor *leaf, bool added)
{
    if (added) /* a backward of a leaf alone touches it before the first call */
        begin_iteration(rt);
    cebus_capture *capture = rt->capture;
    cebus_capture_let_past_go(capture);
    const uint64_t former = leaf->grad != NULL ? leaf->grad->storage->birth : 0;
    const bool is_known = leaf->captured == capture->stamp;
    if (!is_known && !cebus_capture_add_leaf(capture, leaf, former, added)) {
        if (!capture->watched)
            return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "capture",
                              "no host memory to capture a gradient");
        cebus_capture_spoil(capture, "capture", "host memory ran short");
        return CEBUS_OK;
    }
    cebus_captured_leaf *touched = &capture->leaves[leaf->captured_at];
    touched->let_go = added ? SIZE_MAX : capture->seen;
    touched->later = former;
    return CEBUS_OK;
}

bool cebus_capture_is_explicit(const cebus_runtime *rt)
{
    return !rt->capture->watched;
}

void cebus_capture_reseed(cebus_runtime *rt)
{
    rt->capture->reseeded = true;
    rt->capture->reseeded_at = rt->capture->seen;
}

void cebus_capture_update(cebus_runtime *rt, cebus_optimizer *optimizer, size_t slot)
{
    rt->capture->optimizer = optimizer;
    rt->capture->slot = slot;
}

static void release_call(cebus_runtime *rt, cebus_captured_call *taken)
{
    cebus_call_release(&rt->lineage, taken->call);
    cebus_optimizer_destroy(taken->optimizer);
}

cebus_captured_point cebus_capture_point(const cebus_runtime *rt)
{
    const cebus_capture *capture = rt->capture;
    if (capture == NULL)
        return (cebus_captured_point){0};
    return (cebus_captured_point){capture->stamp, capture->seen, capture->n_calls};
}

/** The last call was not made. False: not all that it did is gone. */
static bool take_back(cebus_capture *capture, size_t n_calls)
{
    cebus_captured_call *last = &capture->calls[--capture->n_calls];
    const cebus_call *call = last->call;
    bool gone = !(((const cebus_op *)call->op)->flags & CEBUS_OP_RNG);
    for (uint32_t k = call->n_in; k < call->n_in + call->n_out; k++) {
        cebus_captured_value *made = &capture->values[capture->refs[last->refs + k]];
        gone = gone && made->storage == NULL && !made->held;
        if (made->over == CEBUS_CAPTURE_NONE)
            continue;
        cebus_captured_value *over = &capture->values[made->over];
        gone = gone && over->maker != CEBUS_CAPTURE_NONE && over->maker >= n_calls;
        over->under = CEBUS_CAPTURE_NONE;
    }
    capture->n_refs = last->refs;
    release_call(capture->rt, last);
    return gone;
}

/** Inputs it was the first to read stay inputs, which costs nothing but that they are kept. */
void cebus_capture_rewind(cebus_runtime *rt, cebus_captured_point from)
{
    cebus_capture *capture = rt->capture;
    const bool same = capture != NULL && capture->stamp == from.stamp;
    if (capture == NULL || (same && capture->seen == from.seen))
        return;
    bool gone = same && !capture->watched;
    while (same && capture->n_calls > from.n_calls)
        gone = take_back(capture, from.n_calls) && gone;
    if (!gone)
        cebus_capture_spoil(capture, "backward",
                            capture->watched
                                ? "it failed half way"
                                : "a backward failed half way, and not all that was called "
                                  "meanwhile is gone: a hook or another thread holds what it made, "
                                  "wrote to what was there, or drew random numbers");
}

static void free_array(cebus_runtime *rt, void *items, size_t room, size_t item_bytes)
{
    cebus_pool_free_object(&rt->pool, items, room * item_bytes);
}

void cebus_capture_clear_leaves(cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_leaves; i++) {
        cebus_tensor_release(capture->leaves[i].leaf);
        cebus_tensor_release(capture->leaves[i].grad);
    }
    capture->n_leaves = 0;
    capture->stamp = ++capture->rt->captures;
}

void cebus_capture_clear(cebus_capture *capture)
{
    cebus_runtime *rt = capture->rt;
    capture->before = rt->capture_ids; /* none is known any more */
    for (size_t i = 0; i < capture->n_values; i++) {
        cebus_captured_value *value = &capture->values[i];
        cebus_storage_release(rt, value->at);
        if (value->held)
            uncount_storage(rt, value->storage);
    }
    for (size_t i = 0; i < capture->n_calls; i++)
        release_call(rt, &capture->calls[i]);
    capture->n_values = capture->n_calls = capture->n_refs = capture->n_inputs = 0;
}

void cebus_capture_free(cebus_capture *capture)
{
    cebus_runtime *rt = capture->rt;
    cebus_capture_plan_free(capture);
    cebus_capture_strip(capture);
    cebus_capture_clear_leaves(capture);
    cebus_capture_clear(capture);
    free_array(rt, capture->leaves, capture->leaves_room, sizeof *capture->leaves);
    free_array(rt, capture->calls, capture->calls_room, sizeof *capture->calls);
    free_array(rt, capture->values, capture->values_room, sizeof *capture->values);
    free_array(rt, capture->refs, capture->refs_room, sizeof *capture->refs);
    free_array(rt, capture->inputs, capture->inputs_room, sizeof *capture->inputs);
    free_array(rt, capture->uploads, capture->uploads_room, sizeof *capture->uploads);
    cebus_pool_free_object(&rt->pool, capture, sizeof *capture);
    rt->handles--;
}

void cebus_capture_abandon(cebus_runtime *rt)
{
    cebus_capture *capture = rt->capture;
    rt->capture = NULL;
    if (capture != NULL)
        cebus_capture_free(capture);
}

cebus_capture *cebus_capture_create(cebus_runtime *rt)
{
    cebus_capture *capture = cebus_pool_alloc(&rt->pool, sizeof *capture);
    if (capture == NULL)
        return NULL;
    *capture = (cebus_capture){.rt = rt,
                               .before = rt->capture_ids,
                               .stamp = ++rt->captures,
                               .serial = rt->serial,
                               .open_nodes = rt->open_nodes,
                               .seed = rt->seed,
                               .rng_offset = rt->rng_offset};
    rt->handles++;
    return capture;
}

static cebus_status begin(cebus_runtime *rt)
{
    if (rt->capture != NULL && !rt->capture->watched)
        return cebus_fail(CEBUS_CAPTURE_ERROR, begin_name,
                          "calls are being recorded already; cebus_capture_end() that first");
    cebus_capture *capture = cebus_capture_create(rt);
    if (capture == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, begin_name, "no host memory for a capture");
    cebus_capture_abandon(rt);
    rt->capture = capture;
    return CEBUS_OK;
}

cebus_status cebus_capture_begin(cebus_runtime *rt)
{
    cebus_status status = cebus_runtime_lock(rt, begin_name);
    if (status != CEBUS_OK)
        return status;
    status = begin(rt);
    cebus_runtime_unlock(rt);
    return status;
}
