/**
 * rebase.h: the graph across in-place writes and views.
 *
 * A view remembers its base. A write through a view is a write to the base: the base's source
 * becomes a node with two inputs, the base as it was and the written region. Every view of
 * the base then renews its own source when it is next asked (storage->rebased tells that it is
 * stale). This is PyTorch's CopySlices scheme.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_REBASE_H
#define CEBUS_EAGER_AUTOGRAD_REBASE_H

#include "eager/autograd/node.h"

/** Refuses in-place writes to leaves that collect a gradient, and through views of them. */
cebus_status cebus_rebase_check(cebus_runtime *rt, const cebus_op *op, cebus_tensor *tensor);

/** The base's source after a write through `view`; its second edge waits for the writing node.
 * NULL without host memory. */
cebus_node *cebus_rebase_reserve(cebus_runtime *rt, cebus_tensor *view);

/** `node` computed what was written to `tensor`: it, or its base, gets a new source. */
void cebus_rebase_attach(cebus_runtime *rt, cebus_node *node, uint32_t output,
                         cebus_tensor *tensor);

/**
 * A node of facts alone, for views: `n_in` inputs seen as `in_views`, one output seen as
 * `out_view`, attributes copied. Edges are the caller's to set. NULL without host memory.
 */
cebus_node *cebus_view_node_create(cebus_runtime *rt, const cebus_op *op,
                                   const cebus_view *in_views, uint32_t n_in,
                                   const cebus_view *out_view, const void *attrs,
                                   size_t attr_bytes);

#endif
