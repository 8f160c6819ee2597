/**
 * tensor.h: the inside of a tensor handle.
 */
#ifndef CEBUS_EAGER_TENSOR_H
#define CEBUS_EAGER_TENSOR_H

#include <cebus/autograd.h>

#include "eager/storage.h"

struct cebus_hook;
struct cebus_node;

/** What `alive` holds while a handle is. A released one is told by it, until its memory serves
 * again. */
#define CEBUS_TENSOR_ALIVE UINT32_C(0x7E4508A1)

struct cebus_tensor {
    atomic_uint refs;
    uint32_t alive;
    cebus_runtime *rt;
    cebus_storage *storage; /**< counted */
    cebus_view view;
    bool requires_grad; /**< a leaf that collects a gradient */
    uint32_t node_output;
    struct cebus_node *node;  /**< what computed it, counted; NULL: a leaf of the graph */
    uint64_t node_rebased;    /**< storage->rebased when node was set (views only) */
    cebus_tensor *base;       /**< of a differentiable view: the tensor it views, counted */
    cebus_tensor *grad;       /**< counted */
    cebus_tensor *incoming;   /**< backward: what the running one adds to grad; counted */
    struct cebus_hook *hooks; /**< of a leaf, on its gradient (autograd/hook.h) */
    uint32_t moves;           /**< how often it was given other data: its views are none since */
    uint32_t base_moves;      /**< base->moves when it became a view */
    uint64_t captured;        /**< the capture that knows of grad (capture.h); 0: none does */
    size_t captured_at;       /**< its place among that capture's leaves */
};

/** The tensor whose view the graph takes it for; NULL: it is no view, or that has other data now.
 */
static inline cebus_tensor *cebus_tensor_base(const cebus_tensor *tensor)
{
    return tensor->base != NULL && tensor->base->moves == tensor->base_moves ? tensor->base : NULL;
}

/** Whether it is a leaf that collects a gradient, or a view of one. */
static inline bool cebus_tensor_is_parameter(const cebus_tensor *tensor)
{
    const cebus_tensor *base = cebus_tensor_base(tensor);
    return tensor->requires_grad || (base != NULL && base->requires_grad);
}

/** Makes it a view of x, or of what x is a view of. */
static inline void cebus_tensor_set_base(cebus_tensor *tensor, cebus_tensor *x)
{
    cebus_tensor *base = cebus_tensor_base(x);
    tensor->base = cebus_tensor_retain(base != NULL ? base : x);
    tensor->base_moves = tensor->base->moves;
}

/** A handle over `storage` (counts it). NULL without host memory. The lock is held. */
cebus_tensor *cebus_tensor_create(cebus_runtime *rt, cebus_storage *storage,
                                  const cebus_view *view);
/** Fails unless `tensor` is not NULL and belongs to `rt`; `what` names the argument. */
cebus_status cebus_tensor_check(const cebus_runtime *rt, const cebus_tensor *tensor, const char *op,
                                const char *what);

/** Fails where `tensor` is NULL or was released. */
cebus_status cebus_tensor_alive(const cebus_tensor *tensor, const char *op);
/** The same, else takes its runtime's lock. */
cebus_status cebus_tensor_lock(const cebus_tensor *tensor, const char *op);

/** An absent-until-written tensor with bytes (undefined contents), as kernels' outputs are. */
cebus_status cebus_tensor_empty_like(cebus_runtime *rt, const cebus_view *view, cebus_zone zone,
                                     const char *op, cebus_tensor **out);

#endif
