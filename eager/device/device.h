/**
 * device.h: the contract of a device: some two dozen functions, none of them NULL.
 *
 * A device offers one slab of address space, three streams and kernels by op name. It never sees a
 * tensor: only addresses inside its slab, launches and copies. A stream does what it was given in
 * order; between streams nothing is ordered but by `stream_wait`. Everything but `synchronize`,
 * `stream_await` and blocking copies may return before the work is done.
 *
 * Marks: each stream counts its work. `stream_mark` answers a number that is reached once all
 * that was enqueued so far is done; numbers only grow, 0 is always reached. A block that is given
 * up keeps the marks of its last uses (layout/block.h: fence), and whoever takes it waits for them
 * on the stream it works on; the host never does.
 *
 * Errors: CEBUS_OUT_OF_HOST_MEMORY, CEBUS_DEVICE_ERROR (with cebus_fail). A launch that fails has
 * changed nothing but its outputs and workspace. A device that runs late (info.deferred) reports
 * a kernel's failure at the next synchronizing call.
 * Thread-safety: calls on one device instance are serialized by its runtime's lock.
 */
#ifndef CEBUS_EAGER_DEVICE_DEVICE_H
#define CEBUS_EAGER_DEVICE_DEVICE_H

#include "eager/op.h"

typedef struct cebus_device cebus_device; /**< an instance; its layout is the device's own */

typedef enum cebus_stream {
    CEBUS_STREAM_COMPUTE, /**< launches, blocking copies, copies on the device */
    CEBUS_STREAM_OUT,     /**< swap-outs */
    CEBUS_STREAM_IN,      /**< swap-ins */
    CEBUS_STREAM_COUNT,
} cebus_stream;

typedef struct cebus_device_info {
    uint64_t memory_bytes;  /**< what the process may use of this device's memory */
    uint64_t host_bytes;    /**< host memory the process may use */
    uint64_t alignment;     /**< of every block, a power of two */
    uint64_t outside_bytes; /**< held now outside the slab: handles, hidden scratch */
    uint64_t out_rate;      /**< bytes/s of copies to the host; 0: unknown, to be measured */
    uint64_t in_rate;       /**< bytes/s of copies from the host */
    uint64_t latency_ns;    /**< of a copy to or from the host, before its first byte */
    uint64_t copy_rate;     /**< bytes/s of copies on the device; 0: unknown */
    uint64_t copy_ns;       /**< what each takes beside its bytes */
    uint64_t issue_ns;      /**< what the host takes to ask for a launch or a copy; 0: unknown */
    uint64_t stall_ns;      /**< compute has waited for copies so far */
    uint64_t host_waits;    /**< times the host waited for a stream: for host reads alone */
    int threads;            /**< in use by its kernels */
    bool deferred;          /**< launches may run after they return */
    bool late_costs;        /**< *out_ns of a launch is an estimate: `collect` says what it was */
    bool remote;            /**< the host cannot reach the slab's addresses: bytes go by copies */
    bool commits;           /**< the slab is usable only where it was committed */
    bool timed;             /**< the rates were measured: no two runs find the same */
    bool pins;              /**< host_alloc gives page-locked memory */
    bool simulated;         /**< addresses hold no bytes: host reads give zeros */
    bool poisons;           /**< wants to be told what holds nothing any more (discard) */
} cebus_device_info;

typedef enum cebus_copy_kind {
    CEBUS_COPY_TO_DEVICE, /**< `from` is not read after it returns */
    CEBUS_COPY_TO_HOST,   /**< complete when it returns */
    CEBUS_COPY_ON_DEVICE, /**< ranges may overlap, as for memmove */
} cebus_copy_kind;

/** What a launch cost that was answered with an estimate. */
typedef struct cebus_late_cost {
    uint64_t mark; /**< of the compute stream right after that launch */
    uint64_t ns;
} cebus_late_cost;

/** What a device is opened with; borrowed for the call. */
typedef struct cebus_device_options {
    const char *name;    /**< as the user wrote it, e.g. "sim:titanv-12g" */
    int threads;         /**< 0: all */
    bool unlimited;      /**< memory is counted, not addressed: any range of addresses will do */
    const char *profile; /**< measured costs to use, a file; NULL: none */
    const cebus_host_allocator *host; /**< for the books; to be copied */
} cebus_device_options;

