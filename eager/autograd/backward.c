/**
 * backward.c: walks the graph from its roots, latest node first, and adds up what reaches the
 * leaves, or the inputs that were asked for.
 *
 * Nothing is committed before everything succeeded: leaf gradients wait in tensor->incoming, and
 * the versions a processed node saved are parked (their bytes may go, they stay rebuildable), so
 * that a failed backward leaves graph and gradients as they were.
 */
#include <string.h>

#include <cebus/ops.h>

#include "eager/autograd/hook.h"
#include "eager/autograd/sum.h"
#include "eager/autograd/walk.h"
#include "eager/capture/hooks.h"
#include "eager/view.h"

static const char name[] = "backward";

static cebus_status no_host_memory(void)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, name, "no host memory to walk the graph");
}

/* --- one node ------------------------------------------------------------------------------- */

static cebus_status arrive(cebus_walk *w, const cebus_graph_edge *edge, cebus_tensor *grad)
{
    if (edge->node != NULL)
        return cebus_sum_inner(w->rt, &edge->node->grads[edge->output], grad);
    cebus_tensor *leaf = edge->leaf;
    if (!leaf->requires_grad) { /* any more */
        cebus_tensor_release(grad);
        return CEBUS_OK;
    }
    if (leaf->incoming == NULL) {
        if (w->rt->capture != NULL && !w->keep) {
            cebus_status status = cebus_capture_touch(w->rt, leaf, true);
            if (status != CEBUS_OK) {
                cebus_tensor_release(grad);
                return status;
            }
        }
        if (!cebus_agenda_push(w->rt, &w->aside, NULL) ||
            !cebus_agenda_push(w->rt, &w->leaves, leaf)) {
            cebus_tensor_release(grad);
            return no_host_memory();
        }
        cebus_tensor_retain(leaf);
    }
    return cebus_sum_leaf(w->rt, &leaf->incoming, grad);
}

/** A handle to a saved version, as the call saw it. */
static cebus_status open_saved(cebus_runtime *rt, const cebus_saved *saved, const cebus_view *view,
                               const cebus_op *op, cebus_tensor **out)
{
    if (saved->version == NULL)
        return CEBUS_OK;
    if (saved->version->writes != saved->writes)
        return cebus_fail(CEBUS_AUTOGRAD_ERROR, op->name,
                          "a value its gradient needs was overwritten in place and cannot be "
                          "rebuilt; cebus_clone() it before the write");
    cebus_storage *storage = cebus_storage_of(rt, saved->version);
    if (storage == NULL)
        return no_host_memory();
    *out = cebus_tensor_create(rt, storage, view);
    cebus_storage_release(rt, storage);
    return *out != NULL ? CEBUS_OK : no_host_memory();
}

static cebus_status check_gradient(const cebus_op *op, const cebus_tensor *grad,
                                   const cebus_view *input)
{
    if (cebus_view_same_shape(&grad->view, input) && grad->view.dtype == input->dtype)
        return CEBUS_OK;
    return cebus_fail(CEBUS_AUTOGRAD_ERROR, op->name,
                      "its gradient has shape %s of %s, but the input has %s of %s",
                      CEBUS_SHAPE(&grad->view), cebus_dtype_name(grad->view.dtype),
                      CEBUS_SHAPE(input), cebus_dtype_name(input->dtype));
}

/** The sum of the gradients that came to input 0 so far, if it may be added to in place: nobody
 * else knows it, and it is no gradient that was expanded. Only the graph decides, not memory. */
static cebus_tensor *open_sum(const cebus_node *node)
{
    const cebus_graph_edge *edge = &node->edges[0];
    cebus_tensor *sum = NULL;
    if (edge->node != NULL)
        sum = edge->node->grads[edge->output];
    else if (edge->leaf != NULL)
        sum = edge->leaf->incoming;
    return sum != NULL && cebus_sum_is_own(sum) && cebus_view_is_dense(&sum->view) ? sum : NULL;
}

/** Everything one gradient call works on. */
typedef struct step {
    cebus_tensor *saved[CEBUS_MAX_INPUTS + CEBUS_MAX_OUTPUTS];
    cebus_tensor *grad_in[CEBUS_MAX_INPUTS];
} step;

