#include "eager/call.h"

#include <stdio.h>
#include <string.h>

#include "eager/autograd/node.h"
#include "eager/autograd/rebase.h"
#include "eager/capture/hooks.h"
#include "eager/debug.h"
#include "eager/guidance/guidance.h"
#include "eager/hint.h"
#include "eager/ladder.h"
#include "eager/launch.h"
#include "eager/residency.h"
#include "eager/strain.h"
#include "eager/swap/swap.h"
#include "eager/trace/record.h"
#include "eager/view.h"
#include "lineage/cost.h"

/** One call on its way: everything that must be undone if it fails. */
typedef struct frame {
    cebus_runtime *rt;
    const cebus_call_spec *spec;
    const cebus_op *op;
    cebus_op_entry *entry;
    cebus_call *call;
    cebus_node *node;
    uint64_t needs;
    bool pinned;                             /**< the inputs are */
    uint32_t placed;                         /**< of the outputs: pinned, half-made as they are */
    bool recordable;                         /**< a replay can make the outputs again */
    bool loses;                              /**< what it overwrites nothing can make again */
    bool announced;                          /**< guidance expects it */
    bool committed;                          /**< what it wrote stands */
    cebus_pinned dependants;                 /**< kept for a write to a leaf */
    cebus_candidate *in[CEBUS_MAX_INPUTS];   /**< versions read */
    cebus_candidate *out[CEBUS_MAX_OUTPUTS]; /**< versions made (mutated leaves: the same) */
    cebus_tensor *tensors[CEBUS_MAX_OUTPUTS];
    cebus_block *copies[CEBUS_MAX_OUTPUTS]; /**< what old versions live on in (preserve) */
} frame;

static cebus_status no_host_memory(const frame *f)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, f->op->name, "no host memory to record the call");
}

static cebus_status check_inputs(const frame *f)
{
    for (uint32_t i = 0; i < f->spec->n_in; i++) {
        const cebus_tensor *input = f->spec->in[i];
        if (input == NULL || (input->alive == CEBUS_TENSOR_ALIVE && input->rt == f->rt))
            continue;
        char what[24];
        snprintf(what, sizeof what, "input %u", i);
        return cebus_tensor_check(f->rt, input, f->op->name, what);
    }
    return CEBUS_OK;
}

static cebus_status check_mutated(const frame *f, uint32_t i)
{
    cebus_tensor *tensor = f->spec->in[i];
    if (tensor == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, f->op->name,
                          "input %u, written in place, is "
                          "missing",
                          i);
    if (cebus_view_may_repeat(&tensor->view))
        return cebus_fail(
            CEBUS_INVALID_ARGUMENT, f->op->name,
            "cannot write in place to an expanded tensor, or one of windows, of shape "
            "%s: several elements share one location; cebus_clone() it first",
            CEBUS_SHAPE(&tensor->view));
    for (uint32_t k = 0; k < f->spec->n_in; k++) {
        if (k == i || f->spec->in[k] == NULL)
            continue;
        if (k < i && cebus_op_mutates(f->op, k) && tensor->storage == f->spec->in[k]->storage)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, f->op->name,
                              "inputs %u and %u, both written in place, share one storage; "
                              "cebus_clone() one of them first",
                              k, i);
        if (tensor->storage == f->spec->in[k]->storage &&
            cebus_view_overlaps_partially(&tensor->view, &f->spec->in[k]->view))
            return cebus_fail(CEBUS_INVALID_ARGUMENT, f->op->name,
                              "input %u shares some, not all, memory with the tensor written in "
                              "place; cebus_clone() it first",
                              k);
    }
    return cebus_rebase_check(f->rt, f->op, tensor);
}

