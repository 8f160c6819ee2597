/**
 * function.c: calls of the graph whose gradient a function of the user computes.
 *
 * The node's first inputs are those of the user's function, the others what it saved: versions,
 * not tensors, so that nothing holds itself and all of it may be given up and rebuilt. What the
 * user's context holds goes with the node's hooks (hook.h), once the graph was walked for good.
 */
#include <cebus/ops.h>

#include <string.h>

#include "eager/autograd/hook.h"
#include "eager/autograd/node.h"
#include "eager/autograd/rebase.h"
#include "eager/autograd/walk.h"
#include "eager/view.h"

/** What the record keeps. */
typedef struct function_attrs {
    cebus_status (*gradient)(void *context, const cebus_function_step *step);
    void *context;
    uint32_t n_in;
    char name[48];
} function_attrs;

static cebus_status check_gradient(const function_attrs *attrs, const cebus_gradient *io,
                                   uint32_t i)
{
    const cebus_tensor *grad = io->grad_in[i];
    const cebus_view *input = &io->in_view[i];
    if (grad == NULL)
        return CEBUS_OK;
    cebus_status status = cebus_tensor_check(io->rt, grad, attrs->name, "a gradient");
    if (status != CEBUS_OK ||
        (cebus_view_same_shape(&grad->view, input) && grad->view.dtype == input->dtype))
        return status;
    return cebus_fail(CEBUS_AUTOGRAD_ERROR, attrs->name,
                      "the gradient of input %u has shape %s of %s, but the input has %s of %s", i,
                      CEBUS_SHAPE(&grad->view), cebus_dtype_name(grad->view.dtype),
                      CEBUS_SHAPE(input), cebus_dtype_name(input->dtype));
}

/** What a function answers may have a graph of its own, which ends here. */
static cebus_status accept(const function_attrs *attrs, const cebus_gradient *io, uint32_t i)
{
    cebus_tensor *given = io->grad_in[i];
    cebus_status status = check_gradient(attrs, io, i);
    if (status != CEBUS_OK || given == NULL || !cebus_tensor_requires_grad(given))
        return status;
    status = cebus_detach(io->rt, given, &io->grad_in[i]);
    cebus_tensor_release(given);
    return status;
}

static cebus_status function_gradient(const cebus_gradient *io)
{
    const function_attrs *attrs = io->attrs;
    cebus_function_step step = {.rt = io->rt,
                                .saved = io->in + attrs->n_in,
                                .n_saved = io->n_in - attrs->n_in,
                                .grad_out = io->grad_out,
                                .n_out = io->n_out,
                                .needs = io->needs,
                                .n_in = attrs->n_in,
                                .grad_in = io->grad_in};
    cebus_pause pause = cebus_walk_pause(io->rt);
    cebus_status before = cebus_error_set_aside();
    cebus_status status = attrs->gradient(attrs->context, &step);
    bool told = cebus_error_was_told(before, status);
    cebus_walk_resume(io->rt, pause);
    if (!told)
        return cebus_fail(status, attrs->name, "its gradient failed: %s",
                          cebus_status_name(status));
    for (uint32_t i = 0; i < attrs->n_in && status == CEBUS_OK; i++)
        status = accept(attrs, io, i);
    return status;
}

static const cebus_op function_op = {.name = "function", .gradient = function_gradient};

static cebus_call *describe(cebus_runtime *rt, const cebus_function *f)
{
    uint32_t n_in = f->n_in + f->n_saved;
    size_t payload = (n_in + f->n_out) * sizeof(cebus_view) + sizeof(function_attrs);
    cebus_call *call = cebus_call_create(&rt->lineage, &function_op, n_in, f->n_out, payload);
    if (call == NULL)
        return NULL;
    cebus_view *views = cebus_call_views(call);
    for (uint32_t i = 0; i < f->n_in; i++)
        views[i] = f->in[i]->view;
    for (uint32_t k = 0; k < f->n_saved; k++)
        views[f->n_in + k] = f->saved[k]->view;
    for (uint32_t j = 0; j < f->n_out; j++)
        views[n_in + j] = f->results[j]->view;
    function_attrs *attrs = cebus_call_attrs(call);
    *attrs = (function_attrs){.gradient = f->gradient, .context = f->context, .n_in = f->n_in};
    strncpy(attrs->name, f->name, sizeof attrs->name - 1);
    return call;
}

static bool is_input(const cebus_function *f, const cebus_tensor *tensor)
{
    for (uint32_t i = 0; i < f->n_in; i++) {
        if (f->in[i] == tensor)
            return true;
    }
    return false;
}

/** Edges to the inputs, holds on what is saved, and room for a write through a view. */
static bool dress(cebus_runtime *rt, cebus_node *node, const cebus_function *f)
{
    for (uint32_t i = 0; i < f->n_in; i++) {
        if (!((node->needs >> i) & 1))
            continue;
        node->edges[i] = cebus_graph_edge_of(rt, f->in[i]);
        if (node->edges[i].node == NULL && node->edges[i].leaf == NULL)
            return false;
    }
    for (uint32_t k = 0; k < f->n_saved; k++)
        cebus_node_save(node, f->n_in + k, f->saved[k]);
    for (uint32_t j = 0; j < f->n_out && node->slices == NULL; j++) {
        if (!is_input(f, f->results[j]) || cebus_tensor_base(f->results[j]) == NULL)
            continue;
        node->slices = cebus_rebase_reserve(rt, f->results[j]);
        if (node->slices == NULL)
            return false;
    }
    return true;
}

/** As a hook that nothing calls: it only lets the context go. The last step that can fail: until
 * then the context is the caller's. */
