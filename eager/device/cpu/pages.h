/**
 * pages.h: how much memory there is behind the slab: its pages come with the first write. The
 * kernel is asked page by page, but neither where nothing was ever placed nor where all was there
 * before: that stays until it is given back.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_PAGES_H
#define CEBUS_EAGER_DEVICE_CPU_PAGES_H

#include <cebus/base.h>

typedef struct cebus_cpu_pages {
    const char *base;
    uint64_t used;               /**< bytes; nothing lies beyond */
    uint64_t idle_from, idle_to; /**< nothing was ever placed in between */
    uint64_t page, chunk;        /**< bytes */
    bool *whole; /**< by chunk of CEBUS_CPU_CHUNK pages: all there; NULL: not known */
    size_t chunks;
} cebus_cpu_pages;

/** Pages asked for at a time. */
#define CEBUS_CPU_CHUNK 4096

/** Of a slab of `bytes` at `base`. Without host memory each count asks for all of it. */
void cebus_cpu_pages_open(cebus_cpu_pages *pages, const char *base, uint64_t bytes,
                          const cebus_host_allocator *host);
void cebus_cpu_pages_close(cebus_cpu_pages *pages, const cebus_host_allocator *host);

/** [from, to) was given back. */
void cebus_cpu_pages_forget(cebus_cpu_pages *pages, uint64_t from, uint64_t to);

/** Bytes that have memory behind them. O(pages that are not known to be there). */
uint64_t cebus_cpu_pages_count(cebus_cpu_pages *pages);

#endif