/** The record: views of the inputs, attributes; infer fills the outputs' views in. */
static cebus_status describe(frame *f)
{
    const cebus_call_spec *spec = f->spec;
    const cebus_view *in[CEBUS_MAX_INPUTS];
    size_t payload = (spec->n_in + spec->n_out) * sizeof(cebus_view) + spec->attr_bytes;
    f->call = cebus_call_create(&f->rt->lineage, f->op, spec->n_in, spec->n_out, payload);
    if (f->call == NULL)
        return no_host_memory(f);
    cebus_view *views = cebus_call_views(f->call);
    for (uint32_t i = 0; i < spec->n_in; i++) {
        in[i] = spec->in[i] != NULL ? &spec->in[i]->view : NULL;
        if (in[i] != NULL)
            views[i] = *in[i];
        else
            views[i] = (cebus_view){.dtype = CEBUS_F32};
    }
    if (spec->attr_bytes > 0)
        memcpy(cebus_call_attrs(f->call), spec->attrs, spec->attr_bytes);
    cebus_infer io = {.op = f->op,
                      .attrs = cebus_call_attrs(f->call),
                      .in = in,
                      .n_in = spec->n_in,
                      .n_out = spec->n_out,
                      .out = views + spec->n_in};
    cebus_status status = f->op->infer(&io);
    for (uint32_t i = 0, j = 0; i < spec->n_in && status == CEBUS_OK; i++) {
        if (!cebus_op_mutates(f->op, i))
            continue;
        status = check_mutated(f, i);
        if (status == CEBUS_OK)
            io.out[j++] = *in[i];
    }
    return status;
}

static void draw_random(frame *f, uint64_t *out_blocks)
{
    cebus_prepared prepared;
    *out_blocks = 0;
    if (!(f->op->flags & CEBUS_OP_RNG))
        return;
    f->call->seed = f->rt->seed;
    f->call->rng_offset = f->rt->rng_offset;
    cebus_launch_prepare(f->rt, f->call, &prepared);
    *out_blocks = f->op->rng_blocks != NULL
                      ? f->op->rng_blocks(&prepared.launch)
                      : ((uint64_t)cebus_view_numel(prepared.out[0].view) + 3) / 4;
}

/** A new output: version, storage, handle. */
static cebus_status create_output(frame *f, uint32_t j)
{
    uint64_t bytes;
    const cebus_view *view = &cebus_call_out_views(f->call)[j];
    if (!cebus_view_bytes(view, &bytes))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, f->op->name,
                          "an output of shape %s has more bytes than can be addressed",
                          CEBUS_SHAPE(view));
    cebus_storage *storage = cebus_storage_create(f->rt, bytes);
    if (storage == NULL)
        return no_host_memory(f);
    f->tensors[j] = cebus_tensor_create(f->rt, storage, view);
    f->out[j] = storage->now;
    cebus_storage_release(f->rt, storage);
    return f->tensors[j] != NULL ? CEBUS_OK : no_host_memory(f);
}

static bool is_saved_by_call(const frame *f, uint32_t i)
{
    if (f->needs == 0 || f->op->saves == NULL)
        return false;
    return (f->op->saves(cebus_call_attrs(f->call), f->needs).in >> i) & 1;
}

/**
 * The gradient of the call that overwrites this version reads it. Or another's does, and a call
 * made it whose record was cut: whether records are cut may depend on the budget, what a gradient
 * finds must not. Where nothing can make it again it lives on in a copy, also where that would be
 * made of what the call overwrites for good.
 */
static bool must_preserve(const frame *f, uint32_t i)
{
    const cebus_value *value = &f->in[i]->value;
    bool again = value->producer != NULL;
    if (again ? !f->loses : f->spec->in[i]->storage->persistent)
        return false;
    return is_saved_by_call(f, i) || (again && value->consumers != NULL) ||
           (value->made && value->holders + value->parked > 1);
}

static cebus_status preserve(frame *f, uint32_t j, cebus_candidate *old)
{
    cebus_runtime *rt = f->rt;
    if (old->block == NULL)
        return CEBUS_OK;
    cebus_request request = {.bytes = old->value.bytes,
                             .spot = CEBUS_ANYWHERE,
                             .zone = (cebus_zone)old->zone,
                             .op = f->op->name};
    cebus_status status = cebus_ladder_reserve(rt, &request, &f->copies[j]);
    if (status != CEBUS_OK)
        return status;
    cebus_swap_settle(rt, old);
    status = rt->device_ops->copy(rt->device, rt->base + f->copies[j]->offset,
                                  cebus_candidate_address(rt, old), old->value.bytes,
                                  CEBUS_COPY_ON_DEVICE);
    cebus_candidate_used(rt, old);
    return status;
}