static bool take_context(cebus_runtime *rt, const cebus_function *f, cebus_hook **list)
{
    cebus_grad_hook owner = {.release = f->release, .context = f->context};
    return cebus_hook_add(rt, list, &owner, 0) != 0;
}

static cebus_node *create_node(cebus_runtime *rt, const cebus_function *f, uint64_t needs)
{
    cebus_call *call = describe(rt, f);
    cebus_node *node = call != NULL ? cebus_node_create_bare(rt, call) : NULL;
    if (call != NULL)
        cebus_call_release(&rt->lineage, call);
    if (node == NULL)
        return NULL;
    node->needs = needs;
    if (dress(rt, node, f) && take_context(rt, f, &node->hooks))
        return node;
    cebus_node_release(rt, node);
    return NULL;
}

/** A result that shows an input's storage is a view of it to the graph, as any other view is. */
static void set_base(const cebus_function *f, cebus_tensor *out)
{
    for (uint32_t i = 0; i < f->n_in; i++) {
        cebus_tensor *in = f->in[i];
        if (in->storage != out->storage)
            continue;
        cebus_tensor_set_base(out, in);
        out->node_rebased = out->storage->rebased;
        return;
    }
}

static bool create_outputs(cebus_runtime *rt, const cebus_function *f, cebus_tensor **out)
{
    for (uint32_t j = 0; j < f->n_out; j++) {
        cebus_tensor *result = f->results[j];
        out[j] = is_input(f, result) ? cebus_tensor_retain(result)
                                     : cebus_tensor_create(rt, result->storage, &result->view);
        if (out[j] == NULL)
            return false;
    }
    return true;
}

static void attach(cebus_runtime *rt, const cebus_function *f, cebus_node *node, cebus_tensor **out)
{
    for (uint32_t j = 0; j < f->n_out; j++) {
        if (is_input(f, f->results[j])) {
            cebus_rebase_attach(rt, node, j, out[j]);
            continue;
        }
        set_base(f, out[j]);
        if (!cebus_dtype_is_float(out[j]->view.dtype))
            continue;
        out[j]->node = cebus_node_retain(node);
        out[j]->node_output = j;
    }
    cebus_node_release(rt, node);
}

static void release_all(cebus_tensor **out, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++) {
        cebus_tensor_release(out[j]);
        out[j] = NULL;
    }
}

static cebus_status record_locked(cebus_runtime *rt, const cebus_function *f, cebus_tensor **out)
{
    cebus_status status = CEBUS_OK;
    cebus_node *node = NULL;
    cebus_hook *unneeded = NULL;
    uint64_t needs = cebus_node_needs(rt, &function_op, f->in, f->n_in);
    for (uint32_t j = 0; j < f->n_out && status == CEBUS_OK && needs != 0; j++) {
        if (is_input(f, f->results[j]))
            status = cebus_rebase_check(rt, &function_op, f->results[j]);
    }
    if (status != CEBUS_OK)
        return status;
    if (!create_outputs(rt, f, out) || (needs != 0 && (node = create_node(rt, f, needs)) == NULL) ||
        (needs == 0 && !take_context(rt, f, &unneeded))) {
        release_all(out, f->n_out);
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, f->name, "no host memory to record it");
    }
    if (node != NULL)
        attach(rt, f, node, out);
    cebus_hooks_drop(rt, &unneeded);
    return CEBUS_OK;
}

static cebus_status check_tensors(cebus_runtime *rt, const cebus_function *f,
                                  cebus_tensor *const *tensors, uint32_t n, const char *what)
{
    cebus_status status = CEBUS_OK;
    if (tensors == NULL && n > 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, f->name, "%s: NULL", what);
    for (uint32_t i = 0; i < n && status == CEBUS_OK; i++)
        status = cebus_tensor_check(rt, tensors[i], f->name, what);
    return status;
}

static cebus_status check(const cebus_function *f)
{
    static const char op[] = "function_record";
    if (f == NULL || f->struct_size < sizeof *f || f->name == NULL || f->gradient == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "the function is NULL, or lacks struct_size, name or gradient");
    if (f->n_in > CEBUS_MAX_TRACKED || f->n_out < 1 || f->n_out > CEBUS_MAX_OUTPUTS ||
        f->n_saved > CEBUS_MAX_INPUTS - CEBUS_MAX_TRACKED)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, f->name,
                          "%u inputs, %u outputs and %u saved tensors; at most %d, 1 to %d, and %d",
                          f->n_in, f->n_out, f->n_saved, CEBUS_MAX_TRACKED, CEBUS_MAX_OUTPUTS,
                          CEBUS_MAX_INPUTS - CEBUS_MAX_TRACKED);
    return CEBUS_OK;
}

static cebus_status check_all_tensors(cebus_runtime *rt, const cebus_function *f)
{
    cebus_status status = check_tensors(rt, f, f->in, f->n_in, "an input");
    if (status == CEBUS_OK)
        status = check_tensors(rt, f, f->saved, f->n_saved, "a saved tensor");
    if (status == CEBUS_OK)
        status = check_tensors(rt, f, f->results, f->n_out, "a result");
    return status;
}

cebus_status cebus_function_record(cebus_runtime *rt, const cebus_function *function,
                                   cebus_tensor **out)
{
    cebus_status status = check(function);
    if (status != CEBUS_OK)
        return status;
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, function->name, "out is NULL");
    for (uint32_t j = 0; j < function->n_out; j++)
        out[j] = NULL;
    status = check_all_tensors(rt, function);
    if (status == CEBUS_OK)
        status = cebus_runtime_lock(rt, function->name);
    if (status != CEBUS_OK)
        return status;
    status = record_locked(rt, function, out);
    cebus_runtime_unlock(rt);
    return status;
}
