/**
 * launch.c: runs a captured iteration again: the recorded calls, one after the other, on
 * the path of every call, with a storage for each value that is still to be read.
 *
 *     before    outputs become zeros that take no room; gradients are bound
 *     a call    views of its inputs -> call.c -> its outputs; who was read for the last time goes
 *     after     the iteration is marked
 *
 * Whatever fails leaves the launch at that call.
 */
#include <string.h>

#include <cebus/runtime.h>

#include "eager/capture/plan.h"
#include "eager/guidance/guidance.h"
#include "eager/ops/fill.h"
#include "eager/optim/optimizer.h"
#include "lineage/cost.h"

static const char name[] = "capture_launch";

/* --- before ---------------------------------------------------------------------------------- */

static bool is_output(const cebus_captured_value *value)
{
    return value->held && value->maker != CEBUS_CAPTURE_NONE && value->storage != NULL;
}

static cebus_status check(const cebus_capture *capture)
{
    if (capture->rt->capture != NULL && !capture->rt->capture->watched)
        return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                          "calls are being recorded; cebus_capture_end() that first");
    for (size_t i = 0; i < capture->n_values; i++) {
        const cebus_captured_value *value = &capture->values[i];
        if (is_output(value) && value->storage->now->exports > 0)
            return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                              "an output, of call %u (%s), is mapped; cebus_tensor_unmap() it",
                              value->maker, cebus_capture_call_name(capture, value->maker));
    }
    for (size_t i = 0; i < capture->n_leaves && !capture->under_way; i++) {
        const cebus_captured_leaf *touched = &capture->leaves[i];
        const cebus_tensor *grad = touched->leaf->grad;
        if (touched->former != 0 && (grad == NULL || grad->storage->birth != touched->former))
            return cebus_fail(CEBUS_CAPTURE_ERROR, name,
                              "the iteration adds to a gradient that its leaf no longer has; "
                              "write to gradients between launches instead of replacing them");
    }
    return CEBUS_OK;
}

/** The old contents go: the storage names zeros that can be made when somebody asks. */
static cebus_status empty(cebus_runtime *rt, cebus_storage *storage)
{
    cebus_candidate *old = storage->now, *zeros = cebus_candidate_create(rt, old->value.bytes);
    cebus_call *call = zeros != NULL ? cebus_fill_record(rt, old->value.bytes) : NULL;
    if (call == NULL) {
        if (zeros != NULL)
            cebus_candidate_unhold(rt, zeros);
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, name, "no host memory to begin a launch");
    }
    cebus_call_make(&rt->lineage, call, 0, &zeros->value);
    cebus_call_release(&rt->lineage, call);
    cebus_cost_leave(&rt->lineage, &zeros->value);
    storage->now = zeros;
    storage->version++;
    cebus_candidate_unhold(rt, old);
    return CEBUS_OK;
}

static void bind_gradients(const cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_leaves; i++) {
        const cebus_captured_leaf *touched = &capture->leaves[i];
        cebus_tensor *former = touched->leaf->grad;
        touched->leaf->grad = cebus_tensor_retain(touched->grad);
        cebus_tensor_release(former);
    }
}

static cebus_status start(cebus_capture *capture)
{
    cebus_runtime *rt = capture->rt;
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < capture->n_values && status == CEBUS_OK; i++) {
        if (is_output(&capture->values[i]))
            status = empty(rt, capture->values[i].storage);
    }
    if (status != CEBUS_OK)
        return status;
    bind_gradients(capture);
    for (size_t i = 0; i < capture->n_values; i++) {
        cebus_captured_value *value = &capture->values[i];
        value->left = value->reads;
        if (value->maker == CEBUS_CAPTURE_NONE) {
            value->at = value->storage;
            value->at->refs++;
        }
    }
    capture->launch_seed = rt->seed;
    capture->launch_offset = rt->rng_offset;
    rt->rng_offset += capture->rng_blocks;
    capture->step = 0;
    capture->under_way = true;
    return CEBUS_OK;
}

/* --- a call ---------------------------------------------------------------------------------- */

/** Old versions that others still read when they are written over. */
typedef struct overwritten {
    cebus_storage *old[CEBUS_MAX_OUTPUTS];
} overwritten;

static const uint32_t *made_by(const cebus_capture *capture, const cebus_captured_call *taken)
{
    return capture->refs + taken->refs + taken->call->n_in;
}

static void release_kept(cebus_runtime *rt, overwritten *k, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        cebus_storage_release(rt, k->old[j]);
}

static cebus_status keep_old(const cebus_capture *capture, const cebus_captured_call *taken,
                             overwritten *out)
{
    const cebus_call *call = taken->call;
    memset(out->old, 0, call->n_out * sizeof *out->old);
    for (uint32_t j = 0; j < call->n_out; j++) {
        uint32_t over = capture->values[made_by(capture, taken)[j]].over;
        if (over == CEBUS_CAPTURE_NONE || capture->values[over].left < 2)
            continue;
        out->old[j] = cebus_storage_of(capture->rt, capture->values[over].at->now);
        if (out->old[j] == NULL) {
            release_kept(capture->rt, out, j);
            return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, ((const cebus_op *)call->op)->name,
                              "no host memory to keep what is written over");
        }
    }
    return CEBUS_OK;
}