/** A mutated input keeps its handle; what can be rebuilt or is preserved gets a new version. */
static cebus_status create_version(frame *f, uint32_t j, uint32_t i)
{
    cebus_candidate *old = f->in[i];
    bool preserved = must_preserve(f, i);
    f->tensors[j] = cebus_tensor_retain(f->spec->in[i]);
    f->out[j] = old;
    if (old->value.producer == NULL && !preserved) {
        f->recordable = false;
        return cebus_residency_before_write(f->rt, old, &f->dependants, f->op->name);
    }
    f->out[j] = cebus_candidate_create(f->rt, old->value.bytes);
    if (f->out[j] == NULL)
        return no_host_memory(f);
    f->out[j]->hint = cebus_hint_for(f->rt, old->hint);
    return preserved ? preserve(f, j, old) : CEBUS_OK;
}

static cebus_status create_outputs(frame *f)
{
    cebus_status status = CEBUS_OK;
    f->recordable = !(f->op->flags & CEBUS_OP_NONREPLAYABLE);
    f->loses = false;
    if (f->op->mutates == 0) {
        for (uint32_t j = 0; j < f->spec->n_out && status == CEBUS_OK; j++)
            status = create_output(f, j);
        return status;
    }
    for (uint32_t i = 0; i < f->spec->n_in; i++) {
        if (!cebus_op_mutates(f->op, i))
            continue;
        f->rt->overwriting |= f->in[i]->value.producer != NULL;
        f->loses |= f->in[i]->value.producer == NULL && !must_preserve(f, i);
    }
    for (uint32_t i = 0, j = 0; i < f->spec->n_in && status == CEBUS_OK; i++) {
        if (!cebus_op_mutates(f->op, i))
            continue;
        status = create_version(f, j++, i);
    }
    return status;
}

static cebus_status place_outputs(frame *f)
{
    if (f->op->mutates != 0) {
        for (uint32_t i = 0; i < f->spec->n_in; i++) {
            if (cebus_op_mutates(f->op, i))
                cebus_debug_leave(f->rt, f->in[i]);
        }
        return CEBUS_OK;
    }
    for (uint32_t j = 0; j < f->spec->n_out; j++) {
        cebus_status status =
            cebus_candidate_place(f->rt, f->out[j], f->entry->zone,
                                  cebus_guidance_output_spot(f->rt, j, f->out[j]), f->op->name);
        if (status != CEBUS_OK)
            return status;
        f->out[j]->value.pins++;
        f->placed++;
    }
    return CEBUS_OK;
}

static cebus_status execute(frame *f)
{
    uint64_t ns = 0, bytes = 0;
    cebus_runtime *rt = f->rt;
    cebus_candidate *const *out = f->op->mutates != 0 ? NULL : f->out;
    cebus_candidate *written[CEBUS_MAX_OUTPUTS];
    for (uint32_t i = 0, j = 0; out == NULL && i < f->spec->n_in; i++) {
        if (cebus_op_mutates(f->op, i))
            written[j++] = f->in[i];
    }
    rt->half_written = false;
    cebus_status status =
        cebus_launch_run(rt, f->call, f->entry, f->in, out != NULL ? out : written, &ns);
    f->call->cost_ns = ns;
    if (status != CEBUS_OK)
        return status;
    rt->stats.calls++;
    rt->stats.compute_ns += ns;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_CALLED, .op = f->op->name, .ns = ns});
    for (uint32_t j = 0; j < f->spec->n_out; j++)
        bytes += f->out[j]->value.bytes;
    cebus_op_entry_learn(rt, f->entry, ns, bytes);
    return CEBUS_OK;
}

/** The storage of a mutated input goes on with its new version. */
static void commit_version(frame *f, uint32_t i, uint32_t j)
{
    cebus_candidate *old = f->in[i], *fresh = f->out[j];
    cebus_storage *storage = f->spec->in[i]->storage;
    storage->version++;
    if (fresh == old) {
        old->writes++;
        old->hash = 0;
        cebus_swap_forget(f->rt, old);
        return;
    }
    old->value.pins -= storage->held;
    fresh->value.pins += storage->held;
    fresh->exports = old->exports;
    fresh->gradient = old->gradient;
    old->exports = 0;
    cebus_candidate_move(f->rt, old, fresh);
    storage->now = fresh;
    if (f->copies[j] != NULL) {
        cebus_cost_return(&f->rt->lineage, &old->value);
        cebus_candidate_adopt(f->rt, old, f->copies[j]);
        cebus_candidate_used(f->rt, old);
        f->copies[j] = NULL;
    }
}

