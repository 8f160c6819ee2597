/**
 * sum.h: accumulates gradients during a backward: adds up those that meet at a node, and gives a
 * leaf its own at the end.
 *
 * Thread-safety: the runtime's lock.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_SUM_H
#define CEBUS_EAGER_AUTOGRAD_SUM_H

#include "eager/tensor.h"

/** True if nothing but this handle names its storage. */
bool cebus_sum_is_own(const cebus_tensor *grad);

/** sum += grad (takes the reference) between two calls of the graph. */
cebus_status cebus_sum_inner(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad);
/** sum += grad (takes the reference) at a leaf: the sum has no record. */
cebus_status cebus_sum_leaf(cebus_runtime *rt, cebus_tensor **sum, cebus_tensor *grad);
/** A gradient that something else also names must not become the leaf's own: it may be written. */
cebus_status cebus_sum_make_own(cebus_runtime *rt, cebus_tensor **grad);

/**
 * A former gradient of the leaf that others show, too, gets the total where commit() could not give
 * it to them: written in place.
 */
cebus_status cebus_sum_share(cebus_runtime *rt, cebus_tensor *leaf);
/**
 * leaf->incoming, after cebus_sum_share(), becomes leaf->grad: at the address of the former where
 * that can be, and to all who show that. The rest is left in leaf->incoming. Nothing can fail.
 */
void cebus_sum_commit(cebus_runtime *rt, cebus_tensor *leaf);

#endif
