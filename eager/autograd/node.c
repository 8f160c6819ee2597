#include "eager/autograd/node.h"

#include <string.h>

#include "eager/autograd/hook.h"
#include "eager/autograd/rebase.h"
#include "eager/view.h"
#include "lineage/cost.h"

static _Thread_local bool gradients_disabled;

bool cebus_grad_enable(bool enabled)
{
    bool former = !gradients_disabled;
    gradients_disabled = !enabled;
    return former;
}

bool cebus_grad_is_enabled(void)
{
    return !gradients_disabled;
}

static bool in_graph(const cebus_tensor *tensor)
{
    if (tensor->node != NULL || tensor->requires_grad)
        return true;
    const cebus_tensor *base = cebus_tensor_base(tensor);
    return base != NULL && tensor->node_rebased != tensor->storage->rebased &&
           (base->node != NULL || base->requires_grad);
}

bool cebus_tensor_requires_grad(const cebus_tensor *tensor)
{
    cebus_runtime_lock_always(tensor->rt);
    bool required = in_graph(tensor);
    cebus_runtime_unlock(tensor->rt);
    return required;
}

uint64_t cebus_node_needs(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *in,
                          uint32_t n_in)
{
    uint64_t needs = 0;
    (void)rt;
    if (gradients_disabled || op->gradient == NULL)
        return 0;
    for (uint32_t i = 0; i < n_in; i++) {
        if (in[i] != NULL && in_graph(in[i]) && cebus_dtype_is_float(in[i]->view.dtype))
            needs |= UINT64_C(1) << i;
    }
    return needs;
}

cebus_node *cebus_node_create_bare(cebus_runtime *rt, cebus_call *call)
{
    size_t slots = call->n_in + call->n_out;
    size_t bytes =
        sizeof(cebus_node) + call->n_in * sizeof(cebus_graph_edge) + slots * sizeof(cebus_saved);
    cebus_node *node = cebus_pool_alloc(&rt->pool, bytes);
    if (node == NULL)
        return NULL;
    memset(node, 0, bytes);
    node->refs = 1;
    node->call = call;
    node->bytes = bytes;
    node->sequence = ++rt->node_sequence;
    rt->nodes++;
    rt->open_nodes++;
    node->edges = (cebus_graph_edge *)(node + 1);
    node->saved = (cebus_saved *)(node->edges + call->n_in);
    cebus_call_retain(call);
    return node;
}

void cebus_node_save(cebus_node *node, uint32_t slot, const cebus_tensor *tensor)
{
    cebus_candidate *version = tensor->storage->now;
    cebus_value_hold(&tensor->rt->lineage, &version->value);
    node->saved[slot] = (cebus_saved){.version = version, .writes = version->writes};
}

static cebus_saves saves_of(const cebus_node *node)
{
    const cebus_op *op = node->call->op;
    if (op->saves == NULL)
        return (cebus_saves){0};
    return op->saves(cebus_call_attrs(node->call), node->needs);
}

/** A write through a view: the base as it was, and the node's output at the view's place. */
static bool reserve_slices(cebus_runtime *rt, cebus_node *node, cebus_tensor *const *in)
{
    const cebus_op *op = node->call->op;
    if (op->mutates == 0)
        return true;
    cebus_tensor *written = in[__builtin_ctzll(op->mutates)];
    if (cebus_tensor_base(written) == NULL)
        return true;
    node->slices = cebus_rebase_reserve(rt, written);
    return node->slices != NULL;
}

cebus_node *cebus_node_create(cebus_runtime *rt, cebus_call *call, cebus_tensor *const *in,
                              uint64_t needs)
{
    cebus_node *node = cebus_node_create_bare(rt, call);
    if (node == NULL)
        return NULL;
    node->needs = needs;
    cebus_saves saves = saves_of(node);
    for (uint32_t i = 0; i < call->n_in; i++) {
        if ((saves.in >> i) & 1 && in[i] != NULL)
            cebus_node_save(node, i, in[i]);
        if (!((needs >> i) & 1))
            continue;
        node->edges[i] = cebus_graph_edge_of(rt, in[i]);
        if (node->edges[i].node == NULL && node->edges[i].leaf == NULL)
            goto no_memory;
    }
    if (!reserve_slices(rt, node, in))
        goto no_memory;
    return node;
no_memory:
    cebus_node_release(rt, node);
    return NULL;
}

void cebus_node_attach(cebus_runtime *rt, cebus_node *node, cebus_tensor *const *out)
{
    const cebus_call *call = node->call;
    const cebus_op *op = call->op;
    cebus_saves saves = saves_of(node);
    for (uint32_t j = 0; j < call->n_out; j++) {
        if ((saves.out >> j) & 1)
            cebus_node_save(node, call->n_in + j, out[j]);
        if (!cebus_dtype_is_float(out[j]->view.dtype))
            continue;
        if (op->mutates != 0) {
            cebus_rebase_attach(rt, node, j, out[j]);
        } else {
            out[j]->node = cebus_node_retain(node);
            out[j]->node_output = j;
        }
    }
    cebus_node_release(rt, node);
}

