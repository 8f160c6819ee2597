/* Runs twice: as it is, and under jemalloc where that is installed (see tests/meson.build). */
#include "eager/host.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cebus_config.h"
#include "layout/pool.h"

#if CEBUS_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#pragma weak mallctl

static bool runs_on_jemalloc(void)
{
    return mallctl != NULL;
}

static unsigned arena_of(void *pointer)
{
    unsigned arena = 0;
    size_t size = sizeof arena;
    cr_assert_eq(mallctl("arenas.lookup", &arena, &size, (void *)&pointer, sizeof pointer), 0);
    return arena;
}
#else
static bool runs_on_jemalloc(void)
{
    return false;
}

static unsigned arena_of(void *pointer)
{
    (void)pointer;
    return 0;
}
#endif

Test(host, gives_memory_that_grows_and_goes)
{
    cebus_host_allocator host = cebus_host_default();
    unsigned char *bytes = host.alloc(host.context, 1000);
    cr_assert_not_null(bytes);
    memset(bytes, 7, 1000);
    bytes = host.realloc(host.context, bytes, 5000000);
    cr_assert_not_null(bytes);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(bytes[i], 7);
    memset(bytes, 8, 5000000);
    host.free(host.context, bytes);
}

Test(host, accepts_what_malloc_accepts)
{
    cebus_host_allocator host = cebus_host_default();
    void *nothing = host.alloc(host.context, 0);
    void *fresh = host.realloc(host.context, NULL, 64);
    cr_assert_not_null(fresh);
    host.free(host.context, fresh);
    host.free(host.context, nothing);
    host.free(host.context, NULL);
}

Test(host, keeps_apart_from_the_programs_memory_on_jemalloc)
{
    if (!runs_on_jemalloc())
        cr_skip_test("this program does not run on jemalloc");
    cebus_host_allocator host = cebus_host_default();
    void *mine = host.alloc(host.context, 100000);
    void *theirs = malloc(100000);
    cr_assert_neq(arena_of(mine), arena_of(theirs));
    free(theirs);
    void *again = cebus_host_default().alloc(host.context, 100000);
    cr_assert_eq(arena_of(mine), arena_of(again), "one arena a process");
    host.free(host.context, again);
    host.free(host.context, mine);
}

Test(host, is_malloc_elsewhere)
{
    if (runs_on_jemalloc())
        cr_skip_test("this program runs on jemalloc");
    cr_assert_eq(cebus_host_default().alloc, cebus_host_allocator_default().alloc);
}
