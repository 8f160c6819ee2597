/**
 * pool.h: host memory for the library's many small records, recycled by size.
 *
 * Requests are rounded to 64-byte classes up to CEBUS_POOL_MAX; each class keeps a free list that
 * is refilled by slabs from the host allocator. Larger requests go to the host allocator
 * directly. Memory returns to the host when the pool is deinitialized (and large requests at
 * once), so a steady program reaches a fixed size and stays there.
 *
 * A failing host allocator makes cebus_pool_alloc return NULL and changes nothing.
 * Thread-safety: none; the owner's lock.
 */
#ifndef CEBUS_LAYOUT_POOL_H
#define CEBUS_LAYOUT_POOL_H

#include <cebus/base.h>

#define CEBUS_POOL_UNIT 64
#define CEBUS_POOL_MAX 2048
#define CEBUS_POOL_CLASSES (CEBUS_POOL_MAX / CEBUS_POOL_UNIT)

typedef struct cebus_pool_free cebus_pool_free;
typedef struct cebus_pool_slab cebus_pool_slab;

typedef struct cebus_pool {
    cebus_host_allocator host;
    cebus_pool_free *free[CEBUS_POOL_CLASSES];
    cebus_pool_slab *slabs;
    uint64_t live_objects; /**< handed out and not returned: 0 at a clean shutdown */
    uint64_t host_bytes;   /**< held from the host allocator now */
    bool direct;           /**< set before first use: every object its own host allocation, so that
                              host tools see each and each can fail */
} cebus_pool;

/** The allocator over malloc/realloc/free. */
cebus_host_allocator cebus_host_allocator_default(void);

/** `host` is copied; NULL means the default. */
void cebus_pool_init(cebus_pool *pool, const cebus_host_allocator *host);

/** Returns every slab. Objects still out become invalid. */
void cebus_pool_deinit(cebus_pool *pool);

/** Uninitialized memory aligned to 16 bytes, or NULL. O(1). */
void *cebus_pool_alloc(cebus_pool *pool, size_t bytes);

/** A copy of `bytes` at `object`, which may be NULL for none; NULL without host memory. */
void *cebus_pool_copy(cebus_pool *pool, const void *object, size_t bytes);

/**
 * Room for one more item in an array of the pool: doubles *items when `count` has reached
 * *capacity. Changes nothing and answers false without host memory. The array is freed with
 * cebus_pool_free_object(pool, items, capacity x item_bytes).
 */
bool cebus_pool_grow(cebus_pool *pool, void **items, size_t *capacity, size_t count,
                     size_t item_bytes);

/** `bytes` is what was asked for at allocation. NULL is allowed. O(1). */
void cebus_pool_free_object(cebus_pool *pool, void *object, size_t bytes);

#endif