static cebus_status call_gradient(cebus_walk *w, cebus_node *node, uint64_t needs, step *s)
{
    const cebus_call *call = node->call;
    const cebus_op *op = call->op;
    cebus_status status = CEBUS_OK;
    for (uint32_t k = 0; k < call->n_in + call->n_out && status == CEBUS_OK; k++)
        status = open_saved(w->rt, &node->saved[k], &cebus_call_views(call)[k], op, &s->saved[k]);
    if (status != CEBUS_OK)
        return status;
    cebus_gradient io = {.rt = w->rt,
                         .op = op,
                         .attrs = cebus_call_attrs(call),
                         .n_in = call->n_in,
                         .n_out = call->n_out,
                         .in_view = cebus_call_views(call),
                         .out_view = cebus_call_out_views(call),
                         .in = s->saved,
                         .out = s->saved + call->n_in,
                         .grad_out = node->grads,
                         .needs = needs,
                         .grad_in = s->grad_in};
    cebus_tensor *sum = op->add_gradient != NULL ? open_sum(node) : NULL;
    return sum != NULL ? op->add_gradient(&io, sum) : op->gradient(&io);
}

static bool has_gradient(const cebus_node *node)
{
    for (uint32_t j = 0; j < node->call->n_out; j++) {
        if (node->grads[j] != NULL)
            return true;
    }
    return false;
}

static void drop_grads(cebus_node *node)
{
    for (uint32_t j = 0; j < node->call->n_out; j++) {
        cebus_tensor_release(node->grads[j]);
        node->grads[j] = NULL;
    }
}

static cebus_status deliver(cebus_walk *w, cebus_node *node, step *s)
{
    cebus_status status = CEBUS_OK;
    for (uint32_t i = 0; i < node->call->n_in && status == CEBUS_OK; i++) {
        cebus_graph_edge *edge = &node->edges[i];
        if (s->grad_in[i] == NULL || !cebus_walk_leads(w, edge))
            continue;
        status = check_gradient(node->call->op, s->grad_in[i], &cebus_call_views(node->call)[i]);
        if (status != CEBUS_OK)
            break;
        cebus_tensor *grad = s->grad_in[i];
        s->grad_in[i] = NULL;
        status = arrive(w, edge, grad);
    }
    return status;
}

static cebus_status release_readers(cebus_walk *w, cebus_node *node)
{
    for (uint32_t i = 0; i < node->call->n_in; i++) {
        cebus_node *source = node->edges[i].node;
        if (source != NULL && --source->pending == 0 &&
            !cebus_agenda_push_node(w->rt, &w->ready, source))
            return no_host_memory();
    }
    return CEBUS_OK;
}

static cebus_status show_grad(cebus_walk *w, cebus_node *node, uint32_t j)
{
    cebus_status status = cebus_hooks_run(w->rt, &node->hooks, j, false, &node->grads[j]);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *seen = cebus_tensor_retain(node->grads[j]);
    status = cebus_hooks_run(w->rt, &node->hooks, j, true, &seen);
    cebus_tensor_release(seen);
    return status;
}

/** The gradients of the node's outputs are complete: hooks see them, and who asked for them. */
static cebus_status show_grads(cebus_walk *w, cebus_node *node)
{
    cebus_status status = CEBUS_OK;
    for (uint32_t j = 0; node->hooks != NULL && j < node->call->n_out; j++) {
        if (node->grads[j] != NULL && status == CEBUS_OK)
            status = show_grad(w, node, j);
    }
    for (size_t c = 0; w->captures != NULL && c < w->what->n_inputs; c++) {
        if (w->captures[c].at.node == node && status == CEBUS_OK)
            w->captures[c].grad = cebus_tensor_retain(node->grads[w->captures[c].at.output]);
    }
    return status;
}

/** The walk goes on below the node: one that only makes what was asked for is not run. */
static bool is_let_go(const cebus_walk *w, const cebus_node *node)
{
    return !w->what->retain_graph && node->wanted == w->epoch && cebus_walk_inputs(w, node) != 0;
}

static cebus_status process(cebus_walk *w, cebus_node *node)
{
    step s;
    cebus_status status = CEBUS_OK;
    uint32_t n_in = node->call->n_in, n_out = node->call->n_out;
    if (node->wanted != w->epoch)
        return release_readers(w, node);
    memset(s.saved, 0, (n_in + n_out) * sizeof *s.saved);
    memset(s.grad_in, 0, n_in * sizeof *s.grad_in);
    if (has_gradient(node)) {
        status = show_grads(w, node);
        uint64_t needs = cebus_walk_inputs(w, node);
        if (status == CEBUS_OK && needs != 0)
            status = call_gradient(w, node, needs, &s);
    }
    for (uint32_t k = 0; k < n_in + n_out; k++)
        cebus_tensor_release(s.saved[k]);
    drop_grads(node);
    if (is_let_go(w, node))
        cebus_node_park(w->rt, node);
    if (status == CEBUS_OK)
        status = deliver(w, node, &s);
    for (uint32_t i = 0; i < n_in; i++)
        cebus_tensor_release(s.grad_in[i]);
    return status == CEBUS_OK ? release_readers(w, node) : status;
}