/** Handles for the length of the call. */
static void view_inputs(cebus_capture *capture, const cebus_captured_call *taken)
{
    const cebus_call *call = taken->call;
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t value = capture->refs[taken->refs + i];
        cebus_tensor *view = &capture->views[i];
        capture->in[i] = value != CEBUS_CAPTURE_NONE ? view : NULL;
        if (value == CEBUS_CAPTURE_NONE)
            continue;
        *view = (cebus_tensor){.alive = CEBUS_TENSOR_ALIVE,
                               .rt = capture->rt,
                               .storage = capture->values[value].at,
                               .view = cebus_call_views(call)[i],
                               .requires_grad =
                                   i < CEBUS_MAX_TRACKED && ((taken->in_graph >> i) & 1) != 0};
        atomic_init(&view->refs, 1);
    }
}

/** Random numbers go on from where the launch found them, as far as the call was from the start. */
static cebus_status run_at_offset(const cebus_capture *capture, const cebus_call *call,
                                  const cebus_call_spec *spec, cebus_tensor **out)
{
    cebus_runtime *rt = capture->rt;
    const uint64_t seed = rt->seed, offset = rt->rng_offset;
    rt->seed = capture->launch_seed;
    rt->rng_offset = capture->launch_offset + (call->rng_offset - capture->rng_offset);
    cebus_status status = cebus_call_run(rt, spec, out);
    rt->seed = seed;
    rt->rng_offset = offset;
    return status;
}

static cebus_status run_update(const cebus_capture *capture, const cebus_captured_call *taken,
                               cebus_call_spec *spec, cebus_tensor **out)
{
    cebus_update_attrs attrs;
    if (taken->optimizer != NULL) {
        cebus_optimizer_attrs(taken->optimizer, taken->slot, &attrs);
    } else {
        memcpy(&attrs, spec->attrs, spec->attr_bytes);
        cebus_update_advance(spec->op, &attrs, (capture->launches + 1) * taken->turns);
    }
    spec->attrs = &attrs;
    cebus_status status = cebus_call_run(capture->rt, spec, out);
    if (status == CEBUS_OK && taken->optimizer != NULL)
        cebus_optimizer_count_update(taken->optimizer, taken->slot);
    return status;
}

static cebus_status run_call(cebus_capture *capture, const cebus_captured_call *taken,
                             cebus_tensor **out)
{
    const cebus_call *call = taken->call;
    const cebus_op *op = call->op;
    view_inputs(capture, taken);
    cebus_call_spec spec = {.op = op,
                            .attrs = cebus_call_attrs(call),
                            .attr_bytes = cebus_call_attr_bytes(call),
                            .in = capture->in,
                            .n_in = call->n_in,
                            .n_out = call->n_out};
    if (op->flags & CEBUS_OP_UPDATE)
        return run_update(capture, taken, &spec, out);
    if (op->flags & CEBUS_OP_RNG)
        return run_at_offset(capture, call, &spec, out);
    return cebus_call_run(capture->rt, &spec, out);
}

/** What the program holds goes by its own storage from now on. */
static cebus_storage *bind_output(cebus_captured_value *value, cebus_storage *fresh)
{
    cebus_storage *storage = value->storage;
    cebus_candidate *zeros = storage->now;
    if (!is_output(value))
        return fresh;
    storage->now = fresh->now;
    fresh->now = zeros;
    return storage;
}

/** As a backward would have (autograd/sum.c); a plan may want to make it again. */
static void mark_gradient(const cebus_capture *capture, const cebus_captured_value *value)
{
    cebus_runtime *rt = capture->rt;
    cebus_candidate *now = value->at->now;
    if (value->gradient == CEBUS_CAPTURED_PLAIN)
        return;
    now->gradient = true;
    if (value->gradient == CEBUS_CAPTURED_LEAF && now->value.resident && capture->plan == NULL) {
        cebus_value_detach(&rt->lineage, &now->value);
        cebus_storage_reap(rt);
    }
}

static void take_output(cebus_capture *capture, uint32_t made, cebus_tensor *tensor,
                        cebus_storage *old)
{
    cebus_captured_value *value = &capture->values[made];
    if (value->over != CEBUS_CAPTURE_NONE) {
        value->at = capture->values[value->over].at;
        capture->values[value->over].at = old;
    } else {
        value->at = value->storage != NULL ? bind_output(value, tensor->storage) : tensor->storage;
        value->at->refs++;
    }
    if (capture->plan != NULL)
        capture->plan->newest[capture->plan->home[made]] = made;
    cebus_tensor_release(tensor); /* of a write in place: a handle of view_inputs() */
    mark_gradient(capture, value);
}

static void let_go(cebus_capture *capture, uint32_t index)
{
    cebus_captured_value *value = &capture->values[index];
    cebus_storage *storage = value->at;
    if (value->left > 0 || storage == NULL)
        return;
    value->at = NULL;
    cebus_storage_release(capture->rt, storage);
}

