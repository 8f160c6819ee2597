/**
 * pinned.h: page-locked host memory, sub-allocated. Locking pages takes milliseconds, so it is done
 * for segments, once: copies take their memory from inside them, first fit, and give it back to
 * neighbours that merge. Segments stay until the end.
 *
 * Where segments come from is told by the owner, so that this works without a device.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_PINNED_H
#define CEBUS_EAGER_DEVICE_CUDA_PINNED_H

#include <cebus/base.h>

#define CEBUS_PINNED_SEGMENT (UINT64_C(64) << 20) /**< least bytes of a segment */
#define CEBUS_PINNED_ALIGNMENT 256

/** Free bytes of a segment. */
typedef struct cebus_pinned_hole {
    uint64_t offset, bytes;
} cebus_pinned_hole;

typedef struct cebus_pinned_segment {
    char *base;
    uint64_t bytes;
    uint64_t taken;           /**< pieces in use */
    cebus_pinned_hole *holes; /**< sorted by offset, none touching; room for one more than taken */
    size_t n_holes, capacity;
} cebus_pinned_segment;

typedef struct cebus_cuda_pinned {
    const cebus_host_allocator *host; /**< for the books; borrowed */
    /** A segment, or NULL. */
    void *(*lock)(void *context, uint64_t bytes);
    void (*unlock)(void *context, void *base);
    void *context;
    cebus_pinned_segment *segments;
    size_t count, capacity;
    uint64_t locked_bytes;
} cebus_cuda_pinned;

/** `bytes` aligned to CEBUS_PINNED_ALIGNMENT; NULL where neither a hole nor a new segment has them.
 * O(holes). */
void *cebus_pinned_alloc(cebus_cuda_pinned *pinned, uint64_t bytes);
/** Exactly what was allocated; never fails. NULL is allowed. */
void cebus_pinned_free(cebus_cuda_pinned *pinned, void *pointer, uint64_t bytes);
/** Unlocks all segments. */
void cebus_pinned_deinit(cebus_cuda_pinned *pinned);

#endif