/* --- the whole ------------------------------------------------------------------------------ */

/** What a walk has in tensors that another may use, too: out of them, or back. */
static void swap_incoming(cebus_walk *w)
{
    for (size_t i = 0; w != NULL && i < w->leaves.count; i++) {
        cebus_tensor *leaf = w->leaves.items[i], *incoming = leaf->incoming;
        leaf->incoming = w->aside.items[i];
        w->aside.items[i] = incoming;
    }
}

cebus_pause cebus_walk_pause(cebus_runtime *rt)
{
    cebus_pause pause = {.walk = rt->walk, .recorded = cebus_grad_is_enabled()};
    swap_incoming(rt->walk);
    rt->walk = NULL;
    pause.depth = cebus_runtime_leave(rt);
    return pause;
}

void cebus_walk_resume(cebus_runtime *rt, cebus_pause pause)
{
    cebus_runtime_enter(rt, pause.depth);
    rt->walk = pause.walk;
    swap_incoming(rt->walk);
    cebus_grad_enable(pause.recorded);
}

/** It may have been given other data since. */
static cebus_status check_leaf(const cebus_tensor *leaf)
{
    const cebus_view *grad = &leaf->incoming->view;
    if (cebus_view_same_shape(grad, &leaf->view) && grad->dtype == leaf->view.dtype)
        return CEBUS_OK;
    return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                      "a leaf has shape %s of %s now, but had %s of %s where it was read",
                      CEBUS_SHAPE(&leaf->view), cebus_dtype_name(leaf->view.dtype),
                      CEBUS_SHAPE(grad), cebus_dtype_name(grad->dtype));
}

static cebus_status finish_leaf(cebus_walk *w, cebus_tensor *leaf)
{
    cebus_runtime *rt = w->rt;
    if (leaf->hooks != NULL) {
        /* The hooks' walks may use leaf->incoming. */
        cebus_tensor *grad = leaf->incoming;
        leaf->incoming = NULL;
        cebus_status status = cebus_hooks_run(rt, &leaf->hooks, 0, false, &grad);
        leaf->incoming = grad;
        if (status != CEBUS_OK)
            return status;
    }
    if (w->keep)
        return CEBUS_OK;
    cebus_status status = check_leaf(leaf);
    if (status != CEBUS_OK)
        return status;
    if (leaf->grad == NULL)
        return cebus_sum_make_own(rt, &leaf->incoming);
    return cebus_sum_leaf(rt, &leaf->incoming, cebus_tensor_retain(leaf->grad));
}

static cebus_status finish_leaves(cebus_walk *w)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < w->leaves.count && status == CEBUS_OK; i++)
        status = finish_leaf(w, w->leaves.items[i]);
    for (size_t i = 0; i < w->leaves.count && status == CEBUS_OK && !w->keep; i++)
        status = cebus_sum_share(w->rt, w->leaves.items[i]);
    return status;
}

static void answer(const cebus_walk *w, cebus_tensor **out)
{
    for (size_t c = 0; c < w->what->n_inputs; c++) {
        const cebus_graph_edge *at = &w->captures[c].at;
        out[c] = cebus_tensor_retain(at->leaf != NULL ? at->leaf->incoming : w->captures[c].grad);
    }
}

static void settle_node(cebus_walk *w, cebus_node *node, bool success)
{
    cebus_runtime *rt = w->rt;
    drop_grads(node);
    cebus_pool_free_object(&rt->pool, node->grads, node->call->n_out * sizeof *node->grads);
    node->grads = NULL;
    if (!success || !is_let_go(w, node)) {
        cebus_node_unpark(rt, node);
        return;
    }
    if (cebus_node_saves(node)) {
        node->spent = true;
        cebus_node_free_saved(rt, node);
        cebus_hooks_drop(rt, &node->hooks);
    }
    rt->open_nodes -= !node->freed;
    node->freed = true;
}

static void settle(cebus_walk *w, bool success)
{
    cebus_runtime *rt = w->rt;
    rt->backwards += success && !w->keep && w->leaves.count > 0;
    for (size_t i = 0; i < w->leaves.count; i++) {
        cebus_tensor *leaf = w->leaves.items[i];
        if (success && !w->keep)
            cebus_sum_commit(rt, leaf);
        cebus_tensor_release(leaf->incoming);
        leaf->incoming = NULL;
    }
    for (size_t i = 0; i < w->visited.count; i++)
        settle_node(w, w->visited.items[i], success);
    for (size_t i = 0; i < w->visited.count; i++)
        cebus_node_release(rt, w->visited.items[i]);
    cebus_agenda_deinit(rt, &w->ready);
    cebus_agenda_deinit(rt, &w->visited);
}