typedef struct cebus_device_ops {
    const char *name; /**< up to a colon in the user's name */
    cebus_status (*open)(const cebus_device_options *options, cebus_device **out);
    void (*close)(cebus_device *device);
    void (*query)(cebus_device *device, cebus_device_info *out);
    /** Address space for `bytes`; what it holds costs nothing before slab_commit. */
    cebus_status (*slab_reserve)(cebus_device *device, uint64_t bytes, char **out_base);
    /** Makes [base + from, base + to) usable: the budget is about to reach there. Where memory
     * comes with the first write, there is nothing to do. */
    cebus_status (*slab_commit)(cebus_device *device, char *base, uint64_t from, uint64_t to);
    /** Returns the pages of [base + from, base + to) to the system; contents are lost. Where
     * info.commits, they must be committed again before they are used. */
    void (*slab_decommit)(cebus_device *device, char *base, uint64_t from, uint64_t to);
    /** Nothing was ever placed in [from, to): who counts what is used need not look there, until
     * it is told something else. NULL: nobody does. */
    void (*slab_idle)(cebus_device *device, uint64_t from, uint64_t to);
    void (*slab_release)(cebus_device *device, char *base, uint64_t bytes);
    /** On the compute stream. */
    cebus_status (*copy)(cebus_device *device, void *to, const void *from, uint64_t bytes,
                         cebus_copy_kind kind);
    /** On `stream`; the host side must stay until the mark is reached. From host_alloc it is fast;
     * with other memory the host may wait. */
    cebus_status (*copy_async)(cebus_device *device, cebus_stream stream, void *to,
                               const void *from, uint64_t bytes, cebus_copy_kind kind);
    /** Has `run` called once OUT or IN gets there; what comes after it on the stream waits for its
     * return. On a thread of the device's, which it may block; it must not call the device. */
    cebus_status (*stream_call)(cebus_device *device, cebus_stream stream,
                                void (*run)(void *context), void *context);
    /** Told, where info.poisons, that a range holds nothing any more, once `stream` gets there. A
     * test device poisons it, and answers the mark when it will have; others answer 0. */
    uint64_t (*discard)(cebus_device *device, cebus_stream stream, char *at, uint64_t bytes);
    uint64_t (*stream_mark)(cebus_device *device, cebus_stream stream);
    /** Work enqueued on `stream` from now on starts after `mark` of stream `on`. */
    void (*stream_wait)(cebus_device *device, cebus_stream stream, cebus_stream on, uint64_t mark);
    bool (*stream_reached)(cebus_device *device, cebus_stream stream, uint64_t mark);
    /** The host waits. */
    cebus_status (*stream_await)(cebus_device *device, cebus_stream stream, uint64_t mark);
    /** Host memory that copies fast; NULL without. */
    void *(*host_alloc)(cebus_device *device, uint64_t bytes);
    void (*host_free)(cebus_device *device, void *pointer, uint64_t bytes);
    /** What launches carry as launch->device. */
    void *(*context)(cebus_device *device);
    const cebus_kernel *(*kernel_find)(cebus_device *device, const char *op);
    /** *out_ns: what the run cost, as well as is known when it returns. */
    cebus_status (*launch)(cebus_device *device, const cebus_kernel *kernel,
                           const cebus_launch *launch, uint64_t *out_ns);
    /** Where info.late_costs: up to n costs that became known since the last call, in the order of
     * their launches; returns how many. Launches may be left out: not all need be measured. Waits
     * for nothing. */
    size_t (*collect)(cebus_device *device, size_t n, cebus_late_cost *out);
    cebus_status (*synchronize)(cebus_device *device); /**< all streams */
    /** ns, monotone: when all that was enqueued on `stream` is done, as far as is known; or now. */
    uint64_t (*clock)(cebus_device *device, cebus_stream stream);
    /** info.stall_ns alone, at once: compute waited for copies so far; 0 where nobody counts. */
    uint64_t (*stalled)(cebus_device *device);
} cebus_device_ops;

extern const cebus_device_ops cebus_device_cpu;
extern const cebus_device_ops cebus_device_sim;

/** Adds a device under its name (tests, plug-ins); false when the registry is full. */
bool cebus_device_register(const cebus_device_ops *ops);
/** By the name up to a colon; NULL when there is none. */
const cebus_device_ops *cebus_device_find(const char *name);

#endif
