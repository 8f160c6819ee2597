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

/** Marks a floating-point leaf (a tensor no recorded call made) to collect a gradient.
 * CEBUS_DTYPE_MISMATCH: another type. CEBUS_AUTOGRAD_ERROR: a call made it. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_requires_grad(cebus_tensor *tensor,
                                                                       bool requires_grad);
/** True of marked leaves and of everything computed from them with gradients enabled. */
CEBUS_API bool cebus_tensor_requires_grad(const cebus_tensor *tensor);
/** The accumulated gradient of a leaf, a new reference; *out is NULL when there is none. A backward
 * that adds to it is seen through the reference, and through all that shares its bytes. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_grad(cebus_tensor *tensor, cebus_tensor **out);
/**
 * Replaces the gradient (NULL drops it: the usual way to zero it between steps) by a view of
 * `grad` outside any graph, so that a tensor can never hold itself. CEBUS_RUNTIME_MISMATCH,
 * CEBUS_DTYPE_MISMATCH, CEBUS_SHAPE_MISMATCH: it is not like its tensor.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_grad(cebus_tensor *tensor,
                                                              cebus_tensor *grad);
/**
 * The tensor shows what `source` shows from now on, sharing its bytes, and stays who it is to the
 * graph: what was computed from it before reads its former value and gives it its gradient. A
 * tensor that was computed, or has a gradient, keeps its type and shape (else
 * CEBUS_SHAPE_MISMATCH). End mappings of the tensor first.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_data(cebus_tensor *tensor,
                                                              cebus_tensor *source);
/**
 * Lays a tensor whose bytes nothing else shows out in the order of its dimensions, so that any
 * shape of as many elements is a view of it; its values and its place in the graph stay. What
 * others show, or is mapped, or has gaps, stays as it is. For results of calls that choose a layout
 * themselves (convolutions).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_straighten(cebus_tensor *tensor);

/**
 * Accumulates d(root)/d(leaf) into every leaf the root was computed from. `gradient` is
 * d(loss)/d(root), or NULL for a one-element root (then 1). Unless `retain_graph`, calls that saved
 * something for it or have hooks let go of that and cannot be walked again; others (sums, views)
 * can. On failure no leaf gradient has changed and the graph is kept: it can be tried again.
 *
 * CEBUS_AUTOGRAD_ERROR: the root requires no gradient, or a call that was let go of has to be
 * walked. CEBUS_SHAPE_MISMATCH, CEBUS_DTYPE_MISMATCH: `gradient` is not like the root, or is
 * missing. CEBUS_OUT_OF_MEMORY.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_backward(cebus_runtime *rt, cebus_tensor *root,
                                                       cebus_tensor *gradient, bool retain_graph);

/**
 * What to differentiate by what. Everything is borrowed for the call.
 */
typedef struct cebus_gradients {
    size_t struct_size;          /**< sizeof this struct, as the caller was compiled */
    cebus_tensor *const *roots;  /**< what is differentiated; their gradients add up */
    cebus_tensor *const *seeds;  /**< d(loss)/d(root) of each; NULL, or NULL in it: 1, for a
                                      one-element root */
    size_t n_roots;              /**< length of roots and seeds */
    cebus_tensor *const *inputs; /**< by what, leaves or not; NULL: by every leaf */
    size_t n_inputs;             /**< length of inputs */
    bool retain_graph;           /**< the calls that were walked can be walked again */
} cebus_gradients;

/** A request with its struct_size set. */
#define CEBUS_GRADIENTS_INIT                                                                       \
    {                                                                                              \
        sizeof(cebus_gradients), NULL, NULL, 0, NULL, 0, false                                     \
    }

/**
 * As cebus_backward() from several roots in one walk. With `out` the gradients of the inputs are
 * written there (n_inputs new references outside any graph; NULL where no root depends on the
 * input) and no leaf's own gradient changes; without, they are added to the inputs, which then must
 * be leaves. Only calls between roots and inputs are walked, and freed.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gradients_compute(cebus_runtime *rt,
                                                                const cebus_gradients *what,
                                                                cebus_tensor **out);

/**
 * Sees a gradient pass. Called without any lock of the runtime, gradients off, on the thread of the
 * backward; it may call cebus, backwards of other graphs included. `context` is let go by `release`
 * (NULL: nothing to do), without the lock as well, once neither tensor nor graph can call the
 * hook again.
 */