/** Hooks that wanted to see the leaves' gradients as they are now. */
static cebus_status show_leaves(cebus_walk *w)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < w->leaves.count && status == CEBUS_OK && !w->keep; i++) {
        cebus_tensor *leaf = w->leaves.items[i];
        if (leaf->hooks == NULL || leaf->grad == NULL)
            continue;
        cebus_tensor *grad = cebus_tensor_retain(leaf->grad);
        status = cebus_hooks_run(w->rt, &leaf->hooks, 0, true, &grad);
        cebus_tensor_release(grad);
    }
    return status;
}

static cebus_status first_gradient(cebus_runtime *rt, cebus_tensor *root, cebus_tensor *gradient,
                                   cebus_tensor **out)
{
    *out = NULL;
    if (gradient != NULL) {
        cebus_status status = cebus_gradient_check(root, gradient, name, "the root");
        if (status == CEBUS_OK && cebus_tensor_requires_grad(gradient))
            return cebus_detach(rt, gradient, out);
        *out = status == CEBUS_OK ? cebus_tensor_retain(gradient) : NULL;
        return status;
    }
    if (cebus_view_numel(&root->view) != 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                          "the root has shape %s; only a one-element root needs no gradient",
                          CEBUS_SHAPE(&root->view));
    return cebus_full(rt, 1, root->view.dtype, root->view.ndim, root->view.shape, out);
}

/** The gradients of the roots arrive; those that nothing else waits for are ready. */
static cebus_status start(cebus_walk *w)
{
    cebus_status status = CEBUS_OK;
    for (size_t r = 0; r < w->what->n_roots && status == CEBUS_OK; r++) {
        cebus_tensor *given = w->what->seeds != NULL ? w->what->seeds[r] : NULL;
        cebus_root *root = &w->roots[r];
        status = first_gradient(w->rt, w->what->roots[r], given, &root->seed);
        if (status == CEBUS_OK && cebus_walk_leads(w, &root->at))
            status = arrive(w, &root->at, cebus_tensor_retain(root->seed));
    }
    for (size_t r = 0; r < w->what->n_roots && status == CEBUS_OK; r++) {
        cebus_node *root = w->roots[r].at.node;
        if (root == NULL || root->pending > 0)
            continue;
        root->pending = UINT32_MAX; /* once, however many of its outputs are roots */
        if (!cebus_agenda_push_node(w->rt, &w->ready, root))
            status = no_host_memory();
    }
    return status;
}

static cebus_status run(cebus_walk *w)
{
    cebus_status status = cebus_walk_discover(w);
    if (status == CEBUS_OK)
        status = start(w);
    while (status == CEBUS_OK && w->ready.count > 0)
        status = process(w, cebus_agenda_pop_node(&w->ready));
    return status == CEBUS_OK ? finish_leaves(w) : status;
}

/* --- the entries ---------------------------------------------------------------------------- */

/** Where gradients come from: the sources of the roots. */
static cebus_status open_roots(cebus_walk *w)
{
    const cebus_gradients *what = w->what;
    for (size_t r = 0; r < what->n_roots; r++) {
        cebus_status renewed;
        (void)cebus_node_of(w->rt, what->roots[r], &renewed);
        if (renewed != CEBUS_OK)
            return no_host_memory();
        cebus_graph_edge at = w->roots[r].at = cebus_graph_edge_of(w->rt, what->roots[r]);
        if (at.node == NULL && at.leaf == NULL)
            return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                              "the root does not depend on anything that collects a gradient");
    }
    return CEBUS_OK;
}

/** Where they go to. */
static cebus_status open_inputs(cebus_walk *w)
{
    const cebus_gradients *what = w->what;
    for (size_t c = 0; w->captures != NULL && c < what->n_inputs; c++) {
        cebus_status renewed;
        (void)cebus_node_of(w->rt, what->inputs[c], &renewed);
        if (renewed != CEBUS_OK)
            return no_host_memory();
        cebus_graph_edge at = w->captures[c].at = cebus_graph_edge_of(w->rt, what->inputs[c]);
        if (at.node == NULL && at.leaf == NULL)
            return cebus_fail(CEBUS_AUTOGRAD_ERROR, name, "input %zu requires no gradient", c);
        if (at.leaf == NULL && !w->keep)
            return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                              "input %zu is not a leaf: only leaves accumulate a gradient", c);
    }
    return CEBUS_OK;
}