cebus_node *cebus_node_retain(cebus_node *node)
{
    node->refs++;
    return node;
}

static void drop_node(cebus_node *node, cebus_node **dead)
{
    if (node == NULL || --node->refs > 0)
        return;
    node->next_dead = *dead;
    *dead = node;
}

void cebus_node_release(cebus_runtime *rt, cebus_node *node)
{
    cebus_node *dead = NULL;
    drop_node(node, &dead);
    while (dead != NULL) {
        cebus_node *gone = dead;
        dead = gone->next_dead;
        cebus_node_free_saved(rt, gone);
        for (uint32_t i = 0; i < gone->call->n_in; i++) {
            drop_node(gone->edges[i].node, &dead);
            cebus_tensor_release(gone->edges[i].leaf);
        }
        drop_node(gone->slices, &dead);
        cebus_hooks_drop(rt, &gone->hooks);
        cebus_call_release(&rt->lineage, gone->call);
        rt->open_nodes -= !gone->freed;
        cebus_pool_free_object(&rt->pool, gone, gone->bytes);
        rt->nodes--;
    }
    cebus_storage_reap(rt);
}

static size_t saved_count(const cebus_node *node)
{
    return node->call->n_in + node->call->n_out;
}

bool cebus_node_saves(const cebus_node *node)
{
    for (size_t i = 0; i < saved_count(node); i++) {
        if (node->saved[i].version != NULL)
            return true;
    }
    return cebus_hooks_replace(node->hooks);
}

void cebus_node_free_saved(cebus_runtime *rt, cebus_node *node)
{
    for (size_t i = 0; i < saved_count(node); i++) {
        cebus_candidate *version = node->saved[i].version;
        if (version == NULL)
            continue;
        node->saved[i].version = NULL;
        if (node->parked)
            cebus_value_unpark(&rt->lineage, &version->value);
        else
            cebus_candidate_unhold(rt, version);
    }
    node->parked = false;
    cebus_storage_reap(rt);
}

void cebus_node_park(cebus_runtime *rt, cebus_node *node)
{
    node->parked = true;
    for (size_t i = 0; i < saved_count(node); i++) {
        cebus_candidate *version = node->saved[i].version;
        if (version == NULL)
            continue;
        cebus_value_park(&version->value);
        cebus_candidate_unhold(rt, version);
        if (version->value.holders == 0)
            cebus_cost_disregard(&rt->lineage, &version->value);
    }
}

void cebus_node_unpark(cebus_runtime *rt, cebus_node *node)
{
    if (!node->parked)
        return;
    node->parked = false;
    for (size_t i = 0; i < saved_count(node); i++) {
        cebus_candidate *version = node->saved[i].version;
        if (version == NULL)
            continue;
        cebus_value_hold(&rt->lineage, &version->value);
        cebus_value_unpark(&rt->lineage, &version->value);
    }
}

cebus_status cebus_gradient_check(const cebus_tensor *tensor, const cebus_tensor *gradient,
                                  const char *op, const char *what)
{
    const cebus_view *wanted = &tensor->view;
    cebus_status status = cebus_tensor_check(tensor->rt, gradient, op, "the gradient");
    if (status != CEBUS_OK)
        return status;
    if (gradient->view.dtype != wanted->dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, op, "the gradient is of %s, but %s is of %s",
                          cebus_dtype_name(gradient->view.dtype), what,
                          cebus_dtype_name(wanted->dtype));
    if (!cebus_view_same_shape(&gradient->view, wanted))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op, "the gradient has shape %s, but %s has %s",
                          CEBUS_SHAPE(&gradient->view), what, CEBUS_SHAPE(wanted));
    return CEBUS_OK;
}

cebus_graph_edge cebus_graph_edge_of(cebus_runtime *rt, cebus_tensor *tensor)
{
    cebus_status status;
    cebus_node *node = cebus_node_of(rt, tensor, &status);
    if (node != NULL)
        return (cebus_graph_edge){.node = cebus_node_retain(node), .output = tensor->node_output};
    if (status == CEBUS_OK && tensor->requires_grad)
        return (cebus_graph_edge){.leaf = cebus_tensor_retain(tensor)};
    return (cebus_graph_edge){0};
}

void cebus_graph_edge_release(cebus_runtime *rt, cebus_graph_edge *edge)
{
    if (edge->node != NULL)
        cebus_node_release(rt, edge->node);
    cebus_tensor_release(edge->leaf);
    *edge = (cebus_graph_edge){0};
}
