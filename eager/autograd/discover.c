/**
 * discover.c: which part of the graph a walk goes through.
 */
#include <stdlib.h>
#include <string.h>

#include "eager/autograd/walk.h"

static const char name[] = "backward";

static cebus_status no_host_memory(void)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, name, "no host memory to walk the graph");
}

/** First visit: room for the gradients that will arrive. */
static cebus_status visit(cebus_walk *w, cebus_node *node)
{
    size_t bytes = node->call->n_out * sizeof *node->grads;
    if (node->grads != NULL)
        return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                          "a backward that has not ended yet is walking this graph");
    node->grads = cebus_pool_alloc(&w->rt->pool, bytes);
    if (node->grads == NULL)
        return no_host_memory();
    memset(node->grads, 0, bytes);
    node->visited = w->epoch;
    node->pending = 0;
    if (cebus_agenda_push(w->rt, &w->visited, node)) {
        cebus_node_retain(node);
        return CEBUS_OK;
    }
    cebus_pool_free_object(&w->rt->pool, node->grads, bytes);
    node->grads = NULL;
    return no_host_memory();
}

/** Visits everything below the roots; counts each node's readers. */
static cebus_status reach(cebus_walk *w)
{
    cebus_status status = CEBUS_OK;
    for (size_t r = 0; r < w->what->n_roots && status == CEBUS_OK; r++) {
        cebus_node *root = w->roots[r].at.node;
        if (root != NULL && root->visited != w->epoch)
            status = visit(w, root);
    }
    for (size_t at = 0; at < w->visited.count && status == CEBUS_OK; at++) {
        cebus_node *node = w->visited.items[at];
        for (uint32_t i = 0; i < node->call->n_in && status == CEBUS_OK; i++) {
            cebus_node *source = node->edges[i].node;
            if (source == NULL)
                continue;
            if (source->visited != w->epoch)
                status = visit(w, source);
            if (status == CEBUS_OK)
                source->pending++;
        }
    }
    return status;
}

/** Exactly one of node and leaf. */
static bool is_asked_for(const cebus_walk *w, const cebus_node *node, const cebus_tensor *leaf)
{
    for (size_t c = 0; w->captures != NULL && c < w->what->n_inputs; c++) {
        const cebus_graph_edge *at = &w->captures[c].at;
        if (node != NULL ? at->node == node : at->leaf == leaf)
            return true;
    }
    return w->captures == NULL;
}

bool cebus_walk_leads(const cebus_walk *w, const cebus_graph_edge *edge)
{
    if (edge->node != NULL)
        return edge->node->wanted == w->epoch;
    return edge->leaf != NULL && is_asked_for(w, NULL, edge->leaf);
}

uint64_t cebus_walk_inputs(const cebus_walk *w, const cebus_node *node)
{
    uint64_t wanted = 0;
    for (uint64_t left = node->needs; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);
        if (cebus_walk_leads(w, &node->edges[i]))
            wanted |= UINT64_C(1) << i;
    }
    return wanted;
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = (*(cebus_node *const *)a)->sequence, y = (*(cebus_node *const *)b)->sequence;
    return (x > y) - (x < y);
}

static cebus_status refuse_spent(const cebus_op *op)
{
    return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                      "the graph was freed by an earlier backward: what %s saved is gone; pass "
                      "retain_graph there",
                      op->name);
}

/** Marks the nodes between roots and inputs. A source was made before what reads it, so one pass
 * from the oldest on finds them all. */
static cebus_status mark_wanted(cebus_walk *w)
{
    if (w->captures != NULL && w->visited.count > 1)
        qsort(w->visited.items, w->visited.count, sizeof *w->visited.items, by_sequence);
    for (size_t i = 0; i < w->visited.count; i++) {
        cebus_node *node = w->visited.items[i];
        const bool leads = w->captures == NULL || cebus_walk_inputs(w, node) != 0;
        if (!leads && !is_asked_for(w, node, NULL))
            continue;
        node->wanted = w->epoch;
        if (node->spent && leads)
            return refuse_spent(node->call->op);
    }
    return CEBUS_OK;
}

cebus_status cebus_walk_discover(cebus_walk *w)
{
    cebus_status status = reach(w);
    return status == CEBUS_OK ? mark_wanted(w) : status;
}