static void close_walk(cebus_walk *w)
{
    cebus_runtime *rt = w->rt;
    const cebus_gradients *what = w->what;
    for (size_t i = 0; i < w->leaves.count; i++)
        cebus_tensor_release(w->leaves.items[i]);
    cebus_agenda_deinit(rt, &w->leaves);
    cebus_agenda_deinit(rt, &w->aside);
    for (size_t r = 0; w->roots != NULL && r < what->n_roots; r++) {
        cebus_graph_edge_release(rt, &w->roots[r].at);
        cebus_tensor_release(w->roots[r].seed);
    }
    for (size_t c = 0; w->captures != NULL && c < what->n_inputs; c++) {
        cebus_graph_edge_release(rt, &w->captures[c].at);
        cebus_tensor_release(w->captures[c].grad);
    }
    cebus_pool_free_object(&rt->pool, w->roots, what->n_roots * sizeof *w->roots);
    cebus_pool_free_object(&rt->pool, w->captures, what->n_inputs * sizeof *w->captures);
}

static void *alloc_zeros(cebus_runtime *rt, size_t n, size_t size)
{
    void *items = n <= SIZE_MAX / size ? cebus_pool_alloc(&rt->pool, n * size) : NULL;
    if (items != NULL)
        memset(items, 0, n * size);
    return items;
}

static cebus_status backward_locked(cebus_runtime *rt, const cebus_gradients *what,
                                    cebus_tensor **out)
{
    cebus_walk w = {.rt = rt, .what = what, .keep = out != NULL, .epoch = ++rt->node_epoch};
    const cebus_captured_point from = cebus_capture_point(rt);
    cebus_walk *outer = rt->walk; /* whose gradient function calls us, under the lock */
    swap_incoming(outer);
    rt->walk = &w;
    w.roots = alloc_zeros(rt, what->n_roots, sizeof *w.roots);
    if (what->inputs != NULL)
        w.captures = alloc_zeros(rt, what->n_inputs, sizeof *w.captures);
    cebus_status status = CEBUS_OK;
    if (w.roots == NULL || (what->inputs != NULL && w.captures == NULL))
        status = no_host_memory();
    if (status == CEBUS_OK)
        status = open_roots(&w);
    if (status == CEBUS_OK)
        status = open_inputs(&w);
    if (status == CEBUS_OK)
        status = run(&w);
    if (status == CEBUS_OK && out != NULL)
        answer(&w, out);
    const bool walked = status == CEBUS_OK;
    settle(&w, walked);
    rt->walk = NULL;
    if (walked)
        status = show_leaves(&w);
    close_walk(&w);
    if (!walked)
        cebus_capture_rewind(rt, from);
    rt->walk = outer;
    swap_incoming(outer);
    return status;
}

static cebus_status check_all(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                              const char *what)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++)
        status = cebus_tensor_check(rt, tensors[i], name, what);
    return status;
}

cebus_status cebus_gradients_compute(cebus_runtime *rt, const cebus_gradients *what,
                                     cebus_tensor **out)
{
    if (what == NULL || what->struct_size < sizeof *what || what->roots == NULL ||
        what->n_roots == 0 || (out != NULL && what->inputs == NULL))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, name,
                          "there are no roots, no inputs to answer for, or no struct_size");
    for (size_t c = 0; out != NULL && c < what->n_inputs; c++)
        out[c] = NULL;
    cebus_status status = check_all(rt, what->roots, what->n_roots, "the root");
    if (status == CEBUS_OK && what->inputs != NULL)
        status = check_all(rt, what->inputs, what->n_inputs, "an input");
    if (status == CEBUS_OK)
        status = cebus_runtime_lock(rt, name);
    if (status != CEBUS_OK)
        return status;
    bool recorded = cebus_grad_enable(false);
    status = backward_locked(rt, what, out);
    cebus_grad_enable(recorded);
    cebus_runtime_unlock(rt);
    return status;
}

cebus_status cebus_backward(cebus_runtime *rt, cebus_tensor *root, cebus_tensor *gradient,
                            bool retain_graph)
{
    cebus_gradients what = CEBUS_GRADIENTS_INIT;
    what.roots = &root;
    what.seeds = &gradient;
    what.n_roots = 1;
    what.retain_graph = retain_graph;
    return cebus_gradients_compute(rt, &what, NULL);
}
