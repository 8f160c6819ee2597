/**
 * op.h: what the runtime must know of an operation: its description, how it is inferred, how its
 * kernel is called and how it is differentiated. Everything else of an op is its family's
 * business (eager/ops: public entry and inference; eager/device/<device>: kernels; eager/autograd:
 * gradients).
 *
 * An op is a pure function of (attributes, input versions, RNG counter, thread count): it is
 * replayed by calling the same kernel again. In-place ops are described as ops whose outputs
 * are new versions of some inputs (`mutates`); their kernels always find in[i].data ==
 * out[j].data, also when replayed (the runtime copies the old version over first).
 */
#ifndef CEBUS_EAGER_OP_H
#define CEBUS_EAGER_OP_H

#include <cebus/tensor.h>

#define CEBUS_MAX_INPUTS 1024
#define CEBUS_MAX_OUTPUTS 64
/** Inputs that masks can name: an op that is differentiated has no more, and only these are written
 * in place. */
#define CEBUS_MAX_TRACKED 64

typedef struct cebus_op cebus_op;

/** Device bytes and how to walk them. `data` is the address of the view's first element. */
typedef struct cebus_array {
    void *data; /**< NULL: an optional input that is absent, or an output nobody needs */
    const cebus_view *view;
} cebus_array;

/** One kernel call. Valid until the kernel returns; the kernel keeps no pointer. */
typedef struct cebus_launch {
    const void *attrs;
    size_t attr_bytes;
    bool numbers; /**< attributes are numbers that decide no cost (CEBUS_OP_NUMBERS) */
    const cebus_array *in;
    const cebus_array *out;
    uint32_t n_in, n_out;
    int threads; /**< fixed for the runtime's life: it may decide bits */
    void *workspace;
    uint64_t workspace_bytes;
    uint64_t seed, rng_offset; /**< Philox key and first counter of this call (rng.h) */
    void *device;              /**< the device's own state, e.g. struct cebus_cpu (cpu.h) */
    void *user;                /**< of a custom op */
} cebus_launch;

/**
 * A device's implementation. `workspace` (may be NULL: none) answers bytes for the same launch
 * with data pointers NULL; it must be a pure function of views, attributes and threads.
 * `run` returns CEBUS_OK, or a failure recorded by cebus_fail: CEBUS_DEVICE_ERROR, or
 * CEBUS_INVALID_ARGUMENT for what only the data shows (an index out of range; found before anything
 * is written). Shapes and types were checked by the op's infer. `cost` (may be NULL) is what a
 * simulated device takes instead of running it; 0 leaves it to the device's own model.
 */
typedef struct cebus_kernel {
    const char *op; /**< name of the op it implements; NULL ends a table */
    cebus_status (*run)(const cebus_launch *launch);
    uint64_t (*workspace)(const cebus_launch *launch);
    uint64_t (*cost)(const cebus_launch *launch); /**< ns of a run where it says so; NULL: unsaid */
} cebus_kernel;

/**
 * Inference: checks the inputs and fills dtype, shape and strides of every output (offset 0;
 * cebus_view_contiguous() for the usual strides). in[i] is NULL where an optional input is
 * absent. On a mismatch returns cebus_fail(...), and nothing has changed. For mutated inputs
 * the output view is filled in by the runtime: infer only checks.
 */
typedef struct cebus_infer {
    const cebus_op *op;
    const void *attrs;
    const cebus_view *const *in;
    uint32_t n_in, n_out;
    cebus_view *out;
} cebus_infer;

/** Differentiation of one call; called with gradients disabled, in terms of public functions. */
typedef struct cebus_gradient {
    cebus_runtime *rt;
    const cebus_op *op;
    const void *attrs;
    uint32_t n_in, n_out;
    const cebus_view *in_view, *out_view; /**< always there, also of what was not saved */
    cebus_tensor *const *in;              /**< saved inputs; NULL where not saved */
    cebus_tensor *const *out;             /**< saved outputs; NULL where not saved */
    cebus_tensor *const *grad_out;        /**< NULL: that output has no gradient (zero) */
    uint64_t needs;                       /**< bit i: grad_in[i] is wanted */
    cebus_tensor **grad_in; /**< to fill with new references; NULL stays "no gradient" */
} cebus_gradient;

