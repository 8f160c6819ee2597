/**
 * host.h: where the books live when the program names no allocator.
 *
 * In a program that runs on jemalloc they live in a jemalloc arena of their own: long-lived
 * records stay apart from the program's short-lived memory, and its allocator's statistics show
 * what cebus holds. Elsewhere they live in malloc's heap.
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

/** Never fails: malloc's heap is the answer to whatever goes wrong with jemalloc. */
cebus_host_allocator cebus_host_default(void);

#endif