typedef struct cebus_grad_hook {
    size_t struct_size; /**< sizeof this struct, as the caller was compiled */
    /** `grad` is borrowed; what is written to *out, a new reference of the same shape and type,
     * takes its place (NULL: it stays). Anything but CEBUS_OK ends the backward with it. */
    cebus_status (*call)(void *context, cebus_tensor *grad, cebus_tensor **out);
    void (*release)(void *context); /**< lets the context go */
    void *context;                  /**< handed to both */
    /** See what the other hooks made of it; of a leaf: the sum, once it is the leaf's gradient.
     * What it answers then replaces nothing. */
    bool after;
} cebus_grad_hook;

/**
 * Has `hook` see the gradient of `tensor` in every backward, complete, before it is passed on (of a
 * leaf: before it is added to the leaf's, when all else was walked). Hooks run in the order of
 * their registration. A tensor that is not a leaf may be released: the hook stays with the graph. A
 * tensor that was written in place has its hooks with its former value.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_register_hook(cebus_tensor *tensor,
                                                                   const cebus_grad_hook *hook,
                                                                   uint64_t *out_id);
/** Takes the hook called `id` off the tensor. CEBUS_INVALID_ARGUMENT: it has no such hook. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_remove_hook(cebus_tensor *tensor, uint64_t id);

/** One gradient of a user's function; valid until it returns. */
typedef struct cebus_function_step {
    cebus_runtime *rt;             /**< of all of them */
    cebus_tensor *const *saved;    /**< as they were when the function was recorded */
    uint32_t n_saved;              /**< length of saved */
    cebus_tensor *const *grad_out; /**< NULL where zero */
    uint32_t n_out;                /**< length of grad_out */
    uint64_t needs;                /**< bit i: grad_in[i] is wanted */
    uint32_t n_in;                 /**< length of grad_in */
    cebus_tensor **grad_in;        /**< to fill with new references; NULL: none */
} cebus_function_step;

/**
 * Results computed by any means, and how gradients pass through them. Everything but the context is
 * borrowed for the call.
 */
typedef struct cebus_function {
    size_t struct_size;           /**< sizeof this struct, as the caller was compiled */
    const char *name;             /**< for errors; the first 47 bytes are kept */
    cebus_tensor *const *in;      /**< at most 64 */
    uint32_t n_in;                /**< length of in */
    cebus_tensor *const *saved;   /**< what the gradient reads, at most 960: may be given up, and
                                       comes back as it was, whatever is written meanwhile */
    uint32_t n_saved;             /**< length of saved */
    cebus_tensor *const *results; /**< 1 to 64; one that is itself an input was written in place */
    uint32_t n_out;               /**< length of results */
    /** Called like a hook, once a backward. */
    cebus_status (*gradient)(void *context, const cebus_function_step *step);
    void (*release)(void *context); /**< lets the context go, once the graph cannot need it */
    void *context;                  /**< handed to both */
} cebus_function;

/**
 * Records one call of a function of the user. out[0..n_out) are new references: the results seen as
 * made from `in`, or as they are when no input requires a gradient or gradients are off; then the
 * context is let go at once. On failure it remains the caller's.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_function_record(cebus_runtime *rt,
                                                              const cebus_function *function,
                                                              cebus_tensor **out);

/** Whether calls of this thread build the graph. Returns the former state; on by default. */
CEBUS_API bool cebus_grad_enable(bool enabled);
/** Whether they do now. */
CEBUS_API bool cebus_grad_is_enabled(void);
/** A view of the same storage outside the graph. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_detach(cebus_runtime *rt, cebus_tensor *x,
                                                     cebus_tensor **out);

CEBUS_END_DECLS

#endif
