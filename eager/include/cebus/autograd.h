/**
 * @file autograd.h
 * Reverse-mode differentiation over the recorded calls.
 *
 * While gradients are enabled on the calling thread, each call with a differentiable input that
 * requires a gradient adds a node to the graph. What a node keeps for its gradient are handles
 * to values, never pinned bytes: the runtime may give those bytes up and rebuild them when the
 * gradient runs. Because the handles name a *version*, a saved value that was overwritten in place
 * is rebuilt as it was; only where that is impossible (a leaf was overwritten) is it an error, as
 * in PyTorch.
 */
#ifndef CEBUS_AUTOGRAD_H
#define CEBUS_AUTOGRAD_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Marks a floating-point leaf (a tensor no recorded call made) to collect a gradient. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_requires_grad(cebus_tensor *tensor,
                                                                       bool requires_grad);
/** True of marked leaves and of everything computed from them with gradients enabled. */
CEBUS_API bool cebus_tensor_requires_grad(const cebus_tensor *tensor);
/** The accumulated gradient of a leaf, a new reference; *out is NULL when there is none. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_grad(cebus_tensor *tensor, cebus_tensor **out);
/**
 * Replaces the gradient (NULL drops it: the usual way to zero it between steps) by a view of
 * `grad` outside any graph, so that a tensor can never hold itself.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_grad(cebus_tensor *tensor,
                                                              cebus_tensor *grad);

/**
 * Accumulates d(root)/d(leaf) into every leaf the root was computed from. `gradient` is
 * d(loss)/d(root), or NULL for a one-element root (then 1). The graph is freed unless
 * `retain_graph`. On failure no leaf gradient has changed and the graph is kept: it can be tried
 * again.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_backward(cebus_runtime *rt, cebus_tensor *root,
                                                       cebus_tensor *gradient, bool retain_graph);

/** Whether calls of this thread build the graph. Returns the former state; on by default. */
CEBUS_API bool cebus_grad_enable(bool enabled);
/** Whether they do now. */
CEBUS_API bool cebus_grad_is_enabled(void);
/** A view of the same storage outside the graph. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_detach(cebus_runtime *rt, cebus_tensor *x,
                                                     cebus_tensor **out);

CEBUS_END_DECLS

#endif