/** A slice is part of what its storage holds; repeated elements are read once. */
static void read_input(frame *f, uint32_t i)
{
    const cebus_view *view = &cebus_call_views(f->call)[i];
    cebus_value *value = &f->in[i]->value;
    uint64_t bytes = (uint64_t)cebus_view_numel(view) * cebus_dtype_size(view->dtype);
    cebus_call_read_part(f->call, i, value, bytes < value->bytes ? bytes : value->bytes);
}

static void commit(frame *f)
{
    cebus_runtime *rt = f->rt;
    if (f->recordable) {
        for (uint32_t i = 0; i < f->spec->n_in; i++) {
            if (f->in[i] != NULL)
                read_input(f, i);
        }
    }
    cebus_residency_cut(rt, &f->dependants);
    for (uint32_t i = 0, j = 0; f->op->mutates != 0 && i < f->spec->n_in; i++) {
        if (cebus_op_mutates(f->op, i))
            commit_version(f, i, j++);
    }
    for (uint32_t j = 0; j < f->spec->n_out; j++) {
        if (f->recordable)
            cebus_call_make(&rt->lineage, f->call, j, &f->out[j]->value);
        cebus_candidate_touch(rt, f->out[j]);
    }
    for (uint32_t i = 0; i < f->spec->n_in; i++) {
        if (f->in[i] != NULL)
            cebus_candidate_touch(rt, f->in[i]);
    }
    if (f->node != NULL) {
        cebus_node_attach(rt, f->node, f->tensors);
        f->node = NULL;
    }
    cebus_strain_count(rt);
    f->committed = true;
}

/** Unpins inputs and outputs; overwritten versions lose the handle that held them. */
static void finish(frame *f)
{
    cebus_runtime *rt = f->rt;
    rt->overwriting = false;
    for (uint32_t j = 0; j < f->placed; j++)
        f->out[j]->value.pins--;
    cebus_residency_unpin(rt, &f->dependants);
    if (f->pinned)
        cebus_residency_end(rt, f->in, f->spec->n_in);
    for (uint32_t i = 0, j = 0; f->op->mutates != 0 && i < f->spec->n_in; i++) {
        if (!cebus_op_mutates(f->op, i))
            continue;
        if (f->copies[j] != NULL)
            cebus_ladder_release(rt, f->copies[j]);
        cebus_candidate *fresh = f->out[j++];
        if (fresh != NULL && fresh != f->in[i])
            cebus_candidate_unhold(rt, f->committed ? f->in[i] : fresh);
    }
}

/** To those who look ahead: what is due before the call, and whether a capture expects it. */
static cebus_status announce(frame *f)
{
    cebus_runtime *rt = f->rt;
    cebus_status status = CEBUS_OK;
    if (rt->info.late_costs)
        cebus_measure_collect(rt);
    f->needs = cebus_node_needs(rt, f->op, f->spec->in, f->spec->n_in);
    if (rt->learning == CEBUS_LEARNS_NEXT)
        cebus_guidance_learn(rt);
    f->announced = rt->guidance != NULL && rt->spots == NULL;
    if (f->announced)
        cebus_guidance_act(rt, f->call, f->spec->in, f->needs != 0);
    if (cebus_capture_is_due(rt))
        status = cebus_capture_expect(rt, f->call, f->spec->in);
    if (status == CEBUS_OK && rt->debug & CEBUS_DEBUG_CHAOS)
        cebus_debug_chaos(rt);
    return status;
}

static cebus_status bring_inputs(frame *f)
{
    cebus_runtime *rt = f->rt;
    for (uint32_t i = 0; i < f->spec->n_in; i++)
        f->in[i] = f->spec->in[i] != NULL ? f->spec->in[i]->storage->now : NULL;
    uint64_t before = rt->stats.recompute_ns;
    cebus_status status = cebus_residency_begin(rt, f->in, f->spec->n_in, f->op->name);
    if (status != CEBUS_OK)
        return status;
    f->pinned = true;
    f->call->wait_ns = rt->stats.recompute_ns - before;
    return CEBUS_OK;
}

static cebus_status create_node(frame *f)
{
    if (f->needs == 0)
        return CEBUS_OK;
    f->node = cebus_node_create(f->rt, f->call, f->spec->in, f->needs);
    return f->node != NULL ? CEBUS_OK : no_host_memory(f);
}

