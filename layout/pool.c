#include "layout/pool.h"

#include <stdlib.h>
#include <string.h>

/** What a slab asks of the host, at least; and how many objects it holds, at least. */
#define SLAB_BYTES 16384
#define SLAB_OBJECTS 8

struct cebus_pool_free {
    cebus_pool_free *next;
};

/** Heads a slab; the objects follow at the next multiple of CEBUS_POOL_UNIT. */
struct cebus_pool_slab {
    cebus_pool_slab *next;
    size_t bytes;
};

/*
 * A returned object is poisoned under AddressSanitizer, so that reading it after its return is
 * found although the slab is still ours.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POOL_POISONS 1
#endif

#ifdef POOL_POISONS
#include <sanitizer/asan_interface.h>
#define poison(object, bytes) __asan_poison_memory_region(object, bytes)
#define unpoison(object, bytes) __asan_unpoison_memory_region(object, bytes)
#else
#define poison(object, bytes) ((void)0)
#define unpoison(object, bytes) ((void)0)
#endif

static void *default_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void *default_realloc(void *context, void *pointer, size_t bytes)
{
    (void)context;
    return realloc(pointer, bytes);
}

static void default_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

cebus_host_allocator cebus_host_allocator_default(void)
{
    return (cebus_host_allocator){default_alloc, default_realloc, default_free, NULL};
}

void cebus_pool_init(cebus_pool *pool, const cebus_host_allocator *host)
{
    *pool = (cebus_pool){.host = host != NULL ? *host : cebus_host_allocator_default()};
}

void cebus_pool_deinit(cebus_pool *pool)
{
    cebus_pool_slab *slab = pool->slabs;
    while (slab != NULL) {
        cebus_pool_slab *next = slab->next;
        unpoison(slab, slab->bytes);
        pool->host.free(pool->host.context, slab);
        slab = next;
    }
    *pool = (cebus_pool){.host = pool->host};
}

static size_t class_of(size_t bytes)
{
    return bytes == 0 ? 0 : (bytes - 1) / CEBUS_POOL_UNIT;
}

static size_t class_bytes(size_t class)
{
    return (class + 1) * CEBUS_POOL_UNIT;
}

static void push_free(cebus_pool *pool, size_t class, void *object)
{
    cebus_pool_free *freed = object;
    freed->next = pool->free[class];
    pool->free[class] = freed;
    poison(object, class_bytes(class));
}

static void *pop_free(cebus_pool *pool, size_t class)
{
    cebus_pool_free *object = pool->free[class];
    unpoison(object, class_bytes(class));
    pool->free[class] = object->next;
    return object;
}

/** Adds a slab, if the host has one, cut into free objects with the lowest address on top. */
static void refill(cebus_pool *pool, size_t class)
{
    size_t each = class_bytes(class);
    size_t bytes = SLAB_BYTES > SLAB_OBJECTS * each ? SLAB_BYTES : SLAB_OBJECTS * each;
    cebus_pool_slab *slab = pool->host.alloc(pool->host.context, bytes);
    if (slab == NULL)
        return;
    *slab = (cebus_pool_slab){pool->slabs, bytes};
    pool->slabs = slab;
    pool->host_bytes += bytes;

    uintptr_t end = (uintptr_t)slab + bytes;
    uintptr_t first = (uintptr_t)(slab + 1) + CEBUS_POOL_UNIT - 1;
    first -= first % CEBUS_POOL_UNIT;
    for (size_t count = (end - first) / each; count > 0; count--)
        push_free(pool, class, (char *)slab + (first - (uintptr_t)slab) + (count - 1) * each);
}

static void *alloc_small(cebus_pool *pool, size_t class)
{
    if (pool->free[class] == NULL)
        refill(pool, class);
    return pool->free[class] != NULL ? pop_free(pool, class) : NULL;
}

static void *alloc_large(cebus_pool *pool, size_t bytes)
{
    void *object = pool->host.alloc(pool->host.context, bytes);
    if (object != NULL)
        pool->host_bytes += bytes;
    return object;
}

static bool is_small(const cebus_pool *pool, size_t bytes)
{
    return bytes <= CEBUS_POOL_MAX && !pool->direct;
}

void *cebus_pool_alloc(cebus_pool *pool, size_t bytes)
{
    void *object =
        is_small(pool, bytes) ? alloc_small(pool, class_of(bytes)) : alloc_large(pool, bytes);
    if (object != NULL)
        pool->live_objects++;
    return object;
}

void cebus_pool_free_object(cebus_pool *pool, void *object, size_t bytes)
{
    if (object == NULL)
        return;
    pool->live_objects--;
    if (is_small(pool, bytes)) {
        push_free(pool, class_of(bytes), object);
        return;
    }
    pool->host_bytes -= bytes;
    pool->host.free(pool->host.context, object);
}

void *cebus_pool_copy(cebus_pool *pool, const void *object, size_t bytes)
{
    void *copy = cebus_pool_alloc(pool, bytes);
    if (copy != NULL && bytes > 0)
        memcpy(copy, object, bytes);
    return copy;
}

bool cebus_pool_grow(cebus_pool *pool, void **items, size_t *capacity, size_t count,
                     size_t item_bytes)
{
    enum {
        FIRST = 64
    };
    if (count < *capacity)
        return true;
    size_t wide = *capacity > 0 ? 2 * *capacity : FIRST;
    void *grown = cebus_pool_alloc(pool, wide * item_bytes);
    if (grown == NULL)
        return false;
    if (count > 0)
        memcpy(grown, *items, count * item_bytes);
    cebus_pool_free_object(pool, *items, *capacity * item_bytes);
    *items = grown;
    *capacity = wide;
    return true;
}
