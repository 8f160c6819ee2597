/**
 * backward.c: walks the graph from a root, latest node first, and adds up what reaches the leaves.
 *
 * Nothing is committed before everything succeeded: leaf gradients wait in tensor->incoming, and
 * the versions a processed node saved are parked (their bytes may go, they stay rebuildable), so
 * that a failed backward leaves graph and gradients as they were.
 */
#include <inttypes.h>
#include <string.h>

#include <cebus/ops.h>

#include "eager/autograd/node.h"
#include "eager/residency.h"
#include "eager/view.h"

static const char name[] = "backward";

/** A growable list of pointers in the runtime's pool. */
typedef struct list {
    void **items;
    size_t count, capacity;
} list;

typedef struct engine {
    cebus_runtime *rt;
    bool retain_graph;
    uint64_t epoch;
    list ready;   /**< a heap of nodes, the latest on top */
    list visited; /**< every node reached, counted */
    list leaves;  /**< leaf tensors with an incoming gradient, counted */
} engine;

static cebus_status no_host_memory(void)
{
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, name, "no host memory to walk the graph");
}

static bool push(cebus_runtime *rt, list *l, void *item)
{
    void *items = l->items;
    if (!cebus_pool_grow(&rt->pool, &items, &l->capacity, l->count, sizeof *l->items))
        return false;
    l->items = items;
    l->items[l->count++] = item;
    return true;
}

static void free_list(cebus_runtime *rt, list *l)
{
    cebus_pool_free_object(&rt->pool, l->items, l->capacity * sizeof *l->items);
}

static uint64_t sequence(const list *heap, size_t i)
{
    return ((const cebus_node *)heap->items[i])->sequence;
}

static void swap_items(list *heap, size_t i, size_t j)
{
    void *item = heap->items[i];
    heap->items[i] = heap->items[j];
    heap->items[j] = item;
}

static bool push_ready(cebus_runtime *rt, list *heap, cebus_node *node)
{
    if (!push(rt, heap, node))
        return false;
    for (size_t i = heap->count - 1; i > 0 && sequence(heap, i) > sequence(heap, (i - 1) / 2);
         i = (i - 1) / 2)
        swap_items(heap, i, (i - 1) / 2);
    return true;
}

static cebus_node *pop_ready(list *heap)
{
    cebus_node *top = heap->items[0];
    heap->items[0] = heap->items[--heap->count];
    for (size_t i = 0;;) {
        size_t best = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++) {
            if (sequence(heap, child) > sequence(heap, best))
                best = child;
        }
        if (best == i)
            return top;
        swap_items(heap, i, best);
        i = best;
    }
}

/** First visit: room for the gradients that will arrive. */
static cebus_status visit(engine *e, cebus_node *node)
{
    size_t bytes = node->call->n_out * sizeof *node->grads;
    if (node->freed)
        return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                          "the graph was freed by an earlier backward; pass retain_graph there");
    node->grads = cebus_pool_alloc(&e->rt->pool, bytes);
    if (node->grads == NULL)
        return no_host_memory();
    memset(node->grads, 0, bytes);
    node->visited = e->epoch;
    node->pending = 0;
    if (push(e->rt, &e->visited, node)) {
        cebus_node_retain(node);
        return CEBUS_OK;
    }
    cebus_pool_free_object(&e->rt->pool, node->grads, bytes);
    node->grads = NULL;
    return no_host_memory();
}

/** Visits everything below root; counts each node's readers. */
static cebus_status discover(engine *e, cebus_node *root)
{
    cebus_status status = visit(e, root);
    for (size_t at = 0; at < e->visited.count && status == CEBUS_OK; at++) {
        cebus_node *node = e->visited.items[at];
        for (uint32_t i = 0; i < node->call->n_in && status == CEBUS_OK; i++) {
            cebus_node *source = node->edges[i].node;
            if (source == NULL)
                continue;
            if (source->visited != e->epoch)
                status = visit(e, source);
            if (status == CEBUS_OK)
                source->pending++;
        }
    }
    return status;
}

/** sum += grad (takes the reference). */
static cebus_status accumulate(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    if (*sum == NULL) {
        *sum = grad;
        return CEBUS_OK;
    }
    cebus_tensor *total;
    cebus_status status = cebus_add(rt, *sum, grad, &total);
    cebus_tensor_release(grad);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(*sum);
    *sum = total;
    return CEBUS_OK;
}

static bool is_own(const cebus_tensor *grad)
{
    return atomic_load(&grad->refs) == 1 && grad->storage->refs == 1;
}

/**
 * A leaf's gradient loses its record and becomes a leaf itself: rebuilding it would run most of the
 * backward again, and its record would keep all that alive. Further terms are then added in place.
 * Once memory is short it moves out of the way.
 */
