/**
 * @file runtime.h
 * The runtime: one device, one hard byte budget, one lock.
 *
 * A runtime owns an arena of `memory_budget` bytes and places every tensor byte, gradient and
 * kernel workspace in it. When a call does not fit, values are given up by the eviction policy and
 * rebuilt, bit for bit, when they are next read. Runtimes share nothing; a process may have many.
 *
 * Thread-safety: any thread may call; calls on one runtime are serialized by its lock. After fork()
 * only the parent may go on with a runtime: its threads for copies and plans stay there. A child
 * may make its own.
 */
#ifndef CEBUS_RUNTIME_H
#define CEBUS_RUNTIME_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** How the cost of a call is known (it decides what is evicted, never any result). */
typedef enum cebus_cost_model {
    CEBUS_COST_MEASURED = 0,  /**< the time of its run */
    CEBUS_COST_ESTIMATED = 1, /**< bytes moved and work done: the same evictions in every run */
} cebus_cost_model;

/** Whether values may be copied to host memory, or to the spill file, instead of being dropped. */
typedef enum cebus_swap {
    CEBUS_SWAP_DEFAULT = 0, /**< as the policy was published: on for those that swap. Persistent
                                 tensors only before a call would fail for want of memory */
    CEBUS_SWAP_OFF = 1,     /**< never: what cannot be rebuilt stays */
    CEBUS_SWAP_ON = 2,      /**< by any policy, wherever it costs less than rebuilding; persistent
                                 tensors and optimizer state, too. On sim:* these go only by plans,
                                 under `odswap`, once rebuilding and waiting for copies took longer
                                 than the program's own calls, and before a call would fail */
} cebus_swap;

/** Debugging aids; combine with |. */
enum {
    CEBUS_DEBUG_HASH = 1 << 0,  /**< hash what is evicted, compare after its replay */
    CEBUS_DEBUG_CHAOS = 1 << 1, /**< evict something random before every call */
    CEBUS_DEBUG_WALK = 1 << 2,  /**< verify arena and lineage after every call: slow */
    CEBUS_DEBUG_HOST = 1 << 3, /**< no recycling of records: each is a host allocation of its own */
    CEBUS_DEBUG_HINTS = 1 << 4, /**< a random hint for every value: no bit may depend on it */
};

/** Zero means default everywhere. Initialize with CEBUS_RUNTIME_OPTIONS_INIT. */
typedef struct cebus_runtime_options {
    size_t struct_size;     /**< sizeof this struct, as the caller was compiled */
    const char *device;     /**< "cpu" (default), "cuda:N", "sim:MACHINE" (cebus_machine_name());
                                 "cpu:link=2GB": copies to the host at so many bytes/s */
    uint64_t memory_budget; /**< bytes; default 80% of what the process may use: on devices where
                                 memory is set aside (CUDA) taken by and by, as it is needed, and no
                                 more than other programs leave */
    const char *policy;     /**< of cebus_policy_name(); default "cebus", which then begins to
                                 learn the program when memory is short for the first time */
    int threads;            /**< for kernels, default all cores; part of what decides bits */
    uint64_t seed;          /**< of the random number generator */
    cebus_cost_model cost_model;      /**< how the costs that decide evictions are known */
    uint32_t debug;                   /**< CEBUS_DEBUG_* */
    const cebus_host_allocator *host; /**< for the runtime's records; copied. Default malloc */
    const char *layout;    /**< where values lie: of cebus_layout_name(); default: what suits the
                                policy, "planned" for "cebus", "zones" for others */
    cebus_swap swap;       /**< may values leave for the host? */
    uint64_t host_budget;  /**< host bytes for them; default half of what the process may use, none
                                on the CPU with a spill file: it would be the same memory */
    const char *profile;   /**< sim:*: file of measured costs that replace the machine's model */
    uint64_t spill_budget; /**< bytes of the spill file, the tier below the host; default 0: there
                                is none. Not on sim:* */
    const char *spill_directory; /**< where it lies, without a name; default $TMPDIR or /var/tmp */
    uint64_t pinned_budget; /**< of host_budget: page-locked, where the device does that; what is
                                 beyond is slower. Default: all of it */
} cebus_runtime_options;

