/**
 * shelf.h: host memory that is taken piece by piece and given back at once. The advisor takes what
 * it needs before it searches: a search allocates nothing, and cannot fail half way.
 *
 * Thread-safety: none; one owner.
 */
#ifndef CEBUS_EVICT_ADVISOR_SHELF_H
#define CEBUS_EVICT_ADVISOR_SHELF_H

#include <cebus/base.h>

typedef struct cebus_shelf_item cebus_shelf_item;

typedef struct cebus_shelf {
    cebus_host_allocator host;
    cebus_shelf_item *items; /**< the last one taken first */
    bool failed;             /**< some piece was refused since init */
} cebus_shelf;

/** `host` is copied; NULL means the default. */
void cebus_shelf_init(cebus_shelf *shelf, const cebus_host_allocator *host);
/** Everything taken becomes invalid. */
void cebus_shelf_clear(cebus_shelf *shelf);
/** `count` items of `bytes` each, zeroed, aligned to 16; NULL, and `failed`, without host memory.
 * Nothing is asked for any more after a failure: a row of them needs one look at its end. */
void *cebus_shelf_take(cebus_shelf *shelf, size_t count, size_t bytes);

#endif
