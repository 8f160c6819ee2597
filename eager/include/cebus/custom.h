/**
 * @file custom.h
 * A user's own op, evicted and replayed like a built-in one.
 *
 * The runtime must know what the kernel promises: whether it is a pure function of its inputs,
 * draws random numbers, writes inputs in place, or cannot be run again. Outputs never alias inputs
 * except the mutated ones.
 */
#ifndef CEBUS_CUSTOM_H
#define CEBUS_CUSTOM_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

enum {
    CEBUS_CUSTOM_RNG = 1 << 0,           /**< draws random numbers from (seed, rng_offset) */
    CEBUS_CUSTOM_NONREPLAYABLE = 1 << 1, /**< outputs are kept, never recomputed */
    CEBUS_CUSTOM_SPARING = 1 << 2,       /**< `run` leaves out outputs whose `data` is NULL: when a
                                              call runs again, those that nobody needs. Without it
                                              these take room all the same, until it has run */
};

/** Bytes and how to walk them; `data` is the address of the first element. */
typedef struct cebus_custom_array {
    void *data;             /**< NULL while only sizes are asked, and in `run` of an op with
                                 CEBUS_CUSTOM_SPARING of an output that nobody needs */
    const cebus_view *view; /**< type, shape and strides */
} cebus_custom_array;

/** One call of a kernel; valid until it returns. */
typedef struct cebus_custom_launch {
    const void *attrs;             /**< the copy the record keeps */
    size_t attr_bytes;             /**< of attrs */
    const cebus_custom_array *in;  /**< mutated inputs share their address with their output */
    const cebus_custom_array *out; /**< to be filled */
    uint32_t n_in;                 /**< length of in */
    uint32_t n_out;                /**< length of out */
    int threads;                   /**< the kernel may use, and must give the same bits with */
    void *workspace;               /**< scratch, as large as asked */
    uint64_t workspace_bytes;      /**< of workspace */
    uint64_t seed;                 /**< Philox4x32-10 key */
    uint64_t rng_offset;           /**< first Philox counter of this call */
    void *user;                    /**< of the op */
} cebus_custom_launch;

/**
 * Describes an op. It must outlive the runtime (records point to it). Callbacks run under the
 * runtime's lock and must not call cebus (CEBUS_REENTRANT).
 */
typedef struct cebus_custom_op {
    size_t struct_size; /**< sizeof this struct, as the caller was compiled */
    const char *name;   /**< for errors, events and reports */
    uint32_t flags;     /**< CEBUS_CUSTOM_* */
    uint32_t n_out;     /**< outputs of each call */
    uint64_t mutates; /**< bit i: input i is written in place; then outputs are exactly those, each
                              of another storage */
    void *user;       /**< handed to every callback */
    /** Fills dtype, ndim and shape of each output (strides are made row-major). Not called for
     * ops that mutate. Anything but CEBUS_OK refuses the call. */
    cebus_status (*infer)(void *user, const void *attrs, const cebus_view *const *in, uint32_t n_in,
                          cebus_view *out);
    /** Scratch bytes for the launch (data pointers NULL); NULL: none. Pure. */
    uint64_t (*workspace)(const cebus_custom_launch *launch);
    /** Philox blocks drawn; NULL with RNG: ceil(numel(out[0]) / 4). Pure. */
    uint64_t (*rng_blocks)(const cebus_custom_launch *launch);
    /** ns of one run, for CEBUS_COST_ESTIMATED and sim:* devices, which never call `run`; NULL or
     * 0: from the bytes. Pure. */
    uint64_t (*cost)(const cebus_custom_launch *launch);
    /** Computes. Anything but CEBUS_OK: the call did not happen. But what the kernel has written in
     * place by then stays written, as by an op that cannot be replayed: the inputs it mutates are
     * left as it left them, their versions count on, what was computed from them before keeps its
     * values, and a capture cannot have it. */
    cebus_status (*run)(const cebus_custom_launch *launch);
    /** Gradients of the inputs by public functions, as new references in grad_in (NULL: none);
     * in and out are the call's tensors, grad_out[i] NULL where zero. NULL: not differentiable. */
    cebus_status (*gradient)(void *user, cebus_runtime *rt, const void *attrs,
                             cebus_tensor *const *in, uint32_t n_in, cebus_tensor *const *out,
                             cebus_tensor *const *grad_out, uint32_t n_out, cebus_tensor **grad_in);
} cebus_custom_op;

/**
 * Calls a custom op: at most 1024 inputs (64 if it has a gradient) and 64 outputs. `attrs` are
 * plain bytes, copied.
 * out[0..n_out) are new references; for mutated inputs, to those tensors.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_call_custom(cebus_runtime *rt,
                                                          const cebus_custom_op *op,
                                                          const void *attrs, size_t attr_bytes,
                                                          cebus_tensor *const *in, uint32_t n_in,
                                                          cebus_tensor **out);

CEBUS_END_DECLS

#endif
