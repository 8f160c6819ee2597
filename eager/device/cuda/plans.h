/**
 * plans.h: what was decided about calls, each decision made once and kept, keyed by the bytes that
 * describe the call. A plan is what a library needs beyond pointers (descriptors, the algorithm)
 * and the workspace it takes, so that `workspace` and `run` of a kernel speak of the same one.
 *
 * A key is a plain struct, zeroed first for its padding. A maker is a pure function of the key and
 * the device: whether a plan is still kept or is made anew never shows in the bits.
 *
 * Bounded: the plan used longest ago goes first. That one may still be running on the device; what
 * `clear` frees must be of the host (it is: cuBLASLt's descriptors and cuDNN's plans hold no
 * device memory that kernels read).
 *
 * Needs no CUDA. Thread-safety: the runtime's lock.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_PLANS_H
#define CEBUS_EAGER_DEVICE_CUDA_PLANS_H

#include <cebus/base.h>

#define CEBUS_CUDA_PLANS_CAPACITY 1024

typedef struct cebus_cuda_plans cebus_cuda_plans;

/** Fills the zeroed *out_plan. On failure, recorded by cebus_fail, it leaves nothing to clear. */
typedef cebus_status (*cebus_cuda_plan_maker)(void *context, const void *key, void *out_plan);

typedef struct cebus_cuda_plans_options {
    const cebus_host_allocator *host; /**< copied */
    size_t key_bytes, plan_bytes;
    size_t capacity; /**< at least 1 */
    cebus_cuda_plan_maker make;
    void (*clear)(void *plan); /**< frees what `make` put there */
} cebus_cuda_plans_options;

/** NULL: no host memory. */
cebus_cuda_plans *cebus_cuda_plans_create(const cebus_cuda_plans_options *options);
/** Clears and frees everything. NULL is allowed. */
void cebus_cuda_plans_destroy(cebus_cuda_plans *plans);

/**
 * The plan for `key`, made now if it is new; valid until the next find. `context` is passed to the
 * maker. The maker's failure, or CEBUS_OUT_OF_HOST_MEMORY in the name of `op`; then nothing is
 * kept, and a later find tries again. O(1), but O(capacity) when a full table meets a new key.
 */
cebus_status cebus_cuda_plans_find(cebus_cuda_plans *plans, const char *op, void *context,
                                   const void *key, const void **out);

/** The same in *table, which is made by the options where it is NULL: plans of a kind need no
 * beginning. */
cebus_status cebus_cuda_plans_find_in(cebus_cuda_plans **table,
                                      const cebus_cuda_plans_options *options, const char *op,
                                      void *context, const void *key, const void **out);

/** Plans kept now. */
size_t cebus_cuda_plans_count(const cebus_cuda_plans *plans);

#endif