static void settle_gradient(cebus_runtime *rt, cebus_candidate *gradient)
{
    gradient->gradient = true;
    if (!gradient->value.resident)
        return;
    cebus_value_detach(&rt->lineage, &gradient->value);
    cebus_storage_reap(rt);
    if (rt->stats.num_alloc_retries > 0)
        cebus_candidate_move_low(rt, gradient);
}

static cebus_status accumulate_leaf(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    cebus_status status;
    if (*sum != NULL && is_own(*sum) && (*sum)->storage->now->value.producer == NULL) {
        status = cebus_add_(rt, *sum, grad, 1.0);
        cebus_tensor_release(grad);
    } else {
        status = accumulate(rt, sum, grad);
    }
    if (status == CEBUS_OK)
        settle_gradient(rt, (*sum)->storage->now);
    return status;
}

/**
 * A gradient on its way is read once, soon, and then gone; to rebuild it would run the backward
 * from the loss to here. So it goes, like a leaf's, only when nothing else can.
 */
static cebus_status accumulate_inner(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad)
{
    cebus_status status = accumulate(rt, sum, grad);
    if (status == CEBUS_OK)
        (*sum)->storage->now->gradient = true;
    return status;
}

static cebus_status arrive(engine *e, const cebus_graph_edge *edge, cebus_tensor *grad)
{
    if (edge->node != NULL)
        return accumulate_inner(e->rt, &edge->node->grads[edge->output], grad);
    cebus_tensor *leaf = edge->leaf;
    if (leaf->incoming == NULL) {
        if (!push(e->rt, &e->leaves, leaf)) {
            cebus_tensor_release(grad);
            return no_host_memory();
        }
        cebus_tensor_retain(leaf);
    }
    return accumulate_leaf(e->rt, &leaf->incoming, grad);
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
    return sum != NULL && is_own(sum) && cebus_view_is_dense(&sum->view) ? sum : NULL;
}

/** Everything one gradient call works on. */
typedef struct step {
    cebus_tensor *saved[CEBUS_MAX_TRACKED + CEBUS_MAX_OUTPUTS];
    cebus_tensor *grad_in[CEBUS_MAX_TRACKED];
} step;

static cebus_status call_gradient(engine *e, cebus_node *node, step *s)
{
    const cebus_call *call = node->call;
    const cebus_op *op = call->op;
    cebus_status status = CEBUS_OK;
    for (uint32_t k = 0; k < call->n_in + call->n_out && status == CEBUS_OK; k++)
        status = open_saved(e->rt, &node->saved[k], &cebus_call_views(call)[k], op, &s->saved[k]);
    if (status != CEBUS_OK)
        return status;
    cebus_gradient io = {.rt = e->rt,
                         .op = op,
                         .attrs = cebus_call_attrs(call),
                         .n_in = call->n_in,
                         .n_out = call->n_out,
                         .in_view = cebus_call_views(call),
                         .out_view = cebus_call_out_views(call),
                         .in = s->saved,
                         .out = s->saved + call->n_in,
                         .grad_out = node->grads,
                         .needs = node->needs,
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

static cebus_status deliver(engine *e, cebus_node *node, step *s)
{
    cebus_status status = CEBUS_OK;
    for (uint32_t i = 0; i < node->call->n_in && status == CEBUS_OK; i++) {
        cebus_graph_edge *edge = &node->edges[i];
        if (s->grad_in[i] == NULL || (edge->node == NULL && edge->leaf == NULL))
            continue;
        status = check_gradient(node->call->op, s->grad_in[i], &cebus_call_views(node->call)[i]);
        if (status != CEBUS_OK)
            break;
        cebus_tensor *grad = s->grad_in[i];
        s->grad_in[i] = NULL;
        status = arrive(e, edge, grad);
    }
    return status;
}

static cebus_status release_readers(engine *e, cebus_node *node)
{
    for (uint32_t i = 0; i < node->call->n_in; i++) {
        cebus_node *source = node->edges[i].node;
        if (source != NULL && --source->pending == 0 && !push_ready(e->rt, &e->ready, source))
            return no_host_memory();
    }
    return CEBUS_OK;
}

static cebus_status process(engine *e, cebus_node *node)
{
    step s;
    cebus_status status = CEBUS_OK;
    uint32_t n_in = node->call->n_in, n_out = node->call->n_out;
    memset(s.saved, 0, (n_in + n_out) * sizeof *s.saved);
    memset(s.grad_in, 0, n_in * sizeof *s.grad_in);
    if (has_gradient(node))
        status = call_gradient(e, node, &s);
    for (uint32_t k = 0; k < n_in + n_out; k++)
        cebus_tensor_release(s.saved[k]);
    drop_grads(node);
    if (!e->retain_graph)
        cebus_node_park(e->rt, node);
    if (status == CEBUS_OK)
        status = deliver(e, node, &s);
    for (uint32_t i = 0; i < n_in; i++)
        cebus_tensor_release(s.grad_in[i]);
    return status == CEBUS_OK ? release_readers(e, node) : status;
}

/** A gradient that something else also names must not become the leaf's own: it may be written. */
static cebus_status make_own(cebus_runtime *rt, cebus_tensor **grad)
{
    cebus_tensor *copy;
    if (is_own(*grad))
        return CEBUS_OK;
    cebus_status status = cebus_clone(rt, *grad, &copy);
    if (status != CEBUS_OK)
        return status;
    settle_gradient(rt, copy->storage->now);
    cebus_tensor_release(*grad);
    *grad = copy;
    return CEBUS_OK;
}

static cebus_status finish_leaves(engine *e)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < e->leaves.count && status == CEBUS_OK; i++) {
        cebus_tensor *leaf = e->leaves.items[i];
        status = leaf->grad != NULL
                     ? accumulate_leaf(e->rt, &leaf->incoming, cebus_tensor_retain(leaf->grad))
                     : make_own(e->rt, &leaf->incoming);
    }
    return status;
}