/** To those who look back: a trace, what guides. */
static void report(frame *f)
{
    cebus_runtime *rt = f->rt;
    if (rt->recorder != NULL)
        cebus_record_call(rt, f->call, f->entry->kernel, f->spec->in, f->out);
    if (f->announced)
        cebus_guidance_observe(rt, f->call, f->entry->kernel, f->spec->in, f->out, f->recordable);
}

/** A user's kernel failed in the middle of a write: a write of its own, that nothing can repeat,
 * whether or not what it began with could be made again. */
static void commit_half_written(frame *f)
{
    cebus_runtime *rt = f->rt;
    if (f->node != NULL)
        cebus_node_release(rt, f->node);
    f->node = NULL;
    f->recordable = false;
    if (rt->capture != NULL && !rt->watch.aside)
        cebus_capture_spoil(rt->capture, f->op->name, "its kernel failed in a write in place");
    report(f);
    commit(f);
}

static cebus_status run(frame *f)
{
    uint64_t blocks;
    cebus_status status = check_inputs(f);
    if (status == CEBUS_OK)
        status = cebus_op_entry_find(f->rt, f->op, &f->entry);
    if (status == CEBUS_OK)
        status = describe(f);
    if (status != CEBUS_OK)
        return status;
    draw_random(f, &blocks);
    status = announce(f);
    if (status == CEBUS_OK)
        status = bring_inputs(f);
    if (status == CEBUS_OK)
        status = create_outputs(f);
    if (status == CEBUS_OK)
        status = create_node(f);
    if (status == CEBUS_OK)
        status = place_outputs(f);
    if (status != CEBUS_OK)
        return status;
    status = execute(f);
    if (status != CEBUS_OK && f->rt->half_written)
        commit_half_written(f);
    if (status != CEBUS_OK)
        return status;
    f->rt->rng_offset += blocks;
    report(f);
    if (f->rt->capture != NULL && !f->rt->watch.aside)
        cebus_capture_call(f->rt, f->call, f->spec->in, f->out, f->tensors);
    commit(f);
    return CEBUS_OK;
}

/** Of the arrays only what the call uses is cleared: they are far larger than most calls need. */
static void init_frame(frame *f, cebus_runtime *rt, const cebus_call_spec *spec)
{
    f->rt = rt;
    f->spec = spec;
    f->op = spec->op;
    f->call = NULL;
    f->node = NULL;
    f->pinned = false;
    f->placed = 0;
    f->announced = false;
    f->committed = false;
    f->dependants = (cebus_pinned){0};
    memset(f->out, 0, spec->n_out * sizeof *f->out);
    memset(f->tensors, 0, spec->n_out * sizeof *f->tensors);
    memset(f->copies, 0, spec->n_out * sizeof *f->copies);
}

static cebus_status run_and_clean_up(cebus_runtime *rt, const cebus_call_spec *spec,
                                     cebus_tensor **out)
{
    frame f;
    init_frame(&f, rt, spec);
    cebus_status status = run(&f);
    finish(&f);
    if (f.node != NULL)
        cebus_node_release(rt, f.node);
    if (f.call != NULL)
        cebus_call_release(&rt->lineage, f.call);
    for (uint32_t j = 0; j < spec->n_out; j++) {
        if (status == CEBUS_OK)
            out[j] = f.tensors[j];
        else
            cebus_tensor_release(f.tensors[j]);
    }
    cebus_storage_reap(rt);
    if (f.announced && status != CEBUS_OK && !f.committed)
        cebus_guidance_retract(rt);
    if (status == CEBUS_OK && (rt->debug & CEBUS_DEBUG_WALK))
        status = cebus_debug_walk(rt, spec->op->name);
    return status;
}

cebus_status cebus_call_run(cebus_runtime *rt, const cebus_call_spec *spec, cebus_tensor **out)
{
    for (uint32_t j = 0; j < spec->n_out; j++)
        out[j] = NULL;
    if (spec->n_in > CEBUS_MAX_INPUTS || spec->n_out > CEBUS_MAX_OUTPUTS)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, spec->op->name,
                          "%u inputs and %u outputs; at most %d and %d are possible", spec->n_in,
                          spec->n_out, CEBUS_MAX_INPUTS, CEBUS_MAX_OUTPUTS);
    cebus_status status = cebus_runtime_lock(rt, spec->op->name);
    if (status != CEBUS_OK)
        return status;
    status = run_and_clean_up(rt, spec, out);
    cebus_runtime_unlock(rt);
    return status;
}
