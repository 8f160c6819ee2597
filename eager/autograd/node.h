/**
 * node.h: the graph for backward. A node is one differentiable call: the record's facts (op,
 * attributes, views), edges to where its inputs came from, and holds on the versions its gradient
 * will read. Holding a version never pins bytes: it may be evicted and rebuilt like any other.
 *
 * Thread-safety: the runtime's lock.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_NODE_H
#define CEBUS_EAGER_AUTOGRAD_NODE_H

#include "eager/call.h"
#include "eager/tensor.h"

typedef struct cebus_node cebus_node;

/** Where an input's gradient goes: to a node's output, or to a leaf tensor (exactly one). */
typedef struct cebus_graph_edge {
    cebus_node *node; /**< counted */
    uint32_t output;
    cebus_tensor *leaf; /**< counted */
} cebus_graph_edge;

/** A version the gradient reads, as it was at the call. */
typedef struct cebus_saved {
    cebus_candidate *version; /**< NULL: not saved */
    uint64_t writes;          /**< version->writes then: a change means the leaf was overwritten */
} cebus_saved;

struct cebus_node {
    uint32_t refs;
    uint32_t pending;     /**< backward: readers whose gradient is still to come */
    uint64_t visited;     /**< backward: epoch of the last visit */
    uint64_t wanted;      /**< backward by some inputs: epoch in which it leads to one */
    uint64_t sequence;    /**< when it was made: backward runs the latest first */
    cebus_tensor **grads; /**< backward: arrived so far, n_out; NULL outside */
    cebus_node *next_dead;
    struct cebus_hook *hooks; /**< on its outputs' gradients (hook.h) */
    cebus_node *slices;       /**< for a write through a view: the base's source to be (rebase.h) */
    bool freed;               /**< a backward ran through it and kept nothing for another */
    bool spent;               /**< freed, and what its gradient needs was let go with that */
    bool parked;              /**< held by name only while a backward runs (park/unpark) */
    uint64_t needs;           /**< bit i: input i wants a gradient */
    cebus_call *call;         /**< counted; views and attributes */
    size_t bytes;
    cebus_graph_edge *edges; /**< n_in */
    cebus_saved *saved;      /**< n_in inputs, then n_out outputs */
};

/** The inputs of `in` that require a gradient, as a mask; 0 when gradients are off. */
uint64_t cebus_node_needs(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *in,
                          uint32_t n_in);

/**
 * A node for the call about to be recorded: edges set, inputs' current versions held. One
 * reference. NULL without host memory. Before mutated inputs change version.
 */
cebus_node *cebus_node_create(cebus_runtime *rt, cebus_call *call, cebus_tensor *const *in,
                              uint64_t needs);
/** After the call: holds saved outputs, and makes it the source of out[j]. Cannot fail. */
void cebus_node_attach(cebus_runtime *rt, cebus_node *node, cebus_tensor *const *out);

/** An empty node over `call` (counts it): no edges, nothing saved. */
cebus_node *cebus_node_create_bare(cebus_runtime *rt, cebus_call *call);
/** Holds the tensor's current version in a slot: inputs, then outputs. */
void cebus_node_save(cebus_node *node, uint32_t slot, const cebus_tensor *tensor);
cebus_node *cebus_node_retain(cebus_node *node);
/** Iterative: graphs are deep. */
void cebus_node_release(cebus_runtime *rt, cebus_node *node);

/** Lets the saved versions go for good: a node that had some cannot be walked again. */
void cebus_node_free_saved(cebus_runtime *rt, cebus_node *node);
/** Whether another backward would lack something once the node is freed: a version, or a hook
 * that is let go lest it hold the tensor it hangs on for ever. */
bool cebus_node_saves(const cebus_node *node);
/** Lets their bytes go but keeps them nameable, so that a failed backward can be undone. */
void cebus_node_park(cebus_runtime *rt, cebus_node *node);
void cebus_node_unpark(cebus_runtime *rt, cebus_node *node);

/** Whether `gradient` may be one of `tensor`: of its runtime, type and shape. `what` names it. */
cebus_status cebus_gradient_check(const cebus_tensor *tensor, const cebus_tensor *gradient,
                                  const char *op, const char *what);

/** The edge that leads to `tensor`'s source, counted; empty when it requires no gradient. */
cebus_graph_edge cebus_graph_edge_of(cebus_runtime *rt, cebus_tensor *tensor);
void cebus_graph_edge_release(cebus_runtime *rt, cebus_graph_edge *edge);

/** The current source of `tensor` (not counted), renewed if its base was written in place. NULL
 * also when host memory ran out: then *out_status says so. */
cebus_node *cebus_node_of(cebus_runtime *rt, cebus_tensor *tensor, cebus_status *out_status);

#endif