/** Bit masks of the inputs and outputs whose values the gradient reads. */
typedef struct cebus_saves {
    uint64_t in, out;
} cebus_saves;

enum {
    CEBUS_OP_RNG = 1 << 0,           /**< draws random numbers: rng_blocks says how many */
    CEBUS_OP_NONREPLAYABLE = 1 << 1, /**< its outputs are kept, never recomputed */
    CEBUS_OP_CUSTOM = 1 << 2,        /**< a user's op: see cebus_call_custom() */
    CEBUS_OP_NUMBERS = 1 << 3, /**< its attributes beside the outputs' views are numbers that a
                                    program may change from step to step (rates, factors, bounds,
                                    counters): calls that differ in them alone are of a kind */
    CEBUS_OP_UPDATE = 1 << 4,  /**< an optimizer's step: writes a parameter and its state */
    CEBUS_OP_WHOLE = 1 << 5,   /**< its kernel writes every output, wanted or not */
};

struct cebus_op {
    const char *name; /**< unique; the kernel key */
    uint32_t flags;
    uint64_t mutates; /**< bit i: input i is written in place; outputs are those, in order */
    cebus_status (*infer)(cebus_infer *io);
    /** Philox blocks (4 x 32 bits) consumed; NULL with RNG: ceil(numel(out[0]) / 4). */
    uint64_t (*rng_blocks)(const cebus_launch *launch);
    cebus_saves (*saves)(const void *attrs, uint64_t needs); /**< NULL: nothing */
    cebus_status (*gradient)(const cebus_gradient *io);      /**< NULL: not differentiable */
    /** Adds the gradient of input 0 to `sum` in place, where it touches only a part of it; called
     * instead of gradient() when there is a sum already. NULL: gradient() always. */
    cebus_status (*add_gradient)(const cebus_gradient *io, cebus_tensor *sum);
};

/** A call as an op's public entry describes it; everything is borrowed for the call. */
typedef struct cebus_call_spec {
    const cebus_op *op;
    const void *attrs; /**< plain bytes, no pointers: copied into the record (NULL allowed) */
    size_t attr_bytes;
    cebus_tensor *const *in; /**< NULL entries: absent optional inputs */
    uint32_t n_in, n_out;
} cebus_call_spec;

/**
 * The one path every op takes (eager/call.c). out[0..n_out) are new references; for mutated
 * inputs new references to those very tensors. On failure all of `out` is NULL and nothing
 * changed.
 */
CEBUS_MUST_CHECK cebus_status cebus_call_run(cebus_runtime *rt, const cebus_call_spec *spec,
                                             cebus_tensor **out);

/**
 * Records the thread's last error and returns `status`:
 * `return cebus_fail(CEBUS_SHAPE_MISMATCH, op->name, "expected ..., got %s", ...)`.
 * The message says what, where, and what to do.
 */
cebus_status cebus_fail(cebus_status status, const char *op, const char *format, ...)
    CEBUS_PRINTF(3, 4);
/** Makes `error` the thread's last error again, after something that failed as was expected. */
void cebus_error_restore(const cebus_error *error);
/** Before a callback of the user, which may answer a status that nothing told: the last error's. */
cebus_status cebus_error_set_aside(void);
/** After it: whether it did not fail, or a call within it told of a failure of that status. */
bool cebus_error_was_told(cebus_status before, cebus_status status);
/** Adds to the error just recorded how many bytes were wanted; returns its status. */
cebus_status cebus_fail_bytes(uint64_t bytes);

#endif
