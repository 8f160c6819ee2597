/**
 * device.h: the contract of a device: about a dozen functions, none of them NULL.
 *
 * A device offers one slab of address space, one in-order compute stream, and kernels by op name.
 * It never sees a tensor: only addresses inside its slab and launches. Everything but `synchronize`
 * and copies to the host may return before the work is done; work runs in the order it was
 * given, so a block may be reused at once by whatever is enqueued after its last use.
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

typedef struct cebus_device_info {
    uint64_t memory_bytes;  /**< what the process may use of this device's memory */
    uint64_t alignment;     /**< of every block, a power of two */
    uint64_t outside_bytes; /**< held now outside the slab: handles, hidden scratch */
    int threads;            /**< in use by its kernels */
    bool deferred;          /**< launches may run after they return */
} cebus_device_info;

typedef enum cebus_copy_kind {
    CEBUS_COPY_TO_DEVICE,
    CEBUS_COPY_TO_HOST,   /**< complete when it returns */
    CEBUS_COPY_ON_DEVICE, /**< ranges may overlap, as for memmove */
} cebus_copy_kind;

typedef struct cebus_device_ops {
    const char *name;
    cebus_status (*open)(int threads, const cebus_host_allocator *host, cebus_device **out);
    void (*close)(cebus_device *device);
    void (*query)(cebus_device *device, cebus_device_info *out);
    /** Address space for `bytes`, not committed: pages cost nothing until they are written. */
    cebus_status (*slab_reserve)(cebus_device *device, uint64_t bytes, char **out_base);
    /** Returns the pages of [base + from, base + to) to the system; contents are lost. */
    void (*slab_decommit)(cebus_device *device, char *base, uint64_t from, uint64_t to);
    void (*slab_release)(cebus_device *device, char *base, uint64_t bytes);
    cebus_status (*copy)(cebus_device *device, void *to, const void *from, uint64_t bytes,
                         cebus_copy_kind kind);
    /** Told that a range holds nothing any more (dropped or never written). A test device
     * poisons it. */
    void (*discard)(cebus_device *device, char *at, uint64_t bytes);
    /** What launches carry as launch->device. */
    void *(*context)(cebus_device *device);
    const cebus_kernel *(*kernel_find)(cebus_device *device, const char *op);
    cebus_status (*launch)(cebus_device *device, const cebus_kernel *kernel,
                           const cebus_launch *launch);
    cebus_status (*synchronize)(cebus_device *device);
    uint64_t (*clock)(cebus_device *device); /**< ns, monotone */
} cebus_device_ops;

extern const cebus_device_ops cebus_device_cpu;

/** Adds a device under its name (tests, plug-ins); false when the registry is full. */
bool cebus_device_register(const cebus_device_ops *ops);
/** NULL when there is none of this name. */
const cebus_device_ops *cebus_device_find(const char *name);

#endif
