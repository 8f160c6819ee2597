/**
 * pool.h: the best windows that share no block with a better one, of those offered in any
 * order, for a search that wants several at once.
 *
 * What is dearer than the last of the list need not be offered. But a window that comes late may
 * cross two of the list: then its end is dearer than it was, and what was left out may belong there
 * after all. The pool says so.
 */
#ifndef CEBUS_LAYOUT_WINDOW_POOL_H
#define CEBUS_LAYOUT_WINDOW_POOL_H

#include "layout/window/window.h"

#define CEBUS_WINDOW_POOL 64
/** Of the list. */
#define CEBUS_WINDOW_PICKS 16

typedef struct cebus_window_pool {
    size_t limit; /**< windows wanted, 1 to CEBUS_WINDOW_PICKS */
    size_t count, n_picks;
    bool unsure;                             /**< something may be missing */
    cebus_window windows[CEBUS_WINDOW_POOL]; /**< the best first */
    uint8_t picks[CEBUS_WINDOW_PICKS];       /**< of these: the list */
} cebus_window_pool;

/** What windows are compared by, in this order. */
typedef struct cebus_window_key {
    uint64_t price, evicted_bytes, offset;
} cebus_window_key;

static inline bool cebus_window_key_is_less(const cebus_window_key *a, const cebus_window_key *b)
{
    if (a->price != b->price)
        return a->price < b->price;
    if (a->evicted_bytes != b->evicted_bytes)
        return a->evicted_bytes < b->evicted_bytes;
    return a->offset < b->offset;
}

static inline cebus_window_key cebus_window_key_of(const cebus_window *window)
{
    return (cebus_window_key){window->price, window->evicted_bytes, window->first->offset};
}

bool cebus_window_is_better(const cebus_window *a, const cebus_window *b);

void cebus_window_pool_init(cebus_window_pool *pool, size_t limit);

/** The last of a list that is full: what is no better need not be offered. NULL: everything must.
 */
const cebus_window *cebus_window_pool_last(const cebus_window_pool *pool);

/** Twice the same is as once. O(CEBUS_WINDOW_POOL x limit) if it may be in the list, else O(1). */
void cebus_window_pool_offer(cebus_window_pool *pool, const cebus_window *window);

#endif
