#include "eager/host.h"

#include "cebus_config.h"
#include "layout/pool.h"

#if CEBUS_HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdint.h>

#pragma weak mallctl
#pragma weak mallocx
#pragma weak rallocx
#pragma weak dallocx

/* The flags of every request: our arena, and no cache in front of it, for slabs are rare and large.
 * 0 while there is no such arena. It lives as long as the process. */
static int arena_flags;
static pthread_once_t arena_once = PTHREAD_ONCE_INIT;

static void create_arena(void)
{
    unsigned arena;
    size_t size = sizeof arena;
    if (mallctl == NULL || mallocx == NULL || rallocx == NULL || dallocx == NULL)
        return;
    if (mallctl("arenas.create", &arena, &size, NULL, 0) == 0)
        arena_flags = (int)(MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
}

static size_t at_least_one(size_t bytes)
{
    return bytes == 0 ? 1 : bytes;
}

static void *arena_alloc(void *context, size_t bytes)
{
    (void)context;
    return mallocx(at_least_one(bytes), arena_flags);
}

static void *arena_realloc(void *context, void *pointer, size_t bytes)
{
    if (pointer == NULL)
        return arena_alloc(context, bytes);
    return rallocx(pointer, at_least_one(bytes), arena_flags);
}

static void arena_free(void *context, void *pointer)
{
    (void)context;
    if (pointer != NULL)
        dallocx(pointer, arena_flags);
}

cebus_host_allocator cebus_host_default(void)
{
    pthread_once(&arena_once, create_arena);
    if (arena_flags == 0)
        return cebus_host_allocator_default();
    return (cebus_host_allocator){arena_alloc, arena_realloc, arena_free, NULL};
}

#else

cebus_host_allocator cebus_host_default(void)
{
    return cebus_host_allocator_default();
}

#endif
