/**
 * host.h: the host allocator for the runtime's records when the program names none.
 *
 * In a program that runs on jemalloc it is a jemalloc arena of its own: long-lived records stay
 * apart from the program's short-lived memory, and jemalloc's statistics show what cebus holds.
 * Elsewhere it is malloc.
 *
 * libcebus never links jemalloc: an unprefixed jemalloc replaces malloc in every program that
 * loads it, and it cannot be loaded later (its thread-local storage is part of the initial image).
 * Its functions are weak references, which are there when the program brought it.
 *
 * Thread-safety: safe.
 */
#ifndef CEBUS_EAGER_HOST_H
#define CEBUS_EAGER_HOST_H

#include <cebus/base.h>

/** Never fails: whatever goes wrong with jemalloc, it is malloc then. */
cebus_host_allocator cebus_host_default(void);

#endif