/** All defaults. */
#define CEBUS_RUNTIME_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .struct_size = sizeof(cebus_runtime_options)                                               \
    }

/** `options` NULL: all defaults. Unknown non-zero bytes past the known struct are refused. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_create(const cebus_runtime_options *options,
                                                             cebus_runtime **out);
/** NULL is allowed. With tensors still alive the runtime goes with the last of them. */
CEBUS_API void cebus_runtime_destroy(cebus_runtime *rt);

/**
 * Changes the budget, at any time between calls. Shrinking evicts and compacts at once; when what
 * cannot go does not fit, fails with CEBUS_OUT_OF_MEMORY and the old budget stands. Between
 * iterations (right after cebus_iteration_mark()) a policy that plans has the next one planned for
 * the new budget: two iterations in ample memory, then a smaller budget, and the program runs where
 * it could not have learned.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_set_budget(cebus_runtime *rt, uint64_t bytes);
/** The budget in bytes. */
CEBUS_API uint64_t cebus_runtime_budget(const cebus_runtime *rt);
/** Another policy from the next eviction on. CEBUS_INVALID_ARGUMENT lists the policies there are,
 * and the old one stays. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_set_policy(cebus_runtime *rt,
                                                                 const char *policy);
/** Name of the policy in force. */
CEBUS_API const char *cebus_runtime_policy(const cebus_runtime *rt);
/** Name of the layout in force; it does not change with the policy. NULL of NULL. */
CEBUS_API const char *cebus_runtime_layout(const cebus_runtime *rt);
/** Whether values may leave for the host, as the policy in force and the options have it. False of
 * NULL. */
CEBUS_API bool cebus_runtime_swaps(const cebus_runtime *rt);
/** Name of policy number `i`, NULL past the last. */
CEBUS_API const char *cebus_policy_name(size_t i);

/**
 * Name of layout number i, NULL past the last: "zones", "planned", "coop", "best-fit", "caching",
 * "caching-expandable", and "commodity", memory as one number, on simulated machines only.
 */
CEBUS_API const char *cebus_layout_name(size_t i);

/** Name of simulated machine number `i`, as in "titanv-12g"; NULL past the last. Device "sim:NAME"
 * has its memory size, rates and virtual clock: the same runtime and no kernels. What the host
 * reads from it is zeros. */
CEBUS_API const char *cebus_machine_name(size_t i);

/** The link of a simulated machine, "sim:NAME" with changes if wanted: bytes/s to the host, from
 * it, and of both together (0: it has none), and ns before each copy's first byte.
 * CEBUS_INVALID_ARGUMENT lists what machines there are. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_machine_link(const char *device, uint64_t *out_out,
                                                           uint64_t *out_in, uint64_t *out_both,
                                                           uint64_t *out_latency_ns);

/**
 * A hint: an iteration of the program ended here. Never needed. Policies that plan ahead learn from
 * one iteration and act in those that repeat it. They find out where iterations end: at a run of
 * writes to parameters, or where a loop that writes none begins again, which takes three rounds.
 * From the first mark on only marks count, until there is none for very long. Traces keep the
 * marks.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_iteration_mark(cebus_runtime *rt);

/** Threads of the kernels; fixed for the runtime's life. */
CEBUS_API int cebus_runtime_threads(const cebus_runtime *rt);

/** Restarts the random number generator. */
CEBUS_API void cebus_manual_seed(cebus_runtime *rt, uint64_t seed);

/** Waits until everything enqueued has run; reports what failed meanwhile. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_synchronize(cebus_runtime *rt);

/** Evicts all that can be rebuilt and returns the pages of free memory to the system. Where the
 * budget is memory set aside (CUDA), only cebus_runtime_set_budget() returns any. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_runtime_trim(cebus_runtime *rt);

/**
 * Reads a size: "300MiB", "6GB" (1000), "6GiB" (1024), "1048576", or "40%" of `whole`. Unknown
 * suffixes, negative, non-finite and overflowing numbers are refused.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_size_parse(const char *text, uint64_t whole,
                                                         uint64_t *out_bytes);

CEBUS_END_DECLS

#endif