static void take_outputs(cebus_capture *capture, uint32_t k, cebus_tensor *const *out,
                         const overwritten *kept)
{
    const cebus_captured_call *taken = &capture->calls[k];
    const cebus_advise_call *call = &capture->program.calls[k];
    const uint32_t *read = capture->program.refs + call->refs, *made = made_by(capture, taken);
    for (uint32_t j = 0; j < taken->call->n_out; j++)
        take_output(capture, made[j], out[j], kept->old[j]);
    for (uint32_t i = 0; i < call->n_in; i++) {
        capture->values[read[i]].left--;
        let_go(capture, read[i]);
    }
    for (uint32_t j = 0; j < taken->call->n_out; j++)
        let_go(capture, made[j]);
}

static cebus_status run_step(cebus_capture *capture, uint32_t k)
{
    overwritten kept;
    const uint64_t before = capture->rt->stats.compute_ns;
    cebus_tensor *out[CEBUS_MAX_OUTPUTS];
    const cebus_captured_call *taken = &capture->calls[k];
    cebus_status status = keep_old(capture, taken, &kept);
    if (status != CEBUS_OK)
        return status;
    status = run_call(capture, taken, out);
    if (status != CEBUS_OK) {
        release_kept(capture->rt, &kept, taken->call->n_out);
        return status;
    }
    if (!capture->rt->info.late_costs) /* what is known now is an estimate else */
        cebus_capture_learn(capture, k, capture->rt->stats.compute_ns - before);
    take_outputs(capture, k, out, &kept);
    return CEBUS_OK;
}

/* --- a launch -------------------------------------------------------------------------------- */

/** What a run again read is read once less. */
static void end_again(cebus_capture *capture, uint32_t k)
{
    const cebus_advise_call *call = &capture->program.calls[k];
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint32_t read = capture->program.refs[call->refs + i];
        capture->values[read].left--;
        let_go(capture, read);
    }
}

static cebus_status run_planned(cebus_capture *capture, size_t k)
{
    const cebus_advice_step *step = &capture->plan->steps[k];
    cebus_status status = CEBUS_OK;
    cebus_capture_plan_before(capture, k);
    if (step->again) {
        cebus_capture_plan_again(capture, k);
        end_again(capture, step->call);
    } else {
        status = run_step(capture, step->call);
    }
    if (status == CEBUS_OK)
        cebus_capture_plan_after(capture, k);
    return status;
}

static cebus_status run_steps(cebus_capture *capture)
{
    cebus_runtime *rt = capture->rt;
    cebus_status status = CEBUS_OK;
    const size_t n = capture->plan != NULL ? capture->plan->n_steps : capture->n_calls;
    rt->spots = capture->plan != NULL ? &capture->plan->spots : NULL;
    if (capture->plan != NULL && capture->step == 0)
        cebus_capture_plan_begin(capture);
    while (status == CEBUS_OK && capture->step < n) {
        status = capture->plan != NULL ? run_planned(capture, capture->step)
                                       : run_step(capture, capture->order[capture->step]);
        capture->step += status == CEBUS_OK;
    }
    rt->spots = NULL;
    return status;
}

static cebus_status launch(cebus_capture *capture)
{
    cebus_runtime *rt = capture->rt;
    cebus_status status = check(capture);
    if (status != CEBUS_OK)
        return status;
    const bool watches = rt->watch.on; /* what is captured already needs none */
    rt->watch.on = rt->watch.due = false;
    cebus_capture_abandon(rt);
    const bool marked = cebus_guidance_launch(rt);
    if (!capture->under_way)
        status = start(capture);
    if (status == CEBUS_OK)
        status = run_steps(capture);
    rt->watch.on = watches;
    cebus_capture_resume(rt);
    if (status == CEBUS_OK) {
        capture->under_way = false;
        capture->launches++;
        status = cebus_iteration_mark(rt);
    }
    cebus_guidance_launched(rt, marked);
    return status;
}

cebus_status cebus_capture_count_on(cebus_capture *capture, uint64_t iterations)
{
    static const char *const self = "capture_count_on";
    if (capture == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, self, "the capture is NULL");
    cebus_status status = cebus_runtime_lock(capture->rt, self);
    if (status != CEBUS_OK)
        return status;
    if (capture->under_way)
        status = cebus_fail(CEBUS_CAPTURE_ERROR, self,
                            "a launch stands half done; cebus_capture_launch() goes on with it");
    else
        capture->launches += iterations;
    cebus_runtime_unlock(capture->rt);
    return status;
}

cebus_status cebus_capture_launch(cebus_capture *capture)
{
    if (capture == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name, "the capture is NULL");
    cebus_status status = cebus_runtime_lock(capture->rt, name);
    if (status != CEBUS_OK)
        return status;
    bool recorded = cebus_grad_enable(false);
    status = launch(capture);
    cebus_grad_enable(recorded);
    cebus_runtime_unlock(capture->rt);
    return status;
}
