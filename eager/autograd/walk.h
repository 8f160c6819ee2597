/**
 * walk.h: the state of one backward, and how it pauses for a function of the user.
 *
 * The user's function may wait for locks of its own (an interpreter's), call cebus from any
 * thread, and start a backward. So the running walk first hides what it has in tensors that other
 * walks use as well, and gives the runtime's lock away however often it was taken.
 *
 * Thread-safety: the runtime's lock.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_WALK_H
#define CEBUS_EAGER_AUTOGRAD_WALK_H

#include "eager/autograd/agenda.h"

/** An input that was asked for. */
typedef struct cebus_walk_end {
    cebus_graph_edge at; /**< counted */
    cebus_tensor *grad;  /**< of a node's output; a leaf's is in leaf->incoming */
} cebus_walk_end;

/** Where gradients come from. */
typedef struct cebus_root {
    cebus_graph_edge at; /**< counted */
    cebus_tensor *seed;  /**< counted */
} cebus_root;

typedef struct cebus_walk {
    cebus_runtime *rt;
    const cebus_gradients *what;
    bool keep; /**< the inputs' own gradients: what arrives is only answered */
    uint64_t epoch;
    cebus_root *roots;        /**< what->n_roots */
    cebus_walk_end *captures; /**< what->n_inputs; NULL: every leaf is asked for */
    cebus_agenda ready;       /**< a heap: their gradients are complete */
    cebus_agenda visited;     /**< every node reached, counted */
    cebus_agenda leaves;      /**< leaf tensors with an incoming gradient, counted */
    cebus_agenda aside;       /**< leaf->incoming of each, while a function of the user runs */
} cebus_walk;

/** Visits all below the roots, counts readers and marks what leads to the inputs. */
cebus_status cebus_walk_discover(cebus_walk *w);
/** Whether a gradient is to go along the edge. After discovery. */
bool cebus_walk_leads(const cebus_walk *w, const cebus_graph_edge *edge);
/** The inputs of the node whose gradients are to be computed, as a mask. */
uint64_t cebus_walk_inputs(const cebus_walk *w, const cebus_node *node);

/** What to restore after a function of the user. */
typedef struct cebus_pause {
    cebus_walk *walk; /**< NULL: none runs */
    int depth;        /**< entries of this thread */
    bool recorded;    /**< whether gradients were enabled */
} cebus_pause;

cebus_pause cebus_walk_pause(cebus_runtime *rt);
void cebus_walk_resume(cebus_runtime *rt, cebus_pause pause);

#endif