/**
 * The sum goes to where the gradient lies, so that it keeps its address; one that lies elsewhere
 * takes its place only where that cannot be. Nothing is lost either way, and nothing can fail.
 */
static void replace_grad(cebus_runtime *rt, cebus_tensor *leaf)
{
    cebus_tensor *former = leaf->grad;
    const cebus_candidate *now = former != NULL ? former->storage->now : NULL;
    rt->trial++;
    bool stays = now != NULL && is_own(former) && now->value.resident && now->exports == 0 &&
                 now->value.producer == NULL &&
                 cebus_view_same_layout(&former->view, &leaf->incoming->view) &&
                 former->view.dtype == leaf->incoming->view.dtype &&
                 cebus_copy_(rt, former, leaf->incoming) == CEBUS_OK;
    rt->trial--;
    if (stays) {
        former->storage->now->gradient = true;
        return;
    }
    leaf->grad = leaf->incoming;
    leaf->incoming = former;
}

static void settle(engine *e, bool success)
{
    cebus_runtime *rt = e->rt;
    rt->backwards += success && e->leaves.count > 0;
    for (size_t i = 0; i < e->leaves.count; i++) {
        cebus_tensor *leaf = e->leaves.items[i];
        if (success)
            replace_grad(rt, leaf);
        cebus_tensor_release(leaf->incoming);
        leaf->incoming = NULL;
        cebus_tensor_release(leaf);
    }
    for (size_t i = 0; i < e->visited.count; i++) {
        cebus_node *node = e->visited.items[i];
        drop_grads(node);
        cebus_pool_free_object(&rt->pool, node->grads, node->call->n_out * sizeof *node->grads);
        node->grads = NULL;
        if (success && !e->retain_graph) {
            cebus_node_free_saved(rt, node);
            node->freed = true;
        } else {
            cebus_node_unpark(rt, node);
        }
    }
    for (size_t i = 0; i < e->visited.count; i++)
        cebus_node_release(rt, e->visited.items[i]);
    free_list(rt, &e->ready);
    free_list(rt, &e->visited);
    free_list(rt, &e->leaves);
}

static cebus_status walk(engine *e, const cebus_graph_edge *root, cebus_tensor *gradient)
{
    cebus_status status = CEBUS_OK;
    if (root->node != NULL)
        status = discover(e, root->node);
    if (status == CEBUS_OK)
        status = arrive(e, root, cebus_tensor_retain(gradient));
    if (status == CEBUS_OK && root->node != NULL && !push_ready(e->rt, &e->ready, root->node))
        status = no_host_memory();
    while (status == CEBUS_OK && e->ready.count > 0)
        status = process(e, pop_ready(&e->ready));
    return status == CEBUS_OK ? finish_leaves(e) : status;
}

static cebus_status first_gradient(cebus_runtime *rt, cebus_tensor *root, cebus_tensor *gradient,
                                   cebus_tensor **out)
{
    *out = NULL;
    if (gradient != NULL) {
        cebus_status status = cebus_tensor_check(rt, gradient, name, "the gradient");
        if (status == CEBUS_OK && (!cebus_view_same_shape(&gradient->view, &root->view) ||
                                   gradient->view.dtype != root->view.dtype))
            return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                              "the gradient has shape %s of %s, but the root has %s of %s",
                              CEBUS_SHAPE(&gradient->view), cebus_dtype_name(gradient->view.dtype),
                              CEBUS_SHAPE(&root->view), cebus_dtype_name(root->view.dtype));
        *out = status == CEBUS_OK ? cebus_tensor_retain(gradient) : NULL;
        return status;
    }
    if (cebus_view_numel(&root->view) != 1)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, name,
                          "the root has shape %s; only a one-element root needs no gradient",
                          CEBUS_SHAPE(&root->view));
    return cebus_full(rt, 1, root->view.dtype, root->view.ndim, root->view.shape, out);
}

static cebus_status backward_locked(cebus_runtime *rt, cebus_tensor *root, cebus_tensor *gradient,
                                    bool retain_graph)
{
    engine e = {.rt = rt, .retain_graph = retain_graph, .epoch = ++rt->node_epoch};
    cebus_tensor *first = NULL;
    cebus_status renewed;
    (void)cebus_node_of(rt, root, &renewed);
    if (renewed != CEBUS_OK)
        return no_host_memory();
    cebus_graph_edge edge = cebus_graph_edge_of(rt, root);
    if (edge.node == NULL && edge.leaf == NULL)
        return cebus_fail(CEBUS_AUTOGRAD_ERROR, name,
                          "the root does not depend on anything that collects a gradient");
    cebus_status status = first_gradient(rt, root, gradient, &first);
    if (status == CEBUS_OK)
        status = walk(&e, &edge, first);
    settle(&e, status == CEBUS_OK);
    cebus_tensor_release(first);
    cebus_graph_edge_release(rt, &edge);
    return status;
}

cebus_status cebus_backward(cebus_runtime *rt, cebus_tensor *root, cebus_tensor *gradient,
                            bool retain_graph)
{
    cebus_status status = cebus_tensor_check(rt, root, name, "the root");
    if (status != CEBUS_OK)
        return status;
    status = cebus_runtime_lock(rt, name);
    if (status != CEBUS_OK)
        return status;
    bool recorded = cebus_grad_enable(false);
    status = backward_locked(rt, root, gradient, retain_graph);
    cebus_grad_enable(recorded);
    cebus_runtime_unlock(rt);
    return status;
}

/** A view that becomes a leaf leaves the graph of its base: a write to the base that depends on the
 * leaf would close a circle. */
static void mark_leaf(cebus_tensor *tensor, bool requires_grad)
{
    tensor->requires_grad = requires_grad;
    if (requires_grad) {
        cebus_tensor_release(tensor->base);
        tensor->base = NULL;
    }
}

cebus_status cebus_tensor_set_requires_grad(cebus_tensor *tensor, bool requires_grad)
{
    static const char op[] = "set_requires_grad";
    if (tensor == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the tensor is NULL");
    if (!cebus_dtype_is_float(tensor->view.dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, op, "%s tensors have no gradient",
                          cebus_dtype_name(tensor->view.dtype));
    cebus_status status = cebus_runtime_lock(tensor->rt, op);
    if (status != CEBUS_OK)
        return status;
    if (cebus_node_of(tensor->rt, tensor, &status) != NULL)
        status = cebus_fail(CEBUS_AUTOGRAD_ERROR, op,
                            "only leaves collect a gradient; cebus_detach() it first");
    else if (status == CEBUS_OK)
        mark_leaf(tensor, requires_grad);
    cebus_runtime_unlock(tensor->rt);
    return status;
}

cebus_status cebus_tensor_grad(cebus_tensor *tensor, cebus_tensor **out)
{
    static const char op[] = "grad";
    if (tensor == NULL || out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s is NULL",
                          tensor == NULL ? "the tensor" : "out");
    *out = NULL;
    cebus_status status = cebus_runtime_lock(tensor->rt, op);
    if (status != CEBUS_OK)
        return status;
    *out = cebus_tensor_retain(tensor->grad);
    cebus_runtime_unlock(tensor->rt);
    return CEBUS_OK;
}

cebus_status cebus_tensor_set_grad(cebus_tensor *tensor, cebus_tensor *grad)
{
    static const char op[] = "set_grad";
    if (tensor == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "the tensor is NULL");
    if (grad != NULL && (grad->rt != tensor->rt || grad->view.dtype != tensor->view.dtype ||
                         !cebus_view_same_shape(&grad->view, &tensor->view)))
        return cebus_fail(
            CEBUS_SHAPE_MISMATCH, op,
            "a gradient has its tensor's runtime, type and shape: %s of %s, not %s of "
            "%s",
            CEBUS_SHAPE(&tensor->view), cebus_dtype_name(tensor->view.dtype),
            CEBUS_SHAPE(&grad->view), cebus_dtype_name(grad->view.dtype));
    cebus_tensor *kept = NULL;
    cebus_status status = grad != NULL ? cebus_detach(tensor->rt, grad, &kept) : CEBUS_OK;
    if (status == CEBUS_OK)
        status = cebus_runtime_lock(tensor->rt, op);
    if (status != CEBUS_OK) {
        cebus_tensor_release(kept);
        return status;
    }
    cebus_tensor *former = tensor->grad;
    tensor->grad = kept;
    cebus_tensor_release(former);
    cebus_runtime_unlock(tensor->rt);
    return CEBUS_OK;
}
